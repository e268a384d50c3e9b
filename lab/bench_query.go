package main

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

func (l *lab) benchQuery() *cobra.Command {
	var f printFlags
	var o bench.QueryOptions
	c := &cobra.Command{Use: "query", Short: "Benchmark exact and probing queries, through the derived table and through Bleve", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rounds < 1 || o.Path != "" && o.Path != "table" && o.Path != "bleve" {
				return cli.Usagef("--rounds must be at least 1, and --path must be table or bleve")
			}
			prints, qs, err := f.load()
			if err != nil {
				return err
			}
			return scratch(func(dir string) error {
				return bench.Query(cmd.Context(), dir, prints, qs, o, func(r bench.QueryResult) error {
					return l.figure("Query", r, "%-5s %-5s %d sentences: %.2f us CPU per sentence, best of %d rounds %.2f (plain table %.2f, ratio %.2f; equal to %.0f random memory accesses), document of 200 sentences %.2f ms, p50 %.1f us, p99 %.1f us, %.1f candidates, %d missed",
						r.Path, r.Probe, r.Sentences, r.CPU, r.Rounds, r.Best, r.TableCPU, r.Ratio, r.Lines, r.Document, r.P50, r.P99, r.Candidates, r.Missed)
				})
			})
		}}
	f.add(c)
	c.Flags().IntVar(&o.Rounds, "rounds", 3, "number of times to repeat each query; prints the median")
	c.Flags().StringVar(&o.Path, "path", "", "way to query the index: table (only the derived table) or bleve (only Bleve) (default: both)")
	return c
}
