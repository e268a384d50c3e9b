package report

import (
	"cmp"
	"container/heap"
	"slices"

	"concordat"
)

// scores counts one set of evidence in every way a report shows.
func (b *builder) scores(chains []*chain, covered spans) Scores {
	var found, common, exact []concordat.Span
	for _, c := range chains {
		found = append(found, c.all...)
		switch c.excluded {
		case "":
			exact = append(exact, c.exact...)
		case concordat.ExcludedCommon:
			common = append(common, c.all...)
		}
	}
	all := union(found)
	onlyCommon := union(common).without(covered).without(b.masked)
	s := Scores{Characters: b.count.Characters(concordat.Span{End: len(b.text)}), Checked: b.measured}
	if b.measured == 0 {
		return s
	}
	s.Found = b.share(all)
	s.Covered = b.share(covered)
	s.Verbatim = b.share(union(exact))
	s.Changed = max(s.Covered-s.Verbatim, 0)
	s.Common = b.share(onlyCommon)
	s.Excluded = b.share(all.without(covered).without(onlyCommon))
	s.Quoted = b.share(all.and(b.quotes))
	s.Literalness = b.literalness(chains, covered)
	return s
}

// share returns the characters of s over those checked, or 0 if nothing was.
func (b *builder) share(s spans) float64 {
	if b.measured == 0 {
		return 0
	}
	return float64(b.count.sum(s)) / float64(b.measured)
}

// literalness returns the mean over the covered characters of the highest similarity of any
// passage that holds them.
func (b *builder) literalness(chains []*chain, covered spans) float64 {
	var ps bySimilarity
	for _, c := range chains {
		if c.excluded != "" {
			continue
		}
		for _, p := range c.raw {
			if !b.kinds[p.Kind] {
				ps = append(ps, similar{p.Span, p.Similarity})
			}
		}
	}
	slices.SortFunc(ps, func(x, y similar) int { return bySpan(x.Span, y.Span) })
	total := b.count.sum(covered)
	if total == 0 {
		return 0
	}
	sum := 0.0
	sweep(ps, func(s concordat.Span, best float64) {
		sum += best * float64(b.count.sum(spans{s}.and(covered)))
	})
	return min(sum/float64(total), 1)
}

// similar is a span and the similarity found there.
type similar struct {
	concordat.Span
	similarity float64
}

// bySimilarity is a heap, most similar first.
type bySimilarity []similar

func (h bySimilarity) Len() int           { return len(h) }
func (h bySimilarity) Less(i, j int) bool { return h[i].similarity > h[j].similarity }
func (h bySimilarity) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *bySimilarity) Push(x any)        { *h = append(*h, x.(similar)) }
func (h *bySimilarity) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// sweep calls f for disjoint stretches in order, each with the highest similarity that holds all
// of it. ps is in order of start.
func sweep(ps []similar, f func(concordat.Span, float64)) {
	var open bySimilarity
	at, i := 0, 0
	for i < len(ps) || len(open) > 0 {
		if len(open) == 0 {
			at = max(at, ps[i].Start)
		}
		for i < len(ps) && ps[i].Start <= at {
			heap.Push(&open, ps[i])
			i++
		}
		for len(open) > 0 && open[0].End <= at {
			heap.Pop(&open)
		}
		if len(open) == 0 {
			continue
		}
		next := open[0].End
		if i < len(ps) && ps[i].Start < next {
			next = ps[i].Start
		}
		f(concordat.Span{Start: at, End: next}, open[0].similarity)
		at = next
	}
}

// ranked lists every source with what it holds, those that count by share, then the others.
func (b *builder) ranked(chains []*chain, of [][]int) []RankedSource {
	in := make([]int, len(chains)) // evidence of each chain
	for i := range in {
		in[i] = -1
	}
	for e, members := range of {
		for _, i := range members {
			in[i] = e
		}
	}
	alone := b.alone(chains)
	var out []RankedSource
	for i := 0; i < len(chains); {
		j := i
		for j < len(chains) && chains[j].ref == chains[i].ref {
			j++
		}
		s := b.rank(chains[i:j], alone)
		for k := i; k < j; k++ {
			if e := in[k]; e >= 0 && !slices.Contains(s.Evidence[max(0, len(s.Evidence)-1):], e) {
				s.Evidence = append(s.Evidence, e)
			}
		}
		out = append(out, s)
		i = j
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

// rank sums up one source. Excluded sources show what they would hold, so that a reader can judge
// the exclusion.
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
			held = append(held, c.all...)
		default:
			held, exact = append(held, c.counted...), append(exact, c.exact...)
		}
	}
	all := union(held)
	s.Characters = b.count.sum(all)
	s.Share = b.share(all)
	s.Verbatim = b.share(union(exact).and(all))
	if s.Excluded == "" {
		s.Alone = b.share(all.and(alone))
	}
	return s
}

// alone returns what exactly one source holds, of what counts.
func (b *builder) alone(chains []*chain) spans {
	type edge struct{ at, step int }
	var edges []edge
	for i := 0; i < len(chains); {
		var own []concordat.Span // a source's own passages do not compete with each other
		j := i
		for ; j < len(chains) && chains[j].ref == chains[i].ref; j++ {
			if chains[j].excluded == "" {
				own = append(own, chains[j].counted...)
			}
		}
		for _, s := range union(own) {
			edges = append(edges, edge{s.Start, 1}, edge{s.End, -1})
		}
		i = j
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

// sections scores each section by itself.
func (b *builder) sections(covered spans) []SectionScore {
	var out []SectionScore
	for _, s := range b.f.Sections {
		s.Span = clip(b.text, s.Span)
		x := SectionScore{Section: s, Excluded: slices.Contains(b.r.ExcludeSections, s.Name)}
		x.Checked = b.count.sum(spans{s.Span}.and(b.checked))
		if x.Checked > 0 {
			x.Share = float64(b.count.sum(spans{s.Span}.and(covered))) / float64(x.Checked)
		}
		out = append(out, x)
	}
	return out
}
