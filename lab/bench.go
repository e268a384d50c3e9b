package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
)

func (l *lab) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Benchmark Concordat against a plain in-memory table", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&l.figures.path, "benchfmt", "",
		"also append the figures to this file in Go benchmark format, for comparison with benchstat")
	c.AddCommand(l.benchRun(), l.benchIndex(), l.benchQuery(), l.benchFingerprint(), l.benchCheck(), l.benchJoin(), l.benchMemory(),
		l.benchGrowth(), l.benchIngest(), l.benchWeb(), l.benchCluster(), l.benchOccupancy())
	return c
}

// scratch calls f with a temporary folder.
func scratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "concordat-bench-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}
