package screen

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Wide is a print of up to 128 bits. Word 0 holds bits 0 to 63.
type Wide [2]uint64

// Distance returns the number of bits in which two prints differ.
func (w Wide) Distance(x Wide) int {
	return bits.OnesCount64(w[0]^x[0]) + bits.OnesCount64(w[1]^x[1])
}

// bits returns width bits starting at low; width must be at most 64.
func (w Wide) bits(low, width int) uint64 {
	if low >= 64 {
		return w[1] >> (low - 64) & ones(width)
	}
	return (w[0]>>low | w[1]<<(64-low)) & ones(width) // for low = 0, Go evaluates a shift by 64 as 0
}

// within returns the print with bit f and all higher bits cleared.
func (w Wide) within(f int) Wide {
	if f <= 64 {
		return Wide{w[0] & ones(f), 0}
	}
	return Wide{w[0], w[1] & ones(f-64)}
}

func compareWide(a, b Wide) int {
	return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
}

// WideTables works like Tables for prints of up to 128 bits. A table stores the first 64 permuted bits of each distinct print and its
// index, 12 bytes in total, so that the prints themselves are stored only once. It is immutable and safe for concurrent use.
type WideTables struct {
	design *Design
	tables []wideTable
	prints []Wide // distinct, ascending
	starts []uint32
	ids    []uint32 // IDs of prints[i]: ids[starts[i]:starts[i+1]], ascending
}

type wideTable struct {
	keys []uint64
	refs []uint32 // indexes into prints
	lead int      // number of leading bits in keys
}

// NewWideTables sorts the prints into the tables of the design. It refuses prints with more bits than the design, and more than 2^32-1
// prints. It does not retain the slice.
func NewWideTables(d *Design, prints []Wide) (*WideTables, error) {
	if int64(len(prints)) > math.MaxUint32 {
		return nil, fmt.Errorf("too many fingerprints: %d, but one set of tables can contain at most %d", len(prints), uint32(math.MaxUint32))
	}
	t := &WideTables{design: d, ids: make([]uint32, len(prints))}
	for i, p := range prints {
		if p.within(d.F) != p {
			return nil, fmt.Errorf("fingerprint %d has more than %d bits", i, d.F)
		}
		t.ids[i] = uint32(i)
	}
	slices.SortFunc(t.ids, func(a, b uint32) int {
		return cmp.Or(compareWide(prints[a], prints[b]), cmp.Compare(a, b))
	})
	for i, id := range t.ids {
		if i == 0 || prints[id] != prints[t.ids[i-1]] {
			t.prints, t.starts = append(t.prints, prints[id]), append(t.starts, uint32(i))
		}
	}
	t.starts = append(t.starts, uint32(len(t.ids)))
	n := len(t.prints)
	scratch, refScratch := make([]uint64, n), make([]uint32, n)
	for i := range d.Tables {
		w := wideTable{keys: make([]uint64, n), refs: make([]uint32, n), lead: min(64, d.Tables[i].Lead)}
		for j, p := range t.prints {
			w.keys[j], w.refs[j] = d.Tables[i].PermuteWide(p), uint32(j)
		}
		radix(w.keys, scratch, w.refs, refScratch)
		t.tables = append(t.tables, w)
	}
	return t, nil
}

// Near appends to dst the stored prints within distance K of q, each once, nearest first, then by ID. It ignores bits of q above the
// design's F.
func (t *WideTables) Near(q Wide, dst []Hit) []Hit {
	start := len(dst)
	q = q.within(t.design.F)
	for i := range t.tables {
		w := &t.tables[i]
		y := t.design.Tables[i].PermuteWide(q)
		dst = t.from(i, lowerBound(w.keys, y>>(64-w.lead)<<(64-w.lead)), y, q, dst)
	}
	slices.SortFunc(dst[start:], func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	return dst
}

// from appends the prints that table i finds at index j or above and no earlier table does. y is q permuted.
func (t *WideTables) from(i, j int, y uint64, q Wide, dst []Hit) []Hit {
	w, shift := &t.tables[i], 64-t.tables[i].lead
	for ; j < len(w.keys) && w.keys[j]>>shift <= y>>shift; j++ {
		if w.keys[j]>>shift != y>>shift {
			continue
		}
		ref := w.refs[j]
		p := t.prints[ref]
		if d := p.Distance(q); d <= t.design.K && t.firstIn(i, Wide{p[0] ^ q[0], p[1] ^ q[1]}) {
			for _, id := range t.ids[t.starts[ref]:t.starts[ref+1]] {
				dst = append(dst, Hit{id, d})
			}
		}
	}
	return dst
}

// firstIn reports whether table i is the first in which two prints with this difference agree in all leading bits. If there are more than
// the 64 bits of a key, an equal key is not sufficient.
func (t *WideTables) firstIn(i int, difference Wide) bool {
	for j := range i + 1 {
		if m := &t.design.Tables[j].mask; m[0]&difference[0]|m[1]&difference[1] == 0 {
			return j == i
		}
	}
	return false
}

// WideBatch works like Batch for prints of up to 128 bits.
type WideBatch struct {
	tables  *WideTables
	filters []filter
}

// NewWideBatch returns a batch for the queries. It does not retain the slice.
func NewWideBatch(d *Design, queries []Wide) (*WideBatch, error) {
	t, err := NewWideTables(d, queries)
	if err != nil {
		return nil, err
	}
	b := &WideBatch{tables: t}
	for i := range t.tables {
		b.filters = append(b.filters, newFilter(t.tables[i].keys, t.tables[i].lead))
	}
	return b, nil
}

// Scan appends to dst every pair of a query and a stored print within the design's distance, each once, in order of the stored print's
// number and then the query's. first is the number of the first stored print. It ignores bits above the design's F.
func (b *WideBatch) Scan(stored []Wide, first uint64, dst []Found) []Found {
	start := len(dst)
	var hits []Hit
	for i := range b.filters {
		l, f := &b.tables.design.Tables[i], &b.filters[i]
		for j, q := range stored {
			q = q.within(b.tables.design.F)
			y := l.PermuteWide(q)
			if !f.has(y) {
				continue
			}
			hits = b.tables.from(i, int(f.starts[y>>(f.startShift&63)]), y, q, hits[:0])
			for _, h := range hits {
				dst = append(dst, Found{h.ID, first + uint64(j), h.Distance})
			}
		}
	}
	slices.SortFunc(dst[start:], func(x, y Found) int {
		return cmp.Or(cmp.Compare(x.Stored, y.Stored), cmp.Compare(x.Query, y.Query))
	})
	return dst
}

// WideChunks works like Chunks for prints of 16 bytes each, as big-endian numbers.
func WideChunks(r io.Reader, size int) iter.Seq2[[]Wide, error] {
	return func(yield func([]Wide, error) bool) {
		out := make([]Wide, 0, size)
		for words, err := range Chunks(r, 2*size) {
			if err == nil && len(words)%2 == 1 {
				err = fmt.Errorf("last fingerprint is truncated to 8 bytes: %w", io.ErrUnexpectedEOF)
			}
			out = out[:0]
			for i := 0; i+2 <= len(words); i += 2 {
				out = append(out, Wide{words[i+1], words[i]})
			}
			if len(out) > 0 && !yield(out, nil) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// AppendWide appends a print's 16 bytes as a big-endian number.
func AppendWide(b []byte, w Wide) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, w[1]), w[0])
}
