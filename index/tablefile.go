package index

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
)

// The file "table" stores the derived data while the shard is closed or unchanged; a start that finds the file is warm. It is only a
// copy; a key identifies the exact segments and deletions from which it was made, and a checksum covers every byte. A file that differs
// in any respect is removed and its content derived again. The first change of a document removes the file, so it never contains a
// deleted document; Close writes it again.

const (
	tableName  = "table"
	tableTemp  = "table.tmp"
	tableMagic = "concordat table\x03" // the last byte is the version

	// tableLeast is the number of sentences at which deriving begins to take noticeable time.
	tableLeast = 100_000
)

// storedState identifies the stored data: the segments, which never change, and their deletions.
type storedState struct {
	sum     [sha256.Size]byte
	applied [16]byte // value of internalApplied; zero if absent
}

func stateOf(snapshot *scorch.IndexSnapshot) (st storedState, err error) {
	d := sha256.New()
	for _, s := range snapshot.Segments() {
		p, ok := s.Segment().(segment.PersistedSegment)
		if !ok {
			return st, errors.New("the newest snapshot has a segment that is not stored in a file")
		}
		var deleted []byte
		if b := s.Deleted(); b != nil {
			if deleted, err = b.ToBytes(); err != nil {
				return st, err
			}
		}
		size, sum, err := segmentSum(p.Path())
		if err != nil {
			return st, err
		}
		fmt.Fprintf(d, "%s %d %x %d\n", filepath.Base(p.Path()), size, sum, len(deleted))
		d.Write(deleted)
	}
	b, err := snapshot.GetInternal(internalApplied)
	copy(st.applied[:], b)
	st.sum = [sha256.Size]byte(d.Sum(nil))
	return st, err
}

// tableKey returns the key of the stored data from which a shard in that state derives its table.
func tableKey(h header, st storedState) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\n%d %s %s %s\n%x\n", tableMagic, h.Format, h.Site, h.Shard, h.Scheme, st.sum))
}

// segmentSum returns the size of a segment and its checksum, which zap writes last.
func segmentSum(path string) (size int64, sum [4]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, sum, err
	}
	if fi.Size() < int64(len(sum)) {
		return 0, sum, fmt.Errorf("%s: %w", path, errStored)
	}
	_, err = f.ReadAt(sum[:], fi.Size()-int64(len(sum)))
	return fi.Size(), sum, err
}

// tableCounts holds the lengths of a table file's parts, in the order of the file.
type tableCounts struct {
	DocBytes, Docs, Entries, More uint64
	Big                           [concordat.Bands]uint64
	Cells                         uint64 // entries of the cell table; 0 if it has no level
}

const tableHead = len(tableMagic) + sha256.Size + 8*(5+concordat.Bands)

// size returns the size of the file in bytes; it refuses counts above limit.
func (c *tableCounts) size(limit uint64) (uint64, error) {
	for _, n := range append([]uint64{c.DocBytes, c.Docs, c.Entries, c.More, c.Cells}, c.Big[:]...) {
		if n > limit {
			return 0, fmt.Errorf("a count in the table is too large (%d entries): %w", c.Entries, errStored)
		}
	}
	n := uint64(tableHead) + crc32.Size + c.DocBytes + 8*c.More + (8+5*recBytes+4*4)*c.Entries + 5*20*groups
	for _, b := range c.Big {
		n += 17 * 4 * b
	}
	if c.Cells > 0 {
		n += 6*c.Cells + 4*uint64(cellGroups(cellShift(int(c.Cells)))+1)
	}
	return n, nil
}

// nativeLittle reports whether the machine is little-endian; arrays are written in native order, so big-endian machines have no file.
var nativeLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// raw returns the bytes of s, sharing its memory.
func raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// arrays returns a level's arrays in the order of the file.
func (l *level) arrays() [][]byte {
	out := [][]byte{raw(l.first), raw(l.more)}
	for i := range l.bands {
		b := &l.bands[i]
		out = append(out, raw(b.groups), raw(b.big), b.recs, raw(b.ids))
	}
	return out
}

// arrays returns a cell level's arrays in the order of the file.
func (l *cellLevel) arrays() [][]byte { return [][]byte{raw(l.starts), raw(l.low), raw(l.docs)} }

// cellsOf returns the entries of the cell table, renumbered to index docs, which must include all its documents; nil if it has no
// entries.
func (t *cellTable) cellsOf(docs []*document) *cellLevel {
	if t.size == 0 {
		return nil
	}
	at := make(map[*document]uint32, len(docs))
	for i, d := range docs {
		at[d] = uint32(i)
	}
	out := *t.levels[0]
	out.docs = slices.Clone(out.docs)
	for i, slot := range out.docs {
		out.docs[i] = at[t.docs[slot]]
	}
	return &out
}

// These values describe a document's cells in the file.
const (
	cellsUnknown = iota
	cellsKnown
	cellsStale // known, but computed by an earlier definition
)

// writeTable writes the documents and the levels, which contain all their sentences and cells; cells may be nil.
func writeTable(w io.Writer, key [sha256.Size]byte, docs []*document, l *level, cells *cellLevel) error {
	var blob []byte
	for _, d := range docs {
		known := cellsUnknown
		switch {
		case d.stale:
			known = cellsStale
		case d.meant:
			known = cellsKnown
		}
		for _, v := range []int{int(d.number), d.sentences, d.words, known, d.cellCount, len(d.spans)} {
			blob = binary.AppendUvarint(blob, uint64(v))
		}
		for _, s := range []string{string(d.key.library), string(d.key.id), d.title} {
			blob = binary.AppendUvarint(blob, uint64(len(s)))
			blob = append(blob, s...)
		}
		blob = append(blob, d.spans...)
		last := uint32(0)
		for _, at := range d.blocks {
			blob = binary.AppendUvarint(blob, uint64(at-last))
			last = at
		}
	}
	c := tableCounts{DocBytes: uint64(len(blob)), Docs: uint64(len(docs)), Entries: uint64(len(l.first)), More: uint64(len(l.more))}
	for i := range l.bands {
		c.Big[i] = uint64(len(l.bands[i].big))
	}
	arrays := l.arrays()
	if cells != nil {
		c.Cells = uint64(len(cells.docs))
		arrays = append(arrays, cells.arrays()...)
	}
	head := append([]byte(tableMagic), key[:]...)
	head, err := binary.Append(head, binary.LittleEndian, &c)
	if err != nil {
		return err
	}
	sum := uint32(0)
	for _, b := range append([][]byte{head, blob}, arrays...) {
		sum = crc32.Update(sum, castagnoli, b)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, sum))
	return err
}

// readTable reads size bytes written by writeTable. For any input, it either fails or returns a level that is safe to query.
func readTable(r io.Reader, size int64, key [sha256.Size]byte) ([]*document, *level, *cellLevel, error) {
	head := make([]byte, tableHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, nil, nil, err
	}
	if string(head[:len(tableMagic)]) != tableMagic || !bytes.Equal(head[len(tableMagic):][:sha256.Size], key[:]) {
		return nil, nil, nil, errors.New("the table does not match the shard's data or this version of the program")
	}
	var c tableCounts
	if _, err := binary.Decode(head[len(tableMagic)+sha256.Size:], binary.LittleEndian, &c); err != nil {
		return nil, nil, nil, err
	}
	if want, err := c.size(uint64(size)); err != nil || want != uint64(size) {
		return nil, nil, nil, fmt.Errorf("the table has %d bytes, which does not match its %d entries: %w", size, c.Entries, errStored)
	}
	l := &level{first: huge[occurrence](int(c.Entries)), more: make([]occurrence, c.More)}
	for i := range l.bands {
		b := &l.bands[i]
		b.groups, b.big, b.recs = huge[group](groups), make([][17]uint32, c.Big[i]), huge[byte](recBytes*int(c.Entries))
		if i > 0 {
			b.ids = huge[uint32](int(c.Entries))
		}
	}
	arrays := l.arrays()
	var cells *cellLevel
	if n := int(c.Cells); n > 0 {
		cells = &cellLevel{shift: cellShift(n), low: make([]uint16, n), docs: make([]uint32, n)}
		cells.starts = make([]uint32, cellGroups(cells.shift)+1)
		arrays = append(arrays, cells.arrays()...)
	}
	blob := make([]byte, c.DocBytes)
	sum := crc32.Update(0, castagnoli, head)
	for _, b := range append([][]byte{blob}, arrays...) {
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, nil, nil, err
		}
		sum = crc32.Update(sum, castagnoli, b)
	}
	var last [crc32.Size]byte
	if _, err := io.ReadFull(r, last[:]); err != nil {
		return nil, nil, nil, err
	}
	if binary.LittleEndian.Uint32(last[:]) != sum {
		return nil, nil, nil, errors.New("wrong checksum")
	}
	docs, err := tableDocuments(blob, int(c.Docs))
	if err == nil {
		err = l.check(docs)
	}
	if err == nil {
		err = cells.check(docs)
	}
	return docs, l, cells, err
}

// tableDocuments returns the n documents of a table file.
func tableDocuments(b []byte, n int) ([]*document, error) {
	docs := make([]*document, 0, min(n, len(b)))
	r := reader{b: b}
	last := -1
	for range n {
		number, sentences, words := r.uvarint(1<<32-1), r.uvarint(maxSentences), r.uvarint(maxWords)
		known, cells, spans := r.uvarint(cellsStale), r.uvarint(uint64(concordat.Cells)), r.uvarint(uint64(len(r.b)))
		m := meta{sentences: int(sentences), words: int(words), meant: known != cellsUnknown, stale: known == cellsStale}
		m.library = concordat.LibraryID(r.str(maxName))
		m.id = concordat.DocumentID(r.str(maxName))
		m.title = r.str(maxTitle)
		if r.bad || uint64(len(r.b)) < spans || int(number) <= last || cells > 0 && !m.meant {
			return nil, fmt.Errorf("document %d: %w", len(docs), errStored)
		}
		last = int(number)
		d := m.document(uint32(number))
		d.cellCount = int(cells)
		if spans > 0 {
			d.spans = bytes.Clone(r.b[:spans])
		}
		r.b = r.b[spans:]
		if d.blocks != nil {
			d.blocks = d.blocks[:0]
			at := uint64(0)
			for range blockCount(m.sentences) + 1 {
				if at += r.uvarint(spans); r.bad || at > spans {
					return nil, fmt.Errorf("the blocks of document %d are not valid: %w", len(docs), errStored)
				}
				d.blocks = append(d.blocks, uint32(at))
			}
		}
		docs = append(docs, d)
	}
	if len(r.b) != 0 {
		return nil, fmt.Errorf("the table has %d extra bytes after the documents: %w", len(r.b), errStored)
	}
	return docs, nil
}

// check reports whether all look-ups in l stay within it, and whether it contains as many sentences as the documents.
func (l *level) check(docs []*document) error {
	n, total := uint64(len(l.first)), 0
	inside := func(o occurrence) bool {
		total++
		return uint64(o.doc) < uint64(len(docs)) && int(o.ordinal) < docs[o.doc].sentences
	}
	for i, o := range l.first {
		if o.ordinal&many != 0 && uint64(o.doc)+uint64(o.ordinal&^many) > uint64(len(l.more)) || o.ordinal == many || o.ordinal&many == 0 &&
			!inside(o) {
			return fmt.Errorf("entry %d: %w", i, errStored)
		}
	}
	for i, o := range l.more {
		if !inside(o) {
			return fmt.Errorf("occurrence %d: %w", i, errStored)
		}
	}
	sentences := 0
	for _, d := range docs {
		sentences += d.sentences
	}
	if l.sentences = total; total != sentences {
		return fmt.Errorf("the table has %d sentences, but the documents have %d: %w", total, sentences, errStored)
	}
	for i := range l.bands {
		b := &l.bands[i]
		at, ok := uint32(0), true
		for g := range b.groups {
			if at, ok = b.follows(g, at); !ok {
				return fmt.Errorf("band %d group %d: %w", i, g, errStored)
			}
		}
		if uint64(at) != n {
			return fmt.Errorf("band %d has %d entries instead of %d: %w", i, at, n, errStored)
		}
		for _, id := range b.ids {
			if uint64(id) >= n {
				return fmt.Errorf("band %d: %w", i, errStored)
			}
		}
	}
	return nil
}

// follows reports whether the buckets of group g are contiguous from position from, and returns where the next group must begin.
func (b *band) follows(g int, from uint32) (to uint32, ok bool) {
	e := &b.groups[g]
	if e.ends[15] != escape {
		to = from + uint32(e.ends[15])
		return to, e.base == from && to >= from && slices.IsSorted(e.ends[:])
	}
	if uint64(e.base) >= uint64(len(b.big)) {
		return 0, false
	}
	begins := &b.big[e.base]
	return begins[16], begins[0] == from && slices.IsSorted(begins[:])
}

// loadTable loads the documents and the table from the file if it matches, and reports whether it did.
func (s *Shard) loadTable() bool {
	path := filepath.Join(s.dir, tableName)
	if !s.opt.Warm || !nativeLittle {
		s.engine.forgetTable()
		return false
	}
	err := s.readTable(path)
	if err == nil {
		s.engine.warm.Store(true)
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.log.Info("cannot use the table on disk", "shard", s.opt.Shard, "reason", err)
	}
	s.engine.forgetTable()
	return false
}

func (s *Shard) readTable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	docs, l, cells, err := readTable(f, fi.Size(), tableKey(s.opt.header(), s.engine.stored))
	if err != nil {
		return err
	}
	return s.state.restore(docs, l, cells)
}

// keepsTable reports whether Close should write the file. No other call may be in progress or follow.
func (s *Shard) keepsTable() bool {
	least := s.opt.tableLeast
	if least == 0 {
		least = tableLeast
	}
	e := s.engine
	return s.opt.Warm && nativeLittle && !s.opt.ReadOnly && s.state.sentences >= least && !e.stained.Load() &&
		e.err() == nil && s.logged.settled()
}

// saveTable writes the file for the next start, after the shard's engine is closed, because only then is it certain which segments that
// start will find.
func (s *Shard) saveTable() error {
	st, err := preflight(s.engine.dir, 0)
	if err != nil {
		return err
	}
	if s.opt.Logged && !s.logged.is(st.applied) {
		return errors.New("some changes have not been written to disk yet")
	}
	if s.engine.warm.Load() && st.sum == s.engine.stored.sum {
		return nil // the file still matches, because no segments were merged in the background
	}
	key := tableKey(s.opt.header(), st)
	if !s.state.merged() {
		s.state.consolidate()
	}
	l := s.state.view.levels[0]
	if err := s.room(int(l.bytes())); err != nil {
		return nil // the file is optional
	}
	docs := s.state.view.docs
	if !slices.IsSortedFunc(docs, func(a, b *document) int { return int(int64(a.number) - int64(b.number)) }) {
		return nil // two writers overlapped, which is rare; the next start relies on the order of numbers
	}
	temp := filepath.Join(s.dir, tableTemp)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(writeTable(w, key, docs, l, s.state.cells.cellsOf(docs)), w.Flush(), f.Close())
	if err == nil {
		err = os.Rename(temp, filepath.Join(s.dir, tableName))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}
