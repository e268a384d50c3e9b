package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/lab/eval"
	"concordat/meaning/remote"
	"concordat/profile"
)

func (l *lab) evalCommand() *cobra.Command {
	c := &cobra.Command{Use: "eval", Short: "Measure detection on documents with known reuse", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(l.evalAlign(), l.evalRetrieve(), l.evalScore(), l.evalFederate(), l.evalCalibrate(), l.evalRun(), l.evalReaders())
	return c
}

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

func (l *lab) evalScore() *cobra.Command {
	var truth, detections, ignore, pairs string
	c := &cobra.Command{Use: "score --truth DIR --detections DIR", Short: "Compute the precision, recall, granularity and plagdet of detections",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if truth == "" || detections == "" {
				return cli.Usagef("--truth and --detections are required")
			}
			r, err := eval.Score(truth, detections, eval.ScoreOptions{Ignore: ignore, Pairs: pairs})
			if err != nil {
				return err
			}
			if err := l.printMeasure("all", r.Measure); err != nil {
				return err
			}
			names := make([]string, 0, len(r.Groups))
			for name := range r.Groups {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				if err := l.printMeasure(name, r.Groups[name]); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&truth, "truth", "", "folder that contains the annotations, directly or in subfolders")
	c.Flags().StringVar(&detections, "detections", "", "folder with the detections")
	c.Flags().StringVar(&ignore, "ignore", "", "file with pairs whose detections are ignored, because their reuse is annotated elsewhere")
	c.Flags().StringVar(&pairs, "pairs", "", "file with the pairs that were judged; detections in other pairs are ignored")
	return c
}

func (l *lab) printMeasure(group string, m eval.Measure) error {
	if l.JSON {
		return l.Line(map[string]any{"group": group, "plagdet": m.Plagdet, "precision": m.Precision, "recall": m.Recall,
			"granularity": m.Granularity, "cases": m.Cases, "detections": m.Detections})
	}
	l.Say("%-28s %s", group, m)
	return nil
}

func (l *lab) evalCalibrate() *cobra.Command {
	var library, labels, scheme string
	c := &cobra.Command{Use: "calibrate --library DIR --labels FILE",
		Short: "Measure how document scores relate to reuse in your own documents", Args: cobra.NoArgs,
		Long: `Calibrate indexes the .txt files below --library and checks every document listed in the labels file, whose lines have
the form "path TAB class TAB reused" or "... clean", with paths relative to the file. It prints how many documents of each class
reach each score, and the 95 % interval of that percentage.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if library == "" || labels == "" {
				return cli.Usagef("--library and --labels are required")
			}
			rows, err := eval.Calibrate(cmd.Context(), library, labels, scheme)
			if errors.Is(err, concordat.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
				return cli.Usage(err)
			}
			if err != nil {
				return err
			}
			if !l.JSON {
				return eval.WriteDistribution(l.Stdout, rows)
			}
			for _, r := range rows {
				if err := l.Line(map[string]any{"group": r.Group, "class": r.Class, "reuse": r.Reuse, "documents": r.N, "not_measured": r.Unmeasured,
					"median": r.Median, "thresholds": eval.ScoreThresholds, "reached": r.Above}); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&library, "library", "", "folder with the library's documents")
	c.Flags().StringVar(&labels, "labels", "", "file that labels each submission as reused or clean")
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	return c
}
