package report

import (
	"cmp"
	"container/heap"
	"slices"

	"concordat"
)

// scores returns all figures of a report for one set of evidence.
func (b *builder) scores(chains []*chain, covered spans) Scores {
	var found, common, exact []concordat.Span
	for _, c := range chains {
		found = append(found, c.all...)
		switch c.excluded {
		case "":
			if !b.kinds[concordat.KindVerbatim] {
				exact = append(exact, c.exact...)
			}
		case concordat.ExcludedCommon:
			common = append(common, c.all...)
		}
	}
	all := union(found)
	onlyCommon := union(common).without(covered)
	for _, m := range b.masks {
		if m.why != concordat.ExcludedCommon {
			onlyCommon = onlyCommon.without(m.spans)
		}
	}
	s := Scores{Characters: b.count.Characters(concordat.Span{End: len(b.text)}), Checked: b.measured}
	if b.measured == 0 {
		return s
	}
	s.Countable = b.countable
	for _, x := range b.could {
		s.Words += measureWords(x.In(b.text))
	}
	s.Found, s.Whole = b.share(all), b.share(covered)
	s.Covered = b.part(covered)
	s.Verbatim = b.part(union(exact).and(covered))
	s.Changed = max(s.Covered-s.Verbatim, 0)
	s.Common = b.share(onlyCommon)
	s.Excluded = b.share(all.without(covered).without(onlyCommon))
	for _, m := range b.masks {
		switch m.why {
		case concordat.ExcludedTemplate:
			s.Template = b.share(all.and(m.spans).without(covered).without(onlyCommon))
		case concordat.ExcludedForm:
			s.Form = b.share(all.and(m.spans).without(covered).without(onlyCommon))
		case concordat.ExcludedUndecided:
			open := m.spans.and(b.checked).without(covered)
			s.Undecided = b.share(open)
			s.IfCounted = b.part(union(slices.Concat(open, covered)))
		}
	}
	s.Quoted, s.Quotes = b.share(all.and(b.quotes)), b.share(covered.and(b.quotes))
	s.Literalness = b.literalness(chains, covered)
	s.Estimate = b.estimate(chains)
	return s
}

// fewestWords is the minimum number of a document's own words at which its share is meaningful; among fewer words, a sentence that anyone
// could write is a large part.
const fewestWords = 60

// TooShort reports whether so little of the document could count that its share is meaningless.
func (s Scores) TooShort() bool { return s.Measured() && s.Words < fewestWords }

// QuotedWords returns a sentence that states whether matches in quotations count under the given rules.
func (s Scores) QuotedWords(l Language, r Rules) string {
	switch {
	case s.Quoted == 0 && r.ExcludeQuotes, s.Quoted > 0 && s.Quotes == 0:
		return l.Say("not counted")
	case s.Quotes < s.Quoted:
		return l.Say("%s of it counted", l.Percent(s.Quotes))
	}
	return l.Say("counted")
}

// share returns the characters in s divided by the characters checked, or 0 if nothing was checked.
func (b *builder) share(s spans) float64 {
	if b.measured == 0 {
		return 0
	}
	return float64(b.count.sum(s)) / float64(b.measured)
}

// part returns the counting characters in s divided by the characters that could count, or 0 if none could.
func (b *builder) part(s spans) float64 {
	if b.countable == 0 {
		return 0
	}
	return min(1, float64(b.count.sum(s))/float64(b.countable))
}

// couldCount returns the compared text that could count, that is, everything that the rules do not exclude regardless of source. Common
// wording and isolated sentences could count.
func (b *builder) couldCount() spans {
	out := b.checked.without(b.headed)
	for _, m := range b.masks {
		switch m.why {
		case concordat.ExcludedCommon, concordat.ExcludedUndecided, concordat.ExcludedPassage, concordat.ExcludedGroup:
		default:
			out = out.without(m.spans)
		}
	}
	return out
}

// literalness returns the mean, over the covered characters, of the highest similarity of any passage that contains them.
func (b *builder) literalness(chains []*chain, covered spans) float64 {
	total := b.count.sum(covered)
	if total == 0 {
		return 0
	}
	sum := 0.0
	sweep(b.claims(chains, func(p concordat.Passage) float64 { return p.Similarity }), func(s concordat.Span, best claim) {
		sum += best.rank * float64(b.count.sum(spans{s}.and(covered)))
	})
	return min(sum/float64(total), 1)
}

// stretches splits covered text by the strongest kind at each byte.
func (b *builder) stretches(chains []*chain, covered spans) []Stretch {
	var out []Stretch
	sweep(b.claims(chains, byStrength), func(s concordat.Span, best claim) {
		for _, x := range (spans{s}).and(covered) {
			if n := len(out); n > 0 && out[n-1].End == x.Start && out[n-1].Kind == best.kind {
				out[n-1].End = x.End
				continue
			}
			out = append(out, Stretch{x, best.kind})
		}
	})
	return out
}

// claim is a counting passage, with the data for one computation.
type claim struct {
	concordat.Span
	kind concordat.Kind
	rank float64 // at each byte, the claim with the highest rank wins
}

// claims returns the counting passages in order of start.
func (b *builder) claims(chains []*chain, rank func(concordat.Passage) float64) []claim {
	var out []claim
	for _, c := range chains {
		if c.excluded != "" {
			continue
		}
		for _, p := range c.raw {
			if !b.kinds[p.Kind] {
				out = append(out, claim{p.Span, p.Kind, rank(p)})
			}
		}
	}
	sortClaims(out)
	return out
}

// sortClaims sorts claims by start.
func sortClaims(cs []claim) {
	slices.SortFunc(cs, func(x, y claim) int {
		return cmp.Or(bySpan(x.Span, y.Span), -cmp.Compare(x.rank, y.rank), cmp.Compare(x.kind, y.kind))
	})
}

// claimHeap keeps the claim of highest rank on top; kinds break ties, so that input order never matters.
type claimHeap []claim

func (h claimHeap) Len() int { return len(h) }
func (h claimHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].rank, h[i].rank), cmp.Compare(h[i].kind, h[j].kind)) < 0
}
func (h claimHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *claimHeap) Push(x any)   { *h = append(*h, x.(claim)) }
func (h *claimHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// sweep calls f for consecutive disjoint spans, each with the claim of highest rank that covers it. cs must be in order of start. It runs
// in O(n log n) time.
func sweep(cs []claim, f func(concordat.Span, claim)) {
	var open claimHeap
	at, i := 0, 0
	for i < len(cs) || len(open) > 0 {
		if len(open) == 0 {
			at = max(at, cs[i].Start)
		}
		for i < len(cs) && cs[i].Start <= at {
			heap.Push(&open, cs[i])
			i++
		}
		for len(open) > 0 && open[0].End <= at {
			heap.Pop(&open)
		}
		if len(open) == 0 {
			continue
		}
		next := open[0].End
		if i < len(cs) && cs[i].Start < next {
			next = cs[i].Start
		}
		f(concordat.Span{Start: at, End: next}, open[0])
		at = next
	}
}

// ranked returns every source with its matches: counting sources by share, then the rest.
func (b *builder) ranked(chains []*chain, of [][]int) []RankedSource {
	in := make([][]int, len(chains)) // evidence of each chain, in order
	for e, members := range of {
		for _, i := range members {
			in[i] = append(in[i], e)
		}
	}
	alone := b.alone(chains)
	var out []RankedSource
	for _, own := range b.bySource(chains) {
		cs := make([]*chain, len(own))
		for k, i := range own {
			cs[k] = chains[i]
		}
		s := b.rank(cs, alone)
		for _, i := range own {
			s.Evidence = append(s.Evidence, in[i]...)
		}
		slices.Sort(s.Evidence)
		s.Evidence = slices.Compact(s.Evidence)
		b.asWork(&s, cs)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(x, y RankedSource) int {
		return cmp.Or(
			cmp.Compare(boolInt(x.Excluded != ""), boolInt(y.Excluded != "")),
			cmp.Compare(y.Characters, x.Characters),
			compareRefs(x.Ref, y.Ref),
		)
	})
	return out
}

// rank returns the totals of one source. Excluded sources show what they would contribute, so that a reader can judge the exclusion.
func (b *builder) rank(cs []*chain, alone spans) RankedSource {
	s := RankedSource{Ref: cs[0].ref, Title: cs[0].title, Excluded: cs[0].excluded}
	most := 0
	for _, c := range cs {
		if s.Title == "" {
			s.Title = c.title
		}
		if c.excluded == "" {
			s.Excluded = ""
			break
		}
		if n := b.count.sum(c.all); n > most {
			most, s.Excluded = n, c.excluded
		}
	}
	var held, exact []concordat.Span
	for _, c := range cs {
		switch {
		case s.Excluded == "" && c.excluded != "":
		case s.Excluded != "" && len(c.counted) == 0:
			held, exact = append(held, c.all...), append(exact, c.exact...)
		default:
			held, exact = append(held, c.counted...), append(exact, c.exact...)
		}
	}
	all := union(held)
	s.Held = all
	for _, section := range b.f.Sections {
		span := spans{clip(b.text, section.Span)}
		of := 0.0
		if n := b.count.sum(span.and(b.checked)); n > 0 {
			of = float64(b.count.sum(span.and(all))) / float64(n)
		}
		s.Sections = append(s.Sections, of)
	}
	s.Characters = b.count.sum(all)
	s.Share = b.part(all)
	s.Verbatim = b.part(union(exact).and(all))
	if s.Excluded == "" {
		s.Alone, s.Estimate = b.part(all.and(alone)), b.estimate(cs)
	}
	return s
}

// alone returns the counting text found in exactly one source.
func (b *builder) alone(chains []*chain) spans {
	type edge struct{ at, step int }
	var edges []edge
	for _, of := range b.bySource(chains) {
		var own []concordat.Span // passages of the same source do not compete with each other
		for _, i := range of {
			if chains[i].excluded == "" {
				own = append(own, chains[i].counted...)
			}
		}
		for _, s := range union(own) {
			edges = append(edges, edge{s.Start, 1}, edge{s.End, -1})
		}
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	var out []concordat.Span
	depth, from := 0, 0
	for _, e := range edges {
		if depth == 1 && e.at > from {
			out = append(out, concordat.Span{Start: from, End: e.at})
		}
		depth += e.step
		from = e.at
	}
	return union(out)
}

// sections returns the score of each section separately.
func (b *builder) sections(covered spans) []SectionScore {
	var out []SectionScore
	for _, s := range b.f.Sections {
		s.Span = clip(b.text, s.Span)
		x := SectionScore{Section: s, Excluded: slices.Contains(b.r.ExcludeSections, s.Name)}
		x.Checked = b.count.sum(spans{s.Span}.and(b.checked))
		if could := b.count.sum(spans{s.Span}.and(b.could)); could > 0 {
			x.Share = min(1, float64(b.count.sum(spans{s.Span}.and(covered)))/float64(could))
		}
		out = append(out, x)
	}
	return out
}
