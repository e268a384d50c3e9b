package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/bench"
)

// printFlags select the fingerprints to measure.
type printFlags struct {
	n, questions int
	seed         uint64
	in, dump     string
}

func (f *printFlags) add(c *cobra.Command) {
	c.Flags().IntVarP(&f.n, "n", "n", 1_000_000, "number of random fingerprints")
	c.Flags().IntVar(&f.questions, "queries", 100_000, "number of queries, half of which have planted matches")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed for the random fingerprints")
	c.Flags().StringVar(&f.in, "prints", "", "read fingerprints and queries from this file, in the exchange format of doc/format-report.md")
	c.Flags().StringVar(&f.dump, "dump", "", "also write the fingerprints and queries to this file")
}

func (f *printFlags) load() ([]concordat.Fingerprint, []bench.Question, error) {
	if f.n < 1 || f.questions < 1 {
		return nil, nil, cli.Usagef("--n is %d and --queries is %d, but both must be at least 1", f.n, f.questions)
	}
	prints, qs := []concordat.Fingerprint(nil), []bench.Question(nil)
	if f.in == "" {
		prints, qs = bench.Prints(f.n, f.questions, f.seed)
	} else {
		file, err := os.Open(f.in)
		if err != nil {
			return nil, nil, cli.Usage(err)
		}
		defer file.Close()
		if prints, qs, err = bench.ReadPrints(file); err != nil {
			return nil, nil, cli.Usage(err)
		}
		if len(prints) == 0 || len(qs) == 0 {
			return nil, nil, cli.Usagef("%s contains %d fingerprints and %d queries; want at least one of each", f.in, len(prints), len(qs))
		}
	}
	if f.dump == "" {
		return prints, qs, nil
	}
	out, err := os.Create(f.dump)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	return prints, qs, errors.Join(bench.WritePrints(out, prints, qs), out.Close())
}
