package main

import (
	"github.com/spf13/cobra"

	"concordat/lab/bench"
)

func (l *lab) benchMemory() *cobra.Command {
	return &cobra.Command{Use: "memory", Short: "Measure this machine's memory speed, which limits lookups", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := bench.Memory()
			return l.figure("Memory", r, "memory: %.1f GB/s sequential, %.1f ns per independent random access, %.0f ns per dependent random access", r.Stream,
				r.Lines, r.Latency)
		}}
}
