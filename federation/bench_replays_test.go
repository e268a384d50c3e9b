package federation

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"concordat/internal/cputime"
)

// BenchmarkReplays stores requests with their replies, one at a time and 16 at once; compare store.BenchmarkTakeMessage.
func BenchmarkReplays(b *testing.B) {
	for _, together := range []int{1, 16} {
		for _, size := range []int{0, 100 << 10} {
			b.Run(fmt.Sprintf("together=%d/reply=%d", together, size), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "replays")
				if err := CreateReplays(path); err != nil {
					b.Fatal(err)
				}
				r, err := OpenReplays(path, time.Now().Add(-time.Hour))
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				reply := make([]byte, size)
				from := cputime.Used()
				inParallel(b, together, func() error {
					e, found := r.begin(verified(1, time.Now()), time.Now())
					if found != beginFresh {
						return fmt.Errorf("found %d, want fresh", found)
					}
					if err := r.commit(b.Context(), e); err != nil {
						return err
					}
					return r.finish(e, reply)
				})
				cputime.Report(b, from, b.N, "request")
			})
		}
	}
}

// inParallel runs f b.N times, with together calls at once.
func inParallel(b *testing.B, together int, f func() error) {
	work := make(chan struct{}, b.N)
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	ended := make(chan error, together)
	b.ResetTimer()
	for range together {
		go func() {
			for range work {
				if err := f(); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range together {
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}
