package wording

import "concordat"

// Places tells where the grams of one text stand in it.
type Places struct {
	w  *Words
	at map[uint64]gram // first place of each
}

// Places finds the grams of w that are of c; a nil c: all.
func (w *Words) Places(c *Common) *Places {
	p := &Places{w: w, at: map[uint64]gram{}}
	for i := len(w.grams) - 1; i >= 0; i-- {
		g := w.grams[i]
		if c != nil {
			if _, ok := c.held[g.hash]; !ok {
				continue
			}
		}
		p.at[g.hash] = g
	}
	return p
}

// maxAside is how many words of the other text may lie between two grams of one stretch.
const maxAside = 12

// Beside is a stretch of a text beside the same wording of another.
type Beside struct {
	Here, There concordat.Span
	Words       []concordat.SpanPair // runs of equal words, in order of both
	Share       float64              // of the words of Here that are in Words, 0 to 1
}

// Beside returns where the wording of a stretch of w stands in the other text. ok is false if none of its grams does.
func (p *Places) Beside(w *Words, s concordat.Span) (out Beside, ok bool) {
	first, last := w.within(s)
	type run struct{ a, b, n int32 }
	var runs []run
	take := func(a, b, n int32) {
		if k := len(runs) - 1; k >= 0 {
			r := &runs[k]
			if skip := r.a + r.n - a; skip > 0 { // grams overlap
				a, b, n = a+skip, b+skip, n-skip
			}
			switch {
			case n <= 0:
				return
			case b < r.b+r.n || b > r.b+r.n+maxAside:
				return
			case a == r.a+r.n && b == r.b+r.n:
				r.n += n
				return
			}
		}
		runs = append(runs, run{a, b, n})
	}
	for i := first; i < last; i++ {
		if i+gramWords <= last {
			if g, known := p.at[w.grams[i].hash]; known {
				take(i, g.first, gramWords)
			}
		}
	}
	if len(runs) == 0 { // a line that is shorter than a gram
		if g, known := p.at[^w.hashOf(int(first), int(last))]; known {
			take(first, g.first, last-first)
		}
	}
	if len(runs) == 0 {
		return out, false
	}
	equal := int32(0)
	for _, r := range runs {
		equal += r.n
		out.Words = append(out.Words, concordat.SpanPair{Span: w.span(r.a, r.a+r.n), Source: p.w.span(r.b, r.b+r.n)})
	}
	end := runs[len(runs)-1]
	out.Here = w.span(runs[0].a, end.a+end.n)
	out.There = p.w.span(runs[0].b, end.b+end.n)
	out.Share = float64(equal) / float64(end.a+end.n-runs[0].a)
	return out, true
}
