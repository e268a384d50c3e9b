package main

import "github.com/spf13/cobra"

// screenCommand returns screen with its subcommands.
func (l *lab) screenCommand() *cobra.Command {
	c := &cobra.Command{Use: "screen", Short: "Experiments of the papers that concordat screen follows", Args: cobra.NoArgs,
		Long: `Screen measures how well the prints of concordat screen tell near-duplicates apart: sweep on labelled pairs, by every
distance; sample draws pairs of a library to be labelled by people, and precision counts what they say.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&l.Data, "data", "", "folder of the site (default: $CONCORDAT_DATA, else that of the user)")
	c.AddCommand(l.sweepCommand(), l.sampleCommand(), l.precisionCommand())
	return c
}
