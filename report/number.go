package report

import (
	"fmt"
	"slices"

	"concordat"
)

// numbers holds the numbers of passages and the letters of sources for one set of findings. They are independent of the rules, because
// people cite them in comments, letters and decisions.
type numbers struct {
	passages []concordat.Span      // passages without any rules, in text order without overlaps
	sources  map[concordat.Ref]int // ordinal from 1 of each work's representative source, by rank without any rules
}

// number computes the numbers of the findings of b, a builder without rules.
func number(b *builder) numbers {
	chains := b.chains()
	b.judge(chains)
	evidence, of := b.evidence(chains)
	n := numbers{sources: map[concordat.Ref]int{}}
	for _, e := range evidence {
		n.passages = append(n.passages, e.Span)
	}
	for i, s := range b.ranked(chains, of) {
		n.sources[b.copies.first(s.Ref)] = i + 1
	}
	return n
}

// of returns the numbers of the passages; a passage has the number of the first passage without rules that overlaps it. If passage 7
// splits because the source that held it together is excluded, its later parts become 7b, 7c and so on.
func (n numbers) of(evidence []concordat.Evidence) []string {
	out := make([]string, len(evidence))
	k, part, last := 0, 0, -1
	for i, e := range evidence {
		for k < len(n.passages) && n.passages[k].End <= e.Span.Start {
			k++
		}
		if part++; k != last {
			part, last = 0, k
		}
		out[i] = fmt.Sprint(k+1) + suffix(part)
	}
	return out
}

// suffix returns "" for 0, "b" for 1, "z" for 25 and "ba" for 26.
func suffix(n int) string {
	if n == 0 {
		return ""
	}
	s := ""
	for ; n > 0; n /= 26 {
		s = string(rune('a'+n%26)) + s
	}
	return s
}

// Number returns the number by which people cite passage i. It is the same under all rules, in every view and export.
func (r *Report) Number(i int) string {
	if i < len(r.Numbers) {
		return r.Numbers[i]
	}
	return fmt.Sprint(i + 1)
}

// Numbered returns the index of the passage with the given number, or -1.
func (r *Report) Numbered(number string) int {
	for i := range r.Evidence {
		if r.Number(i) == number {
			return i
		}
	}
	return -1
}

// NumberAt returns the number of the first passage that overlaps a span, or "" if none does.
func (r *Report) NumberAt(at concordat.Span) string {
	for i, e := range r.Evidence {
		if e.Span.Overlaps(at) {
			return r.Number(i)
		}
	}
	return ""
}

// Letter returns the letters by which people cite the source, A to Z, AA and so on, in order of rank without rules.
func (s RankedSource) Letter() string { return letters(s.Ordinal) }

func letters(n int) string {
	out := ""
	for ; n > 0; n = (n - 1) / 26 {
		out = string(rune('A'+(n-1)%26)) + out
	}
	return out
}

// Source returns the index in r.Sources of the source that includes a document, or -1.
func (r *Report) Source(ref concordat.Ref) int {
	return slices.IndexFunc(r.Sources, func(s RankedSource) bool { return slices.Contains(s.AllPlaces(), ref) })
}
