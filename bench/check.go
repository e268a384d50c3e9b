package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// CheckResult is the cost of checking one submission, start-up apart.
type CheckResult struct {
	Sentences   int     `json:"sentences"` // of the library
	Asked       int     `json:"asked"`     // of the submission
	CPU         float64 `json:"cpu_ms"`    // processor time of the whole check
	Fingerprint float64 `json:"fingerprint_cpu_ms"`
	Match       float64 `json:"match_cpu_ms"`
	Search      float64 `json:"search_cpu_ms"` // nomination by words
	Align       float64 `json:"align_cpu_ms"`  // candidates compared word by word, findings kept
	Sources     int     `json:"sources"`       // in the report
	Planted     int     `json:"planted"`       // documents the submission reuses
	Found       int     `json:"found"`         // of which the report names
	Start       float64 `json:"start_cpu_ms"`  // opening the site and deriving the table
	Rate        float64 `json:"ingest_sentences_per_cpu_second"`
	Peak        float64 `json:"peak_mb"`
}

// planted is how many documents a submission reuses, with two sentences each.
const planted = 20

// Check makes a site of at least n sentences of made-up text below dir and checks a submission of
// about 200 sentences, a fifth of them reused and every second of those edited, several times, its
// sources nominated by the given channel.
func Check(ctx context.Context, dir string, n, rounds int, seed uint64, channel site.Channel, each func(CheckResult) error) (err error) {
	d := filepath.Join(dir, "check")
	if err := os.MkdirAll(d, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d)) }()
	rate, err := fill(ctx, d, n, seed)
	if err != nil {
		return err
	}
	start := cpu()
	s, shard, db, err := openSite(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shard.Close(), db.Close()) }()
	if err := warm(ctx, s, shard); err != nil {
		return err
	}
	started := milli(cpu() - start)
	text := newWriter(seed)
	for round := range rounds {
		r, err := checkOne(ctx, s, channel, text.submission(round, shard.Stats().Documents))
		if err != nil {
			return err
		}
		r.Sentences, r.Start, r.Rate, r.Peak = shard.Stats().Sentences, started, rate, peak()
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func milli(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func openSite(ctx context.Context, dir string) (*site.Site, *index.Shard, *store.DB, error) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	shard, err := index.Open(filepath.Join(dir, "index"), index.Options{Site: "bench", Scheme: p.Scheme(), Shard: "00"})
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := store.Open(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		return nil, nil, nil, errors.Join(err, shard.Close())
	}
	return site.New(site.Options{ID: "bench", Index: shard, Store: db, Profiler: p}), shard, db, nil
}

// warm derives the query table, which the first question does.
func warm(ctx context.Context, s *site.Site, shard *index.Shard) error {
	_, err := shard.Match(ctx, &concordat.Query{Scheme: s.Scheme(), Fingerprints: make([]concordat.Fingerprint, 1)})
	return err
}

// fill ingests made-up documents until there are n sentences and returns the rate.
func fill(ctx context.Context, dir string, n int, seed uint64) (float64, error) {
	s, shard, db, err := openSite(ctx, dir)
	if err != nil {
		return 0, err
	}
	start, sentences := cpu(), 0
	text := newWriter(seed)
	err = db.CreateLibrary(ctx, store.Library{ID: "bench"})
	if err == nil {
		err = s.Ingest(ctx, "bench", func(yield func(site.Incoming, error) bool) {
			for i := 0; i*perDocument < n; i++ {
				if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: strings.Join(text.document(i), " ")}, nil) {
					return
				}
			}
		}, func(d site.Ingested) error {
			sentences += d.Sentences
			return nil
		})
	}
	if err == nil {
		err = shard.Merge(ctx)
	}
	rate := float64(sentences) / (cpu() - start).Seconds()
	return rate, errors.Join(err, shard.Close(), db.Close())
}

// checkOne checks one submission and splits its processor time by stage.
func checkOne(ctx context.Context, s *site.Site, channel site.Channel, text string) (CheckResult, error) {
	var r CheckResult
	begun := cpu()
	last := begun
	f, err := s.Check(ctx, site.Submission{ID: "submission", Text: text}, site.CheckOptions{Channel: channel, Progress: func(p site.Progress) {
		if p.Done != p.Total {
			return
		}
		now := cpu()
		switch p.Stage {
		case "fingerprint":
			r.Fingerprint = milli(now - last)
		case "match":
			r.Match, r.Asked = milli(now-last), p.Total
		case "search":
			r.Search = milli(now - last)
		}
		if p.Stage != "align" {
			last = now
		}
	}})
	if err != nil {
		return r, err
	}
	end := cpu()
	r.Align, r.CPU = milli(end-last), milli(end-begun)
	rep := report.Build(f, report.Rules{})
	r.Sources, r.Planted = len(rep.Sources), planted
	want := map[string]bool{}
	for _, id := range strings.Fields(text[strings.LastIndex(text, "\n")+1:]) {
		want[id] = true
	}
	for _, source := range rep.Sources {
		if want[string(source.Document)] {
			r.Found++
		}
	}
	return r, nil
}

// writer makes text of made-up words, as frequent as words are (Zipf), the most frequent ones real
// function words. Document i is the same whenever it is asked for.
type writer struct {
	seed  uint64
	words []string
}

func newWriter(seed uint64) *writer {
	w := &writer{seed: seed, words: strings.Fields(`the of and to a in is that for it was on as with be by he at his are this
		from or had an they which one you were all her she there would their we him been has when who will more no if out so said`)}
	rng := rand.New(rand.NewPCG(seed, 0))
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	for range 40_000 {
		var b strings.Builder
		for range 2 + rng.IntN(3) {
			b.WriteByte(consonants[rng.IntN(len(consonants))])
			b.WriteByte(vowels[rng.IntN(len(vowels))])
		}
		w.words = append(w.words, b.String())
	}
	return w
}

// document returns the sentences of document i, each of 14 to 28 words.
func (w *writer) document(i int) []string {
	rng := rand.New(rand.NewPCG(w.seed, uint64(i)+1))
	zipf := rand.NewZipf(rng, 1.1, 8, uint64(len(w.words)-1))
	out := make([]string, perDocument)
	for j := range out {
		var b strings.Builder
		b.WriteString("In")
		for range 14 + rng.IntN(15) {
			b.WriteByte(' ')
			b.WriteString(w.words[zipf.Uint64()])
		}
		b.WriteByte('.')
		out[j] = b.String()
	}
	return out
}

// submission returns a text of own sentences with two neighbouring sentences of each of some
// documents, every second pair with a tenth of its words changed. The last line names the documents.
func (w *writer) submission(round, documents int) string {
	rng := rand.New(rand.NewPCG(w.seed, uint64(round)<<32))
	own := w.document(1_000_000_000 + round)[:perDocument-2*planted]
	var names []string
	for i := range planted {
		from := rng.IntN(documents)
		at := rng.IntN(perDocument - 1)
		pair := strings.Join(w.document(from)[at:at+2], " ")
		if i%2 == 1 {
			words := strings.Fields(pair)
			for range len(words) / 10 {
				words[1+rng.IntN(len(words)-2)] = w.words[rng.IntN(len(w.words))]
			}
			pair = strings.Join(words, " ")
		}
		own = append(own[:len(own):len(own)], pair)
		names = append(names, fmt.Sprint(from))
	}
	rng.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
	return strings.Join(own, " ") + "\n\n" + strings.Join(names, " ")
}
