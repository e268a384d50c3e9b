package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
	"concordat/meaning"
)

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
