package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/profile"
	"concordat/site/compare"
	"concordat/store"
)

// EpochSet is an additional set of fingerprints, for a site's partners in one federation epoch. It covers the sentences of all libraries
// open to any of them, fingerprinted with the epoch's key, without text. The Answerer fills it (see [Sets.KeepEpochs]); the caller opens
// and closes its index, and deletes the index once the set is retired.
type EpochSet struct {
	Epoch concordat.Epoch
	// Profiler is keyed with the epoch's fingerprint key.
	Profiler *profile.Profiler
	// Index uses the Profiler's scheme and belongs to this set alone.
	Index concordat.Index
	// SketchKey is the epoch's 32-byte key for word sets, word orders and author names, shared among members like the fingerprint key.
	SketchKey []byte
	// CellKey is the epoch's 32-byte key for meaning codes, shared among members like the fingerprint key.
	CellKey []byte
	// PairKey, if not nil, returns the key for word sets and word orders disclosed to one partner, so that two partners cannot compare
	// theirs directly.
	PairKey func(asker concordat.SiteID) []byte
	// HandleKey is a 32-byte key known only to this site, from which the pseudonyms of documents and asked sentences are derived. If it
	// changes, partners' open questions no longer identify their documents.
	HandleKey []byte
	// Members are the partners of the epoch's federation; nil means every partner.
	Members []concordat.SiteID
	// Followed records how far this process's Index has followed a set shared by several processes; nil if the set is not shared.
	Followed Followed
}

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (e *EpochSet) Validate() error {
	switch {
	case e.Epoch.Federation == "" || e.Epoch.Number == 0:
		return fmt.Errorf("epoch set %s: %w: missing federation or epoch number", e.Epoch, concordat.ErrInvalid)
	case e.Profiler == nil || e.Index == nil:
		return fmt.Errorf("epoch set %s: %w: missing profiler or index", e.Epoch, concordat.ErrInvalid)
	case len(e.SketchKey) < leastKey || len(e.HandleKey) < leastKey || len(e.CellKey) < leastKey:
		return fmt.Errorf("epoch set %s: %w: keys must be at least %d bytes long", e.Epoch, concordat.ErrInvalid, leastKey)
	}
	return nil
}

// shownKey returns the key for text disclosed to a partner.
func (e *EpochSet) shownKey(asker concordat.SiteID) []byte {
	if e.PairKey != nil {
		return e.PairKey(asker)
	}
	return e.SketchKey
}

func (e *EpochSet) member(partner concordat.SiteID) bool {
	return e.Members == nil || slices.Contains(e.Members, partner)
}

const (
	pageDocuments = 200 // number of documents of a set processed at once
	leastKey      = 16
	// EpochGrace is how long an epoch is still answered after this site first saw a later epoch of its federation, because partners
	// switch at different times.
	EpochGrace = 14 * 24 * time.Hour
)

// epochSets holds the sets in use.
type epochSets struct {
	mu   sync.RWMutex
	sets []*epochSet // guarded by mu
	// changed is a channel of capacity one; a value in it means that documents or shares have changed.
	changed chan struct{}
	// fill ensures that only one pass runs at a time.
	fill   sync.Mutex
	looked time.Time // time of the last run of lookAtJobs; guarded by fill
}

// epochSet is a set in use.
type epochSet struct {
	EpochSet
	replaced time.Time // zero for the federation's latest epoch

	mu    sync.Mutex
	ready map[concordat.LibraryID]readiness // guarded by mu
	asks  *standingTable                    // guarded by mu; nil if it must be read again
	// changes counts changes to standing questions; guarded by mu.
	changes int
}

// readiness is how much of a library a set contained at some moment.
type readiness struct {
	held, all int
	at        time.Time
}

// UseEpochs replaces the sets that partners are answered from and that [Sets.KeepEpochs] fills. When it returns, no pass fills the
// earlier sets any more, but answers in progress can still read them. The epoch with the highest number in a federation is current;
// earlier epochs are answered for EpochGrace longer.
func (s *Sets) UseEpochs(ctx context.Context, sets ...EpochSet) error {
	var in []*epochSet
	for i := range sets {
		e := &sets[i]
		if err := e.Validate(); err != nil {
			return err
		}
		if slices.ContainsFunc(in, func(o *epochSet) bool { return o.Epoch == e.Epoch }) {
			return fmt.Errorf("epoch set %s: %w: duplicate epoch", e.Epoch, concordat.ErrInvalid)
		}
		if err := s.o.Store.Answers.SeeEpoch(ctx, e.Epoch, e.Profiler.Scheme()); err != nil {
			return err
		}
		in = append(in, &epochSet{EpochSet: *e, ready: map[concordat.LibraryID]readiness{}})
	}
	rows, err := s.o.Store.Answers.Epochs(ctx)
	if err != nil {
		return err
	}
	for _, e := range in {
		for _, r := range rows {
			if r.Epoch == e.Epoch {
				e.replaced = r.Replaced
			}
		}
	}
	s.epochs.mu.Lock()
	s.epochs.sets = in
	s.epochs.mu.Unlock()
	s.epochs.fill.Lock() // a pass over earlier sets stops after its current batch
	defer s.epochs.fill.Unlock()
	s.Changed()
	return nil
}

// inUse reports whether a pass should continue with a set.
func (s *core) inUse(e *epochSet) bool { return slices.Contains(s.epochSets(), e) }

// retired reports whether a replaced epoch's grace period is over.
func (e *epochSet) retired(now time.Time) bool {
	return !e.replaced.IsZero() && !now.Before(e.replaced.Add(EpochGrace))
}

// epoch returns the set of an epoch that is still answered, or nil.
func (s *core) epoch(e concordat.Epoch) *epochSet {
	for _, set := range s.epochSets() {
		if set.Epoch == e && !set.retired(s.o.Now()) {
			return set
		}
	}
	return nil
}

func (s *core) epochSets() []*epochSet {
	s.epochs.mu.RLock()
	defer s.epochs.mu.RUnlock()
	return s.epochs.sets
}

// Changed wakes KeepEpochs after a change to documents or shares.
func (s *core) Changed() {
	select {
	case s.epochs.changed <- struct{}{}:
	default: // KeepEpochs is already awake
	}
}

// EpochState is the progress of an epoch's set.
type EpochState struct {
	Epoch     concordat.Epoch     `json:"epoch"`
	Scheme    concordat.Scheme    `json:"scheme"`
	Seen      time.Time           `json:"seen"`
	Replaced  time.Time           `json:"replaced,omitzero"`
	Retires   time.Time           `json:"retires,omitzero"` // zero while the epoch is the latest one
	Retired   bool                `json:"retired"`          // no longer answered; its index can be deleted, see [Sets.DropEpoch]
	Libraries []EpochLibraryState `json:"libraries"`
}

// EpochLibraryState is the progress of a library in a set.
type EpochLibraryState struct {
	Library   concordat.LibraryID `json:"library"`
	Held      int                 `json:"held"`      // documents with fingerprints for the epoch
	Documents int                 `json:"documents"` // all documents in the library
}

// EpochStates returns the states of all epochs that were used and not dropped, in order.
func (s *Sets) EpochStates(ctx context.Context) ([]EpochState, error) {
	rows, err := s.o.Store.Answers.Epochs(ctx)
	if err != nil {
		return nil, err
	}
	var out []EpochState
	for _, r := range rows {
		state := EpochState{Epoch: r.Epoch, Scheme: r.Scheme, Seen: r.Seen, Replaced: r.Replaced}
		if !r.Replaced.IsZero() {
			state.Retires = r.Replaced.Add(EpochGrace)
			state.Retired = !s.o.Now().Before(state.Retires)
		}
		libraries, err := s.o.Store.Answers.EpochLibraries(ctx, r.Epoch)
		if err != nil {
			return nil, err
		}
		for _, l := range libraries {
			held, all, err := s.o.Store.Answers.EpochReady(ctx, r.Epoch, l)
			if err != nil {
				return nil, err
			}
			state.Libraries = append(state.Libraries, EpochLibraryState{l, held, all})
		}
		out = append(out, state)
	}
	return out, nil
}

// DropEpoch removes a retired epoch. The caller must have closed the index, and deletes it afterwards. It fails with concordat.ErrInvalid
// while the epoch is still answered.
func (s *Sets) DropEpoch(ctx context.Context, e concordat.Epoch) error {
	if s.epoch(e) != nil {
		return fmt.Errorf("drop epoch %s: %w: the epoch is still in use", e, concordat.ErrInvalid)
	}
	return s.o.Store.Answers.DropEpoch(ctx, e)
}

// readyFor is how long a library's readiness is cached.
const readyFor = 10 * time.Second

// readyOf returns how much of a library the set contains.
func (s *Sets) readyOf(ctx context.Context, e *epochSet, lib concordat.LibraryID) (readiness, error) {
	now := s.o.Now()
	e.mu.Lock()
	r, ok := e.ready[lib]
	e.mu.Unlock()
	if ok && now.Sub(r.at) < readyFor && now.Sub(r.at) >= 0 {
		return r, nil
	}
	held, all, err := s.o.Store.Answers.EpochReady(ctx, e.Epoch, lib)
	if err != nil {
		return readiness{}, err
	}
	behind, err := s.behind(ctx, e, lib)
	if err != nil {
		return readiness{}, err
	}
	r = readiness{max(0, held-behind), all, now}
	e.mu.Lock()
	e.ready[lib] = r
	e.mu.Unlock()
	return r, nil
}

// share returns the share contained, 0 to 1, rounded down to hundredths, because the effect of a single document would otherwise reveal
// the library's size.
func (r readiness) share() float64 {
	if r.all == 0 {
		return 1
	}
	return float64(100*r.held/r.all) / 100
}

// unready makes the next readyOf recompute its result.
func (e *epochSet) unready(lib concordat.LibraryID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ready, lib)
}

const (
	// pollEpochs is how often KeepEpochs checks for changes by other processes; pollShared applies if such changes are likely.
	pollEpochs = time.Minute
	pollShared = 3 * time.Second
)

// KeepEpochs fills the sets in the background after each change. It returns nil when ctx ends. It logs failures and retries a minute
// later.
func (s *Sets) KeepEpochs(ctx context.Context) error {
	poll := pollEpochs
	if s.o.Shared {
		poll = pollShared
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := compare.Guard(func() error { return s.CatchUp(ctx) })
		s.panics.Note(err)
		if err != nil && ctx.Err() == nil {
			s.o.Logger.Error("fingerprint sets for partners are out of date", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.epochs.changed:
		case <-tick.C:
		}
	}
}

// CatchUp updates every set in use from the catalogue and the shares. It adds new or changed documents in libraries open to a member, and
// removes all others. It resumes interrupted work, and notifies partners of new matches for their standing questions.
func (s *Sets) CatchUp(ctx context.Context) error {
	s.epochs.fill.Lock()
	defer s.epochs.fill.Unlock()
	if err := errors.Join(s.Shares.withdrawExpired(ctx), s.answers.tidy(ctx, s.o.Now()), s.answers.lookAtJobs(ctx, s.o.Now())); err != nil {
		return err
	}
	for _, e := range s.epochSets() {
		if e.retired(s.o.Now()) {
			continue
		}
		if s.o.Shared {
			e.forgetStanding() // other processes may have received questions
		}
		if err := s.keepShared(ctx, e); err != nil {
			return fmt.Errorf("update fingerprint set for epoch %s: %w", e.Epoch, err)
		}
	}
	return nil
}

func (s *Sets) catchUp(ctx context.Context, e *epochSet) error {
	wanted, err := s.openTo(ctx, e)
	if err != nil {
		return err
	}
	held, err := s.o.Store.Answers.EpochLibraries(ctx, e.Epoch)
	if err != nil {
		return err
	}
	for _, lib := range held {
		if err := s.trim(ctx, e, lib, !slices.Contains(wanted, lib)); err != nil {
			return err
		}
	}
	for _, lib := range wanted {
		if err := s.fill(ctx, e, lib); err != nil {
			return err
		}
	}
	return nil
}

// openTo returns the libraries open to a member, in order.
func (s *Sets) openTo(ctx context.Context, e *epochSet) ([]concordat.LibraryID, error) {
	shares, err := s.o.Store.Answers.Shares(ctx, "", "")
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	var out []concordat.LibraryID
	for _, x := range shares {
		// The set is prepared even during an embargo.
		if e.member(x.Partner) && x.Rule.Level != concordat.ShowNothing && (x.Rule.Expires.IsZero() || now.Before(x.Rule.Expires)) {
			out = append(out, x.Library)
		}
	}
	return slices.Compact(out), nil
}

// trim removes from the set a library's documents that are missing from the catalogue, or all of the library's documents if all is set.
func (s *Sets) trim(ctx context.Context, e *epochSet, lib concordat.LibraryID, all bool) error {
	for s.inUse(e) {
		ids, err := s.o.Store.Answers.Leftover(ctx, e.Epoch, lib, all, pageDocuments)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := s.removeFrom(ctx, e, lib, ids); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sets) removeFrom(ctx context.Context, e *epochSet, lib concordat.LibraryID, ids []concordat.DocumentID) error {
	defer e.unready(lib)
	refs := make([]concordat.Ref, len(ids))
	for i, id := range ids {
		refs[i] = s.ref(lib, id)
	}
	if err := e.Index.Delete(ctx, refs...); err != nil {
		return fmt.Errorf("remove from %s: %w", lib, err)
	}
	return s.o.Store.Answers.RemoveEpochDocuments(ctx, e.Epoch, lib, ids)
}

// fill adds the documents of a library missing from the set.
func (s *Sets) fill(ctx context.Context, e *epochSet, lib concordat.LibraryID) error {
	after := concordat.DocumentID("")
	for s.inUse(e) {
		rows, err := s.o.Store.Answers.Unset(ctx, e.Epoch, lib, after, pageDocuments)
		if err != nil || len(rows) == 0 {
			return err
		}
		for len(rows) > 0 && s.inUse(e) {
			n, bytes := 0, int64(0)
			for n < len(rows) && (n == 0 || bytes+rows[n].Bytes <= epochBatchBytes) {
				bytes += rows[n].Bytes
				n++
			}
			if err := s.fillBatch(ctx, e, lib, rows[:n]); err != nil {
				return err
			}
			after, rows = rows[n-1].ID, rows[n:]
		}
	}
	return nil
}

// epochBatchBytes is the maximum amount of document text in memory at once.
const epochBatchBytes = 4 << 20

// fillBatch adds documents to the set. It first records in the store that they are changing. Whatever happens next, the store's list
// includes everything that the index can contain, and a document counts as present only if the index contains it.
func (s *Sets) fillBatch(ctx context.Context, e *epochSet, lib concordat.LibraryID, rows []store.DocumentRow) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer e.unready(lib)
	profiles, hashes, gone, err := s.keyedProfiles(ctx, e, lib, rows)
	if err != nil {
		return err
	}
	ids := make([]concordat.DocumentID, len(profiles))
	done := make([]store.EpochDocument, len(profiles))
	for i, p := range profiles {
		ids[i] = p.Document.ID
		done[i] = store.EpochDocument{Library: lib, ID: p.Document.ID, Hash: hashes[i], Sentences: len(p.Indexed)}
	}
	if err := s.o.Store.Answers.BeginEpochDocuments(ctx, e.Epoch, lib, ids); err != nil {
		return err
	}
	if err := e.Index.Put(ctx, profiles...); err != nil {
		return fmt.Errorf("put %d documents: %w", len(profiles), err)
	}
	// Alerts are raised before the documents count as present, so that no crash loses one. They are raised once more for questions that
	// arrived in the meantime, since the answers may have missed these documents.
	changes := e.standingChanges()
	if err := s.alert(ctx, e, lib, profiles, hashes); err != nil {
		return err
	}
	if err := s.o.Store.Answers.EndEpochDocuments(ctx, e.Epoch, lib, done); err != nil {
		return err
	}
	if s.o.Shared {
		e.forgetStanding()
	}
	if e.standingChanges() != changes {
		if err := s.alert(ctx, e, lib, profiles, hashes); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		return s.removeFrom(ctx, e, lib, gone)
	}
	return nil
}

// keyedProfiles fingerprints documents with the epoch's key and drops their text. gone lists documents deleted in the meantime.
func (s *Sets) keyedProfiles(ctx context.Context, e *epochSet, lib concordat.LibraryID,
	rows []store.DocumentRow) (ps []*concordat.Profile, hashes []string, gone []concordat.DocumentID, err error) {
	all := make([]*concordat.Profile, len(rows))
	sums := make([]string, len(rows))
	g, gctx := limited(ctx, s.o.Workers)
	for i, r := range rows {
		compare.Go(g, func() error {
			d, err := s.document(gctx, lib, r.ID)
			if err != nil || d == nil {
				return err
			}
			all[i], err = e.Profiler.ForIndex(*d)
			if err != nil {
				return err
			}
			sums[i] = store.TextHash(d.Text)
			all[i].Document = concordat.Document{Library: lib, ID: r.ID, Added: d.Added}
			all[i].Terms = nil
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, nil, err
	}
	for i, p := range all {
		if p == nil {
			gone = append(gone, rows[i].ID)
			continue
		}
		ps, hashes = append(ps, p), append(hashes, sums[i])
	}
	return ps, hashes, gone, nil
}
