package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/crypto"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web"
)

// originalsName is the folder of what was handed in.
const originalsName = "originals"

// desk is what people use in a browser: the pages, and the queue of checks behind them.
type desk struct {
	pages   *web.Web
	queue   *site.Queue
	batches *site.Batches
	reader  *reader
}

// openDesk joins the parts of the pages.
func (s *server) openDesk(a *app) (*desk, error) {
	o := s.o
	d := &desk{reader: a.reader(extraction(o.config), 0)}
	files := o.files()
	if err := o.forgetUploads(context.Background(), files); err != nil {
		return nil, err
	}
	s.eraser = a.eraser(o, s.log)
	d.queue = o.NewQueue(site.QueueOptions{
		Store:  o.store,
		Worker: o.worker(),
		Logger: s.log,
		Hold:   o.roomLeft,
		Admit: func(ctx context.Context, t store.Task, j site.Job, items []site.Item) error {
			return d.pages.Admit(ctx, t, j, items)
		},
		Discard: s.eraser.Discard,
		Begun:   o.meters.begun,
		Told:    o.meters.told,
		Read: func(ctx context.Context, j site.Job) ([]site.Item, error) {
			path, err := files.Fetch(ctx, j.File)
			if err != nil {
				return nil, err
			}
			end := o.meters.reading()
			items, err := d.read(ctx, path, j.Name)
			end(items, err)
			return items, err
		},
		Options: func(ctx context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return s.jobOptions(ctx, a, j)
		},
	})
	d.batches = s.openBatches(a, d, files)
	platforms, err := o.ltiOptions()
	if err != nil {
		return nil, errors.Join(err, d.reader.close())
	}
	d.pages, err = web.New(web.Options{
		Site: o.Site, Title: cmp.Or(o.config.Site.Title, string(o.ID())), Store: o.store, Queue: d.queue, Files: files, Logger: s.log,
		Panicked:   o.meters.panic,
		Rules:      func() report.Rules { return defaultRules(o.now()) },
		Templates:  func() []string { return slices.Sorted(maps.Keys(templates(o.now()))) },
		ReportJSON: a.writeReportJSON,
		ReportPDF:  o.reportPDF(a),
		Originals:  newOriginals(files, d.reader),
		Partners:   o.partnerChoices,
		Room:       o.roomLeft,
		Admin:      s.administration(),
		Cluster:    o.clusterPages(),
		Batches:    d.batches,
		AgainDays:  func() int { return o.now().Check.AgainDays },
		Partner:    a.partnerOf(o),
		MaxUpload:  o.config.Extract.MaxInput,

		AddFile:      d.adder(o),
		HookNetworks: o.config.Webhooks.Allow,
		Policy:       policyOf(o.config),
		Eraser:       s.eraser,
		Base:         o.config.BaseURL(),
		Secure:       overTLS(o.config),
		Login:        loginOptions(o.config),
		LTI:          platforms,
	})
	return d, err
}

// run runs the checks and the batches until ctx ends.
func (d *desk) run(ctx context.Context, s *server) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.queue.Run(ctx) })
	g.Go(func() error { return s.onDuty(ctx, dutyBatches, d.batches.Run) })
	return errors.Join(g.Wait(), d.reader.close())
}

// jobOptions are what a check that was handed in compares with.
func (s *server) jobOptions(ctx context.Context, a *app, j site.Job) (site.CheckOptions, func(), error) {
	o := s.o
	out := site.CheckOptions{Libraries: j.Libraries, Exact: o.now().Check.Probe == concordat.ProbeExact,
		Threshold: o.now().Check.Threshold}
	var err error
	if out.Forward, err = o.forward(ctx, j.Forward, j.Libraries); err != nil {
		return out, nil, err
	}
	if out.Template, err = o.sections(ctx, j.Template, j.Libraries); err != nil {
		return out, nil, err
	}
	out.Exclude, out.Short, out.ShortThreshold = j.Exclude, j.Short || o.now().Check.Short, o.now().Check.ShortThreshold
	f := checkFlags{level: string(cmp.Or(j.Level, concordat.ShowMetadata)), purpose: j.Purpose, deadline: cmp.Or(j.Deadline, site.DefaultDeadline)}
	for _, p := range j.Partners {
		f.partners = append(f.partners, string(p))
	}
	f.partners = append(f.partners, j.PartnerLibraries...)
	_, done, err := f.setOthers(ctx, a, o, &out)
	return out, done, err
}

// forward is what partners are asked about: as the check says, else by the strictest of the libraries that it
// names, else as the site is set. A check of all libraries names none.
func (o *opened) forward(ctx context.Context, wanted string, libraries []concordat.LibraryID) (string, error) {
	if wanted != "" {
		return wanted, nil
	}
	strict := []string{site.ForwardAll, site.ForwardUnmatched, site.ForwardNone}
	most := -1
	for _, id := range libraries {
		l, err := o.store.Library(ctx, id)
		if err != nil {
			return "", err
		}
		most = max(most, slices.Index(strict, l.Policy.Forward))
	}
	if most < 0 {
		return o.now().Check.Forward, nil
	}
	return strict[most], nil
}

// partnerChoices are the active partners with what they told last of their libraries.
func (o *opened) partnerChoices(ctx context.Context) ([]web.Partner, error) {
	ps, err := o.store.Partners(ctx)
	if err != nil {
		return nil, err
	}
	var out []web.Partner
	for _, p := range ps {
		if p.State != store.PartnerActive {
			continue
		}
		one := web.Partner{Site: p.Site, Name: p.Name}
		if c, err := crypto.ParseCard(p.Card); err == nil {
			one.Name = c.Name
		}
		kept, err := o.store.Setting(ctx, catalogueSetting(p.Site))
		var cat concordat.Catalogue
		switch {
		case errors.Is(err, concordat.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			if err := json.Unmarshal([]byte(kept), &cat); err != nil {
				return nil, fmt.Errorf("kept catalogue of %s: %w: %v", p.Site, concordat.ErrCorrupt, err)
			}
		}
		one.Libraries = cat.Libraries
		out = append(out, one)
	}
	return out, nil
}

// read extracts an original under the name with which it was handed in.
func (d *desk) read(ctx context.Context, path, name string) ([]site.Item, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	items, err := d.reader.open(ctx, name, f, info.Size())
	if err != nil {
		return nil, err
	}
	var out []site.Item
	for _, item := range items {
		one := site.Item{Submission: site.Submission{ID: concordat.DocumentID(item.Path)}}
		if item.Err != nil {
			one.Err = item.Err.WithAdvice()
		} else {
			one.Title, one.Text, one.Flags = cmp.Or(item.Result.Title, titleOf(item.Path)), item.Result.Text, flags(item.Result.Flags)
			one.Author = item.Result.Author
			one.Dated, one.DatedBy = dateOf("", item.Result)
		}
		out = append(out, one)
	}
	return out, nil
}
