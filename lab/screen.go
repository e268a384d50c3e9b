package main

import "github.com/spf13/cobra"

// screenCommand returns screen with its subcommands.
func (l *lab) screenCommand() *cobra.Command {
	c := &cobra.Command{Use: "screen", Short: "Reproduce the experiments of the papers behind concordat screen", Args: cobra.NoArgs,
		Long: `Screen measures how well the prints of concordat screen identify near-duplicates. Sweep measures labelled pairs at
every distance; sample draws pairs from a library for people to label, and precision evaluates their labels.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&l.Data, "data", "", "folder of the site (default: $CONCORDAT_DATA, or the user's data folder)")
	c.AddCommand(l.sweepCommand(), l.sampleCommand(), l.precisionCommand())
	return c
}
