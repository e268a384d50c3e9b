// Package bench measures the speed of the product's own code: building an index, querying it, and fingerprinting text. Times are
// processor times of the process, so that other work on the machine does not count. Ratios are relative to a plain in-memory table
// measured in the same run.
//
// Start from [Index], [Query], [Growth], [Join], [Ingest], [Check], [Fingerprint] or [Memory].
package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/profile"
)

const scheme = concordat.Scheme("bench@0000000000000000")

// perDocument is the number of sentences per benchmark document, about a short article.
const perDocument = 200

// cpu returns the processor time used by the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot fail with this argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the maximum resident size of the process so far, or since resetPeak, in megabytes.
func peak() float64 {
	if mb := status("self", "VmHWM:"); mb > 0 {
		return mb
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}

// profiles yields the fingerprints as documents without text.
func profiles(prints []concordat.Fingerprint) iter.Seq2[*concordat.Profile, error] {
	return func(yield func(*concordat.Profile, error) bool) {
		for from := 0; from < len(prints); from += perDocument {
			part := prints[from:min(from+perDocument, len(prints))]
			p := &concordat.Profile{Scheme: scheme, Document: concordat.Document{Library: "bench",
				ID: concordat.DocumentID(fmt.Sprint(from / perDocument))}}
			for _, f := range part {
				p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: f})
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// IndexResult is the result of one way of building an index.
type IndexResult struct {
	Build     string  `json:"build"` // live, logged (through the write-ahead log) or bulk
	Sentences int     `json:"sentences"`
	Rate      float64 `json:"sentences_per_cpu_second"`
	Bytes     float64 `json:"bytes_per_sentence"`
	TableRate float64 `json:"table_sentences_per_cpu_second"` // for building the plain in-memory table, which is not durable
	Ratio     float64 `json:"ratio"`                          // processor time as a multiple of the plain table's
	Peak      float64 `json:"peak_mb"`
}

// Index builds an index of the prints below dir in three ways: from acknowledged batches with a final merge, directly and through the
// write-ahead log, and then with the bulk builder. It reports each result and removes the folders.
func Index(ctx context.Context, dir string, prints []concordat.Fingerprint, report func(IndexResult) error) error {
	o := index.Options{Site: "bench", Scheme: scheme, Shard: "00"}
	var tables rounds
	for range 5 {
		_ = tables.time(func() error { newFlat(prints); return nil })
	}
	table := tables.median()
	for _, way := range []struct {
		name  string
		build func(string) error
	}{
		{"live", func(d string) error {
			s, err := index.Open(d, o)
			if err != nil {
				return err
			}
			return errors.Join(live(ctx, s, s, prints), s.Close())
		}},
		{"logged", func(d string) error {
			s, err := cluster.OpenAlone(ctx, d, o)
			if err != nil {
				return err
			}
			return errors.Join(live(ctx, s, s.Index(), prints), s.Close())
		}},
		{"bulk", func(d string) error { return index.Build(d, o, profiles(prints)) }},
	} {
		d := filepath.Join(dir, way.name)
		runtime.GC()
		start := cpu()
		if err := way.build(d); err != nil {
			return errors.Join(fmt.Errorf("build %s: %w", way.name, err), os.RemoveAll(d))
		}
		took := cpu() - start
		bytes, err := size(d)
		if err == nil && way.name == "live" {
			bytes, err = stored(ctx, d)
		}
		if err != nil {
			return err
		}
		n := float64(len(prints))
		if err := report(IndexResult{Build: way.name, Sentences: len(prints), Rate: n / took.Seconds(), Bytes: float64(bytes) / n,
			TableRate: n / table.Seconds(), Ratio: took.Seconds() / table.Seconds(), Peak: peak()}); err != nil {
			return err
		}
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	return nil
}

// live puts the prints into s in acknowledged batches of about 1,000 sentences, one after another, and merges the shard x that has them.
func live(ctx context.Context, s concordat.Index, x *index.Shard, prints []concordat.Fingerprint) (err error) {
	var batch []*concordat.Profile
	for p := range profiles(prints) {
		if batch = append(batch, p); len(batch) == 5 {
			if err = s.Put(ctx, batch...); err != nil {
				break
			}
			batch = nil
		}
	}
	if err == nil {
		err = s.Put(ctx, batch...)
	}
	if err == nil {
		err = x.Merge(ctx)
	}
	return err
}

// stored returns the size in bytes of a copy of the index in dir, because dir might still contain segments that have been merged.
func stored(ctx context.Context, dir string) (n int64, err error) {
	s, err := index.Open(dir, index.Options{})
	if err != nil {
		return 0, err
	}
	to := dir + "-copy"
	if err = s.CopyTo(ctx, to); err == nil {
		n, err = size(to)
	}
	return n, errors.Join(err, s.Close(), os.RemoveAll(to))
}

// size returns the total size of the files below dir, in bytes.
func size(dir string) (int64, error) {
	var n int64
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// Question is a query of the exchange format: a fingerprint and, if planted, the index of its original and the number of its changed
// bits. If it is not planted, the index is -1.
type Question struct {
	Print  concordat.Fingerprint
	Target int
	Bits   int
}

// Prints returns n random fingerprints and the given number of questions, half of them planted with 0 to 12 changed bits.
func Prints(n, questions int, seed uint64) ([]concordat.Fingerprint, []Question) {
	rng := rand.New(rand.NewPCG(seed, 100))
	prints := make([]concordat.Fingerprint, n)
	for i := range prints {
		prints[i] = concordat.FingerprintFromHalves(rng.Uint64(), rng.Uint64())
	}
	qs := make([]Question, questions)
	for i := range qs {
		qs[i] = Question{concordat.FingerprintFromHalves(rng.Uint64(), rng.Uint64()), -1, 0}
		if i%2 == 0 && n > 0 {
			qs[i] = plantedIn(rng, prints)
		}
	}
	return prints, qs
}

// QueryResult is the result of one way of querying an index.
type QueryResult struct {
	Path       string  `json:"path"`  // table or bleve
	Probe      string  `json:"probe"` // exact or one
	Sentences  int     `json:"sentences"`
	P50        float64 `json:"p50_us"` // wall time of a one-sentence query
	P99        float64 `json:"p99_us"` // the same for the slowest hundredth
	Rounds     int     `json:"rounds"`
	CPU        float64 `json:"cpu_us"`       // per sentence, for queries of 200-sentence documents; median of the rounds
	Best       float64 `json:"best_cpu_us"`  // minimum of the rounds
	Document   float64 `json:"document_ms"`  // processor time of a 200-sentence document
	Candidates float64 `json:"candidates"`   // entries of the plain table examined per sentence
	Missed     int     `json:"missed"`       // number of planted pairs within the guarantee that were missed
	TableCPU   float64 `json:"table_cpu_us"` // for the plain in-memory table with the same look-ups, alternating; the median
	Ratio      float64 `json:"ratio"`        // CPU / TableCPU
	Line       float64 `json:"line_ns"`      // time of a random memory access just before
	Lines      float64 `json:"lines"`        // time per sentence as a number of such accesses
}

// QueryOptions are the options of a query benchmark.
type QueryOptions struct {
	Rounds int    // number of repetitions of every question; default 1
	Path   string // table, bleve, or empty for both
}

// reportDistance is the maximum Hamming distance for which the benchmark requests matches.
const reportDistance = 12

// Query builds an index of the prints below dir and asks it every question, through the derived table and directly from Bleve, with exact
// bands and with probes.
func Query(ctx context.Context, dir string, prints []concordat.Fingerprint, qs []Question, how QueryOptions,
	report func(QueryResult) error) (err error) {
	d := filepath.Join(dir, "query")
	o := index.Options{Site: "bench", Scheme: scheme, Shard: "00"}
	if err := index.Build(d, o, profiles(prints)); err != nil {
		return err
	}
	s, err := index.Open(d, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(d)) }()
	flat := newFlat(prints)
	for _, path := range []string{"table", "bleve"} {
		if how.Path != "" && how.Path != path {
			continue
		}
		for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
			match := s.Match
			asked := qs
			if path == "bleve" {
				match = s.MatchStored
				if probe == concordat.ProbeOne && len(qs) > 2000 {
					asked = qs[:2000] // all questions would take fifty times as long and add no information
				}
			}
			r, err := ask(ctx, match, flat, asked, probe, max(how.Rounds, 1))
			if err != nil {
				return err
			}
			r.Path, r.Probe, r.Sentences = path, probe.String(), len(prints)
			if err := report(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask measures one way of querying, alternating with the plain table.
func ask(ctx context.Context, match func(context.Context, *concordat.Query) (*concordat.Answer, error), flat *flat, qs []Question,
	probe concordat.Probe, times int) (QueryResult, error) {
	r := QueryResult{Rounds: times}
	query := func(qs []Question) *concordat.Query {
		q := &concordat.Query{Scheme: scheme, MaxDistance: reportDistance, Probe: probe}
		for _, x := range qs {
			q.Fingerprints = append(q.Fingerprints, x.Print)
		}
		return q
	}
	if _, err := match(ctx, query(qs[:min(len(qs), perDocument)])); err != nil { // builds the table, if any
		return r, err
	}
	var asked []*concordat.Query
	answers := make([]*concordat.Answer, (len(qs)+perDocument-1)/perDocument)
	for from := 0; from < len(qs); from += perDocument {
		asked = append(asked, query(qs[from:min(from+perDocument, len(qs))]))
	}
	r.Line = Memory().Lines
	runtime.GC()
	var own, table rounds
	candidates := 0
	for range times {
		err := own.time(func() (err error) {
			for i, q := range asked {
				if answers[i], err = match(ctx, q); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return r, err
		}
		_ = table.time(func() error {
			candidates = 0
			for _, q := range qs {
				candidates += flat.ask(q.Print, probe)
			}
			return nil
		})
	}
	for i, a := range answers {
		r.Missed += missed(a, qs[i*perDocument:], probe)
	}
	n := float64(len(qs))
	r.CPU, r.Best, r.TableCPU = micro(own.median())/n, micro(own.best())/n, micro(table.median())/n
	r.Document = r.CPU * perDocument / 1000
	r.P50, r.P99 = latency(ctx, match, query, qs)
	r.Candidates = float64(candidates) / n
	r.Ratio, r.Lines = r.CPU/r.TableCPU, 1000*r.CPU/r.Line
	return r, nil
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// latency returns the median and the 99th percentile of one-sentence queries, in microseconds.
func latency(ctx context.Context, match func(context.Context, *concordat.Query) (*concordat.Answer, error),
	query func([]Question) *concordat.Query, qs []Question) (p50, p99 float64) {
	times := make([]float64, 0, min(len(qs), 2000))
	for i := range cap(times) {
		q := query(qs[i : i+1])
		start := time.Now()
		if _, err := match(ctx, q); err != nil {
			return 0, 0 // the same query has just succeeded as part of a larger one
		}
		times = append(times, micro(time.Since(start)))
	}
	sort.Float64s(times)
	return times[len(times)/2], times[len(times)*99/100]
}

// missed counts the planted questions in the first document of qs that are within the probe's guarantee but whose original is not among
// the matches.
func missed(a *concordat.Answer, qs []Question, probe concordat.Probe) int {
	guarantee := concordat.Complete
	if probe == concordat.ProbeOne {
		guarantee = concordat.CompleteNibbles
	}
	found := map[[2]int]bool{}
	for _, m := range a.Matches {
		var d int
		if _, err := fmt.Sscan(string(m.Source.Document), &d); err == nil {
			found[[2]int{m.Sentence, d*perDocument + m.Ordinal}] = true
		}
	}
	n := 0
	for i, q := range qs[:min(perDocument, len(qs))] {
		if q.Target >= 0 && q.Bits <= guarantee && !found[[2]int{i, q.Target}] {
			n++
		}
	}
	return n
}

// FingerprintResult is the speed of fingerprinting a text.
type FingerprintResult struct {
	File      string  `json:"file"`
	Scheme    string  `json:"scheme"`
	Documents int     `json:"documents"`
	Bytes     int     `json:"bytes"`
	Sentences int     `json:"sentences"`
	Rounds    int     `json:"rounds"`
	Rate      float64 `json:"mb_per_cpu_second"`      // 10^6 bytes of text; median of the rounds
	Best      float64 `json:"best_mb_per_cpu_second"` // for the best round
	Prints    float64 `json:"sentences_per_cpu_second"`
	Hash      float64 `json:"xxhash_gb_per_cpu_second"` // for the same text, alternating
	Read      float64 `json:"read_gb_per_cpu_second"`   // for the same number of bytes, alternating
	Hashes    float64 `json:"xxhashes"`                 // number of times that the text could be hashed in that time
	Peak      float64 `json:"peak_mb"`
}

// leastRound is the minimum duration of a round of fingerprinting, long enough for the resolution of the process clock.
const leastRound = 20 * time.Millisecond

// Fingerprint measures converting text to fingerprints for the index on one core. It processes the documents at least the given number of
// times, and until two seconds of processor time have passed. Dictionaries are loaded beforehand. Rounds of fingerprinting, hashing and
// reading the text alternate, so that other work on the machine slows all three equally.
func Fingerprint(p *profile.Profiler, file string, documents []string, times int) (FingerprintResult, error) {
	r := FingerprintResult{File: file, Scheme: string(p.Scheme()), Documents: len(documents)}
	passes := 1
	round := func() error {
		for range passes {
			r.Sentences = 0
			for _, text := range documents {
				prof, err := p.ForIndex(concordat.Document{ID: "bench", Text: text})
				if err != nil {
					return err
				}
				r.Sentences += len(prof.Indexed)
			}
		}
		return nil
	}
	for _, text := range documents {
		r.Bytes += len(text)
	}
	if err := round(); err != nil {
		return r, err
	}
	start := time.Now()
	if err := round(); err != nil {
		return r, err
	}
	passes += int(leastRound / (time.Since(start) + 1))
	const repeats = 8 // repeated, since it takes a hundredth of the time
	words := make([]uint64, r.Bytes/8+1)
	var prints rounds
	var all, hash, read time.Duration
	sum := uint64(0)
	for len(prints) < max(times, 1) || all < 2*time.Second {
		if err := prints.time(round); err != nil {
			return r, err
		}
		all += prints[len(prints)-1]
		at := cpu()
		for range passes * repeats {
			for _, text := range documents {
				sum += xxhash.Sum64String(text)
			}
		}
		hash, at = hash+cpu()-at, cpu()
		for range passes * repeats {
			sum += add(words)
		}
		read += cpu() - at
	}
	r.Rounds = len(prints)
	perRound := float64(passes) * float64(r.Bytes)
	took, bytes := prints.median().Seconds(), float64(r.Rounds)*perRound
	r.Rate, r.Best = perRound/1e6/took, perRound/1e6/prints.best().Seconds()
	r.Prints = float64(passes) * float64(r.Sentences) / took
	r.Hash = repeats * bytes / 1e9 / hash.Seconds()
	r.Read = repeats * bytes / 1e9 / read.Seconds()
	r.Hashes = 1000 * r.Hash / r.Rate
	r.Peak = peak()
	if sum == 1 { // prevents the compiler from removing the loops
		r.Peak = 0
	}
	return r, nil
}
