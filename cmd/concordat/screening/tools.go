package screening

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/segment"
)

func (a *commands) screenPackCommand() *cobra.Command {
	var out string
	var k, tables int
	var levels []int
	c := &cobra.Command{
		Use: "pack FILE --out DIR", Short: "Pack prints as compressed tables on disk, for near", Args: cobra.ExactArgs(1),
		Long: `Pack sorts the 64-bit prints of a file into the tables of a design and writes each packed, in blocks of
1,024 bytes that can be read alone. concordat screen near looks prints up in them. It says how the
size compares with the prints as they are and with the least that random prints can take.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := openPrintFile(args[0], 64)
			if err != nil {
				return err
			}
			d, err := screen.NewDesign(64, k, levels...)
			if err != nil || out == "" {
				return cli.Usage(errors.Join(err, errIf(out == "", "--out is missing: the folder to write")))
			}
			return a.screenPack(cmd.Context(), file, d, levels, out, tables)
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder to write")
	c.Flags().IntVar(&k, "distance", 3, "bits in which two prints may differ")
	c.Flags().IntSliceVar(&levels, "levels", []int{5}, "blocks of the tables at each level")
	c.Flags().IntVar(&tables, "tables", 0, "write only so many tables, to see their size; 0: all")
	return c
}

func (a *commands) screenPack(ctx context.Context, file *printFile, d *screen.Design, levels []int, out string, only int) error {
	prints := make([]uint64, 0, file.prints())
	for chunk, err := range file.narrow() {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		prints = append(prints, chunk...)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	n := len(d.Tables)
	if only > 0 {
		n = min(n, only)
	}
	b := a.Progress(int64(n), "packing")
	defer b.Done()
	total := int64(0)
	for i := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := cli.WriteFiles(func(w []*bufio.Writer) error {
			size, err := d.Tables[i].Pack(w[0], prints)
			total += size
			return err
		}, packedPath(out, i))
		if err != nil {
			return err
		}
		b.Add(1)
	}
	if n == len(d.Tables) {
		h, err := json.Marshal(packedHeader{d.F, d.K, levels, len(prints)})
		if err != nil {
			return err
		}
		if err := cli.WriteFiles(func(w []*bufio.Writer) error { _, err := w[0].Write(h); return err },
			filepath.Join(out, packedDesign)); err != nil {
			return err
		}
	}
	ratio := float64(total) / float64(max(1, n*8*len(prints)))
	return a.Report(map[string]any{"type": "packed", "prints": len(prints), "tables": n, "bytes": total, "of_raw": ratio,
		"bound": screen.PackedBound(len(prints))},
		"%d prints in %d tables of %d bytes: %.1f %% of raw, the bound for random ones is %.1f %%", len(prints), n, total, 100*ratio,
		100*screen.PackedBound(len(prints)))
}

// planLine is a design and what it costs.
type planLine struct {
	Type       string  `json:"type"` // plan
	Levels     []int   `json:"levels"`
	Tables     int     `json:"tables"`
	LeadLeast  int     `json:"lead_least"`
	Candidates float64 `json:"candidates"` // of a query, among random prints
	Bytes      int64   `json:"bytes"`
	Fits       bool    `json:"fits"`
	Chosen     bool    `json:"chosen"`
}

func (a *commands) screenPlanCommand() *cobra.Command {
	o := screen.PlanOptions{}
	var memory int
	c := &cobra.Command{
		Use: "plan --prints N", Short: "Say which tables suit a number of prints, a distance and a memory", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o.Bytes = int64(memory) << 20
			best, err := screen.NewPlan(o)
			if err != nil && !errors.Is(err, screen.ErrMemory) {
				return cli.Usage(err)
			}
			if err := a.screenPlan(o, best); err != nil {
				return err
			}
			return err
		},
	}
	fl := c.Flags()
	fl.IntVar(&o.F, "bits", 64, "bits of a print, 1 to 128")
	fl.IntVar(&o.K, "distance", 3, "bits in which two prints may differ")
	fl.IntVar(&o.Prints, "prints", 1_000_000, "number of stored prints")
	fl.IntVar(&o.Queries, "queries", 0, "how many queries share the cost of building; 0: very many")
	fl.IntVar(&memory, "memory", 1024, "memory for the tables in MiB")
	return c
}

func (a *commands) screenPlan(o screen.PlanOptions, best *screen.Design) error {
	a.Say("levels      tables  least lead  candidates a query        bytes")
	show := func(d *screen.Design) error {
		l := planLine{"plan", d.Levels, len(d.Tables), d.Lead(), d.Candidates(o.Prints), d.Bytes(o.Prints), d.Bytes(o.Prints) <= o.Bytes,
			d == best}
		mark := ""
		switch {
		case l.Chosen:
			mark = "chosen"
		case !l.Fits:
			mark = "too large"
		}
		return a.Report(l, "%-10s  %6d  %10d  %18.3g  %11d  %s", strings.Trim(fmt.Sprint(l.Levels), "[]"), l.Tables, l.LeadLeast, l.Candidates,
			l.Bytes, mark)
	}
	for _, levels := range [][]int{{o.K + 1}, {o.K + 2}, {o.K + 3}, {o.K + 4}, {o.K + 1, o.K + 1}, {o.K + 2, o.K + 1}} {
		d, err := screen.NewDesign(o.F, o.K, levels...)
		if err != nil {
			continue // more blocks than bits
		}
		if best != nil && slices.Equal(best.Levels, levels) {
			d = best
		}
		if err := show(d); err != nil {
			return err
		}
		if d == best {
			best = nil
		}
	}
	if best != nil {
		return show(best)
	}
	return nil
}

func (a *commands) screenDistributionCommand() *cobra.Command {
	var svg string
	var hot int
	c := &cobra.Command{
		Use: "distribution FILE...", Short: "Show how 64-bit prints spread, and which are hot", Args: cobra.MinimumNArgs(1),
		Long: `Distribution counts prints in 128 equal ranges and by their highest bit, as lines of text or, with --svg,
as a picture. Prints of real documents are not uniform; a range far above the others holds hot
prints, such as those of empty pages, error pages and log-in forms, which --hot lists: such a list
is what join --stop leaves out.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.screenDistribution(cmd.Context(), args, svg, hot)
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write a picture to this file")
	c.Flags().IntVar(&hot, "hot", 0, "list the prints that occur more than so often, 8 bytes of memory a print; 0: none")
	return c
}

type hotPrint struct {
	Type     string `json:"type"` // hot
	Print    string `json:"print"`
	Count    int    `json:"count"`
	Document string `json:"document,omitempty"` // the first
}

func (a *commands) screenDistribution(ctx context.Context, paths []string, svg string, hot int) error {
	var d screen.Distribution
	var all []uint64
	first := map[uint64]string{}
	for _, path := range paths {
		file, err := openPrintFile(path, 64)
		if err != nil {
			return err
		}
		for chunk, err := range file.narrow() {
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return err
			}
			d.Add(chunk...)
			if hot > 0 {
				all = append(all, chunk...)
			}
		}
	}
	hots := screen.HotPrints(all, hot)
	if err := nameHot(paths, hots, first); err != nil {
		return err
	}
	if svg != "" {
		if err := cli.WriteFiles(func(w []*bufio.Writer) error { return d.WriteSVG(w[0]) }, svg); err != nil {
			return err
		}
	}
	for _, h := range hots {
		l := hotPrint{"hot", fmt.Sprintf("%016x", h.Print), h.Count, first[h.Print]}
		if err := a.Report(l, "%s\t%d\t%s", l.Print, l.Count, l.Document); err != nil {
			return err
		}
	}
	return a.Report(map[string]any{"type": "distribution", "prints": d.Prints, "zero": d.Zero, "spread": d.Spread(), "buckets": d.Bucket,
		"lead": d.Lead}, "%s", strings.TrimSuffix(d.String(), "\n"))
}

// nameHot finds the first document of each hot print, where the documents are known.
func nameHot(paths []string, hots []screen.Hot, first map[uint64]string) error {
	if len(hots) == 0 {
		return nil
	}
	wanted := map[uint64]bool{}
	for _, h := range hots {
		wanted[h.Print] = true
	}
	for _, path := range paths {
		file, err := openPrintFile(path, 64)
		if err != nil {
			return err
		}
		ids, err := file.ids()
		if err != nil {
			return err
		}
		at := 0
		for chunk, err := range file.narrow() {
			if err != nil {
				return err
			}
			for i, p := range chunk {
				if wanted[p] && ids != nil {
					first[p] = ids[at+i]
					delete(wanted, p)
				}
			}
			at += len(chunk)
		}
	}
	return nil
}

func (a *commands) screenGramsCommand() *cobra.Command {
	var library, file, measure string
	var o screen.GramOptions
	c := &cobra.Command{
		Use: "grams --library L", Short: "Try which gram lengths suit the short texts of a library", Args: cobra.NoArgs,
		Long: `Grams edits a sample of the short texts of a library, or of the lines of a file, and says for several
choices of gram lengths how many originals are found again and how many texts must be measured for it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, ok := measures[measure]
			if !ok || (library == "") == (file == "") {
				return cli.Usagef("want --library or --file, and --measure jaccard, cosine or edit")
			}
			o.Short.Measure = m
			var texts []string
			take := func(text string) error {
				t, err := segment.Split(text)
				if err != nil {
					return err
				}
				if l := screen.Letters(t); l != "" && utf8.RuneCountInString(l) <= 200 {
					texts = append(texts, l)
				}
				return nil
			}
			if file != "" {
				f, err := os.Open(file)
				if err != nil {
					return cli.Usage(err)
				}
				defer f.Close()
				if err := eachLine(f, take); err != nil {
					return err
				}
				return a.screenGrams(texts, o)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(s *instance.Instance) error {
				for d, err := range s.LibraryDocuments(cmd.Context(), concordat.LibraryID(library)) {
					if err = errors.Join(err, context.Cause(cmd.Context())); err != nil {
						return err
					}
					if err := take(d.Text); err != nil {
						return err
					}
				}
				return a.screenGrams(texts, o)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&library, "library", "", "library of the texts")
	fl.StringVar(&file, "file", "", "file of the texts, one a line")
	fl.StringVar(&measure, "measure", "jaccard", "jaccard, cosine or edit")
	fl.Float64Var(&o.Short.Threshold, "threshold", 0.4, "least similarity")
	fl.IntVar(&o.Short.Edits, "edits", 0, "also find texts so many edits apart")
	fl.IntVar(&o.Edits, "changes", 2, "letters changed in each sample")
	fl.IntVar(&o.Sample, "sample", 300, "texts of the sample")
	fl.Float64Var(&o.Recall, "recall", 0.95, "least share that must be found")
	return c
}

// longestShortLine bounds a line of texts, in bytes.
const longestShortLine = 16 << 20

func eachLine(r io.Reader, each func(string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, longestShortLine)
	for in.Scan() {
		if err := each(strings.ToValidUTF8(in.Text(), "\ufffd")); err != nil {
			return err
		}
	}
	return in.Err()
}

func (a *commands) screenGrams(texts []string, o screen.GramOptions) error {
	distinct := map[string]bool{}
	for _, t := range texts {
		distinct[t] = true
	}
	texts = slices.Sorted(maps.Keys(distinct))
	if len(texts) == 0 {
		return cli.Usagef("no short texts")
	}
	trials, best, err := screen.TryGrams(texts, o)
	if err != nil {
		return cli.Usage(err)
	}
	a.Say("grams   recall  measured a query  hits a query   (%d texts)", len(texts))
	for i, t := range trials {
		mark := ""
		if i == best {
			mark = "best"
		}
		err := a.Report(map[string]any{"type": "grams", "grams": t.Grams, "recall": t.Recall, "measured": t.Measured, "hits": t.Hits,
			"best": i == best},
			"%-6s  %.3f   %16.1f  %12.2f   %s", strings.Trim(fmt.Sprint(t.Grams), "[]"), t.Recall, t.Measured, t.Hits, mark)
		if err != nil {
			return err
		}
	}
	return nil
}
