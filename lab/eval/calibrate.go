package eval

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
)

// Reuse states what is known about a document's origin.
type Reuse string

// These are the values of Reuse.
const (
	Clean   Reuse = "no"      // written independently of the library
	Reused  Reuse = "yes"     // partly taken from the library
	Unknown Reuse = "unknown" // shares long runs with the library for unknown reasons
)

// Scored is a document and its score.
type Scored struct {
	Group, Class string // corpus, and kind of document in it
	Reuse        Reuse
	Score        float64 // covered proportion, 0 to 1
	Measured     bool    // whether anything was compared; otherwise, Score is meaningless
}

// ScoreRow is the distribution of the document score over the documents of one class.
type ScoreRow struct {
	Group, Class string
	Reuse        Reuse
	N            int // number of documents measured
	Unmeasured   int
	Median       float64
	Above        []int // for each threshold, the number of documents that reach it
}

// ScoreThresholds are the document scores for which rates are reported.
var ScoreThresholds = []float64{0.05, 0.1, 0.2, 0.3, 0.5}

// Distribution summarises scores by group, kind and class; documents without reuse come first.
func Distribution(all []Scored) []ScoreRow {
	of := map[ScoreKey][]float64{}
	unmeasured := map[ScoreKey]int{}
	for _, s := range all {
		k := ScoreKey{s.Reuse, s.Group, s.Class}
		if _, ok := of[k]; !ok {
			of[k] = nil
		}
		if !s.Measured {
			unmeasured[k]++
			continue
		}
		of[k] = append(of[k], s.Score)
	}
	var out []ScoreRow
	for k, scores := range of {
		slices.Sort(scores)
		r := ScoreRow{Group: k.Group, Class: k.Class, Reuse: k.Reuse, N: len(scores), Unmeasured: unmeasured[k]}
		if len(scores) > 0 {
			r.Median = scores[len(scores)/2]
		}
		for _, t := range ScoreThresholds {
			i, _ := slices.BinarySearch(scores, t)
			r.Above = append(r.Above, len(scores)-i)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ScoreRow) int {
		return cmp.Or(cmp.Compare(a.Reuse, b.Reuse), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// ScoreKey identifies a row of a Distribution.
type ScoreKey struct {
	Reuse        Reuse
	Group, Class string
}

// WriteDistribution writes rows as a Markdown table: for each threshold, the number of documents and, in brackets, the 95 % interval of
// the rate in percent.
func WriteDistribution(w io.Writer, rows []ScoreRow) error {
	var b strings.Builder
	b.WriteString("| corpus | class | reuse | documents | median |")
	for _, t := range ScoreThresholds {
		fmt.Fprintf(&b, " ≥ %g |", t)
	}
	b.WriteString("\n|---|---|---|---|---|" + strings.Repeat("---|", len(ScoreThresholds)) + "\n")
	for _, r := range rows {
		n := fmt.Sprint(r.N)
		if r.Unmeasured > 0 {
			n += fmt.Sprintf(" (+%d not measured)", r.Unmeasured)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f |", r.Group, r.Class, r.Reuse, n, r.Median)
		for _, k := range r.Above {
			low, high := report.Wilson(k, r.N)
			fmt.Fprintf(&b, " %d [%.1f–%.1f] |", k, 100*low, 100*high)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ScoreOf checks a document against the library, without any rules, and returns its score.
func (b *Bench) ScoreOf(ctx context.Context, d Doc) (score float64, measured bool, err error) {
	r, err := b.Report(ctx, d)
	if err != nil {
		return 0, false, err
	}
	return r.Scores.Covered, r.Scores.Measured(), nil
}

// Calibrate measures the document score on the user's documents. The .txt files below library form the library, and each line of the
// labels file, "path TAB class TAB reused|clean" with the path relative to the file, is a submission.
func Calibrate(ctx context.Context, library, labels, recipe string) (rows []ScoreRow, err error) {
	dir, err := os.MkdirTemp("", "concordat-calibrate-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := NewBench(ctx, dir, recipe)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	docs, err := textsBelow(library)
	if err != nil {
		return nil, err
	}
	if err := b.Add(ctx, docs); err != nil {
		return nil, err
	}
	f, err := os.Open(labels)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Scored
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		field := strings.Split(lines.Text(), "\t")
		if len(field) != 3 || field[2] != "reused" && field[2] != "clean" {
			return nil, fmt.Errorf("%s line %d: %w: want path, class, and reused or clean, separated by tabs", labels, n, concordat.ErrInvalid)
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(labels), field[0]))
		if err != nil {
			return nil, err
		}
		score, measured, err := b.ScoreOf(ctx, Doc{ID: field[0], Text: strings.ToValidUTF8(string(text), "\ufffd")})
		if err != nil {
			return nil, err
		}
		all = append(all, Scored{Group: filepath.Base(labels), Class: field[1],
			Reuse: map[string]Reuse{"reused": Reused, "clean": Clean}[field[2]], Score: score, Measured: measured})
	}
	return Distribution(all), lines.Err()
}

// textsBelow returns the .txt files of a folder by their paths below it.
func textsBelow(dir string) ([]Doc, error) {
	var out []Doc
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		out = append(out, Doc{filepath.ToSlash(name), strings.ToValidUTF8(string(b), "\ufffd")})
		return err
	})
	return out, err
}
