package site_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/cputime"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
)

// sentencesOf returns about size bytes of sentences from docs, in random order, ten to a paragraph.
func sentencesOf(docs []corpora.Doc, size int) string {
	r := rand.New(rand.NewPCG(40, 14))
	var all []string
	for _, d := range docs {
		for _, s := range strings.SplitAfter(strings.Join(strings.Fields(d.Text), " "), ". ") {
			if len(s) > 60 {
				all = append(all, s)
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var b strings.Builder
	for i, s := range all {
		if b.WriteString(strings.TrimSpace(s)); b.Len() >= size {
			break
		}
		b.WriteString(map[bool]string{true: "\n\n", false: " "}[i%10 == 9])
	}
	return b.String()
}

// BenchmarkLongText checks a text of CONCORDAT_LONG_BYTES bytes (default 250,000) that consists only of the library's sentences, and
// reports seconds of processor time per million bytes. The library is 400 documents of the corpus "academic".
func BenchmarkLongText(b *testing.B) {
	size := 250_000
	if s := os.Getenv("CONCORDAT_LONG_BYTES"); s != "" {
		var err error
		if size, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	docs := corpora.Tar(b, "academic/academic.tar.zst", ".txt")
	slices.SortStableFunc(docs, func(x, y corpora.Doc) int { return cmp.Or(len(y.Text)-len(x.Text), strings.Compare(x.Name, y.Name)) })
	docs = docs[:min(len(docs), 400)]
	p := sitetest.NewSite(b, "theses")
	var in []site.Incoming
	for i, d := range docs {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("d", i)), Text: strings.ToValidUTF8(d.Text, "")})
	}
	if err := p.Ingest(b.Context(), "theses", sitetest.Docs(in...), func(site.Ingested) error { return nil }); err != nil {
		b.Fatal(err)
	}
	text := sentencesOf(docs, size)
	for b.Loop() {
		began := cputime.Used()
		f, err := p.Check(context.Background(), site.Submission{ID: "long.txt", Text: text}, site.CheckOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cputime.Used()-began).Seconds()*1e6/float64(len(text)), "cpu-s/MB")
		f.Task, f.Made, f.Submission.Added, f.Dates = "", time.Time{}, time.Time{}, nil
		for i := range f.Consulted {
			f.Consulted[i].Took = 0
		}
		j, err := json.Marshal(f)
		if err != nil {
			b.Fatal(err)
		}
		if out := os.Getenv("CONCORDAT_LONG_OUT"); out != "" {
			if err := os.WriteFile(out, j, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		r, err := json.Marshal(report.Build(f, report.Rules{}))
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d bytes, %d passages; findings %x, report %x", len(text), len(f.Passages), sha256.Sum256(j), sha256.Sum256(r))
	}
}
