package compare

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"concordat"
	"concordat/report"
)

const (
	// MostlyShared is the share of shared wording in a sentence or passage, by letters, at which all of it counts as shared.
	MostlyShared = 0.5
	// PartlyShared is the share of shared wording in a sentence at which its matches mean nothing.
	PartlyShared = 0.25
)

// Joined returns the union of spans, in order.
func Joined(in []concordat.Span) []concordat.Span {
	in = slices.Clone(in)
	slices.SortFunc(in, func(a, b concordat.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	var out []concordat.Span
	for _, s := range in {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// ShareOf returns the share of a span, by letters, marks and digits, inside others, which must be in text order without overlaps.
func ShareOf(count *report.Counter, s concordat.Span, others []concordat.Span) float64 {
	if len(others) == 0 {
		return 0
	}
	all := count.Characters(s)
	if all == 0 {
		return 0
	}
	in := 0
	from, _ := slices.BinarySearchFunc(others, s.Start, func(x concordat.Span, at int) int { return cmp.Compare(x.End, at+1) })
	for _, x := range others[from:] {
		if x.Start >= s.End {
			break
		}
		in += count.Characters(concordat.Span{Start: max(x.Start, s.Start), End: min(x.End, s.End)})
	}
	return float64(in) / float64(all)
}

// Tight returns s without surrounding white space.
func Tight(text string, s concordat.Span) concordat.Span {
	part := s.In(text)
	s.Start += len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
	s.End = s.Start + len(strings.TrimSpace(part))
	return s
}
