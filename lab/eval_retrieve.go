package main

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
)

func (l *lab) evalRetrieve() *cobra.Command {
	var f folders
	var channel string
	c := &cobra.Command{Use: "retrieve --src DIR --susp DIR --out DIR", Short: "Find the sources among all documents, then align",
		Args: cobra.NoArgs,
		Long: `Retrieve indexes the .txt files of --src, finds candidates for each of --susp as a check does, aligns them,
and writes an XML file for each pair with a detection, and candidates.tsv with every candidate.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			ch, err := cli.ChannelFlag(channel)
			if err != nil {
				return err
			}
			return eval.Retrieve(cmd.Context(), f.src, f.susp, f.out, ch)
		}}
	f.add(c)
	c.Flags().StringVar(&channel, "channel", "both", "both, fingerprints or text")
	return c
}
