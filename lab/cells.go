package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
	"concordat/lab/pieces"
	"concordat/meaning"
)

func (l *lab) cellsCommand() *cobra.Command {
	var corpora, out string
	c := &cobra.Command{Use: "cells --corpora DIR --out FILE", Short: "Generate the meaning cells for package meaning",
		Args: cobra.NoArgs,
		Long: `Cells generates the cells used to find sentences by meaning, from the embedded table of word pieces and from texts of
the evaluation corpora that may be redistributed. The same texts always produce the same file.`,
		RunE: func(*cobra.Command, []string) error {
			if corpora == "" || out == "" {
				return cli.Usagef("--corpora and --out are required")
			}
			table, err := meaning.Default()
			if err != nil {
				return err
			}
			var samples []pieces.Sample
			var s meaning.Sentence
			e := meaning.NewEncoder(table)
			err = eval.FreeSentences(corpora, func(text string) {
				e.Encode(text, &s)
				samples = append(samples, pieces.Sample{Mean: s.Mean, Wide: meaning.Wide(text)})
			})
			if err != nil {
				return cli.Usage(err)
			}
			made := pieces.MakeCells(samples)
			cells, err := meaning.DecodeCells(made)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(out, made, 0o644),
				l.Report(map[string]any{"bytes": len(made), "digest": cells.Digest(), "sentences": len(samples)},
					"%d bytes, digest %s, from %d sentences", len(made), cells.Digest(), len(samples)))
		}}
	c.Flags().StringVar(&corpora, "corpora", os.Getenv("CONCORDAT_CORPORA"), "folder with the evaluation corpora")
	c.Flags().StringVar(&out, "out", "", "output file")
	return c
}
