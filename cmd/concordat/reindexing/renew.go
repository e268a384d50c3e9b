package reindexing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/parallel"
	"concordat/index"
	"concordat/instance"
	"concordat/store"
)

// While a process serves the site, documents are replaced one by one in the existing index, so a question sees each document either
// before or after its replacement. Documents that arrive during the reindex already get new profiles. This takes more processor time than
// building a new index (doc/evaluation/README.md), so a new index is built if no process serves the site.

// renewal is the progress of a reindex, in order of libraries and documents. It is stored in a setting of the site until the reindex
// ends.
type renewal struct {
	By       string               // the inputs to profiles other than the texts
	Library  concordat.LibraryID  // the library of Document
	Document concordat.DocumentID // the last completed document
	Made     int                  // number of documents up to there
}

const renewalSetting = "reindex"

// renewsServed reports whether a process on this machine serves the site from an index with the configured scheme.
func renewsServed(ctx context.Context, o *instance.Instance) bool {
	if !o.Config.Clustered() && instance.HoldsShards(o.Dir) {
		return false
	}
	for _, dir := range shardDirs(o) {
		if scheme, err := index.SchemeOf(dir); err != nil || scheme != o.Site.Scheme() {
			return false
		}
	}
	_, down := instance.Serving(ctx, o.Dir)
	return down == nil
}

// shardDirs returns the folders of this machine's shard copies.
func shardDirs(o *instance.Instance) []string {
	if !o.Config.Clustered() {
		return []string{filepath.Join(o.Dir, instance.IndexName, "00")}
	}
	dir := filepath.Join(o.Dir, instance.IndexName, instance.NodeDirName)
	var out []string
	for _, id := range cluster.Copies(dir) {
		out = append(out, filepath.Join(dir, string(id)))
	}
	return out
}

// endReindex records that all documents match the configuration.
func endReindex(ctx context.Context, o *instance.Instance) error {
	return errors.Join(o.Store.SetSetting(ctx, renewalSetting, ""), o.Store.SetSetting(ctx, "scheme", string(o.Site.Scheme())))
}

// renewing is a reindex while a process serves the site.
type renewing struct {
	a      *commands
	o      *instance.Instance
	to     cluster.Renewer
	all    int      // total number of documents
	before int      // documents completed by an earlier reindex
	made   int      // documents completed so far
	at     *renewal // the progress; nil if the index itself knows what remains
	began  time.Time
}

// renew replaces the documents in the serving process's index, or in its own if that process has ended.
func (a *commands) renew(ctx context.Context, o *instance.Instance, dryRun bool) error {
	to, ok := o.Index.(cluster.Renewer)
	if !ok {
		return fmt.Errorf("this index cannot be recomputed in place: %w", concordat.ErrInvalid)
	}
	r := &renewing{a: a, o: o, to: to, began: time.Now()}
	if o.Config.Clustered() {
		return r.unfit(ctx, dryRun)
	}
	libraries, at, err := beginRenewal(ctx, o)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		r.all += l.Documents
	}
	if dryRun {
		a.Say("would recompute %d documents with scheme %s; %d of these documents are already done", r.all, o.Site.Scheme(), at.Made)
		return a.TellJSON(map[string]any{"documents": r.all, "made": at.Made, "from": o.Site.Scheme(), "to": o.Site.Scheme(), "dry_run": true})
	}
	if at.Made > 0 {
		a.Say("continuing after %d documents that were already done", at.Made)
	}
	r.before, r.made, r.at = at.Made, at.Made, &at
	return r.run(ctx, all(catalogued(ctx, o, libraries, at)))
}

// unfit replaces the documents that are not correctly indexed by meaning.
func (r *renewing) unfit(ctx context.Context, dryRun bool) error {
	u, err := r.o.AllUnfit(ctx)
	if err != nil {
		return err
	}
	if dryRun {
		r.a.Say("would recompute %d documents: %d lack meaning cells, and %d have superfluous cells", u.Faulty()-u.Stale,
			u.Lacking, u.Superfluous)
		if u.Stale > 0 {
			r.a.Say("would renew %d documents that were indexed by an earlier version, to find more translations", u.Stale)
		}
		if u.Bare > 0 {
			r.a.Say("would examine %d documents without meaning cells, which may contain no prose", u.Bare)
		}
		return r.a.TellJSON(map[string]any{"documents": u.Faulty(), "lacking": u.Lacking, "stale": u.Stale,
			"superfluous": u.Superfluous, "bare": u.Bare, "from": r.o.Site.Scheme(), "to": r.o.Site.Scheme(), "dry_run": true})
	}
	r.all = u.Faulty() + u.Bare
	libraries, err := instance.SortedLibraries(ctx, r.o.Store)
	if err != nil {
		return err
	}
	return r.run(ctx, instance.UnfitDocuments(ctx, r.o, libraries))
}

// run replaces the documents.
func (r *renewing) run(ctx context.Context, docs iter.Seq2[instance.UnfitDocument, error]) error {
	b := r.a.Progress(int64(r.all), "reindexing")
	defer b.Done()
	b.Add(r.before)
	stopped := func(err error) error {
		return fmt.Errorf("stopped after recomputing %d documents; repeat the command to continue: %w", r.made, err)
	}
	for batch := range parallel.Ahead(ctx, anew(docs), func(ctx context.Context, b anewBatch) anewBatch { return profileBatch(ctx, r.o, b) }) {
		if batch.err == nil {
			batch.err = r.put(ctx, &batch)
		}
		if batch.err == nil {
			batch.err = r.tell()
		}
		if batch.err != nil {
			return stopped(batch.err)
		}
		b.Add(len(batch.profiles) + batch.fit)
	}
	if err := context.Cause(ctx); err != nil {
		return stopped(err)
	}
	if err := endReindex(ctx, r.o); err != nil {
		return err
	}
	r.a.Say("%d documents are indexed with scheme %s, %.0f per second", r.made, r.o.Site.Scheme(), r.rate())
	return r.a.TellJSON(map[string]any{"type": "summary", "documents": r.made, "before": r.before, "scheme": r.o.Site.Scheme(),
		"rate": r.rate()})
}

// rate returns the number of documents per second that this command has replaced.
func (r *renewing) rate() float64 { return float64(r.made-r.before) / time.Since(r.began).Seconds() }

func (r *renewing) tell() error {
	if !r.a.JSON {
		return nil
	}
	return r.a.Line(map[string]any{"type": "progress", "made": r.made, "remaining": max(0, r.all-r.made), "rate": r.rate()})
}

// beginRenewal returns the libraries in order, and the position where an earlier reindex with the same goal stopped.
func beginRenewal(ctx context.Context, o *instance.Instance) ([]store.Library, renewal, error) {
	libraries, err := instance.SortedLibraries(ctx, o.Store)
	if err != nil {
		return nil, renewal{}, err
	}
	var without []concordat.LibraryID
	for _, l := range libraries {
		if l.Policy.Meaning == store.MeaningOff {
			without = append(without, l.ID)
		}
	}
	begun := renewal{By: fmt.Sprintf("program %s, scheme %s, meaning %t without %q", instance.Version(), o.Site.Scheme(),
		o.Config.Meaning.Indexed(), without)}
	value, err := o.Store.Setting(ctx, renewalSetting)
	if errors.Is(err, concordat.ErrNotFound) || err == nil && value == "" {
		return libraries, begun, nil
	}
	if err != nil {
		return nil, renewal{}, err
	}
	var at renewal
	if json.Unmarshal([]byte(value), &at) != nil || at.By != begun.By {
		at = begun // the earlier work had a different goal
	}
	return libraries, at, nil
}

// catalogued yields the documents after at in the libraries, with their texts.
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
				rows, err := o.Store.Catalogue.Documents(ctx, l.ID, after, anewDocuments)
				if err != nil {
					yield(nil, err)
					return
				}
				for _, row := range rows {
					d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: l.ID, Document: row.ID})
					if errors.Is(err, concordat.ErrNotFound) {
						continue // deleted in the meantime
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

// put writes the profiles to the index and the catalogue, then records the progress. Cancelling ctx stops it before these steps but not
// between them.
func (r *renewing) put(ctx context.Context, b *anewBatch) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if len(b.profiles) > 0 {
		if _, err := r.to.Renew(ctx, b.profiles...); err != nil {
			return err
		}
		if err := instance.NoteProfiles(ctx, r.o.Store, b.profiles); err != nil {
			return err
		}
	}
	made := r.made + len(b.profiles) + b.fit
	if r.at != nil {
		next := *r.at
		last := b.profiles[len(b.profiles)-1].Document
		next.Library, next.Document, next.Made = last.Library, last.ID, made
		value, err := json.Marshal(next)
		if err == nil {
			err = r.o.Store.SetSetting(ctx, renewalSetting, string(value))
		}
		if err != nil {
			return err
		}
		*r.at = next
	}
	r.made = made
	return nil
}
