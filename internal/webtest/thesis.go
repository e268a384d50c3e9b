package webtest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"concordat"
	"concordat/report"
)

// thesisText returns a text of at least size bytes in paragraphs, from the corpora if they are available and otherwise from generated
// words.
func thesisText(t testing.TB, size int) string {
	if dir := os.Getenv("CONCORDAT_CORPORA"); dir != "" {
		if text := corpusText(t, filepath.Join(dir, "pan13-train", "pan13-train.tar.zst"), size); len(text) >= size {
			return text
		}
	}
	rng := rand.New(rand.NewPCG(7, 11))
	words := make([]string, 5000)
	for i := range words {
		var w strings.Builder
		for range 2 + rng.IntN(4) {
			w.WriteByte("bcdfglmnprstvw"[rng.IntN(14)])
			w.WriteByte("aeiou"[rng.IntN(5)])
		}
		words[i] = w.String()
	}
	var b strings.Builder
	for b.Len() < size {
		for range 3 + rng.IntN(6) {
			for i := range 10 + rng.IntN(15) {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(words[int(float64(len(words))*rng.Float64()*rng.Float64())])
			}
			b.WriteString(". ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// corpusText returns the concatenated source texts of an archive, up to size bytes, or "" if there is no archive.
func corpusText(t testing.TB, path string, size int) string {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // the file was only read
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var b strings.Builder
	for in := tar.NewReader(z); b.Len() < size; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(h.Name, "src/") || !strings.HasSuffix(h.Name, ".txt") {
			continue
		}
		one, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.ToValidUTF8(string(one), "") + "\n\n")
	}
	return b.String()
}

// Thesis returns the findings of a check of a long text. Each passage has one to three of the many sources, with wording and words
// compared.
func Thesis(t testing.TB, characters, passages, sources int) *report.Findings {
	text := thesisText(t, characters)[:characters]
	text = strings.ToValidUTF8(text, "")
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "thesis", Title: "A long thesis", Text: text},
		Made: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC), Forward: "none", Threshold: 0.3, Probe: "exact",
		Consulted: []concordat.Consulted{{Site: "here", Library: "theses", Asked: 5000, Answered: 5000}},
		Flags:     []concordat.Flag{}, Skipped: []concordat.Skipped{}}
	for i := range 8 {
		f.Sections = append(f.Sections, concordat.Section{Name: fmt.Sprint("Chapter ", i+1),
			Span: concordat.Span{Start: i * len(text) / 8, End: (i + 1) * len(text) / 8}})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := []concordat.Kind{concordat.KindVerbatim, concordat.KindNear, concordat.KindParaphrase}
	step := len(text) / passages
	for i := range passages {
		start := wordAt(text, i*step)
		end := wordAt(text, start+step/3+rng.IntN(step/6))
		for k := range 1 + rng.IntN(3) {
			source := (rng.IntN(sources) + k) % sources
			p := concordat.Passage{Span: concordat.Span{Start: start, End: end}, Kind: kinds[rng.IntN(3)], Similarity: 0.7 + 0.3*rng.Float64(),
				Source: concordat.Ref{Site: "here", Library: "theses", Document: concordat.DocumentID(fmt.Sprintf("source-%03d.txt", source))},
				Title:  fmt.Sprintf("A source, number %d", source), Before: "Some words before it, ", After: " and some words that follow."}
			at := 100 + i*step
			p.Text, p.SourceSpan = text[start:end], concordat.Span{Start: at, End: at + end - start}
			if p.Kind == concordat.KindVerbatim {
				p.Similarity = 1
			}
			for w := start; w < end; {
				next := wordAt(text, min(w+40, end))
				p.Words = append(p.Words, concordat.SpanPair{Span: concordat.Span{Start: w, End: max(w, next-8)},
					Source: concordat.Span{Start: at + w - start, End: at + max(w, next-8) - start}})
				w = max(next, w+1)
			}
			f.Passages = append(f.Passages, p)
		}
	}
	return f
}

// wordAt returns the beginning of the first word at or after byte i.
func wordAt(text string, i int) int {
	for i < len(text) && i > 0 && text[i-1] != ' ' && text[i-1] != '\n' {
		i++
	}
	return min(i, len(text))
}
