package screen

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Space provides storage outside memory, for example files in a folder.
type Space interface {
	// Create returns an empty Spill.
	Create() (Spill, error)
}

// Spill stores bytes that are written in order and then read. Close releases it.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// sorter sorts any number of records of two numbers in bounded memory. When memory is full, it sorts the records and writes them to a
// spill, and finally merges the spills. If sum is set, it adds up the values of equal keys; otherwise it orders records by key, then
// value.
type sorter struct {
	space  Space
	sum    bool
	most   int // records in memory
	held   []sortRecord
	spills []sortedSpill
}

type sortRecord struct{ key, value uint64 }

type sortedSpill struct {
	spill Spill
	bytes int64
}

const (
	recordBytes = 16
	leastHeld   = 1 << 12
	// maxSpills is the maximum number of spills merged at once, each with a buffer of mergeBuffer bytes.
	maxSpills   = 256
	mergeBuffer = 1 << 16
)

// newSorter returns a sorter that uses about the given number of bytes.
func newSorter(space Space, bytes int64, sum bool) *sorter {
	return &sorter{space: space, sum: sum, most: int(max(leastHeld, bytes/recordBytes))}
}

func compareRecords(a, b sortRecord) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value))
}

func (s *sorter) add(key, value uint64) error {
	if len(s.held) == s.most {
		s.settle()
		// With few repeats to add up, sorting again would gain nothing.
		if len(s.held) > s.most/2 {
			if err := s.spill(); err != nil {
				return err
			}
		}
	}
	s.held = append(s.held, sortRecord{key, value})
	return nil
}

// settle sorts the records in memory and adds up equal keys.
func (s *sorter) settle() {
	slices.SortFunc(s.held, compareRecords)
	if s.sum {
		s.held = s.held[:len(addUp(s.held))]
	}
}

func addUp(sorted []sortRecord) []sortRecord {
	n := 0
	for _, r := range sorted {
		if n > 0 && sorted[n-1].key == r.key {
			sorted[n-1].value += r.value
		} else {
			sorted[n] = r
			n++
		}
	}
	return sorted[:n]
}

// spill sorts the records in memory and writes them to a spill.
func (s *sorter) spill() error {
	if len(s.spills) == maxSpills {
		if err := s.join(); err != nil {
			return err
		}
	}
	err := s.write(func(yield func(sortRecord, error) bool) {
		for _, r := range s.held {
			if !yield(r, nil) {
				return
			}
		}
	})
	s.held = s.held[:0]
	return err
}

// join merges all spills into one.
func (s *sorter) join() error {
	old := s.spills
	s.spills = nil
	err := s.write(s.merge(old, nil))
	return closeAll(old, err)
}

func closeAll(spills []sortedSpill, err error) error {
	for _, sp := range spills {
		if e := sp.spill.Close(); err == nil {
			err = e
		}
	}
	return err
}

// write writes the records to a new spill.
func (s *sorter) write(records iter.Seq2[sortRecord, error]) error {
	sp, err := s.space.Create()
	if err != nil {
		return err
	}
	out := sortedSpill{spill: sp}
	w := bufio.NewWriterSize(sp, mergeBuffer)
	for r, e := range records {
		var b [recordBytes]byte
		binary.LittleEndian.PutUint64(b[:], r.key)
		binary.LittleEndian.PutUint64(b[8:], r.value)
		if err = e; err == nil {
			_, err = w.Write(b[:])
		}
		if err != nil {
			break
		}
		out.bytes += recordBytes
	}
	if err == nil {
		err = w.Flush()
	}
	s.spills = append(s.spills, out) // close must release it even if it is incomplete
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// all yields the records in order and stops after an error. Afterwards, the sorter accepts no more records.
func (s *sorter) all() iter.Seq2[sortRecord, error] {
	s.settle()
	return s.merge(s.spills, s.held)
}

// close releases the storage.
func (s *sorter) close() error {
	s.held = nil
	old := s.spills
	s.spills = nil
	return closeAll(old, nil)
}

// source is one sorted sequence in a merge.
type source struct {
	next sortRecord
	r    *bufio.Reader // nil if the sequence is in memory
	held []sortRecord
}

// step advances to the next record and reports whether there is one.
func (s *source) step() (bool, error) {
	if s.r == nil {
		if len(s.held) == 0 {
			return false, nil
		}
		s.next, s.held = s.held[0], s.held[1:]
		return true, nil
	}
	var b [recordBytes]byte
	if _, err := io.ReadFull(s.r, b[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("spill: %w", err)
	}
	s.next = sortRecord{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	return true, nil
}

type sources []*source

func (s sources) Len() int           { return len(s) }
func (s sources) Less(i, j int) bool { return compareRecords(s[i].next, s[j].next) < 0 }
func (s sources) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(x any)        { *s = append(*s, x.(*source)) }
func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func (s *sorter) merge(spills []sortedSpill, held []sortRecord) iter.Seq2[sortRecord, error] {
	return func(yield func(sortRecord, error) bool) {
		var from sources
		for _, sp := range spills {
			from = append(from, &source{r: bufio.NewReaderSize(io.NewSectionReader(sp.spill, 0, sp.bytes), mergeBuffer)})
		}
		from = append(from, &source{held: held})
		n := 0
		for _, f := range from {
			ok, err := f.step()
			if err != nil {
				yield(sortRecord{}, err)
				return
			}
			if ok {
				from[n] = f
				n++
			}
		}
		from = from[:n]
		heap.Init(&from)
		var last sortRecord
		pending := false
		for len(from) > 0 {
			r := from[0].next
			switch {
			case !s.sum:
				if !yield(r, nil) {
					return
				}
			case pending && last.key == r.key:
				last.value += r.value
			default:
				if pending && !yield(last, nil) {
					return
				}
				last, pending = r, true
			}
			ok, err := from[0].step()
			if err != nil {
				yield(sortRecord{}, err)
				return
			}
			if ok {
				heap.Fix(&from, 0)
			} else {
				heap.Pop(&from)
			}
		}
		if pending {
			yield(last, nil)
		}
	}
}
