package screening

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/screen"
)

func (a *commands) screenDistributionCommand() *cobra.Command {
	var svg string
	var hot int
	var memory int
	c := &cobra.Command{
		Use: "distribution FILE...", Short: "Show how evenly 64-bit prints are distributed, and which are hot", Args: cobra.MinimumNArgs(1),
		Long: `Distribution draws figure 2 of Manku, Jain and Das Sarma 2007 for your prints: (a) the highest bit in which
sorted neighbours differ, (b) the number of prints in each of 128 equal ranges. It writes text; with --json, counts;
with --svg, also a picture that compares your prints with uniform ones. Prints of real documents are not uniform: a
range far above the others holds hot prints, such as those of empty pages, error pages and log-in forms, which --hot
lists. To leave them out of a join, pass the output, as text or JSON, to join --stop.

Files larger than --memory are sorted in several passes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if memory < 1 || memory > 1<<20 {
				return cli.Usagef("--memory %d: want 1 to %d MiB", memory, 1<<20)
			}
			return a.screenDistribution(cmd.Context(), args, svg, hot, memory<<20/8)
		},
	}
	c.Flags().StringVar(&svg, "svg", "", "write a picture to this file")
	c.Flags().IntVar(&hot, "hot", 0, "list prints that occur more than this many times (0: list none)")
	c.Flags().IntVar(&memory, "memory", 1024, "memory for sorting in MiB")
	return c
}

type hotPrint struct {
	Type     string `json:"type"` // hot
	Print    string `json:"print"`
	Count    int    `json:"count"`
	Document string `json:"document,omitempty"` // the first document with this print
}

func (a *commands) screenDistribution(ctx context.Context, paths []string, svg string, hot, most int) error {
	var d screen.Distribution
	err := eachPrints(ctx, paths, func(chunk []uint64) { d.Add(chunk...) })
	if err != nil {
		return err
	}
	first := map[uint64]string{}
	var hots []screen.Hot
	for _, piece := range d.Pieces(most) {
		var part []uint64
		err := eachPrints(ctx, paths, func(chunk []uint64) {
			for _, p := range chunk {
				if b := int(p >> 57); b >= piece[0] && b < piece[1] {
					part = append(part, p)
				}
			}
		})
		if err != nil {
			return err
		}
		slices.Sort(part)
		d.AddSorted(part...)
		if hot > 0 {
			hots = append(hots, screen.HotPrints(part, hot)...)
		}
	}
	slices.SortStableFunc(hots, func(a, b screen.Hot) int { return b.Count - a.Count })
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
	a.warnUneven(&d)
	return a.Report(map[string]any{"type": "distribution", "prints": d.Prints, "zero": d.Zero, "equal": d.Equal, "spread": d.Spread(),
		"buckets": d.Bucket, "lead": d.Lead}, "%s", strings.TrimSuffix(d.String(), "\n"))
}

// eachPrints calls each with the 64-bit prints of the files, piece by piece.
func eachPrints(ctx context.Context, paths []string, each func(chunk []uint64)) error {
	for _, path := range paths {
		file, err := OpenPrintFile(path, 64)
		if err != nil {
			return err
		}
		for chunk, err := range file.Narrow() {
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return err
			}
			each(chunk)
		}
	}
	return nil
}

// nameHot finds the first document of each hot print, if the documents are known.
func nameHot(paths []string, hots []screen.Hot, first map[uint64]string) error {
	if len(hots) == 0 {
		return nil
	}
	wanted := map[uint64]bool{}
	for _, h := range hots {
		wanted[h.Print] = true
	}
	for _, path := range paths {
		file, err := OpenPrintFile(path, 64)
		if err != nil {
			return err
		}
		ids, err := file.IDs()
		if err != nil {
			return err
		}
		at := 0
		for chunk, err := range file.Narrow() {
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
