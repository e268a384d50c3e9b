package main

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/lab/bench"
	"concordat/screen"
)

func (l *lab) benchJoin() *cobra.Command {
	var n int
	var seed uint64
	var one bool
	c := &cobra.Command{Use: "join", Short: "Benchmark the join of two libraries of fingerprints", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 {
				return cli.Usagef("--n is %d, but must be at least 1", n)
			}
			probes := []concordat.Probe{concordat.ProbeExact}
			if one {
				probes = append(probes, concordat.ProbeOne)
			}
			for _, p := range probes {
				r, err := bench.Join(n, seed, p, func(docs []screen.Document, o screen.JoinOptions) (screen.Joined, error) {
					return parallel.Join(cmd.Context(), docs, o)
				})
				if err != nil {
					return err
				}
				if err := l.figure("Join", r, "join %-5s %d x %d sentences: %.2f CPU seconds (plain table %.2f, ratio %.2f), %.2f s on %d cores, %d pairs of documents, %d pairs missed, peak %.0f MB",
					r.Probe, r.Sentences, r.Sentences, r.CPU, r.TableCPU, r.Ratio, r.Clock, r.Cores, r.Pairs, r.Missed, r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntVarP(&n, "n", "n", 1_000_000, "number of sentences in each library")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed for the random fingerprints")
	c.Flags().BoolVar(&one, "one", false, "also join with one hash changed per band")
	return c
}
