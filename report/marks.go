package report

import "concordat"

// References returns the lists of references of a text, in order and disjoint.
func References(text string) []concordat.Span { return bibliography(text) }

// Given returns what of a text is wording of one of the templates, in order and disjoint: every run of at least
// templateRun characters that one of them holds too, and lines that are one of theirs.
func Given(text string, templates []string) []concordat.Span {
	return union(append(wordingOf(text, templates), wholeLines(text, givenLines(templates))...))
}
