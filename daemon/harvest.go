package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/extract"
	"concordat/harvest"
	"concordat/harvest/fetch"
	"concordat/instance"
	"concordat/site"
	"concordat/site/compare"
	"concordat/site/retain"
	"concordat/store"
)

// TaskHarvest is the leader task that harvests sources.
const TaskHarvest = "harvest"

const (
	harvestEvery = 2 * time.Second // interval at which sources are examined
	harvests     = 4               // sources that run at a time
)

// HarvestFetch returns the client that reads the sources of a site.
func HarvestFetch(o *instance.Instance) *fetch.Client {
	agent := "concordat/" + instance.Version()
	if c := o.Config.Harvest.Contact; c != "" {
		agent += " (" + c + ")"
	}
	return fetch.New(fetch.Options{Allow: o.Config.Harvest.Allow, Pause: o.Config.Harvest.Pause, Agent: agent})
}

// Harvester returns a Runner for the sources of a site. r reads files, and the eraser deletes documents that the sources withdraw.
func Harvester(o *instance.Instance, r *instance.Reader, e *retain.Eraser, log *slog.Logger) *harvest.Runner {
	return harvest.New(harvest.Options{Store: o.Store, Intake: &harvestIntake{o, r, e}, Fetch: HarvestFetch(o),
		MaxFile: o.Config.Extract.MaxInput, Logger: log})
}

// harvestIntake adds harvested documents to the site.
type harvestIntake struct {
	o      *instance.Instance
	reader *instance.Reader
	eraser *retain.Eraser
}

var _ harvest.Intake = (*harvestIntake)(nil)

// Spool returns an unnamed file on the disk of the site.
func (i *harvestIntake) Spool() (*os.File, error) {
	if err := i.o.CheckDisk(); err != nil {
		return nil, err
	}
	return nameless(i.o.Dir)
}

// Read reads a file in a child process.
func (i *harvestIntake) Read(ctx context.Context, id concordat.DocumentID, name string, f *os.File, size int64) ([]site.Incoming, error) {
	items, err := i.reader.Open(ctx, name, f, size)
	if err != nil {
		return nil, err
	}
	var out []site.Incoming
	var errs []error
	for _, item := range items {
		if item.Err != nil {
			var e error = item.Err.WithAdvice()
			if plain := (*extract.Error)(nil); errors.As(e, &plain) && plain.Detail != "" {
				e = errors.New(plain.Detail)
			}
			errs = append(errs, e)
			continue
		}
		one := site.Incoming{ID: concordat.DocumentID(instance.NameOf(string(id), item.Path)), Author: item.Result.Author,
			Text: item.Result.Text}
		one.Title = cmp.Or(item.Result.Title, instance.TitleOf(name))
		one.Dated, one.DatedBy = instance.DateOf("", item.Result)
		if err := errors.Join(site.CheckName(string(one.ID)), site.CheckText(one.Text)); err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, one)
	}
	return out, errors.Join(errs...)
}

// Put adds documents to a library.
func (i *harvestIntake) Put(ctx context.Context, lib concordat.LibraryID, docs []site.Incoming) error {
	return i.o.Site.Ingest(ctx, lib, func(yield func(site.Incoming, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}, func(site.Ingested) error { return nil })
}

// Remove deletes documents; after it returns, queries do not find them, and the next sweep removes their bytes.
func (i *harvestIntake) Remove(ctx context.Context, source string, lib concordat.LibraryID, ids []concordat.DocumentID,
	reason string) error {
	_, err := i.eraser.Begin(ctx, "harvest "+source, reason, retain.Target{Library: lib, Documents: ids},
		store.AuditNote{Actor: "harvest " + source, Action: "harvest_removed", Detail: map[string]any{"source": source, "library": lib,
			"documents": len(ids), "reason": reason}})
	return err
}

// runHarvests runs due sources until ctx ends.
func runHarvests(ctx context.Context, s *Daemon, r *harvest.Runner) error {
	var g errgroup.Group
	g.SetLimit(harvests)
	tick := time.NewTicker(harvestEvery)
	defer tick.Stop()
	for {
		due, err := r.Due(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("harvest", "error", err)
		}
		for _, h := range due {
			g.TryGo(func() error {
				s.guarded(ctx, "harvest", func() error {
					err := r.Run(ctx, h.ID)
					if fault := (*compare.Fault)(nil); errors.As(err, &fault) {
						return err
					}
					if err != nil && !errors.Is(err, store.ErrLease) && ctx.Err() == nil {
						s.log.Warn("harvest", "source", h.ID, "error", err)
					}
					return nil
				})
				return nil
			})
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-tick.C:
		}
	}
}
