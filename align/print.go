package align

import (
	"math"
	"slices"

	"concordat"
)

// Print holds the data that a fingerprint reveals about a sentence. After the first round of a federated check, an asker and an owner
// know this much about each other's sentences, plus the number of features, which takes one more byte. A Print without features is a
// sentence excluded from comparison, and equals no other.
type Print struct {
	Span        concordat.Span
	Chars       int // letters and digits; one Han character counts as three
	Features    int // number of distinct features in the sentence
	Fingerprint concordat.Fingerprint
	Check       int // check of the words in order (see [Text.Check]); 0 if unknown
}

// printHashes is the number of hashes in a fingerprint under a scheme with b = 4, the only kind supported here.
const printHashes = concordat.Nibbles

// maxPrintCells is the maximum number of comparisons of fingerprints, which have no inverted lists; beyond it, only sentences near equal
// bands are compared.
const maxPrintCells = 1 << 24

// PairPrints returns the passages of a that occur in b according to the fingerprints, in order of a. Both must use the same scheme with
// four bits per hash and be in text order. Spans cover whole sentences, Similarity is estimated, and Words is nil; [LiteralPrints] shows
// where exact edges are available.
func PairPrints(a, b []Print, o Options) []Passage {
	o = o.forPrints(overlapping(a, b))
	p := newPrintPairing(a, b, &o)
	var out []Passage
	for _, f := range p.found() {
		out = append(out, p.rough(f))
	}
	return out
}

// LiteralPrints is the counterpart of [Literal] for fingerprints. It returns only stretches in which at least one pair of sentences has
// the same check.
func LiteralPrints(a, b []Print, o Options) []Passage {
	o = o.forPrints(overlapping(a, b))
	return newPrintPairing(a, b, &o).literal(func(c cell) bool { return a[c.row].Check != 0 && a[c.row].Check == b[c.col].Check })
}

func newPrintPairing(a, b []Print, o *Options) *pairing {
	p := &pairing{a: printUnits(a), b: printUnits(b), o: o, unit: 1, prints: true,
		totalA: func(from, to int32) []float32 { return features(a[from:to]) },
		totalB: func(from, to int32) []float32 { return features(b[from:to]) }}
	p.account = func(c *cluster) func(cell) float32 {
		leftA, leftB := features(a[c.a0:c.a1]), features(b[c.b0:c.b1])
		return func(s cell) float32 {
			x, y := &leftA[s.row-c.a0], &leftB[s.col-c.b0]
			v := min(inCommon(&a[s.row], &b[s.col]), *x, *y)
			*x, *y = *x-v, *y-v
			return v
		}
	}
	p.cells = comparePrints(a, b, o)
	support(p.cells, o)
	return p
}

// overlapping reports whether the features in the sentences overlap each other, as words with their characters or runs of characters do.
// English has one content word per seven or eight letters; Chinese has three features in the same length.
func overlapping(a, b []Print) bool {
	const most = 0.2 // features per letter
	features, letters := 0, 0
	for _, side := range [][]Print{a, b} {
		for _, p := range side {
			features += p.Features
			letters += p.Chars
		}
	}
	return float64(features) > most*float64(letters)
}

func printUnits(ps []Print) []unit {
	out := make([]unit, len(ps))
	for i, p := range ps {
		out[i] = unit{chars: int32(p.Chars), start: int32(p.Span.Start), end: int32(p.Span.End)}
	}
	return out
}

func features(ps []Print) []float32 {
	out := make([]float32, len(ps))
	for i, p := range ps {
		out[i] = float32(p.Features)
	}
	return out
}

// inCommon estimates how many features two sentences share, from their numbers of features and the share of equal hashes, given that one
// in sixteen is equal by chance (Li and König 2010, theorem 1).
func inCommon(a, b *Print) float32 {
	equal := printHashes - a.Fingerprint.NibbleDistance(b.Fingerprint)
	r := (float32(equal)/printHashes - 1.0/16) / (15.0 / 16)
	if r <= 0 {
		return 0
	}
	x, y := float32(a.Features), float32(b.Features)
	return min(r*(x+y)/(1+r), x, y)
}

func comparePrints(a, b []Print, o *Options) []cell {
	floor := float32(o.Floor)
	columns := columnsOf(a, b)
	var cells []cell
	for i := range a {
		if a[i].Features == 0 {
			continue
		}
		begin := len(cells)
		for _, j := range columns(i) {
			n := inCommon(&a[i], &b[j])
			x, y := float32(a[i].Features), float32(b[j].Features)
			if n > 0 && 2*n > floor*(x+y) {
				if sim := n / float32(math.Sqrt(float64(x*y))); sim > floor {
					cells = append(cells, cell{row: int32(i), col: j, sim: sim})
				}
			}
		}
		cells = append(cells[:begin], strongest(cells[begin:])...)
		slices.SortFunc(cells[begin:], byRow)
	}
	return thin(cells, len(b))
}

// columnsOf returns a function that lists, in ascending order, the sentences of b to compare with sentence i of a. It lists all of them
// or, in large documents, only sentences near one that shares a band with a sentence near i.
func columnsOf(a, b []Print) func(i int) []int32 {
	if len(a)*len(b) <= maxPrintCells {
		all := make([]int32, 0, len(b))
		for j := range b {
			if b[j].Features > 0 {
				all = append(all, int32(j))
			}
		}
		return func(int) []int32 { return all }
	}
	const (
		around  = 3  // in sentences, on either side
		maxHeld = 16 // maximum sentences per band to follow
	)
	var held [concordat.Bands]map[uint32][]int32
	for k := range held {
		held[k] = make(map[uint32][]int32)
		for j := range b {
			if band := b[j].Fingerprint.Band(k); len(held[k][band]) < maxHeld {
				held[k][band] = append(held[k][band], int32(j))
			}
		}
	}
	var out []int32
	return func(i int) []int32 {
		out = out[:0]
		for r := max(0, i-around); r <= min(len(a)-1, i+around); r++ {
			for k := range held {
				for _, j := range held[k][a[r].Fingerprint.Band(k)] {
					for c := max(0, j-around); c <= min(int32(len(b))-1, j+around); c++ {
						out = append(out, c)
					}
				}
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
		return out
	}
}

// forPrints fills in the defaults for fingerprints, whose similarities vary much more. A seed must be more certain, especially if
// unrelated sentences share overlapping features, and neighbours count only if they are clearly similar.
func (o Options) forPrints(overlapping bool) Options {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Floor, 0.2)
	if overlapping {
		def(&o.Seed, 0.62)
	}
	def(&o.Seed, 0.55)
	def(&o.SupportOffset, 0.2)
	def(&o.Evidence, 10)
	return o.filled()
}
