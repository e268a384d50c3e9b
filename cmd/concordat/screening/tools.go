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
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/segment"
)

func (a *commands) screenPackCommand() *cobra.Command {
	var out string
	var k, tables int
	var levels []int
	c := &cobra.Command{
		Use: "pack FILE --out DIR", Short: "Pack prints into compressed tables on disk, for use by near", Args: cobra.ExactArgs(1),
		Long: `Pack sorts the 64-bit prints of a file into the tables of a design and writes each table in packed form, in blocks
of 1,024 bytes that can be read separately, with the documents of FILE.ids. concordat screen near looks prints up
in them. Pack reports their size compared with raw prints and with the theoretical minimum for random prints.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := OpenPrintFile(args[0], 64)
			if err != nil {
				return err
			}
			if out == "" {
				return cli.Usagef("--out is required: name a folder to write")
			}
			d, err := DesignOf(cmd.Context(), args[0], k, levels)
			if err != nil {
				return err
			}
			return a.screenPack(cmd.Context(), file, d, out, tables)
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder to write")
	c.Flags().IntVar(&k, "distance", 3, "maximum number of bits in which two prints may differ")
	c.Flags().IntSliceVar(&levels, "levels", nil, "number of table blocks at each level, such as 5 or 4,4 (default: chosen from the prints)")
	c.Flags().IntVar(&tables, "tables", 0, "write only this many tables, to see their size (0: all)")
	return c
}

func (a *commands) screenPack(ctx context.Context, file *PrintFile, d *screen.Design, out string, only int) error {
	prints := make([]uint64, 0, file.Prints())
	for chunk, err := range file.Narrow() {
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
		ids, err := file.IDs()
		if err == nil && ids != nil {
			err = writeNames(out, prints, ids)
		}
		if err != nil {
			return err
		}
		h, err := json.Marshal(packedHeader{d.F, d.K, d.Levels, len(prints)})
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
		"packed %d prints into %d tables of %d bytes: %.1f %% of the raw size; the minimum for random prints is %.1f %%", len(prints), n, total, 100*ratio,
		100*screen.PackedBound(len(prints)))
}

func (a *commands) screenGramsCommand() *cobra.Command {
	var library, file, measure string
	var o screen.GramOptions
	c := &cobra.Command{
		Use: "grams --library L", Short: "Find the gram lengths that suit the short texts of a library", Args: cobra.NoArgs,
		Long: `Grams edits a sample of the short texts of a library, or of the lines of a file, and shows for several gram
lengths how many originals are found again and how many texts must be measured.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, ok := measures[measure]
			if !ok || (library == "") == (file == "") {
				return cli.Usagef("--library or --file is required, and --measure must be jaccard, cosine or edit")
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
				if err := EachLine(f, take); err != nil {
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
	fl.StringVar(&file, "file", "", "file with the texts, one per line")
	fl.StringVar(&measure, "measure", "jaccard", "similarity of texts: jaccard, cosine or edit")
	fl.Float64Var(&o.Short.Threshold, "threshold", 0.4, "minimum similarity")
	fl.IntVar(&o.Short.Edits, "edits", 0, "also find texts this many edits apart")
	fl.IntVar(&o.Edits, "changes", 2, "number of letters to change in each text of the sample")
	fl.IntVar(&o.Sample, "sample", 300, "number of texts in the sample")
	fl.Float64Var(&o.Recall, "recall", 0.95, "minimum share of similar texts to find")
	return c
}

// longestShortLine is the maximum length in bytes of a line of texts.
const longestShortLine = 16 << 20

func EachLine(r io.Reader, each func(string) error) error {
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
		return cli.Usagef("found no short texts")
	}
	trials, best, err := screen.TryGrams(texts, o)
	if err != nil {
		return cli.Usage(err)
	}
	a.Say("grams   recall    measured/query    hits/query   (%d texts)", len(texts))
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
