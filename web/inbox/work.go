package inbox

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
	"concordat/web/pages"
)

const (
	workers = 2
	// lease is the maximum duration of one step. A step interrupted by a crash is repeated afterwards.
	lease = 12 * time.Minute
	// fetchTime bounds the transfer of one text, including the pages leading to it.
	fetchTime = 10 * time.Minute
	// maxTries is the maximum number of attempts to fetch a text, spread over about a day.
	maxTries    = 12
	maxWait     = 6 * time.Hour
	forgetEvery = time.Hour
	mediaLD     = `application/ld+json;profile="https://www.w3.org/ns/activitystreams"`
)

// Run fetches texts, follows checks and sends answers until ctx ends.
func (d *Inbox) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error { return d.work(ctx, d.stepNotification) })
	}
	g.Go(func() error { return d.work(ctx, d.stepAnswer) })
	g.Go(func() error { return d.forget(ctx) })
	if err := g.Wait(); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Step performs everything that is due, one step at a time.
func (d *Inbox) Step(ctx context.Context) {
	for d.stepNotification(ctx) || d.stepAnswer(ctx) {
	}
}

// work calls step repeatedly and waits while there is nothing to do.
func (d *Inbox) work(ctx context.Context, step func(context.Context) bool) error {
	poll := time.NewTicker(d.o.Poll)
	defer poll.Stop()
	for {
		for ctx.Err() == nil && step(ctx) {
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.wake:
		case <-poll.C:
		}
	}
}

func (d *Inbox) forget(ctx context.Context) error {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		o := d.w.Options()
		if _, err := o.Store.Notifications.ForgetNotifications(ctx, o.Now().Add(-Retention)); err != nil && ctx.Err() == nil {
			o.Logger.Error("forget notifications", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// guarded runs f and, if it panics, records the panic and returns it as an error.
func (d *Inbox) guarded(f func() error, id string) error {
	err := compare.Guard(f)
	(compare.Panics{Logger: d.w.Options().Logger, Counted: d.w.Options().Panicked}).Note(err, "notification", id)
	return err
}

// stepNotification performs the next step for one notification and reports whether there was one.
func (d *Inbox) stepNotification(ctx context.Context) bool {
	n, err := d.w.Options().Store.Notifications.ClaimNotification(ctx, lease)
	if err != nil {
		if !errors.Is(err, concordat.ErrNotFound) && ctx.Err() == nil {
			d.w.Options().Logger.Error("claim a notification", "error", err)
		}
		return false
	}
	was := n.State
	var answers []store.NotificationAnswer
	err = d.guarded(func() error {
		if n.State == store.NotificationFetching {
			answers, err = d.fetch(ctx, &n)
		} else {
			answers, err = d.finish(ctx, &n)
		}
		return err
	}, n.ID)
	final := (*refusedError)(nil)
	switch {
	case ctx.Err() != nil: // the process is ending; the next process continues
		n.Due = d.w.Options().Now()
	case errors.As(err, &final), err != nil && n.Attempts+1 >= maxTries:
		n.State, n.Cause = store.NotificationFailed, err.Error()
		words := n.Cause
		if final == nil {
			words = outcome(err)
		}
		answers = []store.NotificationAnswer{d.answer(n, typeReject, words)}
	case err != nil:
		n.Attempts++
		n.Cause, n.Due = err.Error(), d.w.Options().Now().Add(d.wait(n.Attempts))
		d.w.Options().Logger.Warn("notification", "id", n.ID, "state", n.State, "attempt", n.Attempts, "error", err)
	default:
		n.Attempts = 0
	}
	err = d.w.Options().Store.Notifications.KeepNotification(context.WithoutCancel(ctx), was, n, answers...)
	if errors.Is(err, concordat.ErrNotFound) && n.Task != "" { // withdrawn in the meantime
		err = d.stop(context.WithoutCancel(ctx), n.Account, n.Task)
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		d.w.Options().Logger.Error("keep a notification", "id", n.ID, "error", err)
	}
	return true
}

// outcome explains to the sender why a request was abandoned. Only administrators get details of the site's own problems.
func outcome(err error) string {
	unfetched := (*fetchError)(nil)
	switch {
	case errors.As(err, &unfetched):
		return "The text could not be fetched."
	case errors.Is(err, concordat.ErrRefused):
		return "The account has reached a limit."
	}
	return "The request could not be completed."
}

// wait returns the pause after the given number of failures.
func (d *Inbox) wait(attempts int) time.Duration {
	wait := d.o.Retry
	for range attempts - 1 {
		if wait *= 3; wait >= maxWait {
			return maxWait
		}
	}
	return wait
}

// fetch fetches a text and queues its check. The check's ID is stored before the check exists, so it is queued only once.
func (d *Inbox) fetch(ctx context.Context, n *store.Notification) ([]store.NotificationAnswer, error) {
	o := d.w.Options()
	accepted := func() []store.NotificationAnswer {
		n.State, n.Due, n.Cause = store.NotificationChecking, o.Now(), ""
		return []store.NotificationAnswer{d.answer(*n, typeAccept, "")}
	}
	if n.Task != "" {
		_, err := o.Store.Checks.Task(ctx, n.Task)
		if err == nil {
			return accepted(), nil
		}
		if !errors.Is(err, concordat.ErrNotFound) {
			return nil, err
		}
	}
	account, err := o.Store.People.Account(ctx, n.Account)
	if err != nil {
		return nil, err
	}
	a, err := parse(n.Body)
	if err != nil {
		return nil, refuse("%v", err)
	}
	if err := d.w.People.MayUpload(ctx, account, ""); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	j, size, err := d.text(timed, *n, a)
	if err != nil {
		return nil, err
	}
	done, err := d.w.People.Spend(ctx, account, "", 1, size)
	if err != nil {
		return nil, err
	}
	defer done()
	if n.Task == "" {
		n.Task = concordat.TaskID(strings.ToLower(rand.Text()))
		if err := o.Store.Notifications.KeepNotification(ctx, store.NotificationFetching, *n); err != nil {
			return nil, err
		}
	}
	if err := d.submit(ctx, *n, j); err != nil {
		return nil, err
	}
	return accepted(), nil
}

func (d *Inbox) submit(ctx context.Context, n store.Notification, j site.Job) error {
	return d.w.Options().Queue.SubmitAs(ctx, n.Task, n.Account, "", j, store.AuditNote{Actor: n.Account, Action: "check_submitted",
		Detail: map[string]any{"task": n.Task, "file": j.File, "notification": n.ID}})
}

// finish answers with the address of an ended check, or with the reason why there is none.
func (d *Inbox) finish(ctx context.Context, n *store.Notification) ([]store.NotificationAnswer, error) {
	t, err := d.w.Options().Store.Checks.Task(ctx, n.Task)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return nil, refuse("The check was deleted.")
	case err != nil:
		return nil, err
	case !pages.HasReport(t) && t.Cause.Code != store.CauseSplit:
		return nil, refuse("The text was not checked: %s.", strings.TrimSuffix(t.Cause.String(), "."))
	}
	n.State, n.Due, n.Cause = store.NotificationDone, d.w.Options().Now(), ""
	return []store.NotificationAnswer{d.answer(*n, typeAnnounce, "")}, nil
}

// stepAnswer sends one answer and reports whether there was one.
func (d *Inbox) stepAnswer(ctx context.Context) bool {
	o := d.w.Options()
	r, n, err := o.Store.Notifications.ClaimReply(ctx, lease)
	if err != nil {
		if !errors.Is(err, concordat.ErrNotFound) && ctx.Err() == nil {
			o.Logger.Error("claim an answer", "error", err)
		}
		return false
	}
	r.Status, r.Cause = 0, ""
	err = d.guarded(func() (err error) {
		r.Status, err = o.Harvest.Post(ctx, n.Inbox, mediaLD, r.Body)
		return err
	}, n.ID)
	now := o.Now()
	status := (*fetch.StatusError)(nil)
	switch {
	case err == nil:
		r.State, r.Ended = store.DeliveryDelivered, now
	case ctx.Err() != nil: // the process is ending; the next one sends it
		r.Due = now
	default:
		after := time.Duration(0)
		if errors.As(err, &status) {
			after = min(status.After, maxWait)
		}
		r.Cause, r.Due = err.Error(), now.Add(max(d.wait(r.Attempts), after))
		if r.Status == http.StatusGone || !r.Due.Before(r.Until) {
			r.State, r.Ended = store.DeliveryDead, now
		}
		o.Logger.Warn("answer to a notification", "id", n.ID, "type", r.Kind, "attempt", r.Attempts, "error", err)
	}
	if err := o.Store.Notifications.KeepReply(context.WithoutCancel(ctx), r); err != nil && !errors.Is(err, concordat.ErrNotFound) {
		o.Logger.Error("keep an answer", "id", r.ID, "error", err)
	}
	return true
}
