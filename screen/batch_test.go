package screen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sync/errgroup"

	"concordat/internal/cputime"
	"concordat/screen"
)

// TestBatchIsBruteForce compares a batch over chunks, scanned in parallel, with a comparison of everything.
func TestBatchIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		f, k   int
		levels []int
	}{{64, 3, []int{6}}, {64, 3, []int{4, 4}}, {64, 3, []int{5}}, {64, 3, []int{4}}, {12, 2, []int{4}}, {5, 1, []int{2}}} {
		all := prints(rng, 9000, c.f)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		queries, stored := all[:700], all[700:]
		var want []screen.Found
		for s, p := range stored {
			for q, x := range queries {
				if d := bits.OnesCount64(p ^ x); d <= c.k {
					want = append(want, screen.Found{Query: uint32(q), Stored: uint64(s), Distance: d})
				}
			}
		}
		b, err := screen.NewBatch(design(t, c.f, c.k, c.levels...), queries)
		if err != nil {
			t.Fatal(err)
		}
		const chunk = 1000
		parts := make([][]screen.Found, (len(stored)+chunk-1)/chunk)
		var g errgroup.Group
		for i := range parts {
			g.Go(func() error {
				parts[i] = b.Scan(stored[i*chunk:min(len(stored), (i+1)*chunk)], uint64(i*chunk), nil)
				return nil
			})
		}
		_ = g.Wait() // no part fails
		if got := slices.Concat(parts...); !slices.Equal(got, want) {
			t.Errorf("%+v: got %d pairs, want %d", c, len(got), len(want))
		}
		if len(want) < 100 {
			t.Errorf("%+v: only %d pairs were there to find", c, len(want))
		}
	}
}

func TestChunks(t *testing.T) {
	var b []byte
	for i := range uint64(10) {
		b = binary.BigEndian.AppendUint64(b, i<<40)
	}
	read := func(r io.Reader, size int) (out []uint64, err error) {
		for c, e := range screen.Chunks(r, size) {
			out, err = append(out, c...), e
		}
		return out, err
	}
	for _, size := range []int{1, 3, 5, 10, 99} {
		got, err := read(iotest.HalfReader(bytes.NewReader(b)), size)
		if err != nil || len(got) != 10 || got[9] != 9<<40 {
			t.Errorf("chunks of %d: %x, %v", size, got, err)
		}
		if got, err = read(bytes.NewReader(b[:77]), size); len(got) != 9 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("chunks of %d of 77 bytes: %d prints, %v", size, len(got), err)
		}
	}
	broken := errors.New("broken")
	if _, err := read(io.MultiReader(bytes.NewReader(b), iotest.ErrReader(broken)), 4); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	if got, err := read(strings.NewReader(""), 4); len(got) != 0 || err != nil {
		t.Errorf("empty stream: %v, %v", got, err)
	}
}

// BenchmarkBatch answers a million queries against streamed prints on one core. In the paper, one mapper has 40 million prints, which the
// benchmark uses if CONCORDAT_LONG is set; otherwise, it uses two million.
func BenchmarkBatch(b *testing.B) {
	n := 2_000_000
	if os.Getenv("CONCORDAT_LONG") != "" {
		n = 40_000_000
	}
	rng := rand.New(rand.NewPCG(3, 4))
	queries := make([]uint64, 1_000_000)
	for i := range queries {
		queries[i] = rng.Uint64()
	}
	began := cputime.Used()
	batch, err := screen.NewBatch(design(b, 64, 3, 5), queries)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("tables over the queries: %v CPU", cputime.Used()-began)
	chunk := make([]uint64, 1<<20)
	var scanning, planted, found int64
	for b.Loop() {
		planted, found = 0, 0
		var hits []screen.Found
		for at := 0; at < n; at += len(chunk) {
			for i := range chunk {
				chunk[i] = rng.Uint64()
				if i%64 == 0 {
					chunk[i] = flip(rng, queries[rng.IntN(len(queries))], 3, 64)
					planted++
				}
			}
			start := cputime.Used()
			hits = batch.Scan(chunk, uint64(at), hits[:0])
			scanning += int64(cputime.Used() - start)
			found += int64(len(hits))
		}
		if found < planted {
			b.Fatalf("found %d of %d planted", found, planted)
		}
	}
	b.ReportMetric(float64(scanning)/float64(b.N), "scan-cpu-ns/op") // creating the prints takes the same time again
	b.ReportMetric(float64(scanning)/float64(b.N)/float64(n), "scan-cpu-ns/print")
}
