package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/screening"
	"concordat/instance"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

// sweepFlags define what a sweep compares.
type sweepFlags struct {
	print                 screening.PrintOptions
	pairs, columns        string
	header                bool
	widths                []int
	vary                  string
	library, truth, exact string
	planted               int
	share                 float64
	least                 float64
	svg                   string
}

func (a *lab) sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use: "sweep", Short: "Compare how well different kinds of prints separate labelled pairs at each distance", Args: cobra.NoArgs,
		Long: `Sweep makes prints of documents with known near-duplicates. For every distance k, it shows the share of the
near-duplicates within k (recall) and the share of the pairs within k that are near-duplicates (precision,
with its 95 % interval). It compares simhash of --widths 64, 100 and 128 bits, 100-bit minhash, which ignores
weights, and I-Match (Chowdhury et al. 2002), which only distinguishes same from different, on the same features.

With --vary OPTION, it compares the values of one option of the prints (hash, bits, features, stop-words, stem, tf
or idf) and leaves the others as given. For each value, it also shows what k = 3 finds, how evenly the prints are
distributed and how much processor time a text takes.

Labels come from:

  --pairs FILE              lines of two texts and a label, 1 for near-duplicates, separated by tabs
  --library L --truth FILE  lines of two documents, with an optional number; the documents are near-duplicates if
                            the number is --least or more; all other pairs of the library are different
  --library L --exact letters8
                            pairs in which one document contains --least of the other's shingles, counted exactly
  --library L --planted N   N documents, each with a copy in which --share of the words is changed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(f.checkSource(cmd.Flags().Changed), f.check(cmd.Flags().Changed)); err != nil {
				return err
			}
			if f.pairs != "" {
				return a.sweepPairs(cmd.Context(), &f)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.sweepLibrary(cmd.Context(), o, &f) })
		},
	}
	f.print.DefineFeatures(c)
	f.print.DefineWeights(c)
	fl := c.Flags()
	fl.IntSliceVar(&f.widths, "widths", []int{64, 100, 128}, "widths of the prints in bits, 1 to 256; with --vary, a single width (default: 64)")
	fl.StringVar(&f.vary, "vary", "", "compare the values of this option: hash, bits, features, stop-words, stem, tf or idf")
	fl.StringVar(&f.pairs, "pairs", "", "file of labelled pairs of texts (.gz allowed)")
	fl.StringVar(&f.columns, "columns", "1,2,3", "numbers of the columns with the two texts and the label in --pairs")
	fl.BoolVar(&f.header, "header", false, "the first line of --pairs is a header")
	fl.StringVar(&f.library, "library", "", "library that contains the documents")
	fl.StringVar(&f.truth, "truth", "", "file with pairs of documents")
	fl.StringVar(&f.exact, "exact", "", "shingles to count exactly, for example letters8 or words5")
	fl.IntVar(&f.planted, "planted", 0, "number of documents to copy, with some words changed")
	fl.Float64Var(&f.share, "share", 0.05, "share of words to change in copies made with --planted")
	fl.Float64Var(&f.least, "least", 0.2, "minimum number in --truth, or minimum containment with --exact, that makes a pair near-duplicates")
	fl.StringVar(&f.svg, "svg", "", "write a chart to this file")
	return c
}

// checkSource rejects options that the source of the labels does not use.
func (f *sweepFlags) checkSource(given func(string) bool) error {
	sources := 0
	for _, s := range []string{"pairs", "truth", "exact", "planted"} {
		if given(s) {
			sources++
		}
	}
	if sources != 1 || (f.pairs == "") == (f.library == "") || given("planted") && f.planted < 1 || !(f.share >= 0 && f.share <= 1) {
		return cli.Usagef("--pairs is required, or --library with --truth, --exact or --planted; --share must be 0 to 1")
	}
	for _, o := range []struct{ option, of, or string }{{"columns", "pairs", ""}, {"header", "pairs", ""}, {"share", "planted", ""},
		{"least", "truth", "exact"}} {
		if given(o.option) && !given(o.of) && (o.or == "" || !given(o.or)) {
			return cli.Usagef("--%s is allowed only with --%s", o.option, strings.TrimSuffix(o.of+" or --"+o.or, " or --"))
		}
	}
	return nil
}

func (a *lab) sweepPairs(ctx context.Context, f *sweepFlags) error {
	var columns []int
	for _, c := range strings.Split(f.columns, ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return cli.Usagef("invalid columns %q; --columns must be three numbers of at least 1", f.columns)
		}
		columns = append(columns, n-1)
	}
	if len(columns) != 3 {
		return cli.Usagef("invalid columns %q; --columns must be three numbers of at least 1", f.columns)
	}
	s, err := newSweeper(f)
	if err != nil {
		return err
	}
	skipped := 0
	each := func(take func(x, y string, same bool) error) error {
		line := 0
		skipped = 0
		return eachLineOf(f.pairs, func(text string) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if line++; line == 1 && f.header {
				return nil
			}
			cells := strings.Split(text, "\t")
			if len(cells) <= slices.Max(columns) || cells[columns[2]] != "0" && cells[columns[2]] != "1" {
				skipped++
				return nil
			}
			return take(cells[columns[0]], cells[columns[1]], cells[columns[2]] == "1")
		})
	}
	err = s.weighTexts(func(count func(text string) error) error {
		return each(func(x, y string, _ bool) error { return errors.Join(count(x), count(y)) })
	})
	if err != nil {
		return err
	}
	err = each(func(x, y string, same bool) error {
		p, err := s.prints(x)
		if err != nil {
			return err
		}
		q, err := s.prints(y)
		if err == nil {
			s.add(p, q, same)
		}
		return err
	})
	if err != nil {
		return err
	}
	if skipped > 0 {
		a.Warn("%s: skipped %d lines that are not labelled pairs", f.pairs, skipped)
	}
	return a.printSweep(s, f, filepath.Base(f.pairs))
}

// eachLineOf is eachLine for a file, which may be compressed with gzip.
func eachLineOf(path string, each func(string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return cli.Usage(err)
	}
	defer f.Close()
	var r io.Reader = f
	if filepath.Ext(path) == ".gz" {
		if r, err = gzip.NewReader(f); err != nil {
			return cli.Usagef("%s: %w", path, err)
		}
	}
	return screening.EachLine(r, each)
}

// sweepDocuments is the maximum number of documents; all their pairs are compared.
const sweepDocuments = 100_000

func (a *lab) sweepLibrary(ctx context.Context, o *instance.Instance, f *sweepFlags) error {
	s, err := newSweeper(f)
	if err != nil {
		return err
	}
	counted := map[[3]string]*screening.PrintMaker{} // makers that differ only in other options share their frequencies
	for _, m := range s.makers {
		of := [3]string{m.Flags.Features + strconv.FormatBool(m.Flags.Stem), m.Flags.StopWords, m.Flags.IDF}
		if c := counted[of]; c != nil {
			m.Weigh.Frequencies, m.Flags.Counted = c.Weigh.Frequencies, c.Flags.Counted
			continue
		}
		if err := m.WeighFeatures(ctx, &a.Terminal, o, 1<<30, f.library); err != nil {
			return err
		}
		counted[of] = m
	}
	s.weighed()
	var exact screen.Shingling
	if f.exact != "" {
		if exact, err = parseExact(f.exact); err != nil {
			return err
		}
	}
	number := map[string]int{}
	var prints [][]sweepPrint
	var sets [][]uint64
	var originals []int
	for d, err := range o.LibraryDocuments(ctx, concordat.LibraryID(f.library)) {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		if len(prints) == sweepDocuments {
			return cli.Usagef("the library has more than %d documents: %w; use a smaller library", sweepDocuments, screen.ErrMemory)
		}
		p, err := s.prints(d.Text)
		if err != nil {
			return err
		}
		number[string(d.ID)] = len(prints)
		prints = append(prints, p)
		originals = append(originals, len(prints)-1)
		if f.exact != "" {
			t, err := segment.Split(d.Text)
			if err != nil {
				return err
			}
			sets = append(sets, exact.Append(t, nil))
		}
		if f.planted > 0 {
			if p, err = s.prints(screen.Changed(d.Text, f.share, uint64(len(prints)))); err != nil {
				return err
			}
			prints = append(prints, p)
			if len(originals) >= f.planted {
				break
			}
		}
	}
	same := map[[2]int]bool{}
	switch {
	case f.truth != "":
		err = readTruth(f.truth, number, f.least, same)
	case f.exact != "":
		err = exactTruth(sets, f.least, same)
	default:
		for _, i := range originals {
			same[[2]int{i, i + 1}] = true
		}
	}
	if err != nil {
		return err
	}
	for i := range prints {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for j := i + 1; j < len(prints); j++ {
			s.add(prints[i], prints[j], same[[2]int{i, j}])
		}
	}
	return a.printSweep(s, f, f.library)
}

// readTruth reads pairs of documents, with a number if there is a third column.
func readTruth(path string, number map[string]int, least float64, same map[[2]int]bool) error {
	unknown := 0
	err := eachLineOf(path, func(line string) error {
		cells := strings.Split(line, "\t")
		if len(cells) < 2 {
			return nil
		}
		x, ok := number[cells[0]]
		y, known := number[cells[1]]
		if !ok || !known {
			unknown++
			return nil
		}
		if len(cells) > 2 {
			if v, err := strconv.ParseFloat(cells[2], 64); err == nil && v < least {
				return nil
			}
		}
		same[[2]int{min(x, y), max(x, y)}] = true
		return nil
	})
	if err == nil && len(same) == 0 {
		return cli.Usagef("%s contains no pair of documents from the library; %d lines name documents that are not in the library", path, unknown)
	}
	return err
}

// exactTruth counts pairs of sets as near-duplicates if one contains a minimum proportion of the other.
func exactTruth(sets [][]uint64, least float64, same map[[2]int]bool) error {
	var shared []screen.Shared
	sizes, err := screen.ExactPairs(sets, func(p screen.Shared) bool {
		// Sets are reduced to their distinct members before the first pair.
		if float64(p.Common) >= least*float64(min(len(sets[p.A]), len(sets[p.B]))) {
			shared = append(shared, p)
		}
		return true
	})
	for _, p := range shared {
		if float64(p.Common) >= least*float64(min(sizes[p.A], sizes[p.B])) {
			same[[2]int{p.A, p.B}] = true
		}
	}
	return err
}

// sweepLine is one point of a curve.
type sweepLine struct {
	Type string `json:"type"` // "point"
	Kind string `json:"kind"`
	Bits int    `json:"bits"`
	screen.CurvePoint
	Precision     float64 `json:"precision"`
	PrecisionLow  float64 `json:"precision_low"` // 95 % interval
	PrecisionHigh float64 `json:"precision_high"`
	Recall        float64 `json:"recall"`
}

// sweepBest is the summary of a kind of prints.
type sweepBest struct {
	Type      string  `json:"type"` // "best"
	Kind      string  `json:"kind"`
	Bits      int     `json:"bits"`
	K         int     `json:"k"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Same      int     `json:"same"`
	// At3 is the point at k = 3 or, if there is none, at the largest smaller k.
	At3    sweepLine     `json:"at3"`
	Spread float64       `json:"spread"` // for the first 64 bits; 0 with fewer bits
	Text   time.Duration `json:"text_ns"`
}

// newSweepLine returns a point with the exact binomial interval of its precision.
func newSweepLine(k *kindOfPrint, p screen.CurvePoint) sweepLine {
	low, high := minhash.Estimate{Hits: p.Found, Trials: p.Reported}.Interval(0.95)
	return sweepLine{"point", k.name, k.bits, p, p.Precision(), low, high, p.Recall()}
}

func (a *lab) printSweep(s *sweeper, f *sweepFlags, title string) error {
	var series []screen.Series
	for i, k := range s.kinds {
		series = append(series, screen.Series{Name: k.name, Bits: k.bits, Points: s.sweeps[i].Curve(k.farthest)})
	}
	if f.svg != "" {
		err := cli.WriteFiles(func(w []*bufio.Writer) error { return screen.WriteCurves(w[0], title, series) }, f.svg)
		if err != nil {
			return err
		}
	}
	var all []sweepBest
	for i, c := range series {
		k := s.kinds[i]
		best := c.Points[0]
		a.Say("%s, %s\n  k  reported  precision (95 %%)        recall", c.Name, s.makers[k.maker].Flags.Weights())
		for _, p := range c.Points {
			if p.F1() > best.F1() {
				best = p
			}
			l := newSweepLine(&k, p)
			if err := a.Report(l, "%3d  %8d  %.3f (%.3f to %.3f)  %6.3f", p.K, p.Reported, l.Precision, l.PrecisionLow, l.PrecisionHigh,
				l.Recall); err != nil {
				return err
			}
		}
		b := sweepBest{"best", c.Name, c.Bits, best.K, best.Precision(), best.Recall(), best.F1(), best.Same,
			newSweepLine(&k, c.Points[min(3, len(c.Points)-1)]), s.spreads[i].Spread(), s.cost(i)}
		if k.bits < 64 {
			b.Spread = 0
		}
		all = append(all, b)
		if err := a.Report(b, "best k %d: F1 %.3f, of %d near-duplicates", b.K, b.F1, b.Same); err != nil {
			return err
		}
	}
	a.Say("\nprints                                   k = 3: precision  recall   best k  precision  recall     F1  spread  CPU per text")
	for _, b := range all {
		a.Say("%-40s %16.3f  %6.3f  %7d  %9.3f  %6.3f  %5.3f  %6.1f  %s", b.Kind, b.At3.Precision, b.At3.Recall, b.K, b.Precision, b.Recall,
			b.F1, b.Spread, b.Text.Round(100*time.Nanosecond))
	}
	return nil
}
