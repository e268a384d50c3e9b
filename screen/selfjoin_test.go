package screen_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/internal/suite"
	"concordat/screen"
)

// stream returns a Stream over prints in memory, in uneven chunks.
func stream(prints []uint64) screen.Stream {
	return func() iter.Seq2[[]uint64, error] {
		return func(yield func([]uint64, error) bool) {
			for c := range slices.Chunk(prints, 777) {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// naiveTwins compares all distinct prints with each other and pairs every copy with the first.
func naiveTwins(prints []uint64, k, hot int) (out []screen.Twin) {
	first, count := map[uint64]int{}, map[uint64]int{}
	for i, p := range prints {
		if count[p]++; count[p] == 1 {
			first[p] = i
		}
	}
	for i, p := range prints {
		if hot > 0 && count[p] > hot {
			continue
		}
		if first[p] != i {
			out = append(out, screen.Twin{A: uint64(first[p]), B: uint64(i)})
			continue
		}
		for j := i + 1; j < len(prints); j++ {
			q := prints[j]
			if d := (screen.Wide{p}).Distance(screen.Wide{q}); first[q] == j && q != p && d <= k && (hot == 0 || count[q] <= hot) {
				out = append(out, screen.Twin{A: uint64(i), B: uint64(j), Distance: d})
			}
		}
	}
	slices.SortFunc(out, byNumber)
	return out
}

func byNumber(a, b screen.Twin) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) }

func TestSelfJoinIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var prints []uint64
	for _, w := range wides(rng, 3000, 64) {
		prints = append(prints, w[0])
	}
	for range 40 {
		prints = append(prints, prints[7]) // a hot print
	}
	for _, c := range []struct {
		hot    int
		levels []int
	}{{0, []int{4}}, {0, []int{6}}, {20, []int{4, 4}}} {
		j := screen.SelfJoin{Design: design(t, 64, 3, c.levels...), Stored: stream(prints), Bytes: 24 << 20, Hot: c.hot}
		want := naiveTwins(prints, 3, c.hot)
		var got []screen.Twin
		units := 0
		err := j.Run(t.Context(), int64(len(prints)), 0, func(w screen.Twin) error {
			got = append(got, w)
			return nil
		}, func(p screen.Progress) error {
			units++
			return nil
		})
		slices.SortFunc(got, byNumber)
		if err != nil || len(want) < 500 || !slices.Equal(got, want) || units != len(j.Design.Tables) {
			t.Errorf("%v: %d pairs in %d units, want %d: %v", c, len(got), units, len(want), err)
		}
	}
}

// TestSelfJoinInParts joins more prints than fit into memory, most of them crowded in one part, and continues from the middle after a
// failure. Together, the parts find the same pairs.
func TestSelfJoinInParts(t *testing.T) {
	suite.Rest(t, "two million prints")
	rng := rand.New(rand.NewPCG(4, 4))
	prints := make([]uint64, 2_100_000)
	for i := range prints {
		prints[i] = rng.Uint64()
		if i < 1_900_000 {
			prints[i] >>= 8
		}
	}
	planted := map[screen.Twin]bool{}
	for i := range 500 {
		a, b := 2*i, len(prints)-1-i
		prints[b] = flip(rng, prints[a], i%4, 64)
		planted[screen.Twin{A: uint64(a), B: uint64(b), Distance: i % 4}] = true
	}
	j := screen.SelfJoin{Design: design(t, 64, 3, 5), Stored: stream(prints), Bytes: 24 << 20}
	at := 0
	stop := errors.New("stop")
	emit := func(w screen.Twin) error {
		delete(planted, w)
		return nil
	}
	err := j.Run(t.Context(), int64(len(prints)), 0, emit, func(p screen.Progress) error {
		if at = p.Done; at == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || len(planted) == 0 {
		t.Fatalf("stopped with %v at %d, %d pairs left", err, at, len(planted))
	}
	err = j.Run(t.Context(), int64(len(prints)), at, emit, func(screen.Progress) error { return nil })
	if err != nil || len(planted) > 0 {
		t.Errorf("%d planted pairs were not found: %v", len(planted), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Run(ctx, int64(len(prints)), 0, emit, func(screen.Progress) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	j.Stored = stream(make([]uint64, len(prints)))
	if err := j.Run(t.Context(), int64(len(prints)), 0, emit, func(screen.Progress) error { return nil }); !errors.Is(err, screen.ErrMemory) {
		t.Errorf("all prints equal: %v", err)
	}
	if err := j.Run(t.Context(), 10, 0, emit, func(screen.Progress) error { return nil }); err == nil {
		t.Error("a stream of another length was joined")
	}
}
