package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/screening"
	"concordat/instance"
	"concordat/screen"
)

// These are the files of a sample. doc/screening.md describes their formats.
const (
	samplePairs  = "pairs.jsonl"
	sampleLabels = "labels.tsv"
	samplePage   = "index.html"
)

// sampleHeader is the first line of pairs.jsonl.
type sampleHeader struct {
	Type    string              `json:"type"` // "sample"
	Library concordat.LibraryID `json:"library"`
	Prints  string              `json:"prints"` // name of the prints' file
	Seed    uint64              `json:"seed"`
	Each    int                 `json:"each"`
	Pairs   []int               `json:"pairs"` // number of pairs at exactly each distance, from 0
}

// samplePair is a drawn pair; its number is its line's number among the pairs, from 1.
type samplePair struct {
	Type     string               `json:"type"` // "pair"
	Pair     int                  `json:"pair"`
	Distance int                  `json:"distance"`
	A        concordat.DocumentID `json:"a"`
	B        concordat.DocumentID `json:"b"`
}

type sampleFlags struct {
	library, out       string
	most, each, memory int
	seed               uint64
}

func (a *lab) sampleCommand() *cobra.Command {
	var f sampleFlags
	c := &cobra.Command{
		Use: "sample FILE --library L --out DIR", Short: "Draw random pairs at each distance for people to label", Args: cobra.ExactArgs(1),
		Long: `Sample finds the near pairs among the 64-bit prints in a file, for example a file written by concordat screen prints
for the library. At every exact distance from 0 to --most, it draws up to --each of these pairs at random. It writes
two files to DIR: pairs.jsonl, with the pairs and the number of pairs at each distance, and index.html, a page that
shows both texts of a pair with the differences marked; the keys s, d and u label the pair same, different or unknown.
The page needs no network, remembers where you stopped, and saves labels.tsv; concordat-lab screen precision DIR
evaluates the labels.

Of several equal prints, only the first is used, as in screen join. The page does not show distances.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.library == "" || f.out == "":
				return cli.Usagef("--library, the library with the documents of the prints, and --out, the output folder, are required")
			case f.most < 0 || f.most >= 64 || f.each < 1 || f.each > 1000:
				return cli.Usagef("--most is %d and --each is %d; want 0 to 63 bits and 1 to 1000 pairs", f.most, f.each)
			case f.memory < 24 || f.memory > 1<<20:
				return cli.Usagef("--memory is %d; want 24 to %d MiB", f.memory, 1<<20)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.screenSample(cmd.Context(), o, args[0], f)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.library, "library", "", "library with the documents of the prints")
	fl.StringVar(&f.out, "out", "", "output folder")
	fl.IntVar(&f.most, "most", 10, "maximum distance in bits")
	fl.IntVar(&f.each, "each", 20, "maximum number of pairs to draw at each distance")
	fl.Uint64Var(&f.seed, "seed", 1, "seed for the random draw")
	fl.IntVar(&f.memory, "memory", 1024, "memory for sorting in MiB, at least 24")
	return c
}

func (a *lab) screenSample(ctx context.Context, o *instance.Instance, path string, f sampleFlags) error {
	file, err := screening.OpenPrintFile(path, 64)
	if err != nil {
		return err
	}
	ids, err := file.IDs()
	if err != nil {
		return err
	}
	if ids == nil {
		return cli.Usagef("%s.ids is missing; concordat screen prints writes this list of documents along with the prints", path)
	}
	// Labels belong to the pairs next to them.
	if _, err := os.Stat(filepath.Join(f.out, sampleLabels)); err == nil {
		return cli.Usagef("%s contains labels of an earlier sample: use a different folder", f.out)
	}
	d, err := screening.DesignOf(ctx, path, f.most, nil)
	if err != nil {
		return err
	}
	s := screen.NewStratifiedSample(f.most, f.each, f.seed)
	b := a.Progress(-1, "joining")
	defer b.Done()
	j := screen.SelfJoin{Design: d, Stored: file.Narrow, Bytes: int64(f.memory) << 20}
	err = j.Run(ctx, int64(file.Prints()), 0, func(t screen.Twin) error {
		s.Add(t)
		return nil
	}, func(screen.Progress) error {
		b.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	drawn, pairs := s.Drawn()
	if len(drawn) == 0 {
		return cli.Usagef("%s: no two prints are within %d bits of each other: increase --most", path, f.most)
	}
	h := sampleHeader{"sample", concordat.LibraryID(f.library), filepath.Base(path), f.seed, f.each, pairs}
	if err := a.writeSample(ctx, o, h, drawn, ids, f.out); err != nil {
		return err
	}
	return a.Report(map[string]any{"type": "sample", "pairs": pairs, "drawn": len(drawn), "page": filepath.Join(f.out, samplePage)},
		"%d pairs to label: open %s in a browser", len(drawn), filepath.Join(f.out, samplePage))
}

// writeSample writes pairs.jsonl and the page, both or neither.
func (a *lab) writeSample(ctx context.Context, o *instance.Instance, h sampleHeader, drawn []screen.Twin, ids []string,
	out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	document := func(id string) (*concordat.Document, error) {
		d, err := o.Index.Document(ctx, concordat.Ref{Site: o.Config.Site.ID, Library: h.Library, Document: concordat.DocumentID(id)})
		if errors.Is(err, concordat.ErrNotFound) {
			err = cli.Usagef("no document %q in library %q: the prints were made from a different library or before the library changed", id, h.Library)
		}
		return d, err
	}
	var lines []any
	page := labelPage{Sample: h}
	lines = append(lines, h)
	for i, t := range drawn {
		x, err := document(ids[t.A])
		if err != nil {
			return err
		}
		y, err := document(ids[t.B])
		if err != nil {
			return err
		}
		p := samplePair{"pair", i + 1, t.Distance, x.ID, y.ID}
		lines = append(lines, p)
		shown, err := newLabelPair(p.Pair, x, y)
		if err != nil {
			return err
		}
		page.Pairs = append(page.Pairs, shown)
	}
	return cli.WriteFiles(func(w []*bufio.Writer) error {
		e := json.NewEncoder(w[0])
		e.SetEscapeHTML(false)
		for _, l := range lines {
			if err := e.Encode(l); err != nil {
				return err
			}
		}
		return page.write(w[1])
	}, filepath.Join(out, samplePairs), filepath.Join(out, samplePage))
}

// readSample reads pairs.jsonl.
func readSample(path string) (h sampleHeader, pairs []samplePair, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, nil, cli.Usage(err)
	}
	defer f.Close()
	in := json.NewDecoder(bufio.NewReader(io.LimitReader(f, longestSample)))
	if err := in.Decode(&h); err != nil || h.Type != "sample" {
		return h, nil, cli.Usagef("%s was not written by concordat-lab screen sample", path)
	}
	for {
		var p samplePair
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return h, pairs, nil
		} else if err != nil {
			return h, nil, cli.Usagef("%s: pair %d: %w", path, len(pairs)+1, err)
		}
		if p.Type != "pair" || p.Pair != len(pairs)+1 || p.Distance < 0 || p.Distance >= len(h.Pairs) {
			return h, nil, cli.Usagef("%s: pair %d: wrong number, or distance is not 0 to %d", path, len(pairs)+1, len(h.Pairs)-1)
		}
		pairs = append(pairs, p)
	}
}

// longestSample is the maximum size of pairs.jsonl: 64 distances with 1,000 pairs of 512 bytes each.
const longestSample = 64 * 1000 * 512

// sampleStrata counts the labels of the pairs by distance.
func sampleStrata(h sampleHeader, pairs []samplePair, labels map[int]screen.Label) []screen.Stratum {
	strata := make([]screen.Stratum, len(h.Pairs))
	for k, n := range h.Pairs {
		strata[k] = screen.Stratum{Distance: k, Pairs: n}
	}
	for _, p := range pairs {
		if l, ok := labels[p.Pair]; ok {
			strata[p.Distance].Add(l)
		}
	}
	return strata
}

// precisionLine is the precision at a distance, according to the labels.
type precisionLine struct {
	Type string `json:"type"` // "precision"
	screen.Stratum
	Precision *float64 `json:"precision"` // at exactly the distance; null if no label decides
	Low       float64  `json:"precision_low"`
	High      float64  `json:"precision_high"`
	UpTo      *float64 `json:"precision_up_to"` // at the distance and all smaller ones; null if one of them has pairs but no deciding label
	UpToLow   float64  `json:"precision_up_to_low"`
	UpToHigh  float64  `json:"precision_up_to_high"`
	Recall    *float64 `json:"recall_up_to"` // proportion of the near-duplicates up to the distance; null if not all are known
}

// precisionLines computes the precision at each distance from the labels.
func precisionLines(strata []screen.Stratum) (lines []precisionLine) {
	all, _, _, known := screen.StratifiedPrecision(strata, 0.95)
	same := func(precision float64, of []screen.Stratum) (n float64) {
		for _, s := range of {
			n += precision * float64(s.Pairs)
		}
		return n
	}
	for i, s := range strata {
		l := precisionLine{Type: "precision", Stratum: s}
		e := s.Precision()
		if l.Low, l.High = e.Interval(0.95); e.Trials > 0 {
			v := e.Value()
			l.Precision = &v
		}
		p, low, high, ok := screen.StratifiedPrecision(strata[:i+1], 0.95)
		l.UpToLow, l.UpToHigh = low, high
		if ok {
			l.UpTo = &p
			if total := same(all, strata); known && total > 0 {
				r := math.Min(1, same(p, strata[:i+1])/total)
				l.Recall = &r
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func (a *lab) precisionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "precision DIR [LABELS]", Short: "Show how many labelled pairs at each distance are near-duplicates", Args: cobra.RangeArgs(1, 2),
		Long: `Precision reads the pairs that concordat-lab screen sample wrote to DIR and their labels from LABELS or from
labels.tsv in DIR. For each exact distance, it shows the share of the pairs labelled same among those labelled same or
different, with the exact 95 % interval. For each distance and all smaller distances together, it shows that share
among all pairs of the file of prints (stratified Wilson interval), and the recall among near-duplicates within the
maximum distance.`,
		RunE: func(_ *cobra.Command, args []string) error {
			h, pairs, err := readSample(filepath.Join(args[0], samplePairs))
			if err != nil {
				return err
			}
			path := filepath.Join(args[0], sampleLabels)
			if len(args) > 1 {
				path = args[1]
			}
			labels, err := readLabels(path, pairs)
			if err != nil {
				return err
			}
			return a.printPrecision(h, pairs, labels)
		},
	}
	return c
}

func (a *lab) printPrecision(h sampleHeader, pairs []samplePair, labels map[int]screen.Label) error {
	number := func(v *float64, low, high float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f (%.3f to %.3f)", *v, low, high)
	}
	a.Say("  k     pairs  same  different  unknown  precision at k (95 %%)     up to k (95 %%)            recall")
	for _, l := range precisionLines(sampleStrata(h, pairs, labels)) {
		recall := "-"
		if l.Recall != nil {
			recall = fmt.Sprintf("%.3f", *l.Recall)
		}
		err := a.Report(l, "%3d  %8d  %4d  %9d  %7d  %-25s  %-25s  %s", l.Distance, l.Pairs, l.Same, l.Different, l.Unknown,
			number(l.Precision, l.Low, l.High), number(l.UpTo, l.UpToLow, l.UpToHigh), recall)
		if err != nil {
			return err
		}
	}
	return a.Report(map[string]any{"type": "summary", "drawn": len(pairs), "labelled": len(labels)}, "%d of %d pairs are labelled",
		len(labels), len(pairs))
}
