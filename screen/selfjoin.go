package screen

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Stream yields the same stored prints on each call, in chunks that are valid until the next one, for example with Chunks on a file read
// from its beginning.
type Stream func() iter.Seq2[[]uint64, error]

// SelfJoin finds the pairs of stored prints within the design's distance in bounded memory, regardless of the number of prints. For each
// part of each table, it reads all stored prints, sorts the prints in the part, and compares neighbours with equal leading bits. It is
// the sort of Manku, Jain and Das Sarma 2007, section 3, but does not keep the tables; it writes only results.
type SelfJoin struct {
	Design *Design // for prints of at most 64 bits
	Stored Stream
	// Bytes is the maximum memory of the sorted part, at 24 bytes per print; at least 24 MiB. A larger part, which occurs if the prints
	// are far from uniform, is divided again.
	Bytes int64
	// Hot is the number of equal prints at which they are ignored, since they do not indicate reuse (section 5.2 there); 0 means never.
	Hot int
	// Stop holds prints to ignore from the start, for example hot prints of an earlier run.
	Stop map[uint64]bool
	// Watch, unless nil, is called with each stage as it begins, for measuring time.
	Watch func(Stage)
}

// Stage is the current stage of a SelfJoin.
type Stage string

// These are the stages of each part of each table.
const (
	StageRead    Stage = "read" // includes permuting
	StageSort    Stage = "sort"
	StageCompare Stage = "compare" // includes emitting
)

func (s *SelfJoin) watch(stage Stage) {
	if s.Watch != nil {
		s.Watch(stage)
	}
}

// Twin is a pair of stored prints, A < B by number, within the distance of the design.
type Twin struct {
	A, B     uint64
	Distance int
}

// Progress describes how far a SelfJoin has advanced. Done of Units units are complete; a unit is one part of one table.
type Progress struct{ Done, Units int }

const (
	selfRecord  = 24       // two keys and two numbers, for sorting
	selfLeast   = 24 << 20 // in bytes
	maxParts    = 1 << 12
	maxSelfJoin = math.MaxUint32
)

// parts returns the number of parts of each table for n prints, a power of two. Prints with equal leading bits are always in the same
// part. A part that does not fit is divided as far as the leading bits allow; otherwise the join fails with ErrMemory.
func (s *SelfJoin) parts(n int64) int {
	most := min(maxParts, 1<<min(s.Design.Lead(), 62))
	parts := 1
	// A quarter of the memory is reserved for parts larger than average.
	for int64(parts)*s.Bytes*3/4 < n*selfRecord && parts < most {
		parts *= 2
	}
	return parts
}

// Run calls emit with every pair once, table by table, and calls done after each part. It never finds pairs of completed parts again, so
// a run over the same stored prints can continue an interrupted one from unit start. n is the number of stored prints, at most 2^32-1.
// Equal prints count as one. Each copy is paired with the first, and only the first is paired with other prints. Run fails with the first
// error of the stream or of emit, with the cause of a cancelled ctx, or with ErrMemory if too many prints have equal leading bits.
func (s *SelfJoin) Run(ctx context.Context, n int64, start int, emit func(Twin) error, done func(Progress) error) error {
	if s.Bytes < selfLeast || n < 0 || n > maxSelfJoin || s.Design.F > 64 {
		return fmt.Errorf("cannot join %d fingerprints of %d bits in %d bytes of memory; want at most %d fingerprints, at most 64 bits, and at least %d bytes", n, s.Design.F,
			s.Bytes, uint32(maxSelfJoin), selfLeast)
	}
	parts := s.parts(n)
	units := parts * len(s.Design.Tables)
	size := min(s.Bytes/selfRecord, n)
	w := selfWork{join: s, emit: emit, keys: make([]uint64, 0, size), ids: make([]uint32, 0, size)}
	for unit := start; unit < units; unit++ {
		width := uint64(math.MaxUint64)/uint64(parts) + 1 // 2^64 / parts; 0 for one part
		low := uint64(unit%parts) * width
		if err := w.part(ctx, unit/parts, low, low+width-1, n); err != nil {
			return fmt.Errorf("part %d of %d: %w", unit, units, err)
		}
		if err := done(Progress{unit + 1, units}); err != nil {
			return err
		}
	}
	return nil
}

type selfWork struct {
	join       *SelfJoin
	emit       func(Twin) error
	keys, more []uint64
	ids, idsTo []uint32
}

// part joins the stored prints with permuted values from low to high.
func (w *selfWork) part(ctx context.Context, table int, low, high uint64, n int64) error {
	l := &w.join.Design.Tables[table]
	w.join.watch(StageRead)
	fits, err := w.read(ctx, l, low, high, n)
	if err != nil {
		return err
	}
	if !fits {
		if low>>(64-l.Lead) == high>>(64-l.Lead) {
			return fmt.Errorf("%w: more than %d fingerprints share the same %d leading bits; allow more memory or exclude frequent fingerprints", ErrMemory, cap(w.keys),
				l.Lead)
		}
		middle := low + (high-low)/2
		if err := w.part(ctx, table, low, middle, n); err != nil {
			return err
		}
		return w.part(ctx, table, middle+1, high, n)
	}
	w.join.watch(StageSort)
	w.more, w.idsTo = slices.Grow(w.more[:0], len(w.keys))[:len(w.keys)], slices.Grow(w.idsTo[:0], len(w.ids))[:len(w.ids)]
	radix(w.keys, w.more, w.ids, w.idsTo)
	w.join.watch(StageCompare)
	w.fold()
	return w.merge(table)
}

// read collects the prints of a part and reports whether they fit.
func (w *selfWork) read(ctx context.Context, l *Layout, low, high uint64, n int64) (bool, error) {
	w.keys, w.ids = w.keys[:0], w.ids[:0]
	at := int64(0)
	for chunk, err := range w.join.Stored() {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return false, err
		}
		if at+int64(len(chunk)) > n {
			return false, fmt.Errorf("fingerprints were added during the join: there were %d at the start", n)
		}
		for i, p := range chunk {
			y := l.Permute(p & ones(w.join.Design.F))
			if y-low > high-low || len(w.join.Stop) > 0 && w.join.Stop[p] {
				continue
			}
			if len(w.keys) == cap(w.keys) {
				return false, nil
			}
			w.keys, w.ids = append(w.keys, y), append(w.ids, uint32(at)+uint32(i))
		}
		at += int64(len(chunk))
	}
	if at != n {
		return false, fmt.Errorf("fingerprints were removed during the join: %d of %d remain", at, n)
	}
	return true, nil
}

// fold keeps the first of equal prints and moves the copies' numbers to idsTo, where they are consecutive; more[i] is the number of
// copies of keys[i].
func (w *selfWork) fold() {
	copy(w.idsTo, w.ids)
	n := 0
	for i := 0; i < len(w.keys); {
		j := i + 1
		for j < len(w.keys) && w.keys[j] == w.keys[i] {
			j++
		}
		if w.join.Hot == 0 || j-i <= w.join.Hot {
			w.keys[n], w.ids[n] = w.keys[i], uint32(i)
			w.more[n] = uint64(j - i)
			n++
		}
		i = j
	}
	w.keys, w.ids = w.keys[:n], w.ids[:n]
}

// merge compares distinct prints with equal leading bits.
func (w *selfWork) merge(table int) error {
	l, k := &w.join.Design.Tables[table], w.join.Design.K
	shift := 64 - l.Lead
	for i, x := range w.keys {
		a := w.idsTo[w.ids[i]]
		if table == 0 {
			for _, b := range w.idsTo[w.ids[i]+1:][:w.more[i]-1] {
				if err := w.emit(Twin{uint64(a), uint64(b), 0}); err != nil {
					return err
				}
			}
		}
		for j := i + 1; j < len(w.keys) && w.keys[j]>>shift == x>>shift; j++ {
			d := distance(x, w.keys[j])
			if d > k || !firstOf(w.join.Design, table, l.Restore(x)^l.Restore(w.keys[j])) {
				continue
			}
			b := w.idsTo[w.ids[j]]
			if err := w.emit(Twin{uint64(min(a, b)), uint64(max(a, b)), d}); err != nil {
				return err
			}
		}
	}
	return nil
}
