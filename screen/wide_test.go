package screen_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/internal/cputime"
	"concordat/screen"
)

// wides returns random prints of f bits, including copies and neighbours.
func wides(rng *rand.Rand, n, f int) []screen.Wide {
	var out []screen.Wide
	for len(out) < n {
		w := screen.Wide{rng.Uint64(), rng.Uint64()}
		if len(out) > 0 && rng.IntN(2) == 0 {
			w = out[rng.IntN(len(out))]
		}
		for range rng.IntN(7) {
			b := rng.IntN(f)
			w[b/64] ^= 1 << (b % 64)
		}
		if f <= 64 {
			w = screen.Wide{w[0] & (1<<f - 1), 0}
		} else {
			w[1] &= 1<<(f-64) - 1
		}
		out = append(out, w)
	}
	return out
}

// TestWideIsBruteForce compares tables and batches of 128, 100 and 64 bits with a comparison of all pairs.
func TestWideIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 128))
	for _, c := range []struct {
		f, k   int
		levels []int
	}{{128, 3, []int{4}}, {128, 3, []int{6}}, {128, 5, []int{8}}, {100, 4, []int{5}}, {100, 3, []int{4, 4}}, {64, 3, []int{6}},
		{128, 1, []int{3}}, {70, 2, []int{9}}} {
		d := design(t, c.f, c.k, c.levels...)
		stored, queries := wides(rng, 600, c.f), wides(rng, 100, c.f)
		queries = append(queries, stored[:50]...)
		var want []screen.Found
		for i, s := range stored {
			for j, q := range queries {
				if n := s.Distance(q); n <= c.k {
					want = append(want, screen.Found{Query: uint32(j), Stored: uint64(i), Distance: n})
				}
			}
		}
		tables, err := screen.NewWideTables(d, stored)
		if err != nil {
			t.Fatal(err)
		}
		var got []screen.Found
		for j, q := range queries {
			for _, h := range tables.Near(q, nil) {
				got = append(got, screen.Found{Query: uint32(j), Stored: uint64(h.ID), Distance: h.Distance})
			}
		}
		slices.SortFunc(got, func(a, b screen.Found) int {
			return cmp.Or(cmp.Compare(a.Stored, b.Stored), cmp.Compare(a.Query, b.Query))
		})
		if len(want) < 50 || !slices.Equal(got, want) {
			t.Errorf("%v: near: %d pairs, want %d", c, len(got), len(want))
		}
		batch, err := screen.NewWideBatch(d, queries)
		if err != nil {
			t.Fatal(err)
		}
		got = batch.Scan(stored[:200], 0, nil)
		if got = batch.Scan(stored[200:], 200, got); !slices.Equal(got, want) {
			t.Errorf("%v: batch: %d pairs, want %d", c, len(got), len(want))
		}
	}
}

func TestWideChunks(t *testing.T) {
	in := wides(rand.New(rand.NewPCG(2, 2)), 25, 128)
	var b []byte
	for _, w := range in {
		b = screen.AppendWide(b, w)
	}
	read := func(b []byte) (out []screen.Wide, err error) {
		for chunk, e := range screen.WideChunks(bytes.NewReader(b), 4) {
			out, err = append(out, chunk...), e
		}
		return out, err
	}
	if out, err := read(b); err != nil || !slices.Equal(out, in) {
		t.Errorf("got %d prints, %v", len(out), err)
	}
	for _, cut := range []int{1, 8, 15} {
		if out, err := read(b[:len(b)-cut]); !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(out, in[:24]) {
			t.Errorf("cut by %d: %d prints, %v", cut, len(out), err)
		}
	}
}

func TestWideRefuses(t *testing.T) {
	if _, err := screen.NewWideTables(design(t, 100, 3, 4), []screen.Wide{{0, 1 << 36}}); err == nil {
		t.Error("a print of 101 bits went into tables of 100")
	}
	if _, err := screen.NewTables(design(t, 100, 3, 4), nil); err == nil {
		t.Error("tables of 64 bits took a design of 100")
	}
	d, err := screen.NewPlan(screen.PlanOptions{F: 128, K: 3, Prints: 1e6, Bytes: 1 << 30})
	if err != nil || d.Bytes(1e6) > 1<<30 {
		t.Errorf("plan of 128 bits: %v, %v", d, err)
	}
}

func BenchmarkWideNear(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	prints := make([]screen.Wide, 1e6)
	for i := range prints {
		prints[i] = screen.Wide{rng.Uint64(), rng.Uint64()}
	}
	t, err := screen.NewWideTables(design(b, 128, 3, 4), prints)
	if err != nil {
		b.Fatal(err)
	}
	var hits []screen.Hit
	b.ReportAllocs()
	start := cputime.Used()
	for b.Loop() {
		hits = t.Near(prints[rng.IntN(len(prints))], hits[:0])
	}
	cputime.Report(b, start, b.N, "op")
}
