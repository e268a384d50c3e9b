package index

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"concordat"
)

// document is the in-memory record of a stored document. Only died changes.
type document struct {
	// The fields that a match reads from every document come first, to share a cache line.

	// died is the epoch at which the document ceased to exist, or 0.
	died    atomic.Uint64
	key     key
	library uint32 // index into view.libraries
	number  uint32
	title   string

	sentences int
	words     int              // number of term occurrences
	meant     bool             // whether its cells are known
	stale     bool             // whether its known cells were computed by an earlier definition; searches use them all the same
	cellCount int              // number of its cells in the cell table
	cells     []concordat.Cell // cells not yet added to the cell table
	// spans is the stored form of the spans, block by block; blocks holds the start of each and is nil for a single block. They take
	// about four bytes per sentence, and spare a match from reading the disk.
	spans  []byte
	blocks []uint32
}

// key is a Ref within the shard's site.
type key struct {
	library concordat.LibraryID
	id      concordat.DocumentID
}

// span returns the span of a sentence.
func (d *document) span(ordinal uint32) (concordat.Span, error) {
	if d.blocks == nil {
		return spanAt(d.spans, int(ordinal))
	}
	size := uint32(blockSize(d.sentences))
	return spanAt(d.spans[d.blocks[ordinal/size]:d.blocks[ordinal/size+1]], int(ordinal%size))
}

// view is the snapshot that one Match sees. Slices only grow beyond the view's length, so a view does not change while others continue.
type view struct {
	epoch     uint64
	docs      []*document // indexed by occurrence.doc
	libraries []concordat.LibraryID
	levels    []*level // oldest and largest first
	// Sentences that are not yet in a level.
	fresh     []concordat.Fingerprint
	freshOccs []occurrence
}

// lives reports whether the document exists in the view.
func (v *view) lives(d *document) bool {
	died := d.died.Load()
	return died == 0 || died > v.epoch
}

// state is the part of a Shard that changes in memory: the records of its documents, and the tables that answer queries.
type state struct {
	mu    sync.Mutex // guards the fields below unless stated otherwise; held only briefly
	view  view       // for the next Match
	cells cellTable  // for the next query by cells
	byKey map[key]*document
	// byNumber holds the same documents by number.
	byNumber map[uint32]*document
	// libraryIndex is the inverse of view.libraries.
	libraryIndex map[concordat.LibraryID]uint32
	numbers      numbers
	sentences    int   // sentences of live documents
	texts        int   // live documents with terms
	meant        int   // texts whose cells are known
	stale        int   // texts with cells by an earlier definition
	words        int64 // term occurrences in texts
	// waste is the number of dead documents' sentences in the levels and among the fresh ones.
	waste int
	// scanned counts comparisons with fresh sentences since the last level was built.
	scanned int
	// busy holds the documents that writers are changing; released is closed when some are released.
	busy     map[key]struct{}
	released chan struct{}

	counters *sharedCounters // has a lock of its own

	building sync.Mutex // held while building levels; taken before mu
}

const (
	// maxFresh is the maximum number of sentences compared one by one, at 1 ns each.
	maxFresh = 4096
	// levelCost is the number of comparisons that take as long as building a small level, which has five times 65,536 groups regardless
	// of its size.
	levelCost = 2 << 20
	// manyFresh is the number of fresh sentences at which Put builds a level itself. Without queries, fresh sentences and the dead ones
	// among them would otherwise grow without bound.
	manyFresh = 1 << 18
	// fanout is the minimum ratio between the sizes of a level and the next one. Whenever the size grows by a factor of fanout, every
	// sentence is moved about fanout times.
	fanout = 4
)

// acquire waits until no other writer is changing any of the keys, then takes them all.
func (s *state) acquire(ctx context.Context, keys []key) error {
	for {
		s.mu.Lock()
		free := true
		for _, k := range keys {
			if _, taken := s.busy[k]; taken {
				free = false
				break
			}
		}
		if free {
			for _, k := range keys {
				s.busy[k] = struct{}{}
			}
			s.mu.Unlock()
			return nil
		}
		wait := s.released
		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release releases keys taken by acquire.
func (s *state) release(keys []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.busy, k)
	}
	close(s.released)
	s.released = make(chan struct{})
}

// library returns the index of a library and assigns one to a new library. mu is held.
func (s *state) library(id concordat.LibraryID) uint32 {
	n, ok := s.libraryIndex[id]
	if !ok {
		n = uint32(len(s.view.libraries))
		s.view.libraries = append(s.view.libraries, id)
		s.libraryIndex[id] = n
	}
	return n
}

// commit makes a batch visible at once; it removes the documents of the keys and adds the given documents, whose fingerprints are in fps,
// in the same order. It builds levels if there are many fresh entries.
func (s *state) commit(gone []key, added []*document, fps []concordat.Fingerprint) {
	sentences, cells := s.enterBatch(gone, added, fps)
	if sentences > manyFresh {
		s.current(0)
	}
	if cells > manyFreshCells {
		s.currentCells()
	}
}

// enterBatch is like commit but builds no levels. It returns the numbers of fresh sentences and fresh cell entries.
func (s *state) enterBatch(gone []key, added []*document, fps []concordat.Fingerprint) (sentences, cells int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.epoch++
	for _, k := range gone {
		s.kill(k)
	}
	for _, d := range added {
		s.kill(d.key)
		d.library = s.library(d.key.library)
		slot := uint32(len(s.view.docs))
		s.view.docs = append(s.view.docs, d)
		for i := range d.sentences {
			s.view.freshOccs = append(s.view.freshOccs, occurrence{slot, uint32(i)})
		}
		s.enter(d)
	}
	s.view.fresh = append(s.view.fresh, fps...)
	return len(s.view.fresh), len(s.cells.fresh)
}

// kill marks the document of k as dead starting with the current epoch. mu is held.
func (s *state) kill(k key) {
	d, ok := s.byKey[k]
	if !ok {
		return
	}
	s.cells.kill(d)
	d.died.Store(s.view.epoch)
	delete(s.byKey, k)
	delete(s.byNumber, d.number)
	s.sentences -= d.sentences
	s.waste += d.sentences
	if d.words > 0 {
		s.texts--
		s.words -= int64(d.words)
		if d.meant {
			s.meant--
		}
		if d.outdated() {
			s.stale--
		}
	}
}

// enter makes d the document of its key and counts it. mu is held.
func (s *state) enter(d *document) {
	s.cells.add(d)
	s.byKey[d.key] = d
	s.byNumber[d.number] = d
	s.sentences += d.sentences
	if d.words > 0 {
		s.texts++
		s.words += int64(d.words)
		if d.meant {
			s.meant++
		}
		if d.outdated() {
			s.stale++
		}
	}
}

// current returns the view for a query of n fingerprints, building a level first if that is due.
func (s *state) current(n int) view {
	s.mu.Lock()
	s.scanned += n * len(s.view.fresh)
	due := s.due()
	v := s.view
	s.mu.Unlock()
	if !due {
		return v
	}
	s.building.Lock()
	defer s.building.Unlock()
	s.mu.Lock()
	due = s.due() // another query may have built one
	v = s.view
	s.mu.Unlock()
	if due {
		s.rebuild(v, false)
		s.mu.Lock()
		v = s.view
		s.mu.Unlock()
	}
	return v
}

// due reports whether a level should be built before the next query. mu is held.
func (s *state) due() bool {
	if s.waste > maxFresh && s.waste > s.sentences/2 {
		return true
	}
	return len(s.view.fresh) > maxFresh || len(s.view.fresh) > 0 && s.scanned > levelCost
}

// consolidate merges everything into one level.
func (s *state) consolidate() {
	s.building.Lock()
	defer s.building.Unlock()
	s.mu.Lock()
	v := s.view
	s.mu.Unlock()
	s.rebuild(v, true)
	s.rebuildCells(true)
}

// merged reports whether the tables are already as consolidate leaves them: in one level, without dead documents. No other call may be in
// progress.
func (s *state) merged() bool {
	v, t := &s.view, &s.cells
	return len(v.levels) == 1 && len(v.fresh) == 0 && s.waste == 0 && len(v.docs) == len(s.byKey) &&
		len(t.levels) <= 1 && len(t.fresh) == 0 && t.waste == 0
}

// rebuild merges the fresh sentences of v into a level, together with all levels or only with the last ones, if these are less than
// fanout times as large. building is held.
func (s *state) rebuild(v view, all bool) {
	keep, n := len(v.levels), len(v.fresh)
	s.mu.Lock()
	all = all || s.waste > maxFresh && s.waste > s.sentences/2
	s.mu.Unlock()
	for keep > 0 && (all || v.levels[keep-1].sentences < fanout*n) {
		keep--
		n += v.levels[keep].sentences
	}
	// Free the slots of dead documents together with the last level that could refer to them.
	var slots []uint32
	docs := v.docs
	if keep == 0 {
		docs, slots = v.living()
	}
	built := v.gather(v.levels[keep:], n, slots)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.scanned = 0
	s.view.levels = append(slices.Clip(v.levels[:keep]), built)
	s.view.fresh = slices.Clone(s.view.fresh[len(v.fresh):])
	s.view.freshOccs = slices.Clone(s.view.freshOccs[len(v.freshOccs):])
	if keep == 0 {
		// Documents added during the build follow the live ones.
		moved := uint32(len(v.docs) - len(docs))
		s.view.docs = append(docs, s.view.docs[len(v.docs):]...)
		for i := range s.view.freshOccs {
			s.view.freshOccs[i].doc -= moved
		}
	}
	s.waste = s.countWaste()
}

// countWaste returns the number of dead documents' sentences in levels and fresh. mu is held.
func (s *state) countWaste() int {
	n := len(s.view.freshOccs)
	for _, l := range s.view.levels {
		n += l.sentences
	}
	return n - s.sentences
}

// living returns the live documents of v and, for each slot of v, its new slot.
func (v *view) living() (docs []*document, slots []uint32) {
	slots = make([]uint32, len(v.docs))
	docs = make([]*document, 0, len(v.docs))
	for i, d := range v.docs {
		slots[i] = uint32(len(docs))
		if v.lives(d) {
			docs = append(docs, d)
		}
	}
	return docs, slots
}

// gather builds one level from the live sentences of the levels, oldest first, and the fresh ones; n is their approximate number. If
// slots is given, it renumbers the occurrences.
func (v *view) gather(levels []*level, n int, slots []uint32) *level {
	fps := make([]concordat.Fingerprint, 0, n)
	occs := make([]occurrence, 0, n)
	add := func(f concordat.Fingerprint, o occurrence) {
		if !v.lives(v.docs[o.doc]) {
			return
		}
		if slots != nil {
			o.doc = slots[o.doc]
		}
		fps, occs = append(fps, f), append(occs, o)
	}
	for _, l := range levels {
		for e, f := range l.all() {
			for _, o := range l.occs(e) {
				add(f, o)
			}
		}
	}
	for i, f := range v.fresh {
		add(f, v.freshOccs[i])
	}
	return newLevel(fps, occs)
}

// find returns the document of a Ref, or nil if there is none.
func (s *state) find(k key) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[k]
}

// numbered returns the document with the given number, or nil if there is none.
func (s *state) numbered(number uint32) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byNumber[number]
}

// snapshotKeys returns the keys of all documents, sorted.
func (s *state) snapshotKeys() []key {
	s.mu.Lock()
	keys := make([]key, 0, len(s.byKey))
	for k := range s.byKey {
		keys = append(keys, k)
	}
	s.mu.Unlock()
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.library, b.library), cmp.Compare(a.id, b.id))
	})
	return keys
}

// number returns a document number that no live document has.
func (s *state) number() (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers.take()
}
