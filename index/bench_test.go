package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/internal/cputime"
)

const benchScheme = concordat.Scheme("bench@0000000000000000")

func randomFingerprint(r *rand.Rand) concordat.Fingerprint {
	return concordat.FingerprintFromHalves(r.Uint64(), r.Uint64())
}

// benchTables caches one table per size, since most benchmarks do not measure building.
var benchTables = struct {
	sync.Mutex
	m map[int]*level
}{m: map[int]*level{}}

func randomOccurrences(n int) ([]concordat.Fingerprint, []occurrence) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	fps, occs := make([]concordat.Fingerprint, n), make([]occurrence, n)
	for i := range fps {
		fps[i] = randomFingerprint(r)
		occs[i] = occurrence{uint32(i / 200), uint32(i % 200)}
	}
	return fps, occs
}

func benchTable(n int) *level {
	benchTables.Lock()
	defer benchTables.Unlock()
	if benchTables.m[n] == nil {
		fps, occs := randomOccurrences(n)
		benchTables.m[n] = newLevel(fps, occs)
	}
	return benchTables.m[n]
}

// nearQueries returns fingerprints, half of them entries of l with up to twelve changed bits.
func nearQueries(l *level, n int) []concordat.Fingerprint {
	r := rand.New(rand.NewPCG(3, 4))
	var entries []concordat.Fingerprint
	for _, f := range l.all() {
		entries = append(entries, f)
	}
	qs := make([]concordat.Fingerprint, n)
	for i := range qs {
		if i%2 == 0 {
			qs[i] = randomFingerprint(r)
			continue
		}
		f := entries[r.IntN(len(entries))]
		for range r.IntN(13) {
			bit := r.IntN(concordat.Bits)
			f[bit/60] ^= 1 << (bit % 60)
		}
		qs[i] = f
	}
	return qs
}

var benchProbes = []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne}

// BenchmarkLookup measures the derived table alone, in one goroutine.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, by := range []struct {
			name   string
			probe  concordat.Probe
			hashes int
		}{{"exact", concordat.ProbeExact, 0}, {"one", concordat.ProbeOne, 0}, {"one-by-hashes", concordat.ProbeOne, 14}} {
			b.Run(fmt.Sprintf("probe=%s/sentences=%d", by.name, n), func(b *testing.B) {
				l := benchTable(n)
				levels := []*level{l}
				qs := nearQueries(l, 4096)
				k := &lookup{probe: by.probe, most: 27, hashes: by.hashes, cap: defaultBandCap}
				b.ReportAllocs()
				i, hits, start := 0, 0, cputime.Used()
				for b.Loop() {
					k.out = k.out[:0]
					k.search(l, qs[i%len(qs)], 0)
					k.resolve(k.out, levels)
					hits += len(k.out)
					i++
				}
				cputime.Report(b, start, i, "query")
				b.ReportMetric(float64(k.candidates)/float64(i), "candidates/query")
				b.ReportMetric(float64(hits)/float64(i), "found/query")
			})
		}
	}
}

func BenchmarkTableBuild(b *testing.B) {
	for _, n := range []int{4096, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			fps, occs := randomOccurrences(n)
			b.ReportAllocs()
			rounds, start := 0, cputime.Used()
			var l *level
			for b.Loop() {
				l = newLevel(fps, occs)
				rounds++
			}
			cputime.Report(b, start, rounds*n, "sentence")
			b.ReportMetric(float64(l.bytes())/float64(n), "B/sentence")
		})
	}
}

// randomProfiles yields documents of 20 random sentences each, without text, n sentences in total.
func randomProfiles(seed uint64, n int) iter.Seq[*concordat.Profile] {
	return func(yield func(*concordat.Profile) bool) {
		r := rand.New(rand.NewPCG(seed, 9))
		for i := 0; i < n; i += 20 {
			p := &concordat.Profile{Scheme: benchScheme, Document: concordat.Document{
				Library: "bench", ID: concordat.DocumentID(fmt.Sprintf("%d-%d", seed, i/20))}}
			for range min(20, n-i) {
				p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: randomFingerprint(r)})
			}
			if !yield(p) {
				return
			}
		}
	}
}

// BenchmarkBuild measures the bulk path including merging; one round is n sentences.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			all := slices.Collect(randomProfiles(1, n))
			b.ReportAllocs()
			var size int64
			start := cputime.Used()
			for b.Loop() {
				dir := b.TempDir()
				if err := Build(dir, Options{Scheme: benchScheme}, sound(slices.Values(all))); err != nil {
					b.Fatal(err)
				}
				size = dirBytes(dir)
			}
			cputime.Rate(b, start, b.N*n, "sentences")
			b.ReportMetric(float64(size)/float64(n), "B/sentence")
		})
	}
}

// BenchmarkPut measures the live path: batches of 1,000 sentences from two writers, then Merge.
func BenchmarkPut(b *testing.B) {
	const n = 200_000
	all := [2][]*concordat.Profile{slices.Collect(randomProfiles(0, n/2)), slices.Collect(randomProfiles(1, n/2))}
	b.ReportAllocs()
	var size, merged int64
	var took time.Duration
	for b.Loop() {
		start := cputime.Used()
		s, err := Open(b.TempDir(), Options{Scheme: benchScheme})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, of := range all {
			wg.Go(func() {
				for batch := range slices.Chunk(of, 50) {
					if err := s.Put(context.Background(), batch...); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		size = dirBytes(s.dir)
		if err := s.Merge(context.Background()); err != nil {
			b.Fatal(err)
		}
		took += cputime.Used() - start
		b.StopTimer()
		copied := filepath.Join(b.TempDir(), "copy") // without merged segments awaiting removal
		if err := errors.Join(s.CopyTo(context.Background(), copied), s.Close()); err != nil {
			b.Fatal(err)
		}
		merged = dirBytes(copied)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*n)/took.Seconds(), "sentences/cpu-s")
	b.ReportMetric(float64(size)/n, "disk-B/sentence")
	b.ReportMetric(float64(merged)/n, "merged-B/sentence")
}

// BenchmarkMatch measures whole queries of 1 and of 200 sentences against a built shard.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			s := benchShard(b, n)
			for _, p := range benchProbes {
				for _, size := range []int{1, 200} {
					b.Run(fmt.Sprintf("path=table/probe=%s/asked=%d", p, size), func(b *testing.B) {
						qs := nearQueries(s.state.view.levels[0], 20*size+4000)
						b.ReportAllocs()
						i, start := 0, cputime.Used()
						for b.Loop() {
							o := i % (len(qs) / size) * size
							q := concordat.Query{Scheme: benchScheme, Fingerprints: qs[o : o+size], MaxDistance: 27, Probe: p}
							if _, err := s.Match(context.Background(), &q); err != nil {
								b.Fatal(err)
							}
							i++
						}
						cputime.Report(b, start, i, "op")
					})
				}
				b.Run(fmt.Sprintf("path=stored/probe=%s/asked=1", p), func(b *testing.B) {
					qs := nearQueries(s.state.view.levels[0], 256)
					b.ReportAllocs()
					i, start := 0, cputime.Used()
					for b.Loop() {
						q := concordat.Query{Scheme: benchScheme, Fingerprints: qs[i%256:][:1], MaxDistance: 27, Probe: p}
						if _, err := s.MatchStored(context.Background(), &q); err != nil {
							b.Fatal(err)
						}
						i++
					}
					cputime.Report(b, start, i, "op")
				})
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func benchShard(b *testing.B, n int) *Shard {
	b.Helper()
	dir := b.TempDir()
	if err := Build(dir, Options{Scheme: benchScheme}, sound(randomProfiles(1, n))); err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// zipfFingerprints returns n mostly distinct fingerprints, half of them variations, up to ten nibbles away, of roots whose frequencies
// follow a power law, as with boilerplate.
func zipfFingerprints(n int) ([]concordat.Fingerprint, []occurrence) {
	r := rand.New(rand.NewPCG(11, uint64(n)))
	roots := make([]concordat.Fingerprint, n/50+1)
	for i := range roots {
		roots[i] = randomFingerprint(r)
	}
	z := rand.NewZipf(r, 1.2, 1, uint64(len(roots)-1))
	fps, occs := make([]concordat.Fingerprint, n), make([]occurrence, n)
	for i := range fps {
		fps[i] = randomFingerprint(r)
		if i%2 == 0 {
			f := roots[z.Uint64()]
			for range 1 + r.IntN(10) {
				nibble := r.IntN(concordat.Nibbles)
				f[nibble/15] ^= uint64(1+r.IntN(15)) << (4 * (nibble % 15))
			}
			fps[i] = f
		}
		occs[i] = occurrence{uint32(i / 200), uint32(i % 200)}
	}
	return fps, occs
}

// BenchmarkSkewed measures look-ups drawn from the data itself with very uneven buckets. Near entries are both read and found, which is
// most of the cost.
func BenchmarkSkewed(b *testing.B) {
	for _, n := range []int{50_000, 200_000, 800_000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			fps, occs := zipfFingerprints(n)
			l := newLevel(fps, occs)
			for _, p := range benchProbes {
				b.Run("probe="+p.String(), func(b *testing.B) {
					k := &lookup{probe: p, most: 27, cap: defaultBandCap}
					b.ReportAllocs()
					i, hits, start := 0, 0, cputime.Used()
					for b.Loop() {
						k.out = k.out[:0]
						k.search(l, fps[i*7919%n], 0)
						k.resolve(k.out, []*level{l})
						hits += len(k.out)
						i++
					}
					cputime.Report(b, start, i, "query")
					b.ReportMetric(float64(k.candidates)/float64(i), "candidates/query")
					b.ReportMetric(float64(hits)/float64(i), "found/query")
					b.ReportMetric(float64(k.capped)/float64(i), "capped/query")
				})
			}
		})
	}
}

// BenchmarkOpen measures opening a built shard with its table.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			if err := Build(dir, Options{Scheme: benchScheme}, sound(randomProfiles(1, n))); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			i, start := 0, cputime.Used()
			for b.Loop() {
				s, err := Open(dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				i++
			}
			cputime.Report(b, start, i*n, "sentence")
		})
	}
}
