package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
	"concordat/meaning/remote"
)

func (l *lab) evalRun() *cobra.Command {
	var o eval.Options
	var encoder remote.Options
	c := &cobra.Command{Use: "run [NAME...]", Short: "Run the evaluations described in doc/evaluation/*.md", Args: cobra.ArbitraryArgs,
		Long: `Run measures Concordat on corpora with known reuse and prints each figure with its required bounds.
Without arguments, it runs all of these evaluations:

` + evaluationNames() + `
The corpora must be in the folder named by --corpora or CONCORDAT_CORPORA; an evaluation whose corpus is missing
is skipped. The exit status is 1 if a figure misses its bounds.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Corpora = cmp.Or(o.Corpora, os.Getenv("CONCORDAT_CORPORA"))
			if encoder.URL != "" {
				var err error
				if o.Encoder, err = remote.New(encoder); err != nil {
					return cli.Usagef("--encoder: %v", err)
				}
			}
			for _, name := range args {
				if !slices.ContainsFunc(eval.Evaluations(), func(e eval.Evaluation) bool { return e.Name == name }) {
					return cli.Usagef("unknown evaluation %s; available evaluations:\n%s", name, evaluationNames())
				}
			}
			missed := 0
			for _, e := range eval.Evaluations() {
				if len(args) > 0 && !slices.Contains(args, e.Name) {
					continue
				}
				out, err := e.Measure(cmd.Context(), o)
				if err != nil {
					return err
				}
				missed += out.Missed()
				if err := l.printOutcome(e, out); err != nil {
					return err
				}
			}
			if missed > 0 {
				return fmt.Errorf("%d figures are out of bounds", missed)
			}
			return nil
		}}
	c.Flags().StringVar(&o.Corpora, "corpora", "", "folder with the corpora (default: $CONCORDAT_CORPORA)")
	c.Flags().BoolVar(&o.Short, "short", false, "run only a sample of each evaluation, which takes seconds and has separate bounds")
	c.Flags().StringArrayVar(&o.Scenarios, "scenario", nil,
		"folder of innocent documents to measure, such as 09-ring, or name prefix of papers, such as SemEval2010/C-4 "+
			"(repeatable; default: all)")
	c.Flags().StringArrayVar(&o.Modes, "mode", nil,
		"way of comparing innocent documents, such as tmpl, or part of the evaluation of leads: reworded, answers, innocent, academic, partners, batch, batch-cost, beside, reworded-2 or sources (repeatable; default: all)")
	c.Flags().IntVar(&o.Every, "every", 1, "use only one in every N texts that are not sources, which is faster but makes the task easier")
	c.Flags().StringVar(&encoder.URL, "encoder", "", "address of an encoder to verify leads, such as http://127.0.0.1:8080/v1")
	c.Flags().BoolVar(&o.EncoderIndex, "encoder-index", false, "also find documents by the encoder's vectors, as with meaning.index: encoder")
	c.Flags().StringVar(&encoder.Model, "encoder-model", "", "name of the encoder's model")
	c.Flags().StringVar(&encoder.Prefix, "encoder-prefix", "", "prefix that the model requires before each text")
	c.Flags().DurationVar(&encoder.Timeout, "encoder-timeout", 5*time.Minute, "maximum time for a request to the encoder")
	c.Flags().StringVar(&o.Leads, "leads", "", "write all places that stand out in the evaluation of leads to this file, whether or not they are worth reading, one document per line")
	c.Flags().StringVar(&o.Passages, "passages", "", "write the passages counted in reports on innocent documents to this file, one JSON object per line")
	return c
}

func evaluationNames() string {
	var b strings.Builder
	for _, e := range eval.Evaluations() {
		fmt.Fprintf(&b, "  %-22s %s\n", e.Name, e.About)
	}
	return b.String()
}

// printOutcome prints the figures as a table, or the outcome as one line of JSON.
func (l *lab) printOutcome(e eval.Evaluation, out eval.Outcome) error {
	if l.JSON {
		return l.Line(out)
	}
	if out.Skipped != "" {
		l.Say("%s: skipped: %s\n", e.Name, out.Skipped)
		return nil
	}
	l.Say("%s: %s (%.1f s of CPU)", e.Name, e.About, out.CPU)
	for _, t := range out.Tables {
		l.Say("  %s", t.Title)
		if err := t.Write(l.Stdout); err != nil {
			return err
		}
	}
	of := ""
	for _, f := range out.Figures {
		if f.Of != of {
			of = f.Of
			l.Say("  %s", of)
		}
		l.Say("    %-60s %s", f.Measure, f)
	}
	l.Say("")
	return nil
}
