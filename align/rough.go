package align

import (
	"cmp"
	"math"
	"slices"
)

// For people, passages found by sketches and fingerprints are cut like passages of texts (people.go), as precisely as units allow. A
// passage must have counterparts throughout, on both sides. Because the matching words within a unit are unknown, limits are in letters
// of whole units.
const (
	// bareLetters is the maximum number of consecutive letters without a counterpart on either side, which is two short sentences or one
	// long one, about maxBare words.
	bareLetters = 150
	// leastLike is the minimum similarity of two units that are counterparts; less similar units appear related only because of the units
	// around them. leastLikePrints is the same for fingerprints, where six of 25 hashes are equal by chance once in 270 pairs, and seven
	// once in 1,500.
	leastLike, leastLikePrints = 0.2, 0.35
	// aloneLike is the similarity at which a single unit is a passage; alonePrints is the same for fingerprints.
	aloneLike, alonePrints = 0.55, 0.7
	// pieceEvidence is the share of [Options].Evidence that a piece of a passage must reach on its own.
	pieceEvidence = 0.6
)

// found returns the passages in a comparison of units, in order of A.
func (p *pairing) found() []found {
	all := p.reworded()
	if p.o.Bridged {
		return all
	}
	var out []found
	for _, f := range all {
		out = append(out, p.pieces(f)...)
	}
	slices.SortFunc(out, func(x, y found) int { return cmp.Or(int(x.a0-y.a0), int(x.b0-y.b0)) })
	return out
}

// pieces returns the parts of a passage with counterparts throughout. For a summary, it returns each piece with the text it condenses, or
// nil if too little of the summary has a counterpart.
func (p *pairing) pieces(f found) []found {
	var kept []cluster
	for _, cells := range p.unbridged(p.alike(f)) {
		kept = p.keepPiece(kept, cells, f.summary)
	}
	kept = p.disjoint(kept)
	out := make([]found, 0, len(kept))
	held := int32(0)
	for _, c := range kept {
		out = append(out, found{c.a0, c.a1, c.b0, c.b1, f.summary})
		held += charsOf(p.a[c.a0:c.a1])
	}
	if f.summary && float64(held) < summaryShare*float64(charsOf(p.a[f.a0:f.a1])) {
		return nil
	}
	return out
}

// alike returns the cells of a passage whose units are counterparts; neither unit is twice as similar to another one.
func (p *pairing) alike(f found) []cell {
	least := float32(leastLike)
	if p.prints {
		least = leastLikePrints
	}
	var out []cell
	bestA, bestB := make([]float32, f.a1-f.a0), make([]float32, f.b1-f.b0)
	for _, c := range p.cells {
		if c.row < f.a0 || c.row >= f.a1 || c.col < f.b0 || c.col >= f.b1 || float64(c.score) <= p.o.Seed || c.sim < least {
			continue
		}
		out = append(out, c)
		x, y := &bestA[c.row-f.a0], &bestB[c.col-f.b0]
		*x, *y = max(*x, c.sim), max(*y, c.sim)
	}
	return slices.DeleteFunc(out, func(c cell) bool { return 2*c.sim < max(bestA[c.row-f.a0], bestB[c.col-f.b0]) })
}

// keepPiece appends the piece made of unbridged cells to out if it is enough evidence on its own, as two parts if the source's side is
// too wide.
func (p *pairing) keepPiece(out []cluster, cells []cell, summary bool) []cluster {
	c := newCluster(cells)
	p.trim(&c)
	if len(c.seeds) == 0 || p.short(c) || !p.says(&c, summary) {
		return out
	}
	if na, nb := charsOf(p.a[c.a0:c.a1]), charsOf(p.b[c.b0:c.b1]); float64(nb) > maxWider*float64(na) {
		if one, other := p.divided(c.seeds); len(other) > 0 {
			return p.keepPiece(p.keepPiece(out, one, summary), other, summary)
		}
	}
	c.level, _ = p.sides(&c)
	return append(out, c)
}

// says reports whether a piece is evidence once trimmed.
func (p *pairing) says(c *cluster, summary bool) bool {
	if c.a1-c.a0 > 1 || summary {
		a, b := p.sides(c)
		return (a+b)/2 > p.o.Accept && float64(c.evidence) > pieceEvidence*p.enough()
	}
	least := float32(aloneLike)
	if p.prints {
		least = alonePrints
	}
	return slices.ContainsFunc(c.seeds, func(s cell) bool { return s.sim >= least })
}

// divided splits cells at the widest stretch without cells on the source's side. Without such a stretch, the second part is empty.
func (p *pairing) divided(cells []cell) (one, other []cell) {
	slices.SortFunc(cells, byCol)
	at, widest := 0, int32(0)
	for i := 1; i < len(cells); i++ {
		if cells[i].col > cells[i-1].col+1 {
			if n := charsOf(p.b[cells[i-1].col+1 : cells[i].col]); n > widest {
				at, widest = i, n
			}
		}
	}
	if at == 0 {
		return cells, nil
	}
	return slices.Clone(cells[:at]), slices.Clone(cells[at:])
}

// unbridged splits cells, which must be in row order, wherever two of them are too far apart on either side.
func (p *pairing) unbridged(cells []cell) [][]cell {
	type group struct {
		cells     []cell
		byB       bool
		undivided int // sides that have not caused a split
	}
	var out [][]cell
	todo := []group{{cells: cells}}
	for len(todo) > 0 {
		g := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(g.cells) == 0 {
			continue
		}
		if g.undivided == 2 {
			out = append(out, g.cells)
			continue
		}
		units, key, order := p.a, rowOf, byRow
		if g.byB {
			units, key, order = p.b, colOf, byCol
		}
		slices.SortFunc(g.cells, order)
		from := 0
		for i := 1; i <= len(g.cells); i++ {
			if i < len(g.cells) && bareBetween(units, key(g.cells[i-1]), key(g.cells[i])) <= bareLetters {
				continue
			}
			next := group{cells: g.cells[from:i:i], byB: !g.byB}
			if from == 0 && i == len(g.cells) {
				next.undivided = g.undivided + 1
			}
			todo = append(todo, next)
			from = i
		}
	}
	return out
}

// bareBetween returns the number of letters between two units, or infinity if some text between them is excluded from comparison.
func bareBetween(units []unit, from, to int32) int32 {
	n := int32(0)
	for i := from + 1; i < to; i++ {
		if units[i].chars == 0 {
			return math.MaxInt32
		}
		n += units[i].chars
	}
	return n
}
