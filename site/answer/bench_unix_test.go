//go:build unix

package answer_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/cputime"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// benchDocuments returns documents of real text with about n sentences in total.
func benchDocuments(b *testing.B, p interface {
	ForIndex(concordat.Document) (*concordat.Profile, error)
}, n int) (in []site.Incoming, sentences int) {
	b.Helper()
	for i, d := range corpora.Reviews(b, n) {
		got, err := p.ForIndex(concordat.Document{ID: "d", Text: d.Text})
		sitetest.Must(b, err)
		in = append(in, site.Incoming{ID: concordat.DocumentID(strconv.Itoa(i)), Title: d.Title, Text: d.Text})
		if sentences += len(got.Indexed); sentences >= n {
			return in, sentences
		}
	}
	return in, sentences
}

// benchSentences returns the size of the library, from CONCORDAT_BENCH_SENTENCES or 100,000 by default.
func benchSentences(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("CONCORDAT_BENCH_SENTENCES"))
	if err != nil {
		return 100_000
	}
	return n
}

// BenchmarkCatchUp fills an epoch's set with a whole library of real text; a rotation costs that much.
func BenchmarkCatchUp(b *testing.B) {
	o := sitetest.NewOwner(b, "theses")
	in, sentences := benchDocuments(b, sitetest.Profiler(b), benchSentences(b))
	sitetest.Must(b, o.Ingest(b.Context(), "theses", sitetest.Docs(in...), func(site.Ingested) error { return nil }))
	_, err := o.Answerer.Shares.Share(b.Context(), store.Share{Library: "theses", Partner: "north",
		Rule: store.ShareRule{Level: concordat.ShowMetadata}})
	sitetest.Must(b, err)
	number := uint32(1)
	var took time.Duration
	rounds, bytes := 0, int64(0)
	for b.Loop() {
		b.StopTimer()
		number++
		dir := b.TempDir()
		set := o.NewSet(b, concordat.Epoch{Federation: "bench", Number: number})
		shard := sitetest.OpenShard(b, dir, set.Profiler)
		set.Index = shard
		sitetest.Must(b, o.Sets.UseEpochs(b.Context(), set))
		b.StartTimer()
		start := cputime.Used()
		sitetest.Must(b, o.Sets.CatchUp(b.Context()))
		took += cputime.Used() - start
		rounds++
		b.StopTimer()
		sitetest.Must(b, shard.Close())
		bytes = folderBytes(b, dir)
		sitetest.Must(b, os.RemoveAll(dir))
		b.StartTimer()
	}
	b.ReportMetric(float64(rounds*sentences)/took.Seconds(), "sentences/cpu-s")
	b.ReportMetric(float64(bytes)/float64(sentences), "disk-B/sentence")
	b.ReportMetric(float64(sentences), "sentences")
}

func folderBytes(b *testing.B, dir string) (n int64) {
	b.Helper()
	sitetest.Must(b, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	}))
	return n
}

// BenchmarkAnswer answers asks of 200 sentences from a library of real text that contains half of them.
func BenchmarkAnswer(b *testing.B) {
	o := sitetest.NewOwner(b, "theses")
	in, _ := benchDocuments(b, sitetest.Profiler(b), benchSentences(b)+200)
	text := ""
	held := len(in) * 9 / 10
	for i := 0; len(o.Question(b, text+".", concordat.ShowMetadata, "theses").Sentences) < 200; i++ {
		text += in[i*37%held].Text + "\n\n" + in[held+i%(len(in)-held)].Text + "\n\n"
	}
	sitetest.Must(b, o.Ingest(b.Context(), "theses", sitetest.Docs(in[:held]...), func(site.Ingested) error { return nil }))
	unlimited := store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}
	o.ShareWith(b, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: unlimited})
	a := o.Question(b, text, concordat.ShowMetadata, "theses")
	a.Sentences = a.Sentences[:200]
	hits, n := 0, 0
	o.Told(b, "north", a)
	start := cputime.Used()
	for b.Loop() {
		n++
		next := *a
		copy(next.Job[4:], fmt.Sprint(n))
		tell := o.Told(b, "north", &next)
		hits = len(tell.Hits)
	}
	cputime.Report(b, start, n, "op")
	b.ReportMetric(float64(hits), "hits")
}
