package wording

import "concordat"

// Places maps the grams of one text to their positions.
type Places struct {
	w  *Words
	at map[uint64]gram // first position of each
}

// Places returns the positions of the grams of w that are in c, or of all grams if c is nil.
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

// maxAside is the maximum number of words of the other text between two grams of one stretch.
const maxAside = 12

// Beside is a stretch of a text that shares wording with another text.
type Beside struct {
	Here, There concordat.Span
	Words       []concordat.SpanPair // runs of equal words, in the order of both texts
	Share       float64              // share of the words in Here that are in Words, 0 to 1
}

// besideRun is n equal words, starting at word a of one text and word b of the other.
type besideRun struct{ a, b, n int32 }

// besideChain is a chain of runs in the order of both texts.
type besideChain struct {
	runs  []besideRun
	equal int32 // in words
}

// add appends n equal words to the chain; ok is false if they do not follow it.
func (c *besideChain) add(a, b, n int32) (ok bool) {
	r := &c.runs[len(c.runs)-1]
	if skip := r.a + r.n - a; skip > 0 { // grams overlap
		a, b, n = a+skip, b+skip, n-skip
	}
	next := r.b + r.n
	if b < next || b > next+maxAside {
		return false
	}
	if n <= 0 {
		return true
	}
	c.equal += n
	if a == r.a+r.n && b == next {
		r.n += n
	} else {
		c.runs = append(c.runs, besideRun{a, b, n})
	}
	return true
}

// maxChains is the number of most recent chains that a gram can continue.
const maxChains = 8

// Beside returns the place in the other text that contains most of the words of a stretch of w, since a text can repeat the start of a
// stretch elsewhere. ok is false if none of its grams occurs there.
func (p *Places) Beside(w *Words, s concordat.Span) (out Beside, ok bool) {
	first, last := w.within(s)
	var chains []besideChain
	take := func(a, b, n int32) {
		for k := len(chains) - 1; k >= max(0, len(chains)-maxChains); k-- {
			if chains[k].add(a, b, n) {
				return
			}
		}
		chains = append(chains, besideChain{[]besideRun{{a, b, n}}, n})
	}
	for i := first; i < last; i++ {
		if i+gramWords <= last {
			if g, known := p.at[w.grams[i].hash]; known {
				take(i, g.first, gramWords)
			}
		}
	}
	if len(chains) == 0 { // a line shorter than a gram
		if g, known := p.at[^w.hashOf(int(first), int(last))]; known {
			take(first, g.first, last-first)
		}
	}
	if len(chains) == 0 {
		return out, false
	}
	best := chains[0]
	for _, c := range chains[1:] {
		if c.equal > best.equal {
			best = c
		}
	}
	// Only the first position of a gram is recorded, so words before the chain can be equal even though their gram was not found there.
	for r := &best.runs[0]; r.a > first && r.b > 0 && w.hashes[r.a-1] == p.w.hashes[r.b-1]; best.equal++ {
		r.a, r.b, r.n = r.a-1, r.b-1, r.n+1
	}
	for _, r := range best.runs {
		out.Words = append(out.Words, concordat.SpanPair{Span: w.span(r.a, r.a+r.n), Source: p.w.span(r.b, r.b+r.n)})
	}
	begin, end := best.runs[0], best.runs[len(best.runs)-1]
	out.Here = w.span(begin.a, end.a+end.n)
	out.There = p.w.span(begin.b, end.b+end.n)
	out.Share = float64(best.equal) / float64(end.a+end.n-begin.a)
	return out, true
}
