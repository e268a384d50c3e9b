package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

// benchSettle is the time allowed for merges after the last put.
const benchSettle = 5 * time.Second

func (l *lab) benchCluster() *cobra.Command {
	o := bench.ClusterOptions{Settle: benchSettle}
	c := &cobra.Command{Use: "cluster", Short: "Benchmark a growing cluster: throughput, latency and memory", Args: cobra.NoArgs,
		Long: `Cluster opens nodes in this process, connected over loopback, adds random fingerprints through all nodes, as documents
of 200 sentences, and runs queries at each size. Processor time is the total for all nodes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Nodes < 1 || o.Shards < 1 || o.Copies < 1 || o.Copies > o.Nodes || o.Questions < 1 || o.Writers < 1 || len(o.Sizes) == 0 ||
				o.Sizes[0] < 200 || !slices.IsSorted(o.Sizes) {
				return cli.Usagef("all numbers must be at least 1, --copies must be at most --nodes, and --sizes must be ascending and at least 200")
			}
			return scratch(func(dir string) error {
				return bench.Cluster(cmd.Context(), dir, o, func(r bench.ClusterResult) error {
					return l.figure("Cluster", r, "%d sentences in %d copies: %.1f us CPU per sentence (ratio to one node %.2f, per follower %.2f), %.0f sentences per second, put p50 %.1f ms and p99 %.1f ms, lag %d records, drained in %.0f ms, %.1f bytes per sentence on disk and %.1f in memory; exact query p50 %.2f ms and p99 %.2f ms, %.2f us CPU; one-hash query p50 %.2f ms and p99 %.2f ms, %.2f us CPU; document query %.1f ms; %d pairs missed, peak %.0f MB",
						r.Sentences, r.Copies, r.CPU, r.Ratio, r.Follower, r.Rate, r.PutP50, r.PutP99, r.Lag, r.Drain, r.Bytes, r.Memory, r.ExactP50,
						r.ExactP99, r.Exact, r.OneP50, r.OneP99, r.One, r.Document, r.Missed, r.Resident)
				})
			})
		}}
	c.Flags().IntVar(&o.Nodes, "nodes", 3, "number of nodes")
	c.Flags().IntVar(&o.Shards, "shards", 8, "number of shards")
	c.Flags().IntVar(&o.Copies, "copies", 2, "number of copies of each shard")
	c.Flags().IntSliceVar(&o.Sizes, "sizes", []int{100_000, 1_000_000}, "numbers of sentences, ascending")
	c.Flags().IntVar(&o.Questions, "queries", 4000, "number of queries at each size, half of which have planted matches")
	c.Flags().IntVar(&o.Writers, "writers", 8, "number of documents to add concurrently")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed")
	return c
}
