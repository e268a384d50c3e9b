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

// Options of a Site. ID, Index, Store and Profiler are required.
type Options struct {
	ID       concordat.SiteID
	Index    concordat.Index
	Store    *store.DB
	Profiler *profile.Profiler
	Logger   *slog.Logger     // nil: nothing is logged
	Now      func() time.Time // nil: time.Now
	Workers  int              // number of goroutines that fingerprint and compare; 0 means one for each core
	// Worker is the name of this process among the site's processes that add documents, for [Site.Settle]. It is empty
	// if there is only one.
	Worker string
	// Shared says that other processes also serve this site, and change the same store.
	Shared bool
	// Sharing keeps libraries that are open to partners up to date; nil means that none is open.
	Sharing Sharing
	// Encoder returns the current encoder that verifies leads. If it is nil or returns nil, the embedded table is used.
	Encoder func() *compare.Encoder
	// Rules returns the initial rules of reports whose check or batch has none; nil means the zero rules.
	Rules func() report.Rules
	// Stock is wording that everyone may use; nil means the stock that comes with the program.
	Stock *compare.Stock
}

// Sharing keeps the data that partners may ask about in step with the site's libraries.
type Sharing interface {
	// Changed is called after documents were added or removed. It returns at once.
	Changed()
	// Close ends all shares of a library that is deleted.
	Close(ctx context.Context, lib concordat.LibraryID) error
}

// Site is one member of the federation.
type Site struct {
	o       Options
	taking  sync.RWMutex // held for reading while a batch is added, for writing while one is settled
	stands  watchCache
	keeping sync.Mutex // see HoldFindings
	asker   Asker      // nil: partners are not asked
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

// changed announces that documents were added or removed.
func (s *Site) changed() {
	if s.o.Sharing != nil {
		s.o.Sharing.Changed()
	}
}

// AskWith sets the Asker that checks use. It must be called before the first check.
func (s *Site) AskWith(a Asker) { s.asker = a }

// TellPanics sets where recovered panics of the site's work are recorded. It must be called before any work.
func (s *Site) TellPanics(p compare.Panics) { s.panics = p }

// NotePanic logs and counts the panic that err holds, once, and reports whether there is one.
func (s *Site) NotePanic(err error, attrs ...any) bool { return s.panics.Note(err, attrs...) }

// HoldFindings excludes other callers while several steps change findings, until release is called. It is for deletions and for requests
// for passages, none of which may be made twice.
func (s *Site) HoldFindings() (release func()) {
	s.keeping.Lock()
	return s.keeping.Unlock
}

// Options returns the options of the site.
func (s *Site) Options() Options { return s.o }

// ID returns the site's identity.
func (s *Site) ID() concordat.SiteID { return s.o.ID }

// Scheme returns the scheme of the site's fingerprints.
func (s *Site) Scheme() concordat.Scheme { return s.o.Profiler.Scheme() }

// Ref returns the Ref of a document of this site.
func (s *Site) Ref(lib concordat.LibraryID, id concordat.DocumentID) concordat.Ref {
	return concordat.Ref{Site: s.o.ID, Library: lib, Document: id}
}

// CheckName returns nil if name can be the identity of a library or document: 1 to 512 bytes of
// UTF-8 without control characters.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("an empty name: %w", concordat.ErrInvalid)
	case len(name) > concordat.LongestName:
		return fmt.Errorf("name of %d bytes: %w: at most %d", len(name), concordat.ErrInvalid, concordat.LongestName)
	case !utf8.ValidString(name) || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("name %q: %w: control characters or not UTF-8", name, concordat.ErrInvalid)
	}
	return nil
}

// CheckLibraryName returns nil if name can be given to a new library: it must be easy to type in commands and usable in addresses. Older
// libraries keep their names.
func CheckLibraryName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune("-_.", r)) {
			return fmt.Errorf("library %q: %w: a letter or digit, then letters, digits, hyphens, dots and underscores", name,
				concordat.ErrInvalid)
		}
	}
	return nil
}

// CheckText returns nil if text can be added and checked.
func CheckText(text string) error {
	switch {
	case len(text) > segment.MaxBytes:
		return fmt.Errorf("text of %d bytes: %w: at most %d", len(text), concordat.ErrInvalid, segment.MaxBytes)
	case !utf8.ValidString(text):
		return fmt.Errorf("text: %w: not UTF-8", concordat.ErrInvalid)
	}
	return nil
}

// DeleteDocuments deletes documents of a library, their text, fingerprints and catalogue rows. Missing documents are not an error.
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

// DeletePage is the number of documents of a library deleted at a time.
const DeletePage = 500

// DeleteLibrary deletes a library with all its documents; progress, if not nil, is called with the number of deleted documents.
// An interrupted call can be repeated.
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
