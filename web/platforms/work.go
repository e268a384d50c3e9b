package platforms

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
	"concordat/web/lti"
	"concordat/web/pages"
)

const (
	workers = 3
	// assetLease is the maximum duration of one step with an asset. A step interrupted by a crash is repeated afterwards.
	assetLease = 6 * time.Minute
	// fetchTime bounds the transfer of one file.
	fetchTime = 5 * time.Minute
	// maxTries is the maximum number of attempts at a step, spread over about a day.
	maxTries = 30
	maxWait  = time.Hour
)

// Run fetches the files that platforms want checked and reports the results until ctx ends. The store records the progress.
func (d *Tool) Run(ctx context.Context) error {
	defer d.client.Close()
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error { return d.work(ctx) })
	}
	if err := g.Wait(); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// work processes assets one after another.
func (d *Tool) work(ctx context.Context) error {
	poll := time.NewTicker(d.o.Poll)
	defer poll.Stop()
	for {
		a, err := d.w.Options().Store.LTI.ClaimLTIAsset(ctx, assetLease)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			err := compare.Guard(func() error { d.step(ctx, a); return nil })
			if (compare.Panics{Logger: d.w.Options().Logger, Counted: d.w.Options().Panicked}).Note(err, "asset", a.ID) {
				d.later(&a, err) // without this, the lease would expire and the panic would recur forever
				d.keep(ctx, a)
			}
			continue
		case !errors.Is(err, concordat.ErrNotFound):
			d.w.Options().Logger.Error("claim an asset", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.wake:
		case <-poll.C:
		}
	}
}

// step performs the next step for an asset and stores its progress.
func (d *Tool) step(ctx context.Context, a store.LTIAsset) {
	before := a.State
	p, err := d.enabled(ctx, a.Platform)
	switch {
	case errors.Is(err, concordat.ErrNotFound), errors.Is(err, concordat.ErrRefused):
		a.State, a.Code, a.Cause = store.LTIFailed, lti.CodeFailed, err.Error()
		err = nil
	case err != nil:
	case a.Code != "":
		err = d.tellFailure(ctx, p, &a)
	case a.State == store.LTIFetch:
		err = d.fetch(ctx, p, &a)
	default:
		err = d.follow(ctx, p, &a)
	}
	switch {
	case ctx.Err() != nil: // the process is ending; the next process continues
		a.Due = d.w.Options().Now()
	case err != nil:
		d.later(&a, err)
	case a.State != before:
		a.Attempts = 0
	}
	d.keep(ctx, a)
}

// keep stores the progress of an asset, even while the process is ending.
func (d *Tool) keep(ctx context.Context, a store.LTIAsset) {
	if err := d.w.Options().Store.LTI.SetLTIAsset(context.WithoutCancel(ctx), a); err != nil && !errors.Is(err, concordat.ErrNotFound) {
		d.w.Options().Logger.Error("keep an asset", "asset", a.ID, "error", err)
	}
}

// later postpones a failed step, or abandons it if retrying cannot help.
func (d *Tool) later(a *store.LTIAsset, err error) {
	a.Attempts++
	a.Cause = err.Error()
	wait := min(d.o.Retry<<min(a.Attempts-1, 20), maxWait)
	a.Due = d.w.Options().Now().Add(wait)
	lasting := !errors.Is(err, concordat.ErrUnavailable) && !errors.Is(err, concordat.ErrDiskFull)
	d.w.Options().Logger.Warn("asset", "platform", a.Platform, "asset", a.ID, "state", a.State, "attempt", a.Attempts, "error", err)
	switch {
	case !lasting && a.Attempts < maxTries:
	case a.State == store.LTIFetch && a.Code == "":
		// Reporting the reason to the platform has its own retries.
		a.Code, a.Attempts, a.Due = lti.CodeDownload, 0, d.w.Options().Now()
	default:
		a.State, a.Code = store.LTIFailed, cmp.Or(a.Code, lti.CodeFailed)
	}
}

// fetch fetches a file and queues its check. The task ID is stored before the task exists, so that each step happens only once.
func (d *Tool) fetch(ctx context.Context, p store.LTIPlatform, a *store.LTIAsset) error {
	if a.Told == "" { // only an acknowledgement, so the result does not wait for it
		if err := d.tell(ctx, p, a, lti.Report{Progress: lti.Pending}); err != nil && !errors.Is(err, concordat.ErrUnavailable) {
			return err
		}
	}
	if a.Task != "" {
		if _, err := d.w.Options().Store.Checks.Task(ctx, a.Task); err == nil {
			a.State, a.Told = store.LTIChecks, ""
			a.Due = d.w.Options().Now()
			return nil
		} else if !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
	}
	j, err := d.download(ctx, p, a)
	if err != nil || a.Code != "" {
		return err
	}
	c, err := d.choices(ctx, a.Platform, a.Processor, a.Context)
	if err != nil {
		return err
	}
	j.Libraries, j.Template = c.Libraries, c.Template
	if a.Task == "" {
		a.Task = concordat.TaskID(strings.ToLower(rand.Text()))
		if err := d.w.Options().Store.LTI.SetLTIAsset(ctx, *a); err != nil {
			return err
		}
	}
	note := store.AuditNote{Actor: pages.PlatformOwner + a.Platform, Action: "check_submitted",
		Detail: map[string]any{"task": a.Task, "file": j.File, "context": a.Context}}
	if err := d.w.Options().Queue.SubmitAs(ctx, a.Task, pages.PlatformOwner+a.Platform, "", j, note); err != nil {
		return err
	}
	a.State, a.Told, a.Due, a.Cause = store.LTIChecks, "", d.w.Options().Now(), ""
	return nil
}

// download stores the file. A permanent failure is not returned as an error; it sets a.Code.
func (d *Tool) download(ctx context.Context, p store.LTIPlatform, a *store.LTIAsset) (j site.Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	refuse := func(code, cause string) (site.Job, error) {
		a.Code, a.Cause, a.Attempts, a.Due = code, cause, 0, d.w.Options().Now()
		return j, nil
	}
	f, err := d.client.Asset(ctx, platformOf(p), a.URL, nil)
	switch {
	case errors.Is(err, concordat.ErrNotFound), errors.Is(err, concordat.ErrRefused):
		return refuse(lti.CodeDownload, err.Error())
	case err != nil:
		return j, err
	}
	hash, size, err := d.w.Options().Files.Put(ctx, f, d.w.Options().MaxUpload)
	_ = f.Close() // read to the end or abandoned
	switch {
	case errors.Is(err, concordat.ErrInvalid):
		return refuse(lti.CodeTooLarge, err.Error())
	case errors.Is(err, concordat.ErrDiskFull):
		return j, err
	case err != nil: // the connection was interrupted
		return j, fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	case size == 0:
		return refuse(lti.CodeTooSmall, "the file is empty")
	case a.Digest != "" && a.Digest != hash:
		return j, fmt.Errorf("%w: the file is not the one that the platform named (SHA-256 differs)", concordat.ErrUnavailable)
	}
	name := pages.CleanName(cmp.Or(a.Filename, f.Filename, a.Title, "submission"))
	if path.Ext(name) == "" {
		name += endings[cmp.Or(f.Media, a.Media)]
	}
	return site.Job{Name: name, File: hash, Title: a.Title}, nil
}

// endings are the extensions added to names without one, for example the names that platforms give to typed text.
var endings = map[string]string{"text/html": ".html", "text/plain": ".txt", "application/pdf": ".pdf", "application/rtf": ".rtf",
	"text/markdown": ".md",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/vnd.oasis.opendocument.text": ".odt",
	"application/zip": ".zip"}

// follow reports to the platform either the result of the check or that it is still in progress.
func (d *Tool) follow(ctx context.Context, p store.LTIPlatform, a *store.LTIAsset) error {
	r, over, err := d.outcome(ctx, a)
	switch {
	case err != nil:
		return err
	case !over && a.Told == lti.Processing:
		a.Due = d.w.Options().Now().Add(d.o.Poll)
		return nil
	case !over:
		r = lti.Report{Progress: lti.Processing}
	}
	if err := d.tell(ctx, p, a, r); err != nil {
		return err
	}
	a.Due, a.Cause = d.w.Options().Now(), ""
	switch {
	case over && r.Progress == lti.Failed: // fetched again if a teacher requests it again
		a.State, a.Code = store.LTIFailed, r.Code
	case over:
		a.State = store.LTIDone
	}
	return nil
}

// tellFailure reports to the platform why there is no result.
func (d *Tool) tellFailure(ctx context.Context, p store.LTIPlatform, a *store.LTIAsset) error {
	if err := d.tell(ctx, p, a, lti.Report{Progress: lti.Failed, Code: a.Code, Comment: failureWords[a.Code]}); err != nil {
		return err
	}
	a.State = store.LTIFailed
	return nil
}

// failureWords are the messages shown to people at the platform. Only the administrator of the site sees the cause.
var failureWords = map[string]string{
	lti.CodeDownload:    "The file could not be fetched.",
	lti.CodeTooLarge:    "The file is larger than is accepted.",
	lti.CodeTooSmall:    "The file contains no text.",
	lti.CodeUnsupported: "Files of this kind cannot be read.",
	lti.CodeFailed:      "The file could not be checked.",
}

func (d *Tool) tell(ctx context.Context, p store.LTIPlatform, a *store.LTIAsset, r lti.Report) error {
	r.Asset, r.Title, r.Visible = a.Asset, d.w.Options().Current.Title(), d.o.Learners
	if err := d.client.Report(ctx, platformOf(p), a.ReportURL, nil, r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	a.Told = r.Progress
	return nil
}

// outcome returns the result of a check; over is false while it runs. The result for an archive is the highest share.
func (d *Tool) outcome(ctx context.Context, a *store.LTIAsset) (r lti.Report, over bool, err error) {
	tasks, over, err := d.parts(ctx, a.Task)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return lti.Report{Progress: lti.Failed, Code: lti.CodeFailed, Comment: failureWords[lti.CodeFailed]}, true, nil
	case err != nil || !over:
		return r, false, err
	}
	failed := lti.Report{Progress: lti.Failed, Code: lti.CodeTooSmall, Comment: failureWords[lti.CodeTooSmall]}
	best, any, measured := -1.0, false, false
	for _, t := range tasks {
		if !pages.HasReport(t) {
			failed.Code = failureCode(t.Cause)
			failed.Comment = failureWords[failed.Code]
			continue
		}
		f, err := d.w.Options().Site.Findings(ctx, t.ID)
		if err != nil {
			return r, false, err
		}
		now, err := d.w.Reviews.Of(ctx, t)
		if err != nil {
			return r, false, err
		}
		rep := report.Build(f, now.Rules)
		any = true
		if rep.Scores.Measured() {
			measured = true
		}
		if rep.Scores.Measured() && rep.Scores.Covered > best {
			best, r.Alt = rep.Scores.Covered, rep.Headline()
		}
	}
	if !any {
		return failed, true, nil
	}
	r.Progress = lti.Processed
	if !measured { // a blank means that nothing was measured, not that nothing was found
		r.Result, r.Comment = "–", "Nothing in this file could be compared."
		return r, true, nil
	}
	r.Result = report.English.Percent(best)
	r.Priority, r.Color = urgency(best, d.o.Threshold)
	if len(tasks) > 1 {
		r.Comment = fmt.Sprintf("The highest of %d files.", len(tasks))
	}
	return r, true, nil
}

// urgency returns a priority from 0 to 5 and a colour. Each third of the threshold adds one step, so the threshold itself has priority 3.
func urgency(share, threshold float64) (int, string) {
	n := min(int(3*share/threshold+1e-9), 5)
	switch {
	case n >= 3:
		return n, "#B3261E"
	case n >= 1:
		return n, "#8A5A00"
	}
	return n, "#2E6B34"
}

// maxParts bounds the number of texts examined in an archive.
const maxParts = 10_000

// parts returns a check, or the checks into which it was split; over is false while one is running.
func (d *Tool) parts(ctx context.Context, id concordat.TaskID) (out []store.Task, over bool, err error) {
	t, err := d.w.Options().Store.Checks.Task(ctx, id)
	if err != nil || !t.State.Ended() {
		return nil, false, err
	}
	if t.State != concordat.TaskDone || t.Cause.Code != store.CauseSplit {
		return []store.Task{t}, true, nil
	}
	for i := 1; i <= maxParts; i++ {
		one, err := d.w.Options().Store.Checks.Task(ctx, concordat.TaskID(fmt.Sprintf("%s-%d", id, i)))
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			return out, len(out) > 0, nil
		case err != nil || !one.State.Ended():
			return out, false, err
		}
		out = append(out, one)
	}
	return out, true, nil
}

// failureCode returns the platform code for the cause of a check without a result.
func failureCode(cause store.Cause) string {
	switch cause.Code {
	case "unsupported", "binary", "encrypted", "no_text_layer", "encoding":
		return lti.CodeUnsupported
	case "limit":
		return lti.CodeTooLarge
	case "empty":
		return lti.CodeTooSmall
	}
	return lti.CodeFailed
}
