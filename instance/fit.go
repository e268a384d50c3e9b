package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"concordat"
	"concordat/cluster"
	"concordat/site"
	"concordat/store"
)

// UnfitDocument is a document that is not correctly indexed by meaning.
type UnfitDocument struct {
	*concordat.Document
	Bare bool // known to have no cells, which is correct if it needs none
}

// unfitAtOnce is the number of documents that the index lists at once.
const unfitAtOnce = 20_000

// UnfitDocuments yields, with their texts, the libraries' documents that are not correctly indexed by meaning.
func UnfitDocuments(ctx context.Context, o *Instance, libraries []store.Library) iter.Seq2[UnfitDocument, error] {
	return func(yield func(UnfitDocument, error) bool) {
		for i := range libraries {
			after := concordat.DocumentID("")
			for full := true; full; {
				u, err := o.Unfit(ctx, &libraries[i], after, unfitAtOnce)
				if err != nil {
					yield(UnfitDocument{}, err)
					return
				}
				for _, x := range u.Documents {
					after = x.ID
					d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: libraries[i].ID, Document: x.ID})
					if errors.Is(err, concordat.ErrNotFound) {
						continue // deleted in the meantime
					}
					if !yield(UnfitDocument{d, x.Bare}, err) {
						return
					}
				}
				full = len(u.Documents) == unfitAtOnce
			}
		}
	}
}

// SortedLibraries returns the site's libraries ordered by identity.
func SortedLibraries(ctx context.Context, db *store.DB) ([]store.Library, error) {
	libraries, err := db.Catalogue.Libraries(ctx)
	slices.SortFunc(libraries, func(a, b store.Library) int { return cmp.Compare(a.ID, b.ID) })
	return libraries, err
}

// notedAtOnce is the number of catalogue rows updated per transaction. It is small, because additions during a reindex wait for the
// transaction.
const notedAtOnce = 20

// NoteProfiles updates the catalogue with new profiles of its documents.
func NoteProfiles(ctx context.Context, db *store.DB, profiles []*concordat.Profile) error {
	rows := make([]store.DocumentRow, len(profiles))
	for i, p := range profiles {
		d := &p.Document
		rows[i] = store.DocumentRow{Library: d.Library, ID: d.ID, Hash: store.TextHash(d.Text), Sentences: len(p.Indexed),
			Characters: p.Characters, Scheme: p.Scheme, Short: site.ShortPieces(p)}
	}
	for few := range slices.Chunk(rows, notedAtOnce) {
		if err := db.Catalogue.RenewDocuments(context.WithoutCancel(ctx), few); err != nil {
			return err
		}
	}
	return nil
}

// These limit how many documents, and bytes of their texts, are indexed together in the background, because other writes have to wait.
const (
	fitAtOnce = 50
	fitBytes  = 1 << 20
)

// FitMeaning gives all documents the meaning cells that they should have, one after another, while the site is served. It calls told with
// the numbers of documents done and remaining. After an interruption, it resumes with the remaining documents. It returns early, without
// an error, once indexing by meaning is switched off.
func FitMeaning(ctx context.Context, o *Instance, told func(done, all int)) error {
	to, ok := o.Index.(cluster.Renewer)
	if !ok {
		return fmt.Errorf("this kind of index cannot recompute documents: %w", concordat.ErrInvalid)
	}
	u, err := o.AllUnfit(ctx)
	if err != nil {
		return err
	}
	libraries, err := SortedLibraries(ctx, o.Store)
	if err != nil {
		return err
	}
	done, all := 0, u.Faulty()+u.Bare
	told(done, all)
	var few []*concordat.Profile
	size := 0
	put := func() error {
		if len(few) > 0 {
			if _, err := to.Renew(context.WithoutCancel(ctx), few...); err != nil {
				return err
			}
			if err := NoteProfiles(ctx, o.Store, few); err != nil {
				return err
			}
		}
		done += len(few)
		few, size = nil, 0
		told(done, max(done, all))
		return nil
	}
	for d, err := range UnfitDocuments(ctx, o, libraries) {
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
		if !o.Profiler.Meaning() {
			return nil
		}
		p, err := o.Profile(ctx, *d.Document)
		if err != nil {
			return err
		}
		if d.Bare && len(p.Cells) == 0 {
			done++
			continue
		}
		few, size = append(few, p), size+len(d.Text)
		if len(few) < fitAtOnce && size < fitBytes {
			continue
		}
		if err := put(); err != nil {
			return err
		}
	}
	return put()
}
