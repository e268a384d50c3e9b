package report

import (
	"cmp"
	"slices"
	"strings"

	"concordat"
)

// Folded reports whether a report collapses a passage or source with this exclusion: it does not count, and no decision about it is
// pending.
func Folded(e concordat.Exclusion) bool { return e != "" && e != concordat.ExcludedUndecided }

// Uncounted holds the passages collapsed for one reason.
type Uncounted struct {
	Why      concordat.Exclusion
	Words    string // description of the passages, in the language of the report
	Passages []int  // indices into Report.Evidence, ascending
}

// UncountedPassages returns the collapsed passages of a report by reason, most frequent reason first.
func UncountedPassages(r *Report) []Uncounted {
	var out []Uncounted
	for i, e := range r.Evidence {
		if !Folded(e.Excluded) {
			continue
		}
		k := slices.IndexFunc(out, func(u Uncounted) bool { return u.Why == e.Excluded })
		if k < 0 {
			k = len(out)
			out = append(out, Uncounted{Why: e.Excluded, Words: r.Language.Say(uncountedWords(e.Excluded))})
		}
		out[k].Passages = append(out[k].Passages, i)
	}
	slices.SortStableFunc(out, func(a, b Uncounted) int { return cmp.Compare(len(b.Passages), len(a.Passages)) })
	return out
}

// UncountedWords returns a sentence on how many passages of a report are collapsed and why, or "" if none are.
func UncountedWords(r *Report) string {
	n := map[concordat.Exclusion]int{}
	for _, e := range r.Evidence {
		n[e.Excluded]++
	}
	return r.Language.uncounted(n, "passage does not count", "passages do not count")
}

// UncountedSources is the counterpart of UncountedWords for sources.
func UncountedSources(r *Report) string {
	n := map[concordat.Exclusion]int{}
	for _, s := range r.Sources {
		n[s.Excluded]++
	}
	return r.Language.uncounted(n, "source does not count", "sources do not count")
}

func (l Language) uncounted(n map[concordat.Exclusion]int, one, many string) string {
	var why []concordat.Exclusion
	all := 0
	for e, k := range n {
		if Folded(e) {
			why, all = append(why, e), all+k
		}
	}
	if all == 0 {
		return ""
	}
	slices.SortFunc(why, func(a, b concordat.Exclusion) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	reasons := make([]string, len(why))
	for i, e := range why {
		reasons[i] = l.Say("%s (%s)", l.Say(uncountedWords(e)), Thousands(l, n[e]))
	}
	return l.Say("%s: %s", l.Plural(all, one, many), strings.Join(reasons, l.Say(", ")))
}

// uncountedWords describes passages that do not count, in English, for translation.
func uncountedWords(e concordat.Exclusion) string {
	switch e {
	case concordat.ExcludedQuote:
		return "quotations and public wording"
	case concordat.ExcludedBibliography:
		return "lists of references"
	case concordat.ExcludedCitation:
		return "citation markers"
	case concordat.ExcludedSection:
		return "excluded sections"
	case concordat.ExcludedTemplate:
		return "template wording"
	case concordat.ExcludedForm:
		return "form wording"
	case concordat.ExcludedPassage:
		return "excluded by hand"
	case concordat.ExcludedCommon:
		return "common wording"
	case concordat.ExcludedSmall:
		return "shorter than the minimum"
	case concordat.ExcludedSentence:
		return "isolated sentences"
	case concordat.ExcludedSource:
		return "excluded sources"
	case concordat.ExcludedOwn:
		return "the author's earlier work"
	case concordat.ExcludedSmallSource:
		return "sources below the minimum share"
	case concordat.ExcludedKind:
		return "excluded kinds"
	case concordat.ExcludedGroup:
		return "excluded groups"
	}
	return "other rules"
}
