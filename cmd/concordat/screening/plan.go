package screening

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/screen"
)

// planLine is a design with its costs.
type planLine struct {
	Type       string  `json:"type"` // plan
	Levels     []int   `json:"levels"`
	Tables     int     `json:"tables"`
	LeadLeast  int     `json:"lead_least"`
	Candidates float64 `json:"candidates"` // per query, among random prints
	// Counted is the number of candidates per query among the prints of FILE, or null without a file.
	Counted     *float64      `json:"candidates_counted"`
	Query       time.Duration `json:"query_ns"` // expected processor time
	Bytes       int64         `json:"bytes"`
	PackedBytes int64         `json:"packed_bytes,omitempty"` // 0 if not packed, because prints are longer than 64 bits
	Fits        bool          `json:"fits"`
	Chosen      bool          `json:"chosen"`
}

func (a *commands) screenPlanCommand() *cobra.Command {
	o := screen.PlanOptions{}
	var memory int
	c := &cobra.Command{
		Use: "plan [FILE]", Short: "Choose tables that suit a number of prints, a distance and a memory limit",
		Args: cobra.MaximumNArgs(1),
		Long: `Plan chooses the tables that answer fastest within --memory, and shows alternatives: how many prints a query
compares, how long it takes, and how much space the tables take, plain and packed (concordat screen pack).

Without FILE, prints are assumed to be uniform, which the prints of documents are not. With FILE, which
contains 64-bit prints of the collection, plan counts the prints that share the leading bits of each table and bases
its choice on the counts; --prints then sets the number of such prints to plan for.

With --lead or --within, plan chooses the fewest tables that have that many leading bits, or that answer within that
time: the X(f, k, d) of Manku, Jain and Das Sarma 2007, section 3.3.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if memory < 1 || memory > 1<<30 {
				return cli.Usagef("--memory %d: want 1 to %d MiB", memory, 1<<30)
			}
			o.Bytes = int64(memory) << 20
			if len(args) > 0 {
				var err error
				var n int
				if o.Sample, n, err = samplePrints(cmd.Context(), args[0]); err != nil {
					return err
				}
				if !cmd.Flags().Changed("prints") {
					o.Prints = n
				}
			}
			best, err := screen.NewPlan(o)
			if err != nil && !errors.Is(err, screen.ErrMemory) && !errors.Is(err, screen.ErrTime) {
				return cli.Usage(err)
			}
			if err := a.screenPlan(o, best); err != nil {
				return err
			}
			return err
		},
	}
	fl := c.Flags()
	fl.IntVar(&o.F, "bits", 64, "size of a print in bits, 1 to 128 (with FILE, at most 64)")
	fl.IntVar(&o.K, "distance", 3, "maximum number of bits in which two prints may differ")
	fl.IntVar(&o.Prints, "prints", 1_000_000, "number of stored prints (default with FILE: the number in the file)")
	fl.IntVar(&o.Queries, "queries", 0, "number of queries that share the cost of building the tables (0: very many)")
	fl.IntVar(&memory, "memory", 1024, "memory for the tables in MiB")
	fl.BoolVar(&o.Packed, "packed", false, "plan for packed tables, whose size --memory limits")
	fl.IntVar(&o.Lead, "lead", 0, "choose the fewest tables with at least this many leading bits")
	fl.DurationVar(&o.Within, "within", 0, "choose the fewest tables that answer a query in this processor time, such as 50us")
	return c
}

// sampledPrints is the maximum number of prints used to count candidates.
const sampledPrints = 200_000

// samplePrints returns an even sample of the prints in a file, and the total number of prints.
func samplePrints(ctx context.Context, path string) (sample []uint64, n int, err error) {
	file, err := OpenPrintFile(path, 64)
	if err != nil {
		return nil, 0, err
	}
	n = file.Prints()
	step := max(1, (n+sampledPrints-1)/sampledPrints)
	at := 0
	err = eachPrints(ctx, []string{path}, func(chunk []uint64) {
		for _, p := range chunk {
			if at%step == 0 {
				sample = append(sample, p)
			}
			at++
		}
	})
	return sample, n, err
}

// screenPlan shows the designs of the paper and the best design, which is nil if none satisfies the conditions.
func (a *commands) screenPlan(o screen.PlanOptions, best *screen.Design) error {
	a.Say("levels      tables  least lead    candidates/query, uniform  counted    CPU/query        bytes  packed bytes")
	show := func(d *screen.Design) error {
		l := planLine{Type: "plan", Levels: d.Levels, Tables: len(d.Tables), LeadLeast: d.Lead(), Candidates: d.Candidates(o.Prints),
			Bytes: d.Bytes(o.Prints), Chosen: d == best}
		candidates, counted := l.Candidates, "-"
		if o.Sample != nil {
			candidates = d.Counted(o.Sample, o.Prints)
			l.Counted, counted = &candidates, fmt.Sprintf("%.3g", candidates)
		}
		l.Query = o.Cost(d, candidates)
		if d.F <= 64 {
			l.PackedBytes = d.PackedBytes(o.Prints)
		}
		l.Fits = l.Bytes <= o.Bytes || o.Packed && l.PackedBytes <= o.Bytes
		mark := ""
		switch {
		case l.Chosen:
			mark = "chosen"
		case !l.Fits:
			mark = "too large"
		}
		return a.Report(l, "%-10s  %6d  %10d  %27.3g  %7s  %11s  %11d  %12d  %s", strings.Trim(fmt.Sprint(l.Levels), "[]"), l.Tables, l.LeadLeast,
			l.Candidates, counted, l.Query.Round(100*time.Nanosecond), l.Bytes, l.PackedBytes, mark)
	}
	for _, levels := range [][]int{{o.K + 1}, {o.K + 2}, {o.K + 3}, {o.K + 4}, {o.K + 1, o.K + 1}, {o.K + 2, o.K + 1}} {
		d, err := screen.NewDesign(o.F, o.K, levels...)
		if err != nil || len(d.Tables) > maxShown {
			continue // more blocks than bits, or impractically many
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
		if err := show(best); err != nil {
			return err
		}
	}
	if o.Sample == nil {
		a.Say("these figures assume uniform prints; to count the prints of the collection, give a file of them")
	}
	return nil
}

// maxShown is the number of tables above which a design is not listed unless it was chosen.
const maxShown = 2048
