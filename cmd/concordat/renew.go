package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/instance"
	"concordat/store"
)

// Beside the process that serves a site, documents are made anew one by one in the index that is there: questions see each of
// them as it was or as it will be. Documents that come meanwhile are made in the new way by whoever adds them. It takes more
// processor time than a new index (doc/evaluation/README.md), which is therefore made if nobody serves the site.

// renewal says up to which document a reindex has come, in the order of libraries and documents. It is a setting of the
// site while the reindex is not at its end.
type renewal struct {
	By       string               // of what the profiles are made, besides the texts
	Library  concordat.LibraryID  // and
	Document concordat.DocumentID // that was made last
	Made     int                  // documents up to there
}

const renewalSetting = "reindex"

// renewsServed reports whether a process serves the site from an index of the scheme of the configuration, on one machine.
func renewsServed(ctx context.Context, o *instance.Instance) bool {
	if o.Clustered() || instance.HoldsShards(o.Dir) {
		return false
	}
	scheme, err := index.SchemeOf(filepath.Join(o.Dir, instance.IndexName, "00"))
	if err != nil || scheme != o.Scheme() {
		return false
	}
	_, down := instance.Serving(ctx, o.Dir)
	return down == nil
}

// endReindex notes that all documents are of the configuration.
func endReindex(ctx context.Context, o *instance.Instance) error {
	return errors.Join(o.Store.SetSetting(ctx, renewalSetting, ""), o.Store.SetSetting(ctx, "scheme", string(o.Scheme())))
}

// renew makes the documents anew in the index that the serving process holds, or this one if the other has ended since.
func (a *app) renew(ctx context.Context, o *instance.Instance, dryRun bool) error {
	to, ok := o.Index.(cluster.Renewer)
	if !ok {
		return fmt.Errorf("this index cannot be made anew where it is: %w", concordat.ErrInvalid)
	}
	libraries, at, err := beginRenewal(ctx, o)
	if err != nil {
		return err
	}
	before, all := at.Made, 0
	for _, l := range libraries {
		all += l.Documents
	}
	if dryRun {
		a.Say("would make %d documents anew in scheme %s; %d of them are made already", all, o.Scheme(), before)
		return a.TellJSON(map[string]any{"documents": all, "made": before, "from": o.Scheme(), "to": o.Scheme(), "dry_run": true})
	}
	if before > 0 {
		a.Say("goes on after %d documents that were made before", before)
	}
	b := a.Progress(int64(all), "reindexing")
	defer b.Done()
	b.Add(before)
	docs := catalogued(ctx, o, libraries, at)
	for batch := range ahead(ctx, anew(docs), func(ctx context.Context, b anewBatch) anewBatch { return profileBatch(ctx, o, b) }) {
		if batch.err == nil {
			batch.err = renewBatch(ctx, o, to, batch.profiles, &at)
		}
		if batch.err == nil && a.JSON {
			batch.err = a.Line(map[string]any{"type": "progress", "made": at.Made})
		}
		if batch.err != nil {
			return fmt.Errorf("%d documents are made anew, and the same command goes on from there: %w", at.Made, batch.err)
		}
		b.Add(len(batch.profiles))
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%d documents are made anew, and the same command goes on from there: %w", at.Made, err)
	}
	if err := endReindex(ctx, o); err != nil {
		return err
	}
	a.Say("%d documents are indexed by scheme %s", at.Made, o.Scheme())
	return a.TellJSON(map[string]any{"type": "summary", "documents": at.Made, "before": before, "scheme": o.Scheme()})
}

// beginRenewal returns the libraries in order, and where an earlier reindex stopped if it made the same.
func beginRenewal(ctx context.Context, o *instance.Instance) ([]store.Library, renewal, error) {
	libraries, err := o.Store.Libraries(ctx)
	if err != nil {
		return nil, renewal{}, err
	}
	slices.SortFunc(libraries, func(a, b store.Library) int { return cmp.Compare(a.ID, b.ID) })
	var without []concordat.LibraryID
	for _, l := range libraries {
		if l.Policy.Meaning == store.MeaningOff {
			without = append(without, l.ID)
		}
	}
	begun := renewal{By: fmt.Sprintf("program %s, scheme %s, meaning %t without %q", instance.Version(), o.Scheme(),
		o.Config.Meaning.Index, without)}
	value, err := o.Store.Setting(ctx, renewalSetting)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && value == "" {
		return libraries, begun, nil
	}
	if err != nil {
		return nil, renewal{}, err
	}
	var at renewal
	if json.Unmarshal([]byte(value), &at) != nil || at.By != begun.By {
		at = begun // what was made is of another kind
	}
	return libraries, at, nil
}

// catalogued yields the documents of the libraries that come after at, with their texts.
func catalogued(ctx context.Context, o *instance.Instance, libraries []store.Library, at renewal) iter.Seq2[*concordat.Document, error] {
	return func(yield func(*concordat.Document, error) bool) {
		for _, l := range libraries {
			after := concordat.DocumentID("")
			if l.ID < at.Library {
				continue
			} else if l.ID == at.Library {
				after = at.Document
			}
			for full := true; full; {
				rows, err := o.Store.Documents(ctx, l.ID, after, anewDocuments)
				if err != nil {
					yield(nil, err)
					return
				}
				for _, row := range rows {
					d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: l.ID, Document: row.ID})
					if errors.Is(err, concordat.ErrNotFound) {
						continue // deleted since
					}
					if !yield(d, err) {
						return
					}
				}
				if full = len(rows) == anewDocuments; full {
					after = rows[len(rows)-1].ID
				}
			}
		}
	}
}

// renewBatch brings the profiles into the index and the catalogue, then notes that they are there. Cancelling ctx ends it
// before, and not between.
func renewBatch(ctx context.Context, o *instance.Instance, to cluster.Renewer, ps []*concordat.Profile, at *renewal) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := to.Renew(ctx, ps...); err != nil {
		return err
	}
	if err := noteAnew(ctx, o, ps); err != nil {
		return err
	}
	next := *at
	last := ps[len(ps)-1].Document
	next.Library, next.Document, next.Made = last.Library, last.ID, at.Made+len(ps)
	value, err := json.Marshal(next)
	if err == nil {
		err = o.Store.SetSetting(ctx, renewalSetting, string(value))
	}
	if err == nil {
		*at = next
	}
	return err
}
