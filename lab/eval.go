package main

import (
	"github.com/spf13/cobra"
)

func (l *lab) evalCommand() *cobra.Command {
	c := &cobra.Command{Use: "eval", Short: "Measure detection on documents with known reuse", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(l.evalAlign(), l.evalRetrieve(), l.evalScore(), l.evalFederate(), l.evalCalibrate(), l.evalRun(), l.evalReaders())
	return c
}
