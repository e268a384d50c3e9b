package main

import (
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
)

func (l *lab) evalRetrieve() *cobra.Command {
	var f folders
	var channel string
	c := &cobra.Command{Use: "retrieve --src DIR --susp DIR --out DIR", Short: "Find the sources of documents and align them",
		Args: cobra.NoArgs,
		Long: `Retrieve indexes the .txt files in --src, finds candidates for each file in --susp in the same way as a check, and
aligns them. It writes an XML file for each pair with a detection, and lists every candidate in candidates.tsv.`,
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
	c.Flags().StringVar(&channel, "channel", "both", "how candidates are found: both, fingerprints or text")
	return c
}
