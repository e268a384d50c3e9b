package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// CheckOptions configure the library and the submissions. Zero values select the defaults.
type CheckOptions struct {
	Sentences   int // minimum size of the library; default 100,000, or the size implied by Documents
	Documents   int // minimum size of the library
	PerDocument int // number of sentences per library document, of 21 words on average; default 200
	Submission  int // number of sentences per submission, at least 42; default 200
	Rounds      int // number of submissions; default 5
	Seed        uint64
	Channel     compare.Channel // how candidate sources are found
}

func (o CheckOptions) filled() CheckOptions {
	o.PerDocument, o.Submission, o.Rounds = cmp.Or(o.PerDocument, perDocument), cmp.Or(o.Submission, perDocument), cmp.Or(o.Rounds, 5)
	if o.Sentences == 0 && o.Documents == 0 {
		o.Sentences = 100_000
	}
	o.Documents = max(o.Documents, (o.Sentences+o.PerDocument-1)/o.PerDocument)
	return o
}

// CheckResult is the cost of checking one submission, without start-up.
type CheckResult struct {
	Documents   int     `json:"documents"` // of the library
	Sentences   int     `json:"sentences"`
	Words       int     `json:"words"` // of the submission
	Asked       int     `json:"asked"` // number of sentences of the submission
	Candidates  int     `json:"candidates"`
	CPU         float64 `json:"cpu_ms"` // processor time of the whole check without the report
	Fingerprint float64 `json:"fingerprint_cpu_ms"`
	Match       float64 `json:"match_cpu_ms"`
	Search      float64 `json:"search_cpu_ms"` // for nomination by words
	Verify      float64 `json:"verify_cpu_ms"` // for reading and briefly examining candidates
	Align       float64 `json:"align_cpu_ms"`  // for comparing candidates word by word
	Keep        float64 `json:"keep_cpu_ms"`   // for storing findings
	Report      float64 `json:"report_cpu_ms"` // for building the report from them
	Sources     int     `json:"sources"`       // number of sources in the report
	Planted     int     `json:"planted"`       // number of documents that the submission reuses
	Found       int     `json:"found"`         // number of these documents in the report
	Start       float64 `json:"start_cpu_ms"`  // for opening the site and deriving the table
	Rate        float64 `json:"ingest_sentences_per_cpu_second"`
	Peak        float64 `json:"peak_mb"`
}

// planted is the number of documents from which a submission reuses two sentences each.
const planted = 20

// Check creates a site of generated text below dir and checks submissions, each with two sentences of each of 20 documents, half of them
// edited.
func Check(ctx context.Context, dir string, o CheckOptions, each func(CheckResult) error) (err error) {
	o = o.filled()
	d := filepath.Join(dir, "check")
	if err := os.MkdirAll(d, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d)) }()
	rate, err := fill(ctx, d, o)
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
	text := newWriter(o.Seed)
	for round := range o.Rounds {
		r, err := checkOne(ctx, s, o.Channel, text.submission(round, o))
		if err != nil {
			return err
		}
		stats := shard.Stats()
		r.Documents, r.Sentences, r.Start, r.Rate, r.Peak = stats.Documents, stats.Sentences, started, rate, peak()
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

// warm derives the query table, as the first question would.
func warm(ctx context.Context, s *site.Site, shard *index.Shard) error {
	_, err := shard.Match(ctx, &concordat.Query{Scheme: s.Scheme(), Fingerprints: make([]concordat.Fingerprint, 1)})
	return err
}

// fill ingests generated documents and returns the number of sentences per second.
func fill(ctx context.Context, dir string, o CheckOptions) (float64, error) {
	s, shard, db, err := openSite(ctx, dir)
	if err != nil {
		return 0, err
	}
	start, sentences := cpu(), 0
	text := newWriter(o.Seed)
	err = db.Catalogue.CreateLibrary(ctx, store.Library{ID: "bench"})
	if err == nil {
		err = s.Ingest(ctx, "bench", func(yield func(site.Incoming, error) bool) {
			for i := range o.Documents {
				if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: strings.Join(text.document(i, o.PerDocument), " ")}, nil) {
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
func checkOne(ctx context.Context, s *site.Site, channel compare.Channel, text string) (CheckResult, error) {
	r := CheckResult{Words: len(strings.Fields(text)), Planted: planted}
	begun := cpu()
	last := begun
	stages := map[string]*float64{"fingerprint": &r.Fingerprint, "match": &r.Match, "search": &r.Search, "verify": &r.Verify,
		"align": &r.Align}
	var mu sync.Mutex // progress can be reported concurrently
	f, err := s.Check(ctx, site.Submission{ID: "submission", Text: text}, site.CheckOptions{Channel: channel, Progress: func(p site.Progress) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case p.Stage == "match" && p.Done == 0:
			r.Asked = p.Total
		case p.Stage == "verify" && p.Done == 0:
			r.Candidates = p.Total
		}
		if p.Done == p.Total {
			now := cpu()
			*stages[p.Stage] += milli(now - last)
			last = now
		}
	}})
	if err != nil {
		return r, err
	}
	r.Keep, r.CPU = milli(cpu()-last), milli(cpu()-begun)
	last = cpu()
	rep := report.Build(f, report.Rules{})
	r.Report, r.Sources = milli(cpu()-last), len(rep.Sources)
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

// writer generates text from artificial words with the word frequencies of real text (Zipf); the most frequent ones are real function
// words. Document i is the same on every call.
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

// document returns the n sentences of document i, each of 14 to 28 words.
func (w *writer) document(i, n int) []string {
	rng := rand.New(rand.NewPCG(w.seed, uint64(i)+1))
	zipf := rand.NewZipf(rng, 1.1, 8, uint64(len(w.words)-1))
	out := make([]string, n)
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

// submission returns a text of its own sentences, with two neighbouring sentences from each of some documents; every second pair has a
// tenth of its words changed. The last line lists the documents.
func (w *writer) submission(round int, o CheckOptions) string {
	rng := rand.New(rand.NewPCG(w.seed, uint64(round)<<32))
	own := w.document(1_000_000_000+round, max(o.Submission-2*planted, 2))
	var names []string
	for i := range planted {
		from := rng.IntN(o.Documents)
		at := rng.IntN(max(o.PerDocument-1, 1))
		pair := strings.Join(w.document(from, o.PerDocument)[at:min(at+2, o.PerDocument)], " ")
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
