package site

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/site/compare"
	"concordat/store"
)

// Options of a Site. ID, Index, Store and Profiler are mandatory.
type Options struct {
	ID       concordat.SiteID
	Index    concordat.Index
	Store    *store.DB
	Profiler *profile.Profiler
	Logger   *slog.Logger     // nil disables logging
	Now      func() time.Time // nil means time.Now
	Workers  int              // number of goroutines for fingerprinting and comparison; 0 means one per core
	// Worker identifies this process among the site's processes that add documents, for [Site.Settle]. Empty means that there is only
	// one.
	Worker string
	// Shared means that other processes also serve this site and change the same store.
	Shared bool
	// Sharing is notified of changes to libraries; nil means that none is open to partners.
	Sharing Sharing
	// Encoder returns the current encoder for verifying leads. If it is nil or returns nil, the embedded table is used.
	Encoder func() *compare.Encoder
	// Rules returns the initial rules for reports whose check or batch has none; nil means the zero rules.
	Rules func() report.Rules
	// Stock is wording that everyone is free to use; nil means the built-in stock.
	Stock *compare.Stock
}

// Sharing keeps the data that partners can query in step with the site's libraries.
type Sharing interface {
	// Changed is called after documents are added or removed. It returns immediately.
	Changed()
	// Close ends all shares of a library that is being deleted.
	Close(ctx context.Context, lib concordat.LibraryID) error
}

// Site is one member of the federation.
type Site struct {
	o       Options
	taking  sync.RWMutex // held for reading while a batch is added, and for writing while one is settled
	stands  watchCache
	keeping sync.Mutex // see HoldFindings
	asker   Asker      // nil means that partners are not asked
	panics  compare.Panics
}

// New returns a Site with the parts in its options.
func New(o Options) *Site {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return &Site{o: o}
}

// changed signals that documents were added or removed.
func (s *Site) changed() {
	if s.o.Sharing != nil {
		s.o.Sharing.Changed()
	}
}

// AskWith sets the Asker that checks use. It must be called before the first check.
func (s *Site) AskWith(a Asker) { s.asker = a }

// TellPanics sets where recovered panics in the site's work are recorded. It must be called before any work.
func (s *Site) TellPanics(p compare.Panics) { s.panics = p }

// NotePanic logs and counts the panic in err, once, and reports whether there is one.
func (s *Site) NotePanic(err error, attrs ...any) bool { return s.panics.Note(err, attrs...) }

// HoldFindings excludes other callers until release is called, so that several steps can change findings. It is meant for deletions and
// for requests for passages, which must not happen twice.
func (s *Site) HoldFindings() (release func()) {
	s.keeping.Lock()
	return s.keeping.Unlock
}

// Options returns the site's options.
func (s *Site) Options() Options { return s.o }

// ID returns the site's identity.
func (s *Site) ID() concordat.SiteID { return s.o.ID }

// Scheme returns the scheme of the site's fingerprints.
func (s *Site) Scheme() concordat.Scheme { return s.o.Profiler.Scheme() }

// Ref returns the Ref of a document of this site.
func (s *Site) Ref(lib concordat.LibraryID, id concordat.DocumentID) concordat.Ref {
	return concordat.Ref{Site: s.o.ID, Library: lib, Document: id}
}

// CheckName returns nil if name can identify a library or document, that is, has 1 to 512 bytes of UTF-8 without control characters.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("name is empty: %w", concordat.ErrInvalid)
	case len(name) > concordat.LongestName:
		return fmt.Errorf("name of %d bytes: %w: want at most %d", len(name), concordat.ErrInvalid, concordat.LongestName)
	case !utf8.ValidString(name) || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("name %q: %w: contains control characters or is not valid UTF-8", name, concordat.ErrInvalid)
	}
	return nil
}

// CheckLibraryName returns nil if name is acceptable for a new library, that is, easy to type in commands and usable in URLs. Existing
// libraries keep their names.
func CheckLibraryName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune("-_.", r)) {
			return fmt.Errorf("library %q: %w: want a letter or digit, then letters, digits, hyphens, dots and underscores", name,
				concordat.ErrInvalid)
		}
	}
	return nil
}

// CheckText returns nil if text can be added and checked.
func CheckText(text string) error {
	switch {
	case len(text) > segment.MaxBytes:
		return fmt.Errorf("text of %d bytes: %w: want at most %d", len(text), concordat.ErrInvalid, segment.MaxBytes)
	case !utf8.ValidString(text):
		return fmt.Errorf("text: %w: not valid UTF-8", concordat.ErrInvalid)
	}
	return nil
}

// DeleteDocuments deletes documents of a library, with their text, fingerprints and catalogue rows. It is not an error if documents do
// not exist.
func (s *Site) DeleteDocuments(ctx context.Context, lib concordat.LibraryID, ids ...concordat.DocumentID) error {
	refs := make([]concordat.Ref, len(ids))
	for i, id := range ids {
		refs[i] = s.Ref(lib, id)
	}
	if err := s.o.Index.Delete(ctx, refs...); err != nil {
		return fmt.Errorf("delete from %s: %w", lib, err)
	}
	if err := s.o.Store.Catalogue.DeleteDocuments(ctx, lib, ids...); err != nil {
		return err
	}
	s.changed()
	return nil
}

// DeletePage is the number of a library's documents deleted at once.
const DeletePage = 500

// DeleteLibrary deletes a library and all its documents; progress, if not nil, is called with the number of documents deleted. An
// interrupted call can be repeated.
func (s *Site) DeleteLibrary(ctx context.Context, lib concordat.LibraryID, progress func(done int)) error {
	if _, err := s.o.Store.Catalogue.Library(ctx, lib); err != nil {
		return fmt.Errorf("library %s: %w", lib, err)
	}
	for done := 0; ; {
		rows, err := s.o.Store.Catalogue.Documents(ctx, lib, "", DeletePage)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		ids := make([]concordat.DocumentID, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		if err := s.DeleteDocuments(ctx, lib, ids...); err != nil {
			return err
		}
		if done += len(ids); progress != nil {
			progress(done)
		}
	}
	if s.o.Sharing != nil {
		if err := s.o.Sharing.Close(ctx, lib); err != nil {
			return err
		}
	}
	return s.o.Store.Catalogue.DeleteLibrary(ctx, lib)
}
