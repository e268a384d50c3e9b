package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/demo"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/site/compare"
	"concordat/store"
	"concordat/web"
	"concordat/web/api"
	"concordat/web/inbox"
	"concordat/web/pages"
	"concordat/web/platforms"
	"concordat/web/review"
)

// WebApp is the web application: the pages and the queue of checks.
type WebApp struct {
	Pages   *web.Web
	tool    *platforms.Tool
	inbox   *inbox.Inbox
	queue   *site.Queue
	batches *batch.Queue
	reader  *instance.Reader
}

// checksAtATime returns the number of checks that run at the same time: one for every two processors, since a comparison uses several,
// but at most four, since a long text needs much memory.
func checksAtATime() int { return max(1, min(4, runtime.GOMAXPROCS(0)/2)) }

// OpenWebApp assembles the pages.
func (s *Daemon) OpenWebApp() (*WebApp, error) {
	o := s.o
	d := &WebApp{reader: instance.NewReader(instance.Extraction(o.Config), 0)}
	files := instance.Originals(o.Dir, o.Config, o.Store)
	if err := o.ForgetUploads(context.Background(), files); err != nil {
		return nil, err
	}
	s.eraser = instance.Eraser(o, s.options.Sign.Receipt, s.log)
	o.TellPanics(compare.Panics{Logger: s.log, Counted: s.meters.panic})
	o.Answers.Sets.TellPanics(compare.Panics{Logger: s.log, Counted: s.meters.panic})
	d.queue = o.Site.NewQueue(site.QueueOptions{
		Store:  o.Store,
		Worker: o.Worker(),
		Logger: s.log,
		Hold:   o.CheckDisk,
		Checks: checksAtATime(),
		Admit: func(ctx context.Context, t store.Task, j site.Job, items []site.Item) error {
			return d.Pages.Intake.Admit(ctx, t, j, items)
		},
		Discard: s.eraser.Discard,
		Begun:   s.meters.begun,
		Told:    s.meters.stage,
		// Metrics and the command doctor count a panic in a check in the same way as one in a request.
		Panicked: s.meters.panic,
		Read: func(ctx context.Context, j site.Job) ([]site.Item, error) {
			path, err := files.Fetch(ctx, j.File)
			if err != nil {
				return nil, err
			}
			end := s.meters.reading()
			items, err := d.read(ctx, path, j.Name)
			end(items, err)
			return items, err
		},
		Options: func(ctx context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return s.jobOptions(ctx, j)
		},
	})
	d.batches = s.openBatches(d, files)
	learning, err := ltiOptions(o)
	if err != nil {
		return nil, errors.Join(err, d.reader.Close())
	}
	d.Pages, err = web.New(web.Options{
		Site: o.Site, Answers: o.Answers, Asks: o.Asks, Store: o.Store, Queue: d.queue,
		Current: current{o},
		Files:   files, Logger: s.log,
		Panicked:    s.meters.panic,
		CaseTerms:   instance.CaseTerms(o.Config),
		ReportFiles: newReportWriter(o, s.options.Sign),
		Originals:   newOriginals(files, d.reader, instance.Extraction(o.Config)),
		Choices:     choices{o},
		Disk:        o,
		Machine:     machine{s},
		Keystore:    siteKeys{o},
		Settings:    siteSettings{s},
		Meaning:     s.meaning,
		Joining:     joining{s}.parts(),
		Nodes:       nodesOf(o),
		Batches:     d.batches,
		Partner:     connector{s},
		MaxUpload:   o.Config.Extract.MaxInput,

		Adder:        adder{d, o},
		Example:      demo.Files,
		HookNetworks: o.Config.Webhooks.Allow,
		Harvest:      HarvestFetch(o),
		Policy:       policyOf(o.Config),
		Eraser:       s.eraser,
		Base:         o.Config.BaseURL(),
		Secure:       instance.OverTLS(o.Config),
		Login:        loginOptions(o.Config),
	})
	if err != nil {
		return nil, errors.Join(err, d.reader.Close())
	}
	d.tool = platforms.New(d.Pages, learning)
	d.inbox = inbox.New(d.Pages, inbox.Options{})
	api.Add(d.Pages, d.tool, d.inbox)
	return d, nil
}

// Close ends the child processes that read files.
func (d *WebApp) Close() error { return d.reader.Close() }

// run runs the checks and the batches until ctx ends.
func (d *WebApp) run(ctx context.Context, s *Daemon) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.queue.Run(ctx) })
	g.Go(func() error { return s.asLeader(ctx, TaskBatches, d.batches.Run) })
	g.Go(func() error {
		r := Harvester(s.o, d.reader, s.eraser, s.log)
		return s.asLeader(ctx, TaskHarvest, func(ctx context.Context) error { return runHarvests(ctx, s, r) })
	})
	return errors.Join(g.Wait(), d.reader.Close())
}

// jobOptions returns the options of a submitted check.
func (s *Daemon) jobOptions(ctx context.Context, j site.Job) (site.CheckOptions, func(), error) {
	o := s.o
	now := o.Live.Now()
	out := site.CheckOptions{Libraries: j.Libraries, Exact: now.Check.Probe == concordat.ProbeExact,
		Threshold: now.Check.Threshold, Leads: now.Meaning.Leads == config.LeadsOn,
		PartnerLeads: now.Meaning.Partners == config.LeadsOn}
	var err error
	if out.Forward, err = o.Forward(ctx, j.Forward, j.Libraries); err != nil {
		return out, nil, err
	}
	if out.Template, err = o.SectionTemplate(ctx, j.Template, j.Libraries); err != nil {
		return out, nil, err
	}
	out.Exclude, out.Short, out.ShortThreshold = j.Exclude, j.Short || now.Check.Short, now.Check.ShortThreshold
	with := partners.Comparison{Level: cmp.Or(j.Level, concordat.ShowMetadata), Purpose: j.Purpose, Standing: j.Standing,
		Deadline: cmp.Or(j.Deadline, site.DefaultDeadline)}
	for _, p := range j.Partners {
		with.Partners = append(with.Partners, string(p))
	}
	with.Partners = append(with.Partners, j.PartnerLibraries...)
	_, done, err := with.AddTo(ctx, &out, o, s.partnerOptions())
	return out, done, err
}

// choices lists the choices for a new check.
type choices struct{ o *instance.Instance }

// Templates implements pages.Choices.
func (c choices) Templates() []string {
	return slices.Sorted(maps.Keys(instance.Templates(c.o.Live.Now())))
}

// Partners implements pages.Choices. It returns the active partners with the libraries that they last announced.
func (c choices) Partners(ctx context.Context) ([]pages.Partner, error) {
	ps, err := c.o.Store.Partners.Partners(ctx)
	if err != nil {
		return nil, err
	}
	var out []pages.Partner
	for _, p := range ps {
		if p.State != store.PartnerActive {
			continue
		}
		one := pages.Partner{Site: p.Site, Name: partners.NameOf(p)}
		kept, err := c.o.Store.Setting(ctx, partners.CatalogueSetting(p.Site))
		var cat concordat.Catalogue
		switch {
		case errors.Is(err, concordat.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			if err := json.Unmarshal([]byte(kept), &cat); err != nil {
				return nil, fmt.Errorf("stored catalogue of site %s: %w: %v", p.Site, concordat.ErrCorrupt, err)
			}
		}
		one.Libraries = cat.Libraries
		out = append(out, one)
	}
	return out, nil
}

// read extracts text from an original under the name by which it was submitted.
func (d *WebApp) read(ctx context.Context, path, name string) ([]site.Item, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	items, err := d.reader.Open(ctx, name, f, info.Size())
	if err != nil {
		return nil, err
	}
	var out []site.Item
	for _, item := range items {
		one := site.Item{Submission: site.Submission{ID: concordat.DocumentID(item.Path)}, LeftOut: item.LeftOut}
		if item.Err != nil {
			one.Err = item.Err.WithAdvice()
		} else {
			one.Title, one.Text, one.Flags = cmp.Or(item.Result.Title, instance.TitleOf(item.Path)), item.Result.Text,
				instance.FlagsOf(item.Result.Flags)
			one.Author = item.Result.Author
			one.Dated, one.DatedBy = instance.DateOf("", item.Result)
			one.Timed = instance.TimeOf(one.DatedBy, item.Result)
		}
		out = append(out, one)
	}
	return out, nil
}

// current implements web.Current by the live configuration.
type current struct{ o *instance.Instance }

func (c current) Title() string {
	return cmp.Or(c.o.Live.Now().Site.Title, string(c.o.Site.ID()))
}

func (c current) Rules() report.Rules { return c.o.Live.Now().Report.Rules }

func (c current) Adding() review.Adding {
	now := c.o.Live.Now().Submission
	return review.Adding{Rule: review.AddingRule(now.Add), Library: concordat.LibraryID(now.Library)}
}

func (c current) AgainDays() int { return c.o.Live.Now().Check.AgainDays }
