package main

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/bench"
	"concordat/profile"
)

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
