// Package parallel runs computations of commands on all cores: those of package screen, and any work on the elements of a sequence.
package parallel

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"concordat/screen"
)

// Join runs screen.Candidates on all cores. It stops at the first error, or with the cause of a cancelled ctx.
func Join(ctx context.Context, docs []screen.Document, o screen.JoinOptions) (screen.Joined, error) {
	join, err := screen.NewJoin(docs, o)
	if err != nil {
		return screen.Joined{}, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for pass := range join.Passes() {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return join.Pass(pass)
		})
	}
	if err := g.Wait(); err != nil {
		return screen.Joined{}, err
	}
	return join.Joined()
}
