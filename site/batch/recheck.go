package batch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// maxEvery is the maximum number of days between two checks.
const maxEvery = 3650

// RecheckTime returns the time of the first repetition of a check that is repeated every given number of days. It is on the given day, as
// YYYY-MM-DD in local time, or that many days from now if on is empty. 0 days means once, on the given day. It fails with
// concordat.ErrInvalid.
func RecheckTime(now time.Time, every int, on string) (time.Time, error) {
	if every < 0 || every > maxEvery {
		return time.Time{}, fmt.Errorf("every %d days: %w: want 0 to %d", every, concordat.ErrInvalid, maxEvery)
	}
	if on == "" {
		if every == 0 {
			return time.Time{}, fmt.Errorf("want a number of days or a date: %w", concordat.ErrInvalid)
		}
		return now.AddDate(0, 0, every), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, on, now.Location())
	if err != nil {
		return t, fmt.Errorf("date %q: %w: want YYYY-MM-DD", on, concordat.ErrInvalid)
	}
	return t, nil
}

// Rechecks starts the repetitions that are due. For repetitions that have ended, it records the sources not found the previous time. It
// resumes interrupted repetitions.
func (b *Queue) Rechecks(ctx context.Context) error {
	now := b.site.Options().Now()
	due, err := b.o.Store.Alerts.DueRechecks(ctx, now)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range due {
		step := b.begin
		if r.Due != "" {
			step = b.follow
		}
		if err := step(ctx, r, now); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", r.Kind, r.Target, err))
		}
	}
	return errors.Join(errs...)
}

// begin records a repetition before it runs, so that it runs only once.
func (b *Queue) begin(ctx context.Context, r store.Recheck, now time.Time) error {
	if r.Kind == store.RecheckBatch {
		one, err := b.o.Store.Batches.Batch(ctx, r.Target)
		if err != nil {
			return b.gone(ctx, r, err)
		}
		r.Due = strconv.Itoa(one.Round + 1)
	} else {
		// Without findings, there is nothing to compare with, because the check failed or was of an archive.
		if _, err := b.site.Findings(ctx, concordat.TaskID(r.Target)); err != nil {
			return b.gone(ctx, r, err)
		}
		r.Due = strings.ToLower(rand.Text())
	}
	r.Next = nextTime(r.Next, r.Every, now)
	if err := b.o.Store.Alerts.PutRecheck(ctx, r); err != nil {
		return err
	}
	return b.follow(ctx, r, now)
}

// nextTime returns the first time after now in a series at intervals of the given number of days, or zero if there is none.
func nextTime(last time.Time, every int, now time.Time) time.Time {
	if every <= 0 {
		return time.Time{}
	}
	for !last.After(now) {
		last = last.AddDate(0, 0, every)
	}
	return last
}

// gone ends repetitions of a target that no longer exists.
func (b *Queue) gone(ctx context.Context, r store.Recheck, err error) error {
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	r.Next, r.Due = time.Time{}, ""
	return b.o.Store.Alerts.PutRecheck(ctx, r)
}

// follow starts recorded repetitions that are not running yet, and processes those that have ended.
func (b *Queue) follow(ctx context.Context, r store.Recheck, now time.Time) error {
	if r.Kind == store.RecheckBatch {
		return b.followBatch(ctx, r, now)
	}
	t, err := b.o.Store.Checks.Task(ctx, concordat.TaskID(r.Due))
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		j, err := b.jobOf(ctx, r)
		if err != nil {
			return b.gone(ctx, r, err)
		}
		err = b.o.Queue.SubmitTask(ctx, concordat.TaskID(r.Due), r.Owner, "", j)
		if errors.Is(err, concordat.ErrExists) {
			return nil
		}
		return err
	case err != nil:
		return err
	case !t.State.Ended():
		return nil
	}
	r.Ran = now
	if t.State == concordat.TaskFailed {
		r.Due = ""
		return b.o.Store.Alerts.PutRecheck(ctx, r)
	}
	latest := concordat.TaskID(r.Latest)
	if latest == "" {
		latest = concordat.TaskID(r.Target)
	}
	before, err := b.site.Findings(ctx, latest)
	if err != nil {
		return b.gone(ctx, r, err)
	}
	after, err := b.site.Findings(ctx, t.ID)
	if err != nil {
		return b.gone(ctx, r, err)
	}
	if r.Fresh, err = json.Marshal(FreshSources(before, after)); err != nil {
		return err
	}
	r.Latest, r.Due = r.Due, ""
	return b.o.Store.Alerts.PutRecheck(ctx, r)
}

func (b *Queue) followBatch(ctx context.Context, r store.Recheck, now time.Time) error {
	round, err := strconv.Atoi(r.Due)
	if err != nil {
		return fmt.Errorf("invalid round %q: %w", r.Due, concordat.ErrCorrupt)
	}
	one, err := b.o.Store.Batches.Batch(ctx, r.Target)
	if err != nil {
		return b.gone(ctx, r, err)
	}
	switch {
	case !one.State.Ended():
		return nil
	case one.Round < round:
		err := b.o.Store.Batches.ReopenBatch(ctx, r.Target, Runner, true)
		b.wakeUp()
		return err
	}
	members, err := b.o.Store.Batches.BatchMembers(ctx, r.Target)
	if err != nil {
		return err
	}
	fresh := []FreshSource{}
	for _, m := range members {
		var of []FreshSource
		if err := json.Unmarshal(m.Fresh, &of); err != nil {
			return fmt.Errorf("new sources of %s: %w: %v", m.Name, concordat.ErrCorrupt, err)
		}
		for _, s := range of {
			if !slices.ContainsFunc(fresh, func(x FreshSource) bool { return x.Ref == s.Ref }) {
				fresh = append(fresh, s)
			}
		}
	}
	if r.Fresh, err = json.Marshal(fresh); err != nil {
		return err
	}
	r.Due, r.Ran = "", now
	return b.o.Store.Alerts.PutRecheck(ctx, r)
}

// jobOf returns the job of a repeated check as submitted or, for a check from the command line, a job with the text and libraries of its
// findings.
func (b *Queue) jobOf(ctx context.Context, r store.Recheck) (site.Job, error) {
	t, err := b.o.Store.Checks.Task(ctx, concordat.TaskID(r.Target))
	if err != nil {
		return site.Job{}, err
	}
	var j site.Job
	if len(t.Request) > 0 {
		if err := json.Unmarshal(t.Request, &j); err != nil {
			return j, fmt.Errorf("task %s: %w: %v", t.ID, concordat.ErrCorrupt, err)
		}
		j.Again = cmp.Or(j.Again, t.ID)
		return j, nil
	}
	f, err := b.site.Findings(ctx, t.ID)
	if err != nil {
		return j, err
	}
	j = site.Job{Name: string(f.Submission.ID), Title: t.Title, Text: f.Submission.Text, Flags: f.Flags, Forward: f.Forward, Again: t.ID,
		Authors: f.Authors}
	for _, c := range f.Consulted {
		if _, ok := c.Library.Batch(); c.Site == b.site.Options().ID && !ok {
			j.Libraries = append(j.Libraries, c.Library)
		}
	}
	return j, nil
}
