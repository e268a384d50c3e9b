package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"concordat"
	"concordat/cluster"
	"concordat/store"
)

// Salvaged is the result of examining the set-aside copies that cluster.Aside describes.
type Salvaged struct {
	Asides  []cluster.Aside `json:"aside"`
	Present int             `json:"present"` // documents on the site with the same text
	Taken   int             `json:"taken"`   // in the catalogue but not in the index; added again or, with dry, to be added
	// Unlisted documents are not in the catalogue, because they were deleted or never acknowledged. Replaced documents have a different,
	// later text in the catalogue.
	Unlisted int      `json:"unlisted"`
	Replaced int      `json:"replaced"`
	Removed  bool     `json:"removed"`        // whether the copies were removed
	Some     []string `json:"some,omitempty"` // some of the documents taken, as LIBRARY/DOCUMENT
}

// Salvage compares the documents in this machine's set-aside copies with the catalogue and the index, and again adds those that are in
// the catalogue but not in the index. If dry is set, it only counts. If remove is set, it then removes the copies, provided that no
// document failed.
func Salvage(ctx context.Context, o *Instance, dry, remove bool) (*Salvaged, error) {
	if o.Member == nil {
		return nil, Usagef("the site has only one machine")
	}
	asides, err := AsidesOf(o.Dir)
	out := &Salvaged{Asides: asides}
	if err != nil {
		return nil, err
	}
	for _, a := range asides {
		var batch []*concordat.Profile
		put := func() error {
			if len(batch) == 0 {
				return nil
			}
			err := Retry(ctx, func() error { return o.Index.Put(ctx, batch...) })
			batch = nil
			return err
		}
		err := a.Documents(ctx, o.Config.Site.ID, func(d *concordat.Document) error {
			lacks, err := out.judge(ctx, o, d)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", d.Library, d.ID, err)
			}
			if lacks && !dry {
				p, err := o.Profile(ctx, *d)
				if err != nil {
					return fmt.Errorf("%s/%s: %w", d.Library, d.ID, err)
				}
				batch = append(batch, p)
			}
			if len(batch) >= fillBatch {
				return put()
			}
			return nil
		})
		if err = errors.Join(err, put()); err != nil {
			return out, fmt.Errorf("%s: %w", a.Folder, err)
		}
	}
	if dry || !remove {
		return out, nil
	}
	for _, a := range asides {
		if err := os.RemoveAll(a.Folder); err != nil {
			return out, err
		}
	}
	out.Removed = true
	return out, nil
}

// judge counts one document and reports whether it must be added again.
func (out *Salvaged) judge(ctx context.Context, o *Instance, d *concordat.Document) (lacks bool, err error) {
	listed, err := o.Store.Catalogue.DocumentRow(ctx, d.Library, d.ID)
	if errors.Is(err, concordat.ErrNotFound) {
		out.Unlisted++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if listed.Hash != store.TextHash(d.Text) {
		out.Replaced++
		return false, nil
	}
	there, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: d.Library, Document: d.ID})
	if err == nil && there.Text == d.Text {
		out.Present++
		return false, nil
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return false, err
	}
	out.Taken++
	if len(out.Some) < maxNamed {
		out.Some = append(out.Some, string(d.Library)+"/"+string(d.ID))
	}
	return true, nil
}

// AsidesOf returns the set-aside copies on the machine whose site is in dir.
func AsidesOf(dir string) ([]cluster.Aside, error) {
	return cluster.Asides(filepath.Join(dir, IndexName, NodeDirName))
}

// NothingAside returns nil or, if the machine whose site is in dir has set-aside copies, an error that explains what to do.
func NothingAside(dir string) error {
	asides, err := AsidesOf(dir)
	if err == nil && len(asides) > 0 {
		err = fmt.Errorf("%d shard copies were set aside on this machine and may contain documents that are missing from the site: run concordat cluster salvage",
			len(asides))
	}
	return err
}
