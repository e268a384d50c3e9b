package main

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

func (l *lab) benchCheck() *cobra.Command {
	var o bench.CheckOptions
	var channel string
	c := &cobra.Command{Use: "check", Short: "Benchmark each stage of a check against a library of generated text",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Sentences < 1 || o.Rounds < 1 || o.Documents < 0 || o.PerDocument < 1 || o.Submission < 1 {
				return cli.Usagef("--n, --rounds, --per-document and --submission must be at least 1, and --documents must not be negative")
			}
			ch, err := cli.ChannelFlag(channel)
			if err != nil {
				return err
			}
			o.Channel = ch
			if o.Documents > 0 && !cmd.Flags().Changed("n") {
				o.Sentences = 0
			}
			return scratch(func(dir string) error {
				return bench.Check(cmd.Context(), dir, o, func(r bench.CheckResult) error {
					return l.figure("Check", r, "%d documents, %d sentences; check of %d words: %.1f ms CPU (profile %.1f, probes %.1f, words %.1f, verify %.1f, align %.1f, keep %.1f), report %.1f ms; %d candidates, %d of %d sources found, %d sources in the report; start %.0f ms, ingest %.0f sentences per CPU second, peak %.0f MB",
						r.Documents, r.Sentences, r.Words, r.CPU, r.Fingerprint, r.Match, r.Search, r.Verify, r.Align, r.Keep, r.Report, r.Candidates,
						r.Found, r.Planted, r.Sources, r.Start, r.Rate, r.Peak)
				})
			})
		}}
	c.Flags().IntVarP(&o.Sentences, "n", "n", 100_000, "number of sentences in the library")
	c.Flags().IntVar(&o.Documents, "documents", 0, "number of documents in the library (default: enough for --n sentences)")
	c.Flags().IntVar(&o.PerDocument, "per-document", 200, "number of sentences, of 21 words each, in each document of the library")
	c.Flags().IntVar(&o.Submission, "submission", 200, "number of sentences in the submission")
	c.Flags().IntVar(&o.Rounds, "rounds", 5, "number of submissions to check")
	c.Flags().StringVar(&channel, "channel", "both", "how candidate sources are found: fingerprints, text or both")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed for the generated text")
	return c
}
