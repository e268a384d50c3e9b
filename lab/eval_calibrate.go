package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/eval"
	"concordat/profile"
)

func (l *lab) evalCalibrate() *cobra.Command {
	var library, labels, scheme string
	c := &cobra.Command{Use: "calibrate --library DIR --labels FILE",
		Short: "Measure how document scores relate to reuse in your own documents", Args: cobra.NoArgs,
		Long: `Calibrate indexes the .txt files below --library and checks every document listed in the labels file, whose lines have
the form "path TAB class TAB reused" or "... clean", with paths relative to the file. It prints how many documents of each class
reach each score, and the 95 % interval of that percentage.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if library == "" || labels == "" {
				return cli.Usagef("--library and --labels are required")
			}
			rows, err := eval.Calibrate(cmd.Context(), library, labels, scheme)
			if errors.Is(err, concordat.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
				return cli.Usage(err)
			}
			if err != nil {
				return err
			}
			if !l.JSON {
				return eval.WriteDistribution(l.Stdout, rows)
			}
			for _, r := range rows {
				if err := l.Line(map[string]any{"group": r.Group, "class": r.Class, "reuse": r.Reuse, "documents": r.N, "not_measured": r.Unmeasured,
					"median": r.Median, "thresholds": eval.ScoreThresholds, "reached": r.Above}); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&library, "library", "", "folder with the library's documents")
	c.Flags().StringVar(&labels, "labels", "", "file that labels each submission as reused or clean")
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	return c
}
