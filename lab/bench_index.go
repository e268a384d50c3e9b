package main

import (
	"github.com/spf13/cobra"

	"concordat/lab/bench"
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
