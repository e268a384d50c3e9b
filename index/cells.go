package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"concordat"
)

// This file implements the table of meaning cells, which lists the documents with sentences in each cell. Like the fingerprint table, it
// is in memory and derived from stored data; it has its own document numbers, so each table can be rebuilt separately.

// appendCells appends the stored form of cells, which must be ascending: each cell's difference from the previous one (from 0 for the
// first), as a uvarint. A sentence has ten cells, about 20 bytes.
func appendCells(b []byte, cells []concordat.Cell) []byte {
	last := concordat.Cell(0)
	for _, c := range cells {
		b = binary.AppendUvarint(b, uint64(c-last))
		last = c
	}
	return b
}

// decodeCells calls do with each cell of the stored form in ascending order.
func decodeCells(b []byte, do func(concordat.Cell)) error {
	at := uint64(0)
	for first := true; len(b) > 0; first = false {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap == 0 && !first || gap >= uint64(concordat.Cells)-at {
			return fmt.Errorf("cells: %w", errStored)
		}
		at += gap
		b = b[n:]
		do(concordat.Cell(at))
	}
	return nil
}

// checkCells returns an error for cells that cannot be stored.
func checkCells(cells []concordat.Cell) error {
	for i, c := range cells {
		if c >= concordat.Cells || i > 0 && c <= cells[i-1] {
			return fmt.Errorf("cell %d has the value %d, which must be less than %d and greater than the previous cell", i, c, concordat.Cells)
		}
	}
	return nil
}

// cellTable lists the documents with sentences in each cell. Slices only grow, so copies of a cellTable stay unchanged while writers
// continue.
type cellTable struct {
	docs   []*document // indexed by the doc of fresh and by cellLevel.docs
	levels []*cellLevel
	fresh  []termDoc // pairs of cell and document not yet in a level
	size   int       // number of entries in levels and fresh
	waste  int       // number of these entries for dead documents
}

const (
	// manyFreshCells is the number of fresh entries at which a writer builds a level itself.
	manyFreshCells = 1 << 21
	// groupCells is the approximate number of entries that a look-up scans.
	groupCells = 16
	lowBits    = 16
)

// add adds a document's cells to the table and removes them from the document.
func (t *cellTable) add(d *document) {
	if len(d.cells) == 0 {
		return
	}
	slot := uint32(len(t.docs))
	t.docs = append(t.docs, d)
	for _, c := range d.cells {
		t.fresh = append(t.fresh, termDoc{uint32(c), slot})
	}
	t.size += len(d.cells)
	d.cellCount, d.cells = len(d.cells), nil
}

// kill records that a document is dead.
func (t *cellTable) kill(d *document) {
	t.waste += d.cellCount
}

// currentCells returns the table, with all entries in levels, and the epoch for a query.
func (s *state) currentCells() (cellTable, uint64) {
	s.mu.Lock()
	t, epoch := s.cells, s.view.epoch
	s.mu.Unlock()
	if len(t.fresh) == 0 {
		return t, epoch
	}
	s.building.Lock()
	defer s.building.Unlock()
	s.rebuildCells(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells, s.view.epoch
}

// rebuildCells merges the fresh entries into a level, together with all levels or only with the last ones, if these are less than fanout
// times as large. building is held.
func (s *state) rebuildCells(all bool) {
	s.mu.Lock()
	t, epoch := s.cells, s.view.epoch
	s.mu.Unlock()
	if len(t.fresh) == 0 && len(t.levels) <= 1 && t.waste == 0 {
		return
	}
	all = all || 2*t.waste > t.size
	keep, n := len(t.levels), len(t.fresh)
	for keep > 0 && (all || len(t.levels[keep-1].docs) < fanout*n) {
		keep--
		n += len(t.levels[keep].docs)
	}
	if n == 0 {
		return
	}
	lives := func(slot uint32) bool {
		died := t.docs[slot].died.Load()
		return died == 0 || died > epoch
	}
	docs, slots := t.docs, []uint32(nil)
	if keep == 0 { // free the slots of dead documents together with the last level that could refer to them
		docs, slots = make([]*document, 0, len(t.docs)), make([]uint32, len(t.docs))
		for i, d := range t.docs {
			slots[i] = uint32(len(docs))
			if lives(uint32(i)) {
				docs = append(docs, d)
			}
		}
	}
	entries := make([]termDoc, 0, n)
	add := func(e termDoc) {
		if !lives(e.doc) {
			return
		}
		if slots != nil {
			e.doc = slots[e.doc]
		}
		entries = append(entries, e)
	}
	for _, l := range t.levels[keep:] {
		l.all(add)
	}
	for _, e := range t.fresh {
		add(e)
	}
	built := newCellLevel(sortTerms(entries, make([]termDoc, len(entries)), 24))

	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.cells
	c.levels = append(slices.Clip(t.levels[:keep]), built)
	c.fresh = slices.Clone(c.fresh[len(t.fresh):])
	if keep == 0 {
		moved := uint32(len(t.docs) - len(docs))
		c.docs = append(docs, c.docs[len(t.docs):]...)
		for i := range c.fresh {
			c.fresh[i].doc -= moved
		}
	}
	gone := n - len(entries)
	c.size -= gone
	c.waste -= gone
}

// cellLevel is an immutable list of entries in order of cell.
type cellLevel struct {
	shift  uint     // number of low bits in which the cells of a group differ, at most lowBits
	starts []uint32 // first entry of each group, then the number of entries
	low    []uint16 // low bits of each entry's cell, ascending within a group
	docs   []uint32 // document of each entry
}

// cellShift returns the shift for a level of n entries.
func cellShift(n int) uint {
	shift := uint(lowBits)
	for shift > 4 && int(concordat.Cells>>shift) < n/groupCells {
		shift--
	}
	return shift
}

// cellGroups returns the number of groups for a shift.
func cellGroups(shift uint) int { return int((concordat.Cells-1)>>shift) + 1 }

// newCellLevel returns a level of the entries, which must be in order of cell. It does not retain the slice.
func newCellLevel(entries []termDoc) *cellLevel {
	l := &cellLevel{shift: cellShift(len(entries))}
	l.starts = make([]uint32, cellGroups(l.shift)+1)
	l.low, l.docs = make([]uint16, len(entries)), make([]uint32, len(entries))
	for i, e := range entries {
		l.starts[e.term>>l.shift+1]++
		l.low[i], l.docs[i] = uint16(e.term), e.doc
	}
	for g := 1; g < len(l.starts); g++ {
		l.starts[g] += l.starts[g-1]
	}
	return l
}

// all calls do with each entry in order of cell.
func (l *cellLevel) all(do func(termDoc)) {
	for g := range len(l.starts) - 1 {
		high := uint32(g) << l.shift &^ (1<<lowBits - 1)
		for i := l.starts[g]; i < l.starts[g+1]; i++ {
			do(termDoc{high | uint32(l.low[i]), l.docs[i]})
		}
	}
}

// find returns the documents of a cell.
func (l *cellLevel) find(c concordat.Cell) []uint32 {
	from, to := l.starts[c>>l.shift], l.starts[c>>l.shift+1]
	low, want := l.low[from:to], uint16(c)
	at := 0
	if len(low) > 4*groupCells {
		at, _ = slices.BinarySearch(low, want)
	}
	for at < len(low) && low[at] < want {
		at++
	}
	end := at
	for end < len(low) && low[end] == want {
		end++
	}
	return l.docs[from:to][at:end]
}

// bytes returns the memory use of l.
func (l *cellLevel) bytes() int64 {
	return int64(len(l.starts)*int(unsafe.Sizeof(l.starts[0])) + cap(l.low)*2 + cap(l.docs)*4)
}

// check reports whether all look-ups in l stay within l and docs, and whether each document has as many entries as it records. A nil l
// has no entries.
func (l *cellLevel) check(docs []*document) error {
	left := 0
	for _, d := range docs {
		left += d.cellCount
	}
	if l == nil && left == 0 {
		return nil
	}
	if l == nil || left != len(l.docs) || l.starts[0] != 0 || int(l.starts[len(l.starts)-1]) != len(l.docs) || !slices.IsSorted(l.starts) {
		return fmt.Errorf("the table of cells is inconsistent: %w", errStored)
	}
	for _, d := range l.docs {
		if int(d) >= len(docs) {
			return fmt.Errorf("a cell refers to document %d, which does not exist: %w", d, errStored)
		}
	}
	return nil
}
