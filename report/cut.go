package report

import (
	"slices"

	"concordat"
)

// cut splits chains into text that counts and text that does not, so that each passage of a report is entirely one or the other: verbatim
// in some counting source, or in none. Sources that do not count and text excluded by a rule neither extend nor join passages. from[i] is
// the index of the chain from which pieces[i] was cut. A non-counting chain that lies mostly in counting passages is added to them as a
// further source; the rest becomes a separate passage if it has joinGap letters or would not appear otherwise.
func (b *builder) cut(chains []*chain) (pieces []*chain, from []int) {
	add := func(i int, s spans, why concordat.Exclusion) {
		if c := chains[i].within(s); len(c.raw) > 0 {
			c.excluded = why
			pieces, from = append(pieces, c), append(from, i)
		}
	}
	var all []concordat.Span
	for i, c := range chains {
		if c.excluded == "" {
			for _, s := range b.runs(c.counted, 0, nil) {
				add(i, s, "")
				all = append(all, s.hull())
			}
		}
	}
	counting := b.runs(union(all), 0, nil)
	passages := make(spans, len(counting))
	for i, s := range counting {
		passages[i] = s.hull()
	}
	others := spans{{Start: 0, End: len(b.text)}}.without(passages)
	for i, c := range chains {
		why := c.excluded
		switch why {
		case concordat.ExcludedSource, concordat.ExcludedOwn:
			continue
		case "":
			for _, s := range b.runs(c.all.without(c.counted).without(passages), joinGap, passages) {
				if b.count.sum(s) < joinGap {
					continue
				}
				why := concordat.ExcludedKind
				if len(s.and(b.masked))+len(s.and(b.headed)) > 0 {
					why = b.reason(s)
				}
				add(i, s, why)
			}
			continue
		}
		inside := c.all.and(passages)
		mostly := 2*b.count.sum(inside) >= b.count.sum(c.all)
		if mostly {
			for _, s := range b.runs(inside, joinGap, others) {
				add(i, s, why)
			}
		}
		for _, s := range b.runs(c.all.without(passages), joinGap, passages) {
			if !mostly || b.count.sum(s) >= joinGap {
				add(i, s, why)
			}
		}
	}
	return pieces, from
}

// runs splits spans into runs wherever two of them are more than gap letters apart, or part of walls lies between them.
func (b *builder) runs(s spans, gap int, walls spans) []spans {
	var out []spans
	for _, x := range s {
		if n := len(out); n > 0 {
			last := out[n-1]
			between := concordat.Span{Start: last[len(last)-1].End, End: x.Start}
			if between.Len() <= joinGap*64 && b.count.Characters(between) <= gap && b.count.sum(spans{between}.and(walls)) == 0 {
				out[n-1] = append(last, x)
				continue
			}
		}
		if b.count.Characters(x) > 0 {
			out = append(out, spans{x})
		}
	}
	return out
}

// hull returns the smallest span that contains all of s, which must not be empty.
func (s spans) hull() concordat.Span { return concordat.Span{Start: s[0].Start, End: s[len(s)-1].End} }

// within returns the part of a chain inside spans. The chain must contain the spans.
func (c *chain) within(s spans) *chain {
	out := *c
	out.hull = s.hull()
	out.all, out.counted, out.exact = c.all.and(s), c.counted.and(s), c.exact.and(s)
	out.raw = nil
	for _, p := range c.raw {
		for _, x := range (spans{p.Span}).and(spans{out.hull}) {
			out.raw = append(out.raw, clipPassage(p, x))
		}
	}
	return &out
}

// clipPassage returns the part of a passage inside at, which must lie within its span. The source's part is unchanged.
func clipPassage(p concordat.Passage, at concordat.Span) concordat.Passage {
	if p.Span == at {
		return p
	}
	p.Span = at
	var words []concordat.SpanPair
	for _, w := range p.Words {
		if w.Span.Start >= at.Start && w.Span.End <= at.End {
			words = append(words, w)
		}
	}
	p.Words = words
	p.Shared = slices.DeleteFunc(slices.Clone(p.Shared), func(s concordat.Span) bool { return s.Start < at.Start || s.End > at.End })
	return p
}
