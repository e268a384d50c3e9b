package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/bench"
	"concordat/profile"
)

func (l *lab) benchIndex() *cobra.Command {
	var f printFlags
	c := &cobra.Command{Use: "index", Short: "Benchmark building a fingerprint index: speed and size", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			prints, _, err := f.load()
			if err != nil {
				return err
			}
			return scratch(func(dir string) error {
				return bench.Index(cmd.Context(), dir, prints, func(r bench.IndexResult) error {
					return l.figure("Index", r,
						"%-6s %d sentences: %.0f sentences per CPU second (plain table %.0f, ratio %.2f), %.1f bytes per sentence, peak %.0f MB",
						r.Build, r.Sentences, r.Rate, r.TableRate, r.Ratio, r.Bytes, r.Peak)
				})
			})
		}}
	f.add(c)
	return c
}

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

func (l *lab) benchGrowth() *cobra.Command {
	var sizes []int
	var questions, times int
	var seed uint64
	var text string
	c := &cobra.Command{Use: "growth", Short: "Benchmark building, opening and querying indexes of increasing size", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range sizes {
				if n < 1 || questions < 1 || times < 1 {
					return cli.Usagef("--sizes, --queries and --rounds must be at least 1")
				}
				prints, qs, err := growthPrints(text, n, questions, seed)
				if err != nil {
					return err
				}
				err = scratch(func(dir string) error {
					r, err := bench.Growth(cmd.Context(), dir, prints, qs, times)
					if err != nil {
						return err
					}
					return l.figure("Growth"+ofText(text), r, "%d sentences, %d distinct: built at %.0f sentences per CPU second, %.1f bytes per sentence on disk and %.1f in memory; opened in %.2f CPU s with a peak of %.0f MB; closed in %.2f CPU s, storing a table of %.1f bytes per sentence; reopened with the table in %.2f CPU s; exact query %.2f us, one-hash query %.2f us (equal to %.0f random memory accesses) with %.1f matches; %d pairs missed, peak %.0f MB",
						r.Sentences, r.Distinct, r.Build, r.Bytes, r.Memory, r.Open, r.OpenPeak, r.Close, r.Kept, r.Warm, r.Exact, r.One, r.Lines, r.Found,
						r.Missed, r.Peak)
				})
				if err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntSliceVar(&sizes, "sizes", []int{100_000, 1_000_000, 5_000_000}, "numbers of sentences")
	c.Flags().IntVar(&questions, "queries", 20_000, "number of queries, half of which have planted matches")
	c.Flags().IntVar(&times, "rounds", 5, "number of times to repeat each query; prints the median")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed")
	c.Flags().StringVar(&text, "text", "", "make fingerprints from repeatedly edited copies of this text file, instead of random fingerprints")
	return c
}

// ofText distinguishes results for real text from results for random fingerprints.
func ofText(text string) string {
	if text == "" {
		return ""
	}
	return "Text"
}

func growthPrints(text string, n, questions int, seed uint64) ([]concordat.Fingerprint, []bench.Question, error) {
	if text == "" {
		prints, qs := bench.Prints(n, questions, seed)
		return prints, qs, nil
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		return nil, nil, err
	}
	t, err := readText(text)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	return bench.TextPrints(p, t, n, questions, seed)
}

// printFlags select the fingerprints to measure.
type printFlags struct {
	n, questions int
	seed         uint64
	in, dump     string
}

func (f *printFlags) add(c *cobra.Command) {
	c.Flags().IntVarP(&f.n, "n", "n", 1_000_000, "number of random fingerprints")
	c.Flags().IntVar(&f.questions, "queries", 100_000, "number of queries, half of which have planted matches")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed for the random fingerprints")
	c.Flags().StringVar(&f.in, "prints", "", "read fingerprints and queries from this file, in the exchange format of doc/format-report.md")
	c.Flags().StringVar(&f.dump, "dump", "", "also write the fingerprints and queries to this file")
}

func (f *printFlags) load() ([]concordat.Fingerprint, []bench.Question, error) {
	if f.n < 1 || f.questions < 1 {
		return nil, nil, cli.Usagef("--n is %d and --queries is %d, but both must be at least 1", f.n, f.questions)
	}
	prints, qs := []concordat.Fingerprint(nil), []bench.Question(nil)
	if f.in == "" {
		prints, qs = bench.Prints(f.n, f.questions, f.seed)
	} else {
		file, err := os.Open(f.in)
		if err != nil {
			return nil, nil, cli.Usage(err)
		}
		defer file.Close()
		if prints, qs, err = bench.ReadPrints(file); err != nil {
			return nil, nil, cli.Usage(err)
		}
		if len(prints) == 0 || len(qs) == 0 {
			return nil, nil, cli.Usagef("%s contains %d fingerprints and %d queries; want at least one of each", f.in, len(prints), len(qs))
		}
	}
	if f.dump == "" {
		return prints, qs, nil
	}
	out, err := os.Create(f.dump)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	return prints, qs, errors.Join(bench.WritePrints(out, prints, qs), out.Close())
}
