package main

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

func (l *lab) benchOccupancy() *cobra.Command {
	var sizes []int
	var shards int
	var seed uint64
	var text string
	c := &cobra.Command{Use: "occupancy", Short: "Simulate how full the buckets of a site's shards are", Args: cobra.NoArgs,
		Long: `Occupancy draws random values of one band for all sentences in all shards, without an index, or counts the values for
the sentences of a text in one shard.`,
		RunE: func(*cobra.Command, []string) error {
			for _, n := range sizes {
				if n < 1 || shards < 1 {
					return cli.Usagef("--sizes and --shards must be at least 1")
				}
				r := bench.OccupancyResult{}
				if text == "" {
					r = bench.Occupancy(n, shards, seed)
				} else {
					prints, _, err := growthPrints(text, n, 2, seed)
					if err != nil {
						return err
					}
					r = bench.TextOccupancy(prints)
				}
				if err := l.figure("Occupancy"+ofText(text), r, "%d sentences in %d shards: mean %.3f per bucket, at most %d in 99 of 100 buckets, %d in the fullest; variance-to-mean ratio %.3f; %.2f candidates per exact query, band and shard",
					r.Sentences, r.Shards, r.Mean, r.P99, r.Max, r.Poisson, r.Candidates); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntSliceVar(&sizes, "sizes", []int{10_000_000, 1_000_000_000}, "numbers of sentences")
	c.Flags().IntVar(&shards, "shards", 100, "number of shards")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed")
	c.Flags().StringVar(&text, "text", "", "make fingerprints from repeatedly edited copies of this text file, instead of random fingerprints")
	return c
}
