package screen

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
)

// Found is a stored print near a query.
type Found struct {
	Query    uint32 // index of the query
	Stored   uint64 // number of the stored print
	Distance int
}

// Batch answers many queries in one pass over any number of stored prints. It builds the tables from the queries and reads the stored
// prints in chunks (Manku, Jain and Das Sarma 2007, section 3.5). It is immutable; goroutines can scan chunks in parallel.
type Batch struct {
	tables  *Tables
	filters []filter
}

// filter records which leading values occur in a table. For nearly every stored print, the value does not occur in the table, and
// checking one bit saves a search. For the other prints, starts holds where the prints with each value of fewer leading bits begin in the
// table, which costs one more memory access instead of about five for interpolation.
type filter struct {
	shift      int // for the permuted print
	bits       []uint64
	startShift int
	starts     []uint32
}

func newFilter(table []uint64, lead int) filter {
	width := 6
	for 1<<width < filterShare*len(table) && width < lead && width < maxFilter {
		width++
	}
	width = min(width, lead)
	f := filter{shift: 64 - width, bits: make([]uint64, 1<<max(0, width-6))}
	for _, p := range table {
		v := p >> f.shift
		f.bits[v>>6] |= 1 << (v & 63)
	}
	width = min(lead, bits.Len(uint(len(table))), maxFilter)
	f.startShift = 64 - width
	f.starts = make([]uint32, 1<<width+1)
	at := 0
	for v := range f.starts {
		for at < len(table) && table[at]>>f.startShift < uint64(v) {
			at++
		}
		f.starts[v] = uint32(at)
	}
	return f
}

// has reports whether a permuted print's leading bits occur in the table.
func (f *filter) has(permuted uint64) bool {
	v := permuted >> (f.shift & 63)
	return f.bits[v>>6]>>(v&63)&1 == 1
}

const (
	// filterShare is the approximate number of filter bits per query.
	filterShare = 32
	// maxFilter is the maximum width of a filter in leading bits.
	maxFilter = 34
	// scanned is the number of stored prints looked up in one table at a time, in the order of their first eight leading bits, so that
	// the filter and the table are read nearly in order rather than at random. It is 2^numberBits, so that the number fits next to the
	// leading bits.
	scanned    = 1 << numberBits
	numberBits = 18
)

// NewBatch returns a batch for the queries. It does not retain the slice.
func NewBatch(d *Design, queries []uint64) (*Batch, error) {
	t, err := NewTables(d, queries)
	if err != nil {
		return nil, err
	}
	b := &Batch{tables: t}
	for i, table := range t.tables {
		b.filters = append(b.filters, newFilter(table, d.Tables[i].Lead))
	}
	return b, nil
}

// Scan appends to dst every pair of a query and a stored print within the design's distance, each once, in order of the stored print's
// number and then the query's. first is the number of the first stored print. Prints must not have more bits than the design; excess bits
// are ignored.
func (b *Batch) Scan(stored []uint64, first uint64, dst []Found) []Found {
	start := len(dst)
	scratch := make([]uint64, 2*min(len(stored), scanned))
	for at := 0; at < len(stored); at += scanned {
		part := stored[at:min(len(stored), at+scanned)]
		for i := range b.filters {
			dst = b.scanTable(i, part, first+uint64(at), scratch, dst)
		}
	}
	slices.SortFunc(dst[start:], func(x, y Found) int {
		return cmp.Or(cmp.Compare(x.Stored, y.Stored), cmp.Compare(x.Query, y.Query))
	})
	return dst
}

// scanTable appends the pairs that table i finds and no earlier table does. scratch must be twice as long as part.
func (b *Batch) scanTable(i int, part []uint64, first uint64, scratch []uint64, dst []Found) []Found {
	l, f := &b.tables.design.Tables[i], &b.filters[i]
	table, k := b.tables.tables[i], b.tables.design.K
	shift := 64 - l.Lead
	for _, key := range ordered(l, part, scratch) {
		if !f.has(key) {
			continue
		}
		j := key & (scanned - 1)
		q := part[j] & ones(b.tables.design.F)
		y := l.Permute(q)
		for c := f.starts[y>>(f.startShift&63)]; int(c) < len(table) && table[c]>>shift <= y>>shift; c++ {
			d := distance(table[c], y)
			if d > k || table[c]>>shift != y>>shift {
				continue
			}
			if p := l.Restore(table[c]); firstOf(b.tables.design, i, p^q) {
				for _, h := range b.tables.append(nil, p, d) {
					dst = append(dst, Found{h.ID, first + j, d})
				}
			}
		}
	}
	return dst
}

// ordered returns each print's leading bits, permuted for the table, with its number in part in the lowest bits, ordered by the first
// eight bits.
func ordered(l *Layout, part, scratch []uint64) []uint64 {
	keys, out := scratch[:len(part)], scratch[len(part):2*len(part)]
	for j := range keys {
		keys[j] = uint64(j)
	}
	at := 64
	for _, run := range l.fields {
		if at <= 64-maxFilter {
			break // further bits are not needed
		}
		at -= run.width
		low, mask := run.low, ones(run.width)
		if at < numberBits { // leave room for the number
			low, mask, at = low+numberBits-at, mask>>(numberBits-at), numberBits
		}
		for j, p := range part {
			keys[j] |= p >> (low & 63) & mask << (at & 63)
		}
	}
	var starts [256]int
	for _, k := range keys {
		starts[k>>56]++
	}
	sum := 0
	for v, n := range starts {
		starts[v] = sum
		sum += n
	}
	for _, k := range keys {
		out[starts[k>>56]] = k
		starts[k>>56]++
	}
	return out
}

// Chunks yields the prints of a stream, 8 bytes each, big-endian, size at a time; the slice is valid until the next chunk. If the stream
// fails or ends within a print, it yields the preceding prints, then the error, and stops.
func Chunks(r io.Reader, size int) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		buf, out := make([]byte, 8*size), make([]uint64, 0, size)
		for {
			n, err := io.ReadFull(in, buf)
			out = out[:0]
			for i := 0; i+8 <= n; i += 8 {
				out = append(out, binary.BigEndian.Uint64(buf[i:]))
			}
			if len(out) > 0 && !yield(out, nil) {
				return
			}
			switch {
			case err == io.EOF || err == io.ErrUnexpectedEOF && n%8 == 0:
				return
			case err == io.ErrUnexpectedEOF:
				yield(nil, fmt.Errorf("last fingerprint is truncated to %d bytes: %w", n%8, err))
				return
			case err != nil:
				yield(nil, err)
				return
			}
		}
	}
}
