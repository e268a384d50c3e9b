package screen

import (
	"io"
	"iter"
)

// Blocks returns the number of blocks.
func (p *Packed) Blocks() int { return len(p.keys) }

// All yields the prints in ascending order and ends after an error.
func (p *Packed) All() iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		var block []uint64
		for i := range p.keys {
			var err error
			if block, err = p.Block(i, block[:0]); err != nil {
				yield(0, err)
				return
			}
			for _, x := range block {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// Pack writes table i of the design in packed form and returns its size.
func (t *Tables) Pack(i int, w io.Writer) (int64, error) { return Pack(w, t.tables[i]) }

// Hot returns the prints stored more than most times, most frequent first.
func (t *Tables) Hot(most int) []Hot { return hot(t.prints, most) }

// PairsOf is Pairs for one part of the grams, which are divided into parts by hash. Together, the parts emit every pair once; they can
// run in parallel.
func (s *Short) PairsOf(part, parts int, emit func(a, b int, similarity float64) bool) (measured int) {
	return s.pairs(0, 0, part, parts, emit)
}
