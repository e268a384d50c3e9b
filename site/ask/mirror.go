package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

func keyOf(m site.MirroredLibrary) store.MirrorKey {
	return store.MirrorKey{Site: m.Site, Library: m.Library, Epoch: m.Epoch}
}

// within returns a mirrored library's name in its index.
func within(m *site.MirroredLibrary) concordat.LibraryID {
	return concordat.LibraryID(m.Site) + "/" + m.Library
}

// Mirrored returns the name of a mirrored document in the index, where this site is the owner.
func (s *Asker) Mirrored(m site.MirroredLibrary, id concordat.DocumentID) concordat.Ref {
	return s.mirrored(&m, id)
}

func (s *Asker) mirrored(m *site.MirroredLibrary, id concordat.DocumentID) concordat.Ref {
	return concordat.Ref{Site: s.site.ID(), Library: within(m), Document: id}
}

// Synced is the result of SyncMirror.
type Synced struct {
	Documents int // documents added or replaced
	Removed   int
	Withheld  int // documents not shipped because the owner has disclosed them as word sets
	Sentences int
	Complete  bool // nothing remains to fetch
	Withdrawn bool // the owner closed the library, and the mirror was deleted
}

// Shipper is a partner that ships a library's changes for a mirror. Its methods fail like those of site.Partner.
type Shipper interface {
	Site() concordat.SiteID
	Ship(ctx context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error)
}

// SyncMirror fetches changes to a partner's library since the last sync and applies them to the mirror's index. It calls progress, if not
// nil, after every shipment. After an interruption or a failure of the partner, calling it again continues from the last shipment
// applied. No other site can use the index. If the library is no longer open to this site, the mirror is deleted; this is not an error.
// If there is no more space, it fails with the error of Options.Room. It also fails if the partner repeatedly promises more without
// sending anything.
func (s *Asker) SyncMirror(ctx context.Context, partner Shipper, m site.MirroredLibrary, progress func(Synced)) (Synced, error) {
	var done Synced
	if err := m.Validate(); err != nil {
		return done, err
	}
	if partner.Site() != m.Site {
		return done, fmt.Errorf("mirror of site %s requested from site %s: %w", m.Site, partner.Site(), concordat.ErrInvalid)
	}
	state, err := s.o.Store.Asks.Mirror(ctx, keyOf(m))
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return done, err
	}
	if !state.Withdrawn.IsZero() || state.Scheme != "" && state.Scheme != m.Profiler.Scheme() {
		// The current mirror is useless, because its library was closed or it was built with a different scheme.
		if err := s.DropMirror(ctx, m); err != nil {
			return done, err
		}
		state = store.Mirror{}
	}
	state.MirrorKey, state.Scheme = keyOf(m), m.Profiler.Scheme()
	for empty := 0; ; {
		if err := s.o.Room(); err != nil {
			return done, fmt.Errorf("mirror of %s/%s: %w", m.Site, m.Library, err)
		}
		sh, err := partner.Ship(ctx, &concordat.ShipAsk{Epoch: m.Epoch, Library: m.Library, Cursor: state.Cursor})
		if closed(err) {
			done.Withdrawn = true
			return done, s.DropMirror(ctx, m)
		}
		if err == nil {
			err = s.takeShipment(ctx, &m, &state, sh, &done)
		}
		switch {
		case err != nil:
		case len(sh.Documents) > 0:
			empty = 0
		case empty >= maxEmptyShipments:
			err = fmt.Errorf("%w: %d shipments in a row contained no documents", errGarbage, empty)
		default:
			empty++
		}
		if err != nil {
			s.lied(ctx, m.Site, err)
			return done, fmt.Errorf("mirror of %s/%s: %w", m.Site, m.Library, err)
		}
		if progress != nil {
			progress(done)
		}
		if done.Complete {
			return done, nil
		}
	}
}

// closed reports whether err means that the owner's library is not, or no longer, open to this site.
func closed(err error) bool {
	var r *concordat.Refusal
	return errors.As(err, &r) && (r.Reason == concordat.ReasonLibrary || r.Reason == concordat.ReasonExpired ||
		r.Reason == concordat.ReasonEmbargo)
}

const (
	maxCursor             = 64
	maxShippedSentences   = 1 << 20 // per document
	maxShippedDocuments   = 1 << 20
	maxEmptyShipments     = 1000 // consecutive; a page of changes can contain nothing to ship
	mirrorBatchDocuments  = 500
	mirrorBatchOfDeletion = 500
)

// takeShipment applies one shipment, first to the index, then to the store together with the cursor.
func (s *Asker) takeShipment(ctx context.Context, m *site.MirroredLibrary, state *store.Mirror, sh *concordat.Shipment,
	done *Synced) error {
	if sh == nil || sh.Scheme != state.Scheme {
		got := concordat.Scheme("nothing")
		if sh != nil {
			got = sh.Scheme
		}
		return fmt.Errorf("shipment uses scheme %s, want %s: %w", got, state.Scheme, concordat.ErrScheme)
	}
	if len(sh.Cursor) > maxCursor || len(sh.Documents) > maxShippedDocuments || sh.More && string(sh.Cursor) == string(state.Cursor) {
		return fmt.Errorf("%w: invalid shipment", errGarbage)
	}
	var rows []store.MirrorDocument
	var gone []concordat.DocumentID
	var refs []concordat.Ref
	var profiles []*concordat.Profile
	seen := map[concordat.Handle]int{} // if a document appears twice, the last occurrence counts
	for i, d := range sh.Documents {
		seen[d.Handle] = i
	}
	for i, d := range sh.Documents {
		id := HandleName(d.Handle)
		if seen[d.Handle] != i {
			continue
		}
		if d.Removed {
			gone, refs = append(gone, id), append(refs, s.mirrored(m, id))
			continue
		}
		if d.Withheld {
			rows, refs = append(rows, store.MirrorDocument{ID: id, Withheld: true}), append(refs, s.mirrored(m, id))
			done.Withheld++
			continue
		}
		p, err := s.shipped(m, &d)
		if err != nil {
			return err
		}
		profiles = append(profiles, p)
		rows = append(rows, store.MirrorDocument{ID: id, Title: p.Document.Title, Author: plain(d.Author, maxName),
			Contact: plain(d.Contact, maxName), Date: d.Date, Sentences: len(p.Indexed)})
		done.Sentences += len(p.Indexed)
	}
	if err := m.Index.Delete(ctx, refs...); err != nil {
		return err
	}
	for batch := range slices.Chunk(profiles, mirrorBatchDocuments) {
		if err := m.Index.Put(ctx, batch...); err != nil {
			return err
		}
	}
	next := *state
	next.Cursor, next.Synced, next.Complete = slices.Clone(sh.Cursor), s.o.Now(), !sh.More
	if err := s.o.Store.Asks.PutMirror(ctx, next, rows, gone); err != nil {
		return err
	}
	*state = next
	done.Documents += len(profiles)
	done.Removed += len(gone)
	done.Complete = !sh.More
	return nil
}

// shipped returns the profile of a mirrored document. It has no text; a sentence's position is its ordinal.
func (s *Asker) shipped(m *site.MirroredLibrary, d *concordat.ShippedDocument) (*concordat.Profile, error) {
	if len(d.Sentences) > maxShippedSentences {
		return nil, fmt.Errorf("%w: a document has too many sentences: %d", errGarbage, len(d.Sentences))
	}
	p := &concordat.Profile{Scheme: m.Profiler.Scheme(), Document: concordat.Document{Library: within(m), ID: HandleName(d.Handle),
		Title: plain(d.Title, maxName), Added: d.Date}}
	before := -1
	for _, x := range d.Sentences {
		if x.Ordinal <= before || x.Ordinal > 1<<30 {
			return nil, fmt.Errorf("%w: the sentences of a document are out of order", errGarbage)
		}
		before = x.Ordinal
		p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: x.Fingerprint, Section: -1,
			Span: concordat.Span{Start: x.Ordinal, End: x.Ordinal + 1}})
	}
	return p, nil
}

// DropMirror deletes a mirror and all its documents. An interrupted call can be repeated; a missing mirror is not an error.
func (s *Asker) DropMirror(ctx context.Context, m site.MirroredLibrary) error {
	if err := m.Validate(); err != nil {
		return err
	}
	for {
		rows, err := s.o.Store.Asks.MirrorDocuments(ctx, keyOf(m), "", mirrorBatchOfDeletion)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return s.o.Store.Asks.DeleteMirror(ctx, keyOf(m))
		}
		var refs []concordat.Ref
		var ids []concordat.DocumentID
		for _, r := range rows {
			refs, ids = append(refs, s.mirrored(&m, r.ID)), append(ids, r.ID)
		}
		if err := m.Index.Delete(ctx, refs...); err != nil {
			return fmt.Errorf("delete mirror of %s/%s: %w", m.Site, m.Library, err)
		}
		state, err := s.o.Store.Asks.Mirror(ctx, keyOf(m))
		if err != nil {
			return err
		}
		// The cursor no longer matches the mirror's content.
		state.Cursor, state.Complete = nil, false
		if state.Withdrawn.IsZero() {
			state.Withdrawn = s.o.Now()
		}
		if err := s.o.Store.Asks.PutMirror(ctx, state, nil, ids); err != nil {
			return err
		}
	}
}

// Mirrors returns all mirrors of this site.
func (s *Asker) Mirrors(ctx context.Context) ([]store.Mirror, error) {
	return s.o.Store.Asks.Mirrors(ctx)
}

// mirrors compares the submission with every mirror without contacting anyone.
func (fw *forwarding) mirrors(ctx context.Context) ([]*partnerAnswer, error) {
	var out []*partnerAnswer
	for i := range fw.o.Mirrors {
		m := &fw.o.Mirrors[i]
		state, err := fw.s.o.Store.Asks.Mirror(ctx, keyOf(*m))
		if errors.Is(err, concordat.ErrNotFound) || err == nil && !state.Withdrawn.IsZero() {
			continue
		}
		if err != nil {
			return nil, err
		}
		t, err := fw.mirror(ctx, m, &state)
		if err != nil {
			return nil, fmt.Errorf("mirror of %s/%s: %w", m.Site, m.Library, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func (fw *forwarding) mirror(ctx context.Context, m *site.MirroredLibrary, state *store.Mirror) (*partnerAnswer, error) {
	began := time.Now()
	t := &partnerAnswer{site: m.Site, questions: fw.profiles[m.Profiler].Questions()}
	q := fw.query(fw.profiles[m.Profiler])
	q.Libraries = []concordat.LibraryID{within(m)}
	a := &concordat.Answer{}
	if len(q.Fingerprints) > 0 {
		var err error
		if a, err = m.Index.Match(ctx, q); err != nil {
			return nil, err
		}
	}
	c := concordat.Consulted{Site: m.Site, Library: m.Library, Asked: len(q.Fingerprints), Answered: len(q.Fingerprints),
		Missing: append([]concordat.ShardID{}, a.Missing...), Capped: a.Capped, Level: concordat.ShowMetadata, Epoch: m.Epoch.String(),
		Mirror: state.Synced, Unready: state.Lacks()}
	for _, x := range a.Matches {
		if x.Distance <= t.questions[x.Sentence].Gate {
			x.Source = concordat.Ref{Site: m.Site, Library: m.Library, Document: x.Source.Document}
			x.Ordinal, x.Span = x.Span.Start, concordat.Span{}
			t.matches = append(t.matches, x)
		}
	}
	w := fw.commonAt(t.questions, t.matches, state.Documents, compare.ByBits)
	t.wording = w.common
	evidence, common := w.apart(t.questions, t.matches)
	t.candidates = slices.DeleteFunc(compare.Nominate(t.questions, evidence, w.nearness), func(c *compare.Candidate) bool {
		return !enough(c)
	})
	t.candidates = t.candidates[:min(len(t.candidates), cmp.Or(fw.o.Candidates, compare.DefaultCandidates))]
	passages := w.beside(t.questions, common, m.Profiler)
	refs := make([]concordat.Ref, 0, len(t.candidates))
	for _, x := range t.candidates {
		refs = append(refs, x.Ref)
		for _, p := range w.judged(fw.fromHits(x.Hits, m.Profiler)) {
			p.Source, p.Documents = x.Ref, x.Documents(p.Span)
			passages = append(passages, p)
		}
	}
	for _, p := range passages {
		if !slices.Contains(refs, p.Source) {
			refs = append(refs, p.Source)
		}
	}
	for _, ref := range refs {
		d, err := fw.s.o.Store.Asks.MirrorDocument(ctx, keyOf(*m), ref.Document)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		for _, p := range passages {
			if p.Source == ref {
				p.Title = d.Title
				t.passages = append(t.passages, p)
			}
		}
		t.sources = append(t.sources, report.PartnerSource{Ref: ref, Title: d.Title, Author: d.Author, Contact: d.Contact, Date: d.Date,
			Level: concordat.ShowMetadata, Epoch: m.Epoch, Matches: distinctSentences(t.matches, ref)})
		c.Shown.Documents++
	}
	c.Shown.Exists = c.Shown.Documents > 0
	if fw.o.Leads {
		c.Leads = concordat.LeadsMirror
	}
	c.Took = time.Since(began)
	if len(c.Missing) > 0 {
		c.Answered = 0
	}
	t.consulted = append(t.consulted, c)
	return t, nil
}

// distinctSentences counts the sentences that match one document. ms must be ordered by Sentence.
func distinctSentences(ms []concordat.Match, ref concordat.Ref) int {
	n, last := 0, -1
	for _, m := range ms {
		if m.Source == ref && m.Sentence != last {
			n, last = n+1, m.Sentence
		}
	}
	return n
}
