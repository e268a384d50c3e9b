package site

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/site/compare"
	"concordat/store"
)

// Incoming is a document to be added to a library.
type Incoming struct {
	ID     concordat.DocumentID
	Title  string
	Author string // can be empty
	Text   string
	Source string // the file it came from; can be empty
	// Dated is its date, and DatedBy is the origin of the date; empty means unknown or unchanged.
	Dated   concordat.Date
	DatedBy concordat.DateOrigin
}

// Outcome is the result of ingesting a document.
type Outcome string

// The outcomes.
const (
	Added     Outcome = "added"
	Replaced  Outcome = "replaced"
	Unchanged Outcome = "unchanged" // the same text, title, author and date already exist under this scheme
)

// Ingested is a document that is durably in the library.
type Ingested struct {
	ID        concordat.DocumentID `json:"id"`
	Title     string               `json:"title"`
	Source    string               `json:"source,omitempty"`
	Outcome   Outcome              `json:"outcome"`
	Sentences int                  `json:"sentences"`
}

// Limits on a batch, which is written in one step. Larger batches cost memory without any benefit.
const (
	batchDocuments = 200
	batchBytes     = 256 << 10
)

// Ingest adds documents to a library, replacing any with the same ID, and calls done, in order, for each one that is durably in the
// library. It stops at the first error, whether from docs, from done or its own; everything already reported to done remains. Documents
// whose text, title, author, date and scheme are the same as stored are left unchanged, so repeating an interrupted Ingest resumes it.
// Cancelling ctx stops it between two batches. A panic caused by a document ends only this call, with a *compare.Fault.
//
// Ingest fingerprints one batch while writing the previous one.
func (s *Site) Ingest(ctx context.Context, lib concordat.LibraryID, docs iter.Seq2[Incoming, error], done func(Ingested) error) error {
	if _, err := s.o.Store.Catalogue.Library(ctx, lib); err != nil {
		return fmt.Errorf("library %s: %w", lib, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	prepared := make(chan *batch, 1)
	var fault error // error from docs, which must stop the reading without interrupting the writing
	compare.Go(g, func() (err error) {
		defer close(prepared)
		fault, err = s.prepare(ctx, lib, docs, prepared)
		return err
	})
	compare.Go(g, func() error {
		for b := range prepared {
			if err := s.commit(ctx, b); err != nil {
				return err
			}
			for _, d := range b.ingested {
				if err := done(d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	err := errors.Join(g.Wait(), fault)
	s.NotePanic(err, "library", lib)
	return err
}

// batch is a group of documents written in one step.
type batch struct {
	profiles []*concordat.Profile
	rows     []store.DocumentRow
	ingested []Ingested // every document of the batch, including unchanged ones
}

// prepare reads docs and sends fingerprinted batches. An error from docs is returned separately, since the documents read before it are
// intact and already sent.
func (s *Site) prepare(ctx context.Context, lib concordat.LibraryID, docs iter.Seq2[Incoming, error],
	out chan<- *batch) (fault, err error) {
	var pending []Incoming
	bytes := 0
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		b, err := s.fingerprint(ctx, lib, pending)
		if err != nil {
			return err
		}
		pending, bytes = nil, 0
		select {
		case out <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for d, err := range docs {
		if err == nil {
			err = check(d)
		}
		if err != nil {
			return err, flush()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pending = append(pending, d)
		if bytes += len(d.Text); len(pending) >= batchDocuments || bytes >= batchBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return nil, flush()
}

func check(d Incoming) error {
	if err := CheckName(string(d.ID)); err != nil {
		return fmt.Errorf("document %q: %w", d.ID, err)
	}
	if err := errors.Join(CheckText(d.Text), d.Dated.Validate()); err != nil {
		return fmt.Errorf("document %s: %w", d.ID, err)
	}
	return nil
}

// fingerprint builds a batch from the new or changed documents. If two documents have the same ID, the later one counts.
func (s *Site) fingerprint(ctx context.Context, lib concordat.LibraryID, docs []Incoming) (*batch, error) {
	last := make(map[concordat.DocumentID]int, len(docs))
	for i, d := range docs {
		last[d.ID] = i
	}
	profiles := make([]*concordat.Profile, len(docs))
	rows := make([]store.DocumentRow, len(docs))
	ingested := make([]Ingested, len(docs))
	l, err := s.o.Store.Catalogue.Library(ctx, lib)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.o.Workers)
	for i, d := range docs {
		if last[d.ID] != i {
			continue
		}
		compare.Go(g, func() error {
			return s.fingerprintOne(ctx, l, d, &profiles[i], &rows[i], &ingested[i])
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	b := &batch{}
	for i := range docs {
		if ingested[i].Outcome == "" {
			continue
		}
		b.ingested = append(b.ingested, ingested[i])
		if profiles[i] != nil {
			b.profiles = append(b.profiles, profiles[i])
			b.rows = append(b.rows, rows[i])
		}
	}
	return b, nil
}

func (s *Site) fingerprintOne(ctx context.Context, l store.Library, d Incoming, p **concordat.Profile, row *store.DocumentRow,
	in *Ingested) error {
	hash := store.TextHash(d.Text)
	*in = Ingested{ID: d.ID, Title: d.Title, Source: d.Source, Outcome: Added}
	old, err := s.o.Store.Catalogue.DocumentRow(ctx, l.ID, d.ID)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
	case err != nil:
		return fmt.Errorf("document %s: %w", d.ID, err)
	case old.Hash == hash && old.Title == d.Title && old.Author == d.Author && old.Scheme == s.Scheme() &&
		(d.Dated == "" || old.Dated == d.Dated && old.DatedBy == d.DatedBy):
		in.Outcome, in.Sentences = Unchanged, old.Sentences
		return nil
	default:
		in.Outcome = Replaced
	}
	added := s.o.Now()
	if in.Outcome == Replaced {
		added = old.Added
		if d.Dated == "" && (old.Hash == hash || old.DatedBy == concordat.DateGiven) {
			d.Dated, d.DatedBy = old.Dated, old.DatedBy
		}
	}
	*p, err = s.o.Profiler.ForLibrary(concordat.Document{Library: l.ID, ID: d.ID, Title: d.Title, Added: added, Text: d.Text},
		l.Policy.Meaning != store.MeaningOff)
	if err != nil {
		return err
	}
	in.Sentences = len((*p).Indexed)
	*row = RowOf(*p, hash)
	row.Author, row.Source, row.Dated, row.DatedBy, row.Added = d.Author, d.Source, d.Dated, d.DatedBy, s.o.Now()
	return nil
}

// RowOf returns the catalogue entry for a profile's document, with the fields known from the profile; hash is the hash of its text.
func RowOf(p *concordat.Profile, hash string) store.DocumentRow {
	d := &p.Document
	return store.DocumentRow{Library: d.Library, ID: d.ID, Title: d.Title, Hash: hash, Bytes: int64(len(d.Text)), Sentences: len(p.Indexed),
		Characters: p.Characters, Scheme: p.Scheme, Added: d.Added, Short: ShortPieces(p)}
}

// commit writes a batch to the index, then to the catalogue. Cancellation does not interrupt it; if it fails halfway, the two are
// reconciled immediately or at the next start.
func (s *Site) commit(ctx context.Context, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.profiles) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	id, err := s.o.Store.Catalogue.BeginIntake(ctx, s.o.Worker, b.rows, s.o.Now())
	if err != nil {
		return err
	}
	if err := compare.Guard(func() error { return s.take(ctx, id, b) }); err != nil {
		one := store.Intake{ID: id, Worker: s.o.Worker, Rows: b.rows}
		if failed := s.settle(ctx, one, &Settled{}); failed != nil && !errors.Is(failed, store.ErrLease) {
			err = errors.Join(err, fmt.Errorf("undo an incomplete addition: %w; the next start will undo it", failed))
		}
		return err
	}
	s.changed()
	return nil
}

// take adds a batch to the index and the catalogue.
func (s *Site) take(ctx context.Context, intake string, b *batch) error {
	s.taking.RLock()
	defer s.taking.RUnlock()
	if err := s.o.Index.Put(ctx, b.profiles...); err != nil {
		return fmt.Errorf("put %d documents: %w", len(b.profiles), err)
	}
	// This precedes the catalogue, so that a document whose alerts failed is missing from the catalogue and will be added again.
	if err := s.watch(ctx, b.profiles); err != nil {
		return fmt.Errorf("standing checks: %w", err)
	}
	if err := s.o.Store.Catalogue.FinishIntake(ctx, intake, b.rows); err != nil {
		return fmt.Errorf("catalogue %d documents: %w", len(b.rows), err)
	}
	return nil
}
