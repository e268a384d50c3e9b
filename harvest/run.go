package harvest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/site"
	"concordat/store"
)

// Intake reads files and adds documents to libraries.
type Intake interface {
	// Spool returns an empty file that is removed when closed.
	Spool() (*os.File, error)
	// Read returns the text of the named file, or the texts of an archive. Each has the ID that the intake assigns to documents from the
	// file with this ID.
	Read(ctx context.Context, id concordat.DocumentID, name string, f *os.File, size int64) ([]site.Incoming, error)
	// Put adds documents to a library; they are durable when it returns.
	Put(ctx context.Context, lib concordat.LibraryID, docs []site.Incoming) error
	// Remove deletes documents permanently, with an audit entry.
	Remove(ctx context.Context, source string, lib concordat.LibraryID, ids []concordat.DocumentID, reason string) error
}

// Options configures a Runner. Store, Intake and Fetch are required.
type Options struct {
	Store   *store.DB
	Intake  Intake
	Fetch   *fetch.Client
	MaxFile int64            // maximum size of a file in bytes; the default is 256 MiB
	Logger  *slog.Logger     // if nil, nothing is logged
	Now     func() time.Time // the default is time.Now
	Sleep   func(ctx context.Context, d time.Duration) error
}

// Runner performs the runs of sources. It is safe for concurrent use.
type Runner struct {
	o      Options
	worker string
}

const (
	leaseTime = 30 * time.Second
	// longestWait is how long a run waits when a repository asks it to; after a request for a longer wait, the run continues later.
	longestWait = 2 * time.Minute
	wholeEvery  = 7 * 24 * time.Hour // interval between complete lists of a repository that does not report deleted records
	errorPause  = time.Hour          // pause before an interrupted run is retried
)

// New returns a Runner.
func New(o Options) *Runner {
	if o.MaxFile == 0 {
		o.MaxFile = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = fetch.Sleep
	}
	return &Runner{o: o, worker: strings.ToLower(rand.Text())}
}

// Due returns the sources that are due.
func (r *Runner) Due(ctx context.Context) (out []store.HarvestSource, err error) {
	all, err := r.o.Store.Harvest.Sources(ctx)
	for _, h := range all {
		if !h.Running && !h.Next.IsZero() && !h.Next.After(r.o.Now()) {
			out = append(out, h)
		}
	}
	return out, err
}

// later is the error that ends a run to be continued later.
type later struct {
	after time.Duration
	why   error
}

// Error returns the reason.
func (l *later) Error() string {
	return fmt.Sprintf("%v; the run will continue in %s", l.why, l.after.Round(time.Second))
}

// Unwrap returns the reason.
func (l *later) Unwrap() error { return l.why }

// run is a run of a source.
type run struct {
	*Runner
	source store.HarvestSource
	state  store.HarvestState
}

// Run performs a run of a source, or continues an open one. It fails with store.ErrLease while another process runs the source. It stores
// any error as the cause in the source's state, and returns it.
func (r *Runner) Run(ctx context.Context, id string) error {
	if err := r.o.Store.Harvest.ClaimSource(ctx, id, r.worker, leaseTime); err != nil {
		return err
	}
	source, err := r.o.Store.Harvest.Source(ctx, id)
	if err != nil {
		return err
	}
	x := &run{Runner: r, source: source, state: source.State}
	err = x.held(ctx, x.steps)
	next := x.ended(ctx, err)
	if errors.Is(err, store.ErrLease) {
		return err // another process is running the source
	}
	release := r.o.Store.Harvest.ReleaseSource(context.WithoutCancel(ctx), id, r.worker, x.state, next)
	r.o.Logger.Info("harvest", "source", id, "listed", x.state.Listed, "phase", x.state.Phase, "error", err)
	return errors.Join(err, release)
}

// held runs f and keeps renewing the claim on the source; it cancels f if the claim is lost.
func (x *run) held(ctx context.Context, f func(context.Context) error) error {
	own, stop := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(leaseTime / 4)
		defer tick.Stop()
		for {
			select {
			case <-own.Done():
				return
			case <-tick.C:
			}
			if err := x.o.Store.Harvest.ClaimSource(own, x.source.ID, x.worker, leaseTime); errors.Is(err, store.ErrLease) {
				stop(err)
			}
		}
	})
	err := f(own)
	if cause := context.Cause(own); err != nil && errors.Is(cause, store.ErrLease) {
		err = cause
	}
	stop(nil)
	renewing.Wait()
	return err
}

// steps performs the listing and fetching steps.
func (x *run) steps(ctx context.Context) error {
	if x.state.Phase == "" || x.state.Ask == AskWhole { // continuing the open run would withdraw less
		x.begin()
	}
	x.state.Cause = "" // delete the cause of the previous attempt
	if x.state.Phase == phaseListing {
		var err error
		switch x.source.Kind {
		case KindFolder:
			err = x.listFolder(ctx)
		case KindSync:
			err = x.listSync(ctx)
		default:
			err = x.listOAI(ctx)
		}
		if err == nil {
			err = x.vanished(ctx)
		}
		if err != nil {
			return err
		}
		x.state.Phase, x.state.Token = phaseFetching, ""
		if err := x.keep(ctx); err != nil {
			return err
		}
	}
	return x.fetchTexts(ctx)
}

// Phases of a run.
const (
	phaseListing  = "listing"
	phaseFetching = "fetching"
)

// begin opens a run.
func (x *run) begin() {
	old := x.state
	now := x.o.Now()
	x.state = store.HarvestState{Run: old.Run + 1, Phase: phaseListing, Started: now, Repository: old.Repository, Day: old.Day,
		NoDeleted: old.NoDeleted, LastWhole: old.LastWhole, From: old.Until, Base: old.Base, Asked: old.Ask}
	x.state.Whole = old.Until == "" || old.Ask == AskWhole || old.NoDeleted && now.Sub(old.LastWhole) >= wholeEvery ||
		x.source.Kind == KindFolder
	if x.state.Whole {
		x.state.From = ""
	}
}

// AskWhole requests a run that lists everything and withdraws everything that is no longer listed.
const AskWhole = "whole"

// keep stores the progress of the run together with the changed records.
func (x *run) keep(ctx context.Context, records ...store.HarvestRecord) error {
	return x.o.Store.Harvest.KeepHarvest(ctx, x.source.ID, x.worker, x.state, records...)
}

// ended records how a run ended, and returns when the source is due again.
func (x *run) ended(ctx context.Context, err error) time.Time {
	now := x.o.Now()
	wait := (*later)(nil)
	switch {
	case err == nil:
		x.state.Phase, x.state.Ended, x.state.Restarts = "", now, 0
		if x.state.Whole {
			x.state.LastWhole = x.state.Started
		}
		if x.source.Every == 0 {
			return time.Time{}
		}
		next := x.state.Started.Add(x.source.Every)
		if next.Before(now) {
			next = now
		}
		return next
	case ctx.Err() != nil:
		return now // the process is ending; the next one continues
	case errors.As(err, &wait):
		x.state.Cause = err.Error()
		return now.Add(wait.after)
	}
	x.state.Cause = err.Error()
	if x.source.Every == 0 {
		return time.Time{}
	}
	return now.Add(min(errorPause, x.source.Every))
}

// vanished withdraws records that a complete list no longer contains. It distrusts a list that has lost everything, or more than 20
// records and more than half, since a share may not be mounted or a repository may be rebuilding its index.
func (x *run) vanished(ctx context.Context) error {
	x.state.Unlisted = 0
	if !x.state.Whole {
		return nil
	}
	h := x.o.Store.Harvest
	gone, err := h.UnseenRecords(ctx, x.source.ID, x.state.Run, false)
	if err != nil || gone == 0 {
		return err
	}
	counts, err := h.CountRecords(ctx, x.source.ID)
	if err != nil {
		return err
	}
	known := 0
	for state, n := range counts {
		if state != store.RecordWithdrawn && state != store.RecordWithdrawing {
			known += n
		}
	}
	if x.state.Asked != AskWhole && (gone == known || gone > 20 && 2*gone > known) {
		x.state.Unlisted = gone
		return nil
	}
	_, err = h.UnseenRecords(ctx, x.source.ID, x.state.Run, true)
	return err
}
