package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
)

// GrowthResult is the cost of an index of one size.
type GrowthResult struct {
	Sentences int     `json:"sentences"`
	Distinct  int     `json:"distinct"`
	Build     float64 `json:"sentences_per_cpu_second"` // bulk build, merged
	Bytes     float64 `json:"bytes_per_sentence"`       // on disk
	Open      float64 `json:"open_cpu_s"`               // for opening the index and deriving its table
	OpenPeak  float64 `json:"open_peak_mb"`             // maximum resident size in the meantime, without the benchmark's own
	Close     float64 `json:"close_cpu_s"`              // for closing the index and storing the table
	Kept      float64 `json:"kept_bytes_per_sentence"`  // size of the stored table
	Warm      float64 `json:"warm_cpu_s"`               // for opening the index again with the table
	Memory    float64 `json:"heap_bytes_per_sentence"`  // of the open index
	Exact     float64 `json:"exact_cpu_us"`             // per sentence, for queries of 200-sentence documents; median of the rounds
	One       float64 `json:"one_cpu_us"`
	Line      float64 `json:"line_ns"`   // time of a random memory access just before
	Lines     float64 `json:"lines"`     // One as a number of such accesses
	Found     float64 `json:"found_one"` // matches per sentence
	Missed    int     `json:"missed"`    // number of planted pairs within the guarantee that were missed, for both probes
	Peak      float64 `json:"peak_mb"`
}

// Growth builds an index of the prints below dir, opens it, and asks it the questions several times.
func Growth(ctx context.Context, dir string, prints []concordat.Fingerprint, qs []Question, times int) (r GrowthResult, err error) {
	d := filepath.Join(dir, "growth")
	defer func() { err = errors.Join(err, os.RemoveAll(d)) }()
	o := index.Options{Site: "bench", Scheme: scheme, Shard: "00"}
	r.Line = Memory().Lines
	runtime.GC()
	start := cpu()
	if err := index.Build(d, o, profiles(prints)); err != nil {
		return r, err
	}
	n := float64(len(prints))
	r.Build = n / (cpu() - start).Seconds()
	bytes, err := size(d)
	if err != nil {
		return r, err
	}
	r.Sentences, r.Bytes = len(prints), float64(bytes)/n
	before := heap()
	debug.FreeOSMemory() // otherwise opening would use memory left by the build
	held := resident()
	r.Peak = peak()
	resetPeak()
	start = cpu()
	o.Warm = true
	s, err := index.Open(d, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.Open = (cpu() - start).Seconds()
	r.OpenPeak = peak() - held
	r.Memory, r.Distinct = float64(heap()-before)/n, s.Stats().Distinct
	runtime.KeepAlive(prints) // so that freeing them does not affect the difference
	for _, p := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		took, matches, missed, err := askAll(ctx, s.Match, qs, p, times)
		if err != nil {
			return r, err
		}
		r.Missed += missed
		if p == concordat.ProbeExact {
			r.Exact = took
		} else {
			r.One, r.Found = took, matches
		}
	}
	r.Lines = 1000 * r.One / r.Line
	r.Peak = max(r.Peak, peak())
	start = cpu()
	if err := s.Close(); err != nil {
		return r, err
	}
	r.Close = (cpu() - start).Seconds()
	whole, err := size(d)
	if err != nil {
		return r, err
	}
	r.Kept = float64(whole-bytes) / n
	start = cpu()
	again, err := index.Open(d, o)
	if err != nil {
		return r, err
	}
	r.Warm = (cpu() - start).Seconds()
	return r, again.Close()
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what a pool contains
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// askAll asks documents of 200 questions several times and returns the median processor time of the rounds and the matches per question.
func askAll(ctx context.Context, match func(context.Context, *concordat.Query) (*concordat.Answer, error), qs []Question,
	probe concordat.Probe, times int) (took, matches float64, lost int, err error) {
	var asked []*concordat.Query
	for from := 0; from < len(qs); from += perDocument {
		q := &concordat.Query{Scheme: scheme, MaxDistance: reportDistance, Probe: probe}
		for _, x := range qs[from:min(from+perDocument, len(qs))] {
			q.Fingerprints = append(q.Fingerprints, x.Print)
		}
		asked = append(asked, q)
	}
	found := 0
	var all rounds
	for range max(times, 1) {
		var round time.Duration
		found, lost = 0, 0
		for i, q := range asked {
			start := cpu()
			a, err := match(ctx, q)
			if err != nil {
				return 0, 0, 0, err
			}
			round += cpu() - start
			found += len(a.Matches)
			lost += missed(a, qs[i*perDocument:], probe)
		}
		all = append(all, round)
	}
	return micro(all.median()) / float64(len(qs)), float64(found) / float64(len(qs)), lost, nil
}

// TextPrints returns n fingerprints of real text: first from the text's sentences and then, as often as necessary, from the text with
// every third word replaced by a word from anywhere in it, so that words and phrases keep their frequencies. Half of the questions are
// fingerprints of the first part with 0 to 12 changed bits; the others are sentences of another such edit. The profiler's scheme must be
// for natural text.
func TextPrints(p *profile.Profiler, text string, n, questions int, seed uint64) ([]concordat.Fingerprint, []Question, error) {
	rng := rand.New(rand.NewPCG(seed, 102))
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, nil, fmt.Errorf("text contains no words: %w", concordat.ErrInvalid)
	}
	of := func(text string) ([]concordat.Fingerprint, error) {
		prof, err := p.ForIndex(concordat.Document{ID: "bench", Text: text})
		if err != nil {
			return nil, err
		}
		if len(prof.Indexed) == 0 {
			return nil, fmt.Errorf("text contains no sentences: %w", concordat.ErrInvalid)
		}
		out := make([]concordat.Fingerprint, len(prof.Indexed))
		for i := range prof.Indexed {
			out[i] = prof.Indexed[i].Fingerprint
		}
		return out, nil
	}
	prints, err := of(text)
	for err == nil && len(prints) < n {
		var more []concordat.Fingerprint
		more, err = of(edited(rng, text, words))
		prints = append(prints, more...)
	}
	if err != nil {
		return nil, nil, err
	}
	prints = prints[:n]
	others, err := of(edited(rng, text, words))
	if err != nil {
		return nil, nil, err
	}
	qs := make([]Question, questions)
	for i := range qs {
		qs[i] = Question{others[rng.IntN(len(others))], -1, 0}
		if i%2 == 0 {
			qs[i] = plantedIn(rng, prints)
		}
	}
	return prints, qs, nil
}

// edited returns the text, line by line, with every third word replaced by another word of the text.
func edited(rng *rand.Rand, text string, words []string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		for i, w := range strings.Fields(line) {
			if i > 0 {
				b.WriteByte(' ')
			}
			if rng.IntN(3) == 0 {
				w = words[rng.IntN(len(words))]
			}
			b.WriteString(w)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plantedIn returns a question near one of the prints.
func plantedIn(rng *rand.Rand, prints []concordat.Fingerprint) Question {
	t, k := rng.IntN(len(prints)), rng.IntN(13)
	f := prints[t]
	for _, b := range rng.Perm(concordat.Bits)[:k] {
		f[b/60] ^= 1 << (b % 60)
	}
	return Question{f, t, k}
}
