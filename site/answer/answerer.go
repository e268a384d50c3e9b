package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// Options of an Answerer. ID, Index and Store are required.
type Options struct {
	ID      concordat.SiteID
	Index   concordat.Index // with the texts of the site's own documents
	Store   *store.DB
	Logger  *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: time.Now
	Workers int              // of fingerprinting; 0: one for each core
	// Meaning: the index has cells of meaning, so that leads can be answered.
	Meaning bool
	// Shared: other processes also serve this site, with the same store, and change it meanwhile.
	Shared bool
	// Noticed handles a partner's notice about what this site asked; see [concordat/site/ask.Asker.Noticed]. nil: such notices
	// are kept for people and have no other effect.
	Noticed func(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error)
}

// Answerer answers partners on behalf of one site. It is safe for concurrent use.
type Answerer struct {
	o      Options
	epochs epochSets
	panics compare.Panics
}

// TellPanics sets where panics of background work are recorded. It is called before [Answerer.KeepEpochs].
func (s *Answerer) TellPanics(p compare.Panics) { s.panics = p }

// New returns an Answerer, which answers nothing before [Answerer.UseEpochs].
func New(o Options) *Answerer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	if o.Noticed == nil {
		o.Noticed = func(context.Context, concordat.SiteID, *concordat.Notice) (concordat.TaskID, error) { return "", nil }
	}
	return &Answerer{o: o, epochs: epochSets{changed: make(chan struct{}, 1)}}
}

// ref names a document of this site.
func (s *Answerer) ref(lib concordat.LibraryID, id concordat.DocumentID) concordat.Ref {
	return concordat.Ref{Site: s.o.ID, Library: lib, Document: id}
}

// templates returns the texts of the templates of a library.
func (s *Answerer) templates(ctx context.Context, lib concordat.LibraryID) ([]string, error) {
	ts, err := s.o.Store.Catalogue.Templates(ctx, lib)
	if err != nil {
		return nil, fmt.Errorf("templates of %s: %w", lib, err)
	}
	given := make([]report.Template, len(ts))
	for i, t := range ts {
		given[i].Text = t.Text
	}
	return compare.TemplateTexts(given), nil
}

// document returns a document of this site with its text, or nil.
func (s *Answerer) document(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (*concordat.Document, error) {
	d, err := s.o.Index.Document(ctx, s.ref(lib, id))
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, nil
	}
	return d, err
}
