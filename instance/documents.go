package instance

import (
	"context"
	"errors"
	"iter"

	"concordat"
	"concordat/store"
)

// LibraryDocuments yields the documents of a library with their texts, ordered by ID. After an error, the iteration continues with the
// next document. If another process serves the site, it reads the documents one by one through the catalogue.
func (o *Instance) LibraryDocuments(ctx context.Context, lib concordat.LibraryID) iter.Seq2[*concordat.Document, error] {
	if o.own != nil {
		return o.own.shard.Index().LibraryDocuments(ctx, lib)
	}
	return func(yield func(*concordat.Document, error) bool) {
		after := concordat.DocumentID("")
		for {
			rows, err := o.Store.Catalogue.Documents(ctx, lib, after, 0)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range rows {
				d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Site.ID(), Library: lib, Document: r.ID})
				if errors.Is(err, concordat.ErrNotFound) {
					continue // deleted in the meantime
				}
				if !yield(d, err) {
					return
				}
			}
			if len(rows) < store.MaxPage {
				return
			}
			after = rows[len(rows)-1].ID
		}
	}
}

// EachDocument calls f for every document in the catalogue.
func (o *Instance) EachDocument(ctx context.Context, f func(concordat.Ref)) error {
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		for after := concordat.DocumentID(""); ; {
			rows, err := o.Store.Catalogue.Documents(ctx, l.ID, after, 0)
			if err != nil {
				return err
			}
			for _, r := range rows {
				after = r.ID
				f(concordat.Ref{Site: o.Site.ID(), Library: l.ID, Document: r.ID})
			}
			if len(rows) < store.MaxPage {
				break
			}
		}
	}
	return nil
}
