package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/index"
	"concordat/profile"
	"concordat/store"
)

// IngestResult is the processor time of adding documents, by stage, in seconds.
type IngestResult struct {
	Documents int     `json:"documents"`
	Bytes     int     `json:"bytes"` // bytes of text
	Sentences int     `json:"sentences"`
	Extract   float64 `json:"extract_cpu_s"` // for extracting files in this process; 0 if the text was given
	Prints    float64 `json:"fingerprint_cpu_s"`
	Bands     float64 `json:"bands_cpu_s"` // for the fingerprint index, durable and merged
	Text      float64 `json:"text_cpu_s"`  // for the text stored in it, compressed
	Words     float64 `json:"words_cpu_s"` // for the terms for word search
	Store     float64 `json:"store_cpu_s"` // for the catalogue
	Failed    int     `json:"failed"`      // number of unreadable files
	Rate      float64 `json:"sentences_per_cpu_second"`
}

// File is a file to be read, or a text already read.
type File struct {
	Name string
	Data []byte // nil if Text is given
	Text string
}

// Ingest adds the files stage by stage, completing each stage for all of them before the next, since the times of concurrent stages could
// not be separated. The cost of text and words in the index is the difference between three indexes: with only fingerprints, with text,
// and with text and words. The indexes are built several times in turn, and the medians are compared, because the difference of two
// measurements carries the uncertainty of both.
func Ingest(ctx context.Context, dir string, files []File, times int) (r IngestResult, err error) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		return r, err
	}
	if _, err := p.ForIndex(concordat.Document{ID: "warm", Text: "words and 词语"}); err != nil { // this loads tables and dictionaries
		return r, err
	}
	if err := r.extract(files); err != nil {
		return r, err
	}
	files = slices.DeleteFunc(files, func(f File) bool { return f.Text == "" })
	start := cpu()
	var profiles []*concordat.Profile
	for i, f := range files {
		prof, err := p.ForIndex(concordat.Document{Library: "bench", ID: concordat.DocumentID(fmt.Sprint(i)), Title: f.Name, Text: f.Text})
		if err != nil {
			return r, err
		}
		profiles = append(profiles, prof)
		r.Bytes += len(f.Text)
		r.Sentences += len(prof.Indexed)
	}
	r.Prints, r.Documents = (cpu() - start).Seconds(), len(profiles)
	var bands, text, words rounds
	for range max(times, 1) {
		for _, part := range []struct {
			took        *rounds
			text, words bool
		}{{&bands, false, false}, {&text, true, false}, {&words, true, true}} {
			took, err := putAll(ctx, dir, p.Scheme(), profiles, part.text, part.words)
			if err != nil {
				return r, err
			}
			*part.took = append(*part.took, took)
		}
	}
	r.Bands = bands.median().Seconds()
	r.Text, r.Words = text.median().Seconds()-r.Bands, (words.median() - text.median()).Seconds()
	if r.Store, err = catalogue(ctx, dir, p.Scheme(), profiles); err != nil {
		return r, err
	}
	r.Rate = float64(r.Sentences) / (r.Extract + r.Prints + r.Bands + r.Text + r.Words + r.Store)
	return r, nil
}

// extract reads the files not yet read, in this process; the program uses child processes. It creates the PDF engine beforehand, because
// the engine takes two seconds to compile and the program caches it.
func (r *IngestResult) extract(files []File) (err error) {
	var o extract.Options
	if slices.ContainsFunc(files, func(f File) bool { return strings.EqualFold(filepath.Ext(f.Name), ".pdf") }) {
		if o.PDF, err = extract.NewPDF(extract.PDFOptions{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.PDF.Close()) }()
		if err := o.PDF.Warm(); err != nil {
			return err
		}
	}
	start := cpu()
	for i := range files {
		f := &files[i]
		if f.Data == nil {
			continue
		}
		if read, err := extract.Bytes(f.Name, f.Data, o); err == nil {
			f.Text = read.Text
		} else {
			r.Failed++
		}
	}
	r.Extract = (cpu() - start).Seconds()
	return nil
}

// putAll puts the profiles in batches as ingest does, with or without their texts and terms, and merges.
func putAll(ctx context.Context, dir string, scheme concordat.Scheme, ps []*concordat.Profile, text,
	words bool) (took time.Duration, err error) {
	d := filepath.Join(dir, "ingest")
	s, err := index.Open(d, index.Options{Site: "bench", Scheme: scheme, Shard: "00"})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(d)) }()
	start := cpu()
	var batch []*concordat.Profile
	bytes := 0
	for i, p := range ps {
		q := *p
		bytes += len(q.Document.Text)
		if !text {
			q.Document.Text = ""
		}
		if !words {
			q.Terms = nil
		}
		if batch = append(batch, &q); len(batch) < 200 && bytes < 256<<10 && i < len(ps)-1 {
			continue
		}
		if err := s.Put(ctx, batch...); err != nil {
			return 0, err
		}
		batch, bytes = nil, 0
	}
	if err := s.Merge(ctx); err != nil {
		return 0, err
	}
	return cpu() - start, nil
}

// catalogue records the documents in a store.
func catalogue(ctx context.Context, dir string, scheme concordat.Scheme, ps []*concordat.Profile) (took float64, err error) {
	path := filepath.Join(dir, "ingest.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Catalogue.CreateLibrary(ctx, store.Library{ID: "bench"}); err != nil {
		return 0, err
	}
	start := cpu()
	for part := range slices.Chunk(ps, 200) {
		var rows []store.DocumentRow
		for _, p := range part {
			rows = append(rows, store.DocumentRow{Library: "bench", ID: p.Document.ID, Title: p.Document.Title, Bytes: int64(len(p.Document.Text)),
				Hash: fmt.Sprintf("%064x", len(rows)), Sentences: len(p.Indexed), Characters: p.Characters, Scheme: scheme, Added: time.Now()})
		}
		if err := db.Catalogue.PutDocuments(ctx, rows); err != nil {
			return 0, err
		}
	}
	return (cpu() - start).Seconds(), nil
}
