package eval

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/profile"
	"concordat/site"
	"concordat/site/compare"
)

// Retrieve finds the sources in srcDir of every document of suspDir through a site's own index and nomination, and aligns each document
// with the text of its candidates. It writes to outDir one file per pair with a detection, like Align, and candidates.tsv, with lines
// "susp source" for everything nominated. It needs space for an index of srcDir in the folder for temporary files.
func Retrieve(ctx context.Context, srcDir, suspDir, outDir string, channel compare.Channel) (err error) {
	scratch, err := os.MkdirTemp("", "concordat-eval-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	b, err := NewBench(ctx, scratch, profile.Natural)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sources, err := folder(srcDir)
	if err != nil {
		return err
	}
	if err := b.Add(ctx, sources); err != nil {
		return err
	}
	pairs, err := b.nominations(ctx, suspDir, filepath.Join(outDir, "candidates.tsv"), channel)
	if err != nil {
		return err
	}
	find, err := finder(ChannelText)
	if err != nil {
		return err
	}
	return overPairs(ctx, pairs, filesOf(srcDir), filesOf(suspDir), func(p DocumentPair, susp, source *Side) error {
		passages, err := find(susp, source)
		if err != nil || len(passages) == 0 {
			return err
		}
		return writeFile(filepath.Join(outDir, stem(p.Susp)+"-"+stem(p.Source)+".xml"), p.Susp, annotated(p, susp, source, passages))
	})
}

// folder returns the .txt files of a folder; bytes that are not UTF-8 become U+FFFD.
func folder(dir string) ([]Doc, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w: folder contains no .txt files", dir, concordat.ErrNotFound)
	}
	var out []Doc
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, Doc{ID: filepath.Base(name), Text: strings.ToValidUTF8(string(b), "\ufffd")})
	}
	return out, nil
}

// nominations returns the nominated pairs of all documents of suspDir and lists them in a file.
func (b *Bench) nominations(ctx context.Context, suspDir, list string, channel compare.Channel) (pairs []DocumentPair, err error) {
	submissions, err := folder(suspDir)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(list)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	for _, d := range submissions {
		found, err := b.Site.Nominate(ctx, site.Submission{ID: concordat.DocumentID(d.ID), Text: d.Text}, site.CheckOptions{Channel: channel})
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			pairs = append(pairs, DocumentPair{d.ID, string(c.Source.Document)})
			if _, err := fmt.Fprintf(w, "%s %s\n", d.ID, c.Source.Document); err != nil {
				return nil, err
			}
		}
	}
	return pairs, w.Flush()
}
