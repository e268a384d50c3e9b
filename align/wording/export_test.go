package wording

import "concordat"

// Forms returns the sentences and lines of a text that read like those of a form, in order and disjoint. It looks at
// the text alone and is no finding: what it returns matters only if another text holds it too.
func Forms(text string) []Form {
	r := newReader(text)
	return r.formsIn(concordat.Span{End: len(text)})
}
