package compare

import (
	"cmp"
	"slices"
	"strings"

	"concordat"
	"concordat/align/wording"
)

// Formulas: laws and calls for proposals are written in set phrases, each shared with other documents. A ring of copiers, by contrast,
// shares all its pieces with the same few documents. So a short piece is a formula if several documents of different origin contain it,
// and two documents have one origin if oneOrigin or more of what each shares with the text is in both.
//
// A formula with another date, number or name in it is not found in enough documents, because it is aligned in pieces. Near copies were
// therefore tried as holders: sources with a place that contains a share of the passage's word trigrams, any number standing for any
// other. Passages that count in a batch of 45 laws (drawn with seed 41 from the corpus zh-laws), and passages lost among 120 of
// rings of six made-up documents that share four pieces of 40 words, each member changing one word in 12, 8 or 6:
//
//	                                                               laws   rings
//	no near copies                                                  370   0, 0, 0
//	40% of the trigrams                                             318   0, 0, 0
//	30%                                                             272   0, 0, 0
//	30%, and three quarters of what the passage's own source has    292   0, 0, 0
//	30%, and unrelated if most numbers differ                       252   0, 0, 0
//	40%, and unrelated if the places share under half               266   0, 51, 100
//	40%, and unrelated if the places share under 70%                238   85, 107, 120
//
// The four ways of near copies that lose no ring leave much of what they should remove. At 40%, half of the passages have too few near
// copies, even if documents without passages are included, and a quarter have them only in documents that share little else with the text
// and so count as related. The last two ways call documents unrelated if their versions differ, as legislators' do, but so do those of
// copiers who reword one text independently. As the passages that remain are formulas too, and the safe ways have not been measured on
// whole evaluations, only exact pieces are compared.
const (
	leastOrigins = 4   // minimum origins of a formula apart from the text itself
	oneOrigin    = 0.4 // minimum share of what each of two documents shares with the text that is in both
	maxFormulas  = 64  // maximum holders of a piece whose origins are compared
)

// markFormulas marks the short passages that documents of different origin contain as common wording, and judges what remains of their
// sources again, because formulas do not support one another. A piece next to wording.LongWords shared words is no formula.
func (w *SharedWording) markFormulas(passages []concordat.Passage) {
	var order []int
	for i, p := range passages {
		if mayCount(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(passages[i].Span.Start, passages[j].Span.Start) })
	held := map[concordat.Ref][]concordat.Span{}
	ends := make([]int, len(order)) // latest end of any passage up to each one
	for k, i := range order {
		p := passages[i]
		held[p.Source] = append(held[p.Source], p.Span)
		ends[k] = p.Span.End
		if k > 0 {
			ends[k] = max(ends[k], ends[k-1])
		}
	}
	for ref, spans := range held {
		held[ref] = Joined(spans)
	}
	same := map[[2]concordat.Ref]bool{}
	holders := make([][]concordat.Ref, len(order)) // of each piece that may be a formula
	for k, i := range order {
		p := passages[i]
		if w.Words.Count(p.Span) >= wording.LongWords {
			continue
		}
		hs := holdersOf(passages, order, ends, k)
		if len(hs) < leastOrigins-1 {
			continue
		}
		origins := []concordat.Ref{p.Source}
		for _, h := range hs[:min(len(hs), maxFormulas)] {
			if len(origins) == leastOrigins {
				break
			}
			if !slices.ContainsFunc(origins, func(o concordat.Ref) bool { return related(same, held, o, h) }) {
				origins = append(origins, h)
			}
		}
		if len(origins) >= leastOrigins {
			holders[k] = hs
		}
	}
	var formulas []int
	for k, i := range order {
		if holders[k] == nil {
			continue
		}
		// Another formula next to this one proves nothing, unless the same documents contain both: then they are pieces of one text.
		if !w.besideMore(passages, order, k, func(x int) bool { return holders[x] != nil && !mostIn(holders[k], holders[x]) }) {
			formulas = append(formulas, i)
		}
	}
	again := map[concordat.Ref]bool{}
	for _, i := range formulas {
		passages[i].Wording, again[passages[i].Source] = concordat.KindCommon, true
	}
	for ref := range again {
		w.judgeAgain(passages, ref)
	}
	if len(again) > 0 {
		w.support(passages)
	}
}

// mostIn reports whether at least half of the sources in a are also in b. Both must be sorted by name.
func mostIn(a, b []concordat.Ref) bool {
	n := 0
	for _, r := range a {
		if _, ok := slices.BinarySearchFunc(b, r, func(x, y concordat.Ref) int { return strings.Compare(x.String(), y.String()) }); ok {
			n++
		}
	}
	return 2*n >= len(a)
}

// holdersOf returns the sources other than its own that contain most of passage order[k], by name.
func holdersOf(passages []concordat.Passage, order, ends []int, k int) []concordat.Ref {
	p := passages[order[k]]
	var out []concordat.Ref
	add := func(j int) {
		q := passages[j]
		if q.Source != p.Source && float64(min(q.Span.End, p.Span.End)-max(q.Span.Start, p.Span.Start)) >= coversMost*float64(p.Span.Len()) {
			out = append(out, q.Source)
		}
	}
	for x := k; x >= 0 && ends[x] > p.Span.Start; x-- {
		add(order[x])
	}
	for x := k + 1; x < len(order) && passages[order[x]].Span.Start < p.Span.End; x++ {
		add(order[x])
	}
	slices.SortFunc(out, func(x, y concordat.Ref) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(out)
}

// related reports whether two sources have one origin, judging by what each shares with the text.
func related(known map[[2]concordat.Ref]bool, held map[concordat.Ref][]concordat.Span, a, b concordat.Ref) bool {
	if a.String() > b.String() {
		a, b = b, a
	}
	out, ok := known[[2]concordat.Ref{a, b}]
	if !ok {
		x, y := held[a], held[b]
		both, sizeX, sizeY := 0, 0, 0
		for _, s := range x {
			sizeX += s.Len()
		}
		for _, s := range y {
			sizeY += s.Len()
		}
		for i, j := 0, 0; i < len(x) && j < len(y); {
			both += max(0, min(x[i].End, y[j].End)-max(x[i].Start, y[j].Start))
			if x[i].End < y[j].End {
				i++
			} else {
				j++
			}
		}
		out = float64(both) >= oneOrigin*float64(max(sizeX, sizeY))
		known[[2]concordat.Ref{a, b}] = out
	}
	return out
}

// judgeAgain judges what remains of a source's passages.
func (w *SharedWording) judgeAgain(passages []concordat.Passage, ref concordat.Ref) {
	var at []int
	for i, p := range passages {
		if p.Source == ref && p.Wording == "" {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(passages[i].Span.Start, passages[j].Span.Start) })
	rest := make([]concordat.Passage, len(at))
	for k, i := range at {
		rest[k] = passages[i]
	}
	w.Judge(rest)
	for k, i := range at {
		passages[i].Wording, passages[i].Why = rest[k].Wording, rest[k].Why
	}
}
