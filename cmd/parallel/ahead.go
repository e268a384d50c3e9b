package parallel

import (
	"context"
	"iter"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Ahead yields the result of work for each element of in, in order. work runs ahead on all cores, with the same number of results
// buffered. in is iterated in a separate goroutine. When the consumer stops, Ahead cancels the context of work and returns after all
// calls of work have returned.
func Ahead[In, Out any](ctx context.Context, in iter.Seq[In], work func(context.Context, In) Out) iter.Seq[Out] {
	return func(yield func(Out) bool) {
		ctx, cancel := context.WithCancel(ctx)
		cores := runtime.GOMAXPROCS(0)
		slots := make(chan chan Out, cores)
		go func() {
			defer close(slots)
			var g errgroup.Group
			g.SetLimit(cores)
			defer func() { _ = g.Wait() }()
			for x := range in {
				slot := make(chan Out, 1)
				select {
				case slots <- slot:
				case <-ctx.Done():
					return
				}
				g.Go(func() error {
					slot <- work(ctx, x)
					return nil
				})
			}
		}()
		defer func() {
			cancel()
			for range slots { // closed when all calls of work have returned
			}
		}()
		for slot := range slots {
			if !yield(<-slot) {
				return
			}
		}
	}
}
