package meaning

import "math"

// highest holds the greatest numbers of other documents in descending order, with prior in place of smaller ones.
type highest [neighbours]float32

func newHighest() (h highest) {
	for k := range h {
		h[k] = prior
	}
	return h
}

func (h *highest) add(s float32) {
	for k := range h {
		if s > h[k] {
			s, h[k] = h[k], s
		}
	}
}

func (h *highest) mean() float32 {
	sum := float32(0)
	for _, s := range h {
		sum += s
	}
	return sum / neighbours
}

// nearSource is a source and its nearness to a sentence.
type nearSource struct {
	source     int
	similarity float32
}

// nearestSources holds the sources nearest to a sentence in descending order of nearness. It holds one more than the mean uses, so that
// any one can be left out.
type nearestSources struct {
	best [neighbours + 1]nearSource
	n    int
}

func (b *nearestSources) add(x nearSource) {
	for k := range b.best[:b.n] {
		if x.similarity > b.best[k].similarity {
			x, b.best[k] = b.best[k], x
		}
	}
	if b.n < len(b.best) {
		b.best[b.n] = x
		b.n++
	}
}

func (b *nearestSources) all() []nearSource { return b.best[:b.n] }

// full reports whether there are as many sources as the mean uses.
func (b *nearestSources) full() bool { return b.n >= neighbours }

// mean returns the mean over the nearest sources other than the given one, or 0 if there are none.
func (b *nearestSources) mean(without int) float32 {
	sum, n := float32(0), 0
	for _, x := range b.all() {
		if x.source != without && n < neighbours {
			sum += x.similarity
			n++
		}
	}
	return sum / float32(max(n, 1))
}

// background returns the mean over the nearest sources other than the given one, with prior in place of smaller similarities.
func (b *nearestSources) background(without int) float32 {
	h := newHighest()
	for _, x := range b.all() {
		if x.source != without {
			h.add(x.similarity)
		}
	}
	return h.mean()
}

// here returns the background of a submission's sentence for a source.
func (c *Comparison) here(i int32, d int) float32 {
	if c.nearest == nil {
		c.nearest = make([]nearestSources, len(c.submission.Spans))
		for k, best := range c.best {
			for i, s := range best {
				c.nearest[i].add(nearSource{k, s})
			}
		}
	}
	return c.nearest[i].background(d)
}

// sharedSteps are the descending shares of words for the search of a source sentence's background; sentences that share most come first.
var sharedSteps = [...]float32{0.3, 0.2, 0.13, leastShared}

// roundOff is an upper bound on the rounding error of a similarity.
const roundOff = 1e-4

// there returns the background of a source's sentence, that is, how near sentences of other sources are. It searches by words first,
// because without shared words the table alone does not reach the assumed background. A result above enough can be too low, but is always
// above enough.
func (c *Comparison) there(d int, j int32, enough float32) float32 {
	if c.held == nil {
		c.hold()
	}
	for _, p := range c.sources[d].sentences[j].Pieces {
		for _, x := range c.held[p.Piece] {
			if c.shared[x.at] == 0 {
				c.met = append(c.met, x.at)
			}
			c.shared[x.at] += p.Weight * x.weight
		}
	}
	clear(c.most)
	v := &c.across[d][j]
	var h highest
	above := float32(math.Inf(1))
	for _, least := range sharedSteps {
		h = newHighest()
		for k, s := range c.most {
			if k != d {
				h.add(s)
			}
		}
		if h.mean() > enough+roundOff {
			break
		}
		last := h[neighbours-1]
		for _, at := range c.met {
			shared := c.shared[at]
			if shared < least || shared >= above {
				continue
			}
			k := c.places[at].source
			if most := joined(shared, 1) + roundOff; int(k) == d || most <= c.most[k] || most <= last {
				continue
			}
			c.most[k] = max(c.most[k], joined(shared, Dot(v, &c.across[k][c.places[at].sentence])))
		}
		above = least
	}
	for _, at := range c.met {
		c.shared[at] = 0
	}
	c.met = c.met[:0]
	h = newHighest()
	for k, s := range c.most {
		if k != d {
			h.add(s)
		}
	}
	return h.mean()
}

// hold records the pieces of each sentence of the sources.
func (c *Comparison) hold() {
	c.held = map[int32][]holder{}
	for k, source := range c.sources {
		if c.best[k] == nil {
			continue
		}
		for m := range source.sentences {
			if !source.prose[m] {
				continue
			}
			at := int32(len(c.places))
			c.places = append(c.places, place{int32(k), int32(m)})
			for _, p := range source.sentences[m].Pieces {
				c.held[p.Piece] = append(c.held[p.Piece], holder{at, p.Weight})
			}
		}
	}
	c.shared, c.most = make([]float32, len(c.places)), make([]float32, len(c.sources))
}
