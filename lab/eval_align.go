package main

import (
	"slices"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
)

// folders are the flags for the folders of documents and detections.
type folders struct{ src, susp, out string }

func (f *folders) add(c *cobra.Command) {
	c.Flags().StringVar(&f.src, "src", "", "folder with the source documents")
	c.Flags().StringVar(&f.susp, "susp", "", "folder with the suspicious documents")
	c.Flags().StringVar(&f.out, "out", "", "output folder for the detections")
}

func (f *folders) validate() error {
	if f.src == "" || f.susp == "" || f.out == "" {
		return cli.Usagef("--src, --susp and --out are required")
	}
	return nil
}

func (l *lab) evalAlign() *cobra.Command {
	var f folders
	var pairs, channel string
	c := &cobra.Command{Use: "align --pairs FILE --src DIR --susp DIR --out DIR", Short: "Align given pairs of documents", Args: cobra.NoArgs,
		Long: `Align compares each pair in the file, whose lines have the form "susp src", and writes <susp>-<src>.xml for each
pair, with offsets in code points. The channel determines what each side knows about the other: the text, 100-bit
fingerprints, or keyed word sets (sketches).`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			if pairs == "" {
				return cli.Usagef("--pairs is required")
			}
			if !slices.Contains([]string{"text", "fingerprints", "sketches"}, channel) {
				return cli.Usagef("unknown channel %s; valid channels are text, fingerprints and sketches", channel)
			}
			return eval.Align(cmd.Context(), pairs, f.src, f.susp, f.out, eval.Channel(channel))
		}}
	f.add(c)
	c.Flags().StringVar(&pairs, "pairs", "", "file with the pairs to align")
	c.Flags().StringVar(&channel, "channel", "text", "channel: text, fingerprints or sketches")
	return c
}
