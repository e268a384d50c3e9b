package screening

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// sweepFlags are the question of sweep.
type sweepFlags struct {
	print                 printOptions
	pairs, columns        string
	header                bool
	library, truth, exact string
	planted               int
	share                 float64
	least                 float64
	svg                   string
}

func (a *commands) screenSweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use: "sweep", Short: "Say how well each distance tells labelled pairs apart, for several kinds of prints", Args: cobra.NoArgs,
		Long: `Sweep makes prints of documents whose relation is known and says for every distance k, which share of
the near-duplicates lies within it (recall) and which share of what lies within it are near-duplicates
(precision): simhash of 64, 100 and 128 bits and minhash of 100 bits, of the same features. Where the
labels come from:

  --pairs FILE              lines of two texts and a label, 1 for near-duplicates, separated by tabs
  --library L --truth FILE  lines of two documents and perhaps a number, near-duplicates where it is
                            --least or more; all other pairs of the library are none
  --library L --exact letters8
                            pairs of which one holds --least of the other's shingles, counted exactly
  --library L --planted N   N documents, each with a copy of which --share of the words is changed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.print.Distance = 0
			if err := f.print.check(); err != nil {
				return err
			}
			if f.pairs != "" {
				return a.sweepPairs(cmd.Context(), &f)
			}
			n := 0
			for _, given := range []bool{f.truth != "", f.exact != "", f.planted > 0} {
				if given {
					n++
				}
			}
			if f.library == "" || n != 1 || !(f.share >= 0 && f.share <= 1) {
				return cli.Usagef("want --pairs, or --library with one of --truth, --exact and --planted, and a --share of 0 to 1")
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.sweepLibrary(cmd.Context(), o, &f) })
		},
	}
	f.print.defineMaking(c)
	fl := c.Flags()
	fl.StringVar(&f.pairs, "pairs", "", "file of labelled pairs of texts, perhaps .gz")
	fl.StringVar(&f.columns, "columns", "1,2,3", "columns of the two texts and the label in --pairs")
	fl.BoolVar(&f.header, "header", false, "the first line of --pairs is none")
	fl.StringVar(&f.library, "library", "", "library of the documents")
	fl.StringVar(&f.truth, "truth", "", "file of pairs of documents")
	fl.StringVar(&f.exact, "exact", "", "shingles that are counted exactly, such as letters8 or words5")
	fl.IntVar(&f.planted, "planted", 0, "number of documents that are copied with changes")
	fl.Float64Var(&f.share, "share", 0.05, "share of the words that --planted changes")
	fl.Float64Var(&f.least, "least", 0.2, "least number of --truth, or containment of --exact, of a near-duplicate")
	fl.StringVar(&f.svg, "svg", "", "write a picture to this file")
	return c
}

// kindOfPrint is one column of a sweep.
type kindOfPrint struct {
	name     string
	bits     int
	farthest int // beyond it unrelated documents begin
	of       func(features []uint64, weighed []simhash.Feature) screen.Wide
}

// sweepKinds are the prints that are compared, of the same features.
func sweepKinds() ([]kindOfPrint, error) {
	printer, err := simhash.NewPrinter(simhash.HashMix, nil)
	if err != nil {
		return nil, err
	}
	wide := func(n int) func([]uint64, []simhash.Feature) screen.Wide {
		return func(_ []uint64, w []simhash.Feature) screen.Wide {
			p, _ := printer.Print128(w) // mix fills 128 bits
			if n < 128 {
				p[1] &= 1<<(n-64) - 1
			}
			return p
		}
	}
	out := []kindOfPrint{
		{"simhash 64", 64, 26, func(_ []uint64, w []simhash.Feature) screen.Wide { return screen.Wide{printer.Print64(w)} }},
		{"simhash 100", 100, 42, wide(100)},
		{"simhash 128", 128, 54, wide(128)},
	}
	for _, b := range []int{1, 4} {
		s, err := minhash.New(b, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, kindOfPrint{fmt.Sprintf("minhash 100 (%d x %d bits)", 100/b, b), 100, 48,
			func(f []uint64, _ []simhash.Feature) screen.Wide {
				hi, lo := s.Sketch(f).Halves()
				return screen.Wide{lo, hi}
			}})
	}
	return out, nil
}

// sweeper has the prints of a text, one of each kind.
type sweeper struct {
	kinds  []kindOfPrint
	maker  *printMaker
	sweeps []screen.Sweep
}

func newSweeper(f printOptions) (*sweeper, error) {
	kinds, err := sweepKinds()
	if err != nil {
		return nil, err
	}
	m, err := newPrintMaker(f)
	return &sweeper{kinds, m, make([]screen.Sweep, len(kinds))}, err
}

func (s *sweeper) prints(text string) ([]screen.Wide, error) {
	t, err := segment.Split(text)
	if err != nil {
		return nil, err
	}
	features := s.maker.features(t)
	weighed := s.maker.weigh.Weigh(features, nil)
	out := make([]screen.Wide, len(s.kinds))
	for i, k := range s.kinds {
		out[i] = k.of(features, weighed)
	}
	return out, nil
}

func (s *sweeper) add(a, b []screen.Wide, same bool) {
	for i := range s.kinds {
		s.sweeps[i].Add(screen.Labelled{Distance: a[i].Distance(b[i]), Same: same})
	}
}

func (a *commands) sweepPairs(ctx context.Context, f *sweepFlags) error {
	var columns []int
	for _, c := range strings.Split(f.columns, ",") {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return cli.Usagef("--columns %q: want three numbers from 1", f.columns)
		}
		columns = append(columns, n-1)
	}
	if len(columns) != 3 {
		return cli.Usagef("--columns %q: want three numbers from 1", f.columns)
	}
	s, err := newSweeper(f.print)
	if err != nil {
		return err
	}
	line, skipped := 0, 0
	err = eachLineOf(f.pairs, func(text string) error {
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
		x, err := s.prints(cells[columns[0]])
		if err != nil {
			return err
		}
		y, err := s.prints(cells[columns[1]])
		s.add(x, y, cells[columns[2]] == "1")
		return err
	})
	if err != nil {
		return err
	}
	if skipped > 0 {
		a.Warn("%s: %d lines are no labelled pairs and are left out", f.pairs, skipped)
	}
	return a.printSweep(s, f, filepath.Base(f.pairs))
}

// eachLineOf is eachLine of a file, which may be compressed by gzip.
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
	return eachLine(r, each)
}

// sweepDocuments bounds the documents of which all pairs are compared.
const sweepDocuments = 100_000

func (a *commands) sweepLibrary(ctx context.Context, o *instance.Instance, f *sweepFlags) error {
	s, err := newSweeper(f.print)
	if err != nil {
		return err
	}
	if f.print.IDF {
		if err := a.countFeatures(ctx, o, s.maker, 1<<30, f.library); err != nil {
			return err
		}
	}
	var exact screen.Shingling
	if f.exact != "" {
		p := printRuns.FindStringSubmatch(f.exact)
		if p == nil || p[2] == "" || p[3] != "" {
			return cli.Usagef("--exact %q: want letters or words and a length, such as letters8", f.exact)
		}
		exact.Letters = p[1] == "letters"
		exact.Width, _ = strconv.Atoi(p[2]) // the pattern lets digits through only
	}
	number := map[string]int{}
	var prints [][]screen.Wide
	var sets [][]uint64
	var originals []int
	for d, err := range o.LibraryDocuments(ctx, concordat.LibraryID(f.library)) {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		if len(prints) == sweepDocuments {
			return cli.Usagef("more than %d documents: %w; take a smaller library", sweepDocuments, screen.ErrMemory)
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
			if p, err = s.prints(changed(d.Text, f.share, uint64(len(prints)))); err != nil {
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

// readTruth reads pairs of documents, with a number where there is a third column.
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
		return cli.Usagef("%s: no pair of the library's documents, %d lines name others", path, unknown)
	}
	return err
}

// exactTruth takes for near-duplicates the pairs of sets of which one holds least of the other.
func exactTruth(sets [][]uint64, least float64, same map[[2]int]bool) error {
	var shared []screen.Shared
	sizes, err := screen.ExactPairs(sets, func(p screen.Shared) bool {
		// Sets are shortened to their distinct members before the first pair.
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

// changed returns the text with a share of its words replaced by others of it, left out or said twice,
// always the same for the same seed.
func changed(text string, share float64, seed uint64) string {
	t, err := segment.Split(text)
	if err != nil || len(t.Words) == 0 {
		return text
	}
	next := func() uint64 {
		seed += 0x9e3779b97f4a7c15
		x := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	var b strings.Builder
	at := 0
	for _, w := range t.Words {
		b.WriteString(t.Source[at:w.Start])
		word := t.Source[w.Start:w.End]
		at = int(w.End)
		if high, _ := bits.Mul64(next(), 1_000_000); float64(high) < share*1_000_000 {
			other := t.Words[next()%uint64(len(t.Words))]
			word = []string{t.Source[other.Start:other.End], "", word + " " + word}[next()%3]
		}
		b.WriteString(word)
	}
	b.WriteString(t.Source[at:])
	return b.String()
}

// sweepLine is one point of a curve.
type sweepLine struct {
	Type string `json:"type"` // point
	Kind string `json:"kind"`
	Bits int    `json:"bits"`
	screen.CurvePoint
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

func (a *commands) printSweep(s *sweeper, f *sweepFlags, title string) error {
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
	for _, c := range series {
		best := c.Points[0]
		a.Say("%s\n  k  reported  precision  recall", c.Name)
		for _, p := range c.Points {
			if p.F1() > best.F1() {
				best = p
			}
			l := sweepLine{"point", c.Name, c.Bits, p, p.Precision(), p.Recall()}
			if err := a.Report(l, "%3d  %8d  %9.3f  %6.3f", p.K, p.Reported, l.Precision, l.Recall); err != nil {
				return err
			}
		}
		err := a.Report(map[string]any{"type": "best", "kind": c.Name, "bits": c.Bits, "k": best.K, "precision": best.Precision(),
			"recall": best.Recall(), "f1": best.F1(), "same": best.Same},
			"best k %d: F1 %.3f, of %d near-duplicates", best.K, best.F1(), best.Same)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *commands) screenThreeCommand() *cobra.Command {
	var library string
	var width, hashes, b int
	c := &cobra.Command{
		Use: "three --library L TEXT SOURCE SOURCE", Short: "Say what a document and two others have in common, two and three at a time",
		Args: cobra.ExactArgs(3),
		Long: `Three estimates from b-bit sketches how much three documents of a library resemble each other, two at a
time and all three: whether what a text shares with one source is what it shares with the other.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := minhash.NewDocument(b, hashes, nil)
			if err != nil || width < 1 || b < 2 {
				return cli.Usagef("--bits %d, --hashes %d, --width %d: want 2, 4 or 8 bits, 1 to 65536 hashes, a width", b, hashes, width)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				var sketches [3][]uint64
				for i, id := range args {
					doc, err := o.Index.Document(cmd.Context(), concordat.Ref{Site: o.Config.Site.ID, Library: concordat.LibraryID(library),
						Document: concordat.DocumentID(id)})
					if errors.Is(err, concordat.ErrNotFound) {
						return cli.Usagef("no document %q in library %q", id, library)
					} else if err != nil {
						return err
					}
					t, err := segment.Split(doc.Text)
					if err != nil {
						return err
					}
					if sketches[i] = d.Sketch(screen.Shingling{Width: width}.Append(t, nil)); sketches[i] == nil {
						return cli.Usagef("document %q has no words", id)
					}
				}
				t, err := d.ThreeWay(sketches[0], sketches[1], sketches[2])
				if err != nil {
					return err
				}
				return a.Report(map[string]any{"type": "three", "bytes": d.Bytes(), "text_first": t.AB, "text_second": t.AC, "first_second": t.BC,
					"all": t.All, "all_deviation": t.Deviation},
					"text and first source  %.3f\ntext and second source %.3f\nboth sources           %.3f\nall three              %.3f, standard error %.3f", t.AB, t.AC, t.BC, t.All, t.Deviation)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&library, "library", "", "library of the documents")
	fl.IntVar(&width, "width", 3, "words of a shingle")
	fl.IntVar(&hashes, "hashes", 1600, "hashes of a sketch")
	fl.IntVar(&b, "bits", 4, "bits of a hash that are kept")
	return c
}
