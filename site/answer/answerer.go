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
	Index   concordat.Index // contains the texts of the site's own documents
	Store   *store.DB
	Logger  *slog.Logger     // nil disables logging
	Now     func() time.Time // nil means time.Now
	Workers int              // number of fingerprinting goroutines; 0 means one per core
	// Meaning reports whether the index has meaning cells, so that questions about leads can be answered; nil means that it does not.
	Meaning func() bool
	// Shared means that other processes also serve this site and change the same store.
	Shared bool
	// Noticed handles a partner's notice about a question asked by this site; see [concordat/site/ask.Asker.Noticed]. If nil, such
	// notices are only stored for people to read.
	Noticed func(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error)
}

// Answerer answers partners on behalf of one site. The types below do the rest of that work. All are safe for concurrent use.
type Answerer struct{ *core }

// Sets maintains the fingerprint sets of the epochs, from which partners are answered.
type Sets struct{ *core }

// Shares opens and closes libraries to partners.
type Shares struct{ *core }

// Requests handles partners' requests to read passages, and this site's own requests to partners.
type Requests struct{ *core }

// Notices sends notices to partners and stores the ones received.
type Notices struct{ *core }

// core holds the data and functions common to these types.
type core struct {
	Sets     *Sets
	Shares   *Shares
	Requests *Requests
	Notices  *Notices

	answers *Answerer
	o       Options
	epochs  epochSets
	panics  compare.Panics
}

// TellPanics sets where panics in background work are recorded. It must be called before [Sets.KeepEpochs].
func (s *Sets) TellPanics(p compare.Panics) { s.panics = p }

// New returns an Answerer, which answers nothing until [Sets.UseEpochs] is called.
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
	c := &core{o: o, epochs: epochSets{changed: make(chan struct{}, 1)}}
	c.Sets, c.Shares, c.Requests, c.Notices, c.answers = &Sets{c}, &Shares{c}, &Requests{c}, &Notices{c}, &Answerer{c}
	return c.answers
}

// ref returns the Ref of a document of this site.
func (s *core) ref(lib concordat.LibraryID, id concordat.DocumentID) concordat.Ref {
	return concordat.Ref{Site: s.o.ID, Library: lib, Document: id}
}

// templates returns the texts of the templates of a library.
func (s *core) templates(ctx context.Context, lib concordat.LibraryID) ([]string, error) {
	ts, err := s.o.Store.Catalogue.Templates(ctx, lib)
	if err != nil {
		return nil, fmt.Errorf("templates of %s: %w", lib, err)
	}
	var given []report.Template
	for _, t := range ts {
		if !t.Counts {
			given = append(given, report.Template{Text: t.Text})
		}
	}
	return compare.TemplateTexts(given), nil
}

// document returns a document of this site with its text, or nil if there is none.
func (s *core) document(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (*concordat.Document, error) {
	d, err := s.o.Index.Document(ctx, s.ref(lib, id))
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, nil
	}
	return d, err
}
