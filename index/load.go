package index

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"concordat"
)

// block locates the fingerprints and spans of a stored block during loading.
type block struct {
	number     uint32
	ordinal    uint16
	start, end uint32 // range in loader.fps
	spans      []byte
}

// loader collects all stored blocks, which arrive in no particular order.
type loader struct {
	fps    []concordat.Fingerprint
	blocks []block
	metas  map[uint32]*meta
}

// load derives all in-memory data from the stored data.
func (s *Shard) load() error {
	start := time.Now()
	snapshot, err := s.engine.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	s.state.init()
	if s.loadTable() {
		s.log.Info("shard opened", "shard", s.opt.Shard, "documents", len(s.state.byKey), "sentences", s.state.sentences, "warm", true, "took",
			time.Since(start))
		return nil
	}
	entries, err := snapshot.DocCount()
	if err != nil {
		return err
	}
	// Allocate for full blocks, because growing would copy, and the system never provides pages that are not touched.
	l := &loader{metas: make(map[uint32]*meta), fps: make([]concordat.Fingerprint, 0, min(entries, maxRoom)*blockSentences)}
	err = guard(func() error { return visitStored(snapshot, l.visit) })
	if err != nil {
		return corrupt(s.engine.dir, err)
	}
	slices.SortFunc(l.blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.ordinal, b.ordinal))
	})
	if err := s.state.fill(l); err != nil {
		return corrupt(s.engine.dir, err)
	}
	s.log.Info("shard opened", "shard", s.opt.Shard, "documents", len(s.state.byKey), "sentences", s.state.sentences, "took",
		time.Since(start))
	return nil
}

// init allocates the maps of an empty state.
func (s *state) init() {
	s.byKey = make(map[key]*document)
	s.byNumber = make(map[uint32]*document)
	s.libraryIndex = make(map[concordat.LibraryID]uint32)
	s.busy = make(map[key]struct{})
	s.released = make(chan struct{})
	s.counters = new(sharedCounters)
}

// reset empties a state that is not yet in use.
func (s *state) reset() {
	s.view, s.cells = view{}, cellTable{}
	s.numbers, s.sentences, s.texts, s.meant, s.stale, s.words = numbers{}, 0, 0, 0, 0, 0
	s.init()
}

// visit processes one Bleve document.
func (l *loader) visit(id []byte, fields map[string][]byte) error {
	number, ordinal, ok := parseBlockID(id)
	if !ok {
		if _, ok := parseTextID(id); !ok {
			return fmt.Errorf("entry %x: %w", id, errStored)
		}
		return nil
	}
	if ordinal == 0 {
		m, err := decodeMeta(fields[fieldDocument])
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
		if l.metas[number] != nil {
			return fmt.Errorf("document %d appears twice: %w", number, errStored)
		}
		m.cells = slices.Clone(m.cells)
		l.metas[number] = m
	}
	b := block{number: number, ordinal: uint16(ordinal), start: uint32(len(l.fps))}
	var err error
	if l.fps, err = decodeFingerprints(l.fps, fields[fieldFingerprints]); err != nil {
		return fmt.Errorf("document %d block %d: %w", number, ordinal, err)
	}
	b.end = uint32(len(l.fps))
	if sp := fields[fieldSpans]; len(sp) > 0 {
		if err := checkSpans(sp, int(b.end-b.start)); err != nil {
			return fmt.Errorf("document %d block %d: %w", number, ordinal, err)
		}
		b.spans = slices.Clone(sp)
	}
	l.blocks = append(l.blocks, b)
	return nil
}

// maxRoom is the maximum number of blocks allocated in advance, enough for 200 million sentences.
const maxRoom = 10 << 20

// fill builds the state from the loaded blocks, which must be in order, and takes over l's fingerprints. These remain in order of
// arrival, since reordering would need a second copy.
func (s *state) fill(l *loader) error {
	occs := make([]occurrence, len(l.fps))
	for i := 0; i < len(l.blocks); {
		number := l.blocks[i].number
		n := 1
		for i+n < len(l.blocks) && l.blocks[i+n].number == number {
			n++
		}
		d, err := l.assemble(number, l.blocks[i:i+n])
		if err != nil {
			return err
		}
		if s.byKey[d.key] != nil {
			return fmt.Errorf("document %s/%s appears twice: %w", d.key.library, d.key.id, errStored)
		}
		slot := uint32(len(s.view.docs))
		d.library = s.library(d.key.library)
		s.enter(d)
		s.view.docs = append(s.view.docs, d)
		ordinal := uint32(0)
		for _, b := range l.blocks[i : i+n] {
			for at := b.start; at < b.end; at++ {
				occs[at] = occurrence{slot, ordinal}
				ordinal++
			}
		}
		s.numbers.follow(number)
		i += n
	}
	fps := l.fps
	*l = loader{} // only newLevel still needs any of it
	if len(fps) > 0 {
		l := newLevel(fps, occs)
		s.view.levels = []*level{l}
		s.counters.values.of(l)
	}
	s.rebuildCells(true)
	return nil
}

// restore builds the state from what a table file holds: the documents, in order of number, and their tables. cells is nil if there are
// none. After an error, the state is empty.
func (s *state) restore(docs []*document, l *level, cells *cellLevel) error {
	for i, d := range docs {
		if s.byKey[d.key] != nil {
			s.reset()
			return fmt.Errorf("document %d appears twice: %w", i, errStored)
		}
		d.library = s.library(d.key.library)
		s.enter(d)
	}
	s.view.docs = docs
	if cells != nil {
		s.cells.docs, s.cells.levels, s.cells.size = slices.Clip(docs), []*cellLevel{cells}, len(cells.docs)
	}
	if len(docs) > 0 {
		s.numbers.follow(docs[len(docs)-1].number)
	}
	if len(l.first) > 0 {
		s.view.levels = []*level{l}
		s.counters.values.of(l)
	}
	return nil
}

// assemble returns the document made of the given blocks, which must be complete.
func (l *loader) assemble(number uint32, blocks []block) (*document, error) {
	m := l.metas[number]
	if m == nil {
		return nil, fmt.Errorf("document %d has no first block: %w", number, errStored)
	}
	if len(blocks) != blockCount(m.sentences) {
		return nil, fmt.Errorf("document %s/%s has %d blocks instead of %d: %w", m.library, m.id, len(blocks), blockCount(m.sentences), errStored)
	}
	d := m.document(number)
	if err := decodeCells(m.cells, func(c concordat.Cell) { d.cells = append(d.cells, c) }); err != nil {
		return nil, fmt.Errorf("document %s/%s: %w", m.library, m.id, err)
	}
	m.cells = nil
	size := blockSize(m.sentences)
	for i, b := range blocks {
		if want := min(size, m.sentences-i*size); int(b.ordinal) != i || int(b.end-b.start) != want {
			return nil, fmt.Errorf("document %s/%s block %d: %w", m.library, m.id, i, errStored)
		}
		d.spans = append(d.spans, b.spans...)
		if d.blocks != nil {
			d.blocks = append(d.blocks, uint32(len(d.spans)))
		}
	}
	d.spans = slices.Clip(d.spans)
	return d, nil
}
