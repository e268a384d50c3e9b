package federation

import (
	"context"
	"iter"
	"sync"
	"time"

	"concordat"
)

// Partner is a member of a Group.
type Partner interface{ Site() concordat.SiteID }

// Group is the set of partners that one check asks.
type Group[P Partner] struct {
	Partners []P
	Timeout  time.Duration // time limit per answer; 0 means a minute
	Parallel int           // maximum number of partners asked at once; 0 means sixteen
}

const (
	defaultTimeout  = time.Minute
	defaultParallel = 16
)

// Answered is the answer of one partner in a Group.
type Answered[T any] struct {
	Site  concordat.SiteID
	Value T // zero if there was an error
	Took  time.Duration
}

// Gather calls ask for each partner of g, many at a time, and yields each outcome, with that partner's own error, as it arrives. If a
// partner does not answer in time, its error wraps concordat.ErrUnavailable. If the loop is left or ctx ends, Gather cancels the running
// calls and waits for them. ask must return when its context ends.
func Gather[P Partner, T any](ctx context.Context, g Group[P], ask func(context.Context, P) (T, error)) iter.Seq2[Answered[T], error] {
	return func(yield func(Answered[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type outcome struct {
			Answered[T]
			err error
		}
		outcomes := make(chan outcome, len(g.Partners)) // never blocks, even if a panic ends the loop
		next := make(chan P)
		var running sync.WaitGroup
		parallel := g.Parallel
		if parallel <= 0 {
			parallel = defaultParallel
		}
		for range min(parallel, len(g.Partners)) {
			running.Go(func() {
				for p := range next {
					var o outcome
					o.Answered, o.err = askOne(ctx, g, p, ask)
					outcomes <- o
				}
			})
		}
		running.Go(func() {
			defer close(next)
			for _, p := range g.Partners {
				next <- p
			}
		})
		go func() {
			running.Wait()
			close(outcomes)
		}()
		stopped := false
		for o := range outcomes {
			if !stopped && !yield(o.Answered, o.err) {
				stopped = true
				cancel()
			}
		}
	}
}

func askOne[P Partner, T any](ctx context.Context, g Group[P], p P,
	ask func(context.Context, P) (T, error)) (Answered[T], error) {
	timeout := g.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a := Answered[T]{Site: p.Site()}
	if err := ctx.Err(); err != nil {
		return a, failure(ctx, p.Site(), KindSilent, err)
	}
	value, err := ask(ctx, p)
	a.Took = time.Since(began)
	if err != nil {
		return a, failure(ctx, p.Site(), KindDown, err)
	}
	a.Value = value
	return a, nil
}
