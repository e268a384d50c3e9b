package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/eval"
	"concordat/profile"
	"concordat/site"
)

// channels are the ways a check nominates source documents, as flags name them.
var channels = map[string]site.Channel{"both": site.ChannelBoth, "fingerprints": site.ChannelFingerprints, "text": site.ChannelText}

func channelFlag(name string) (site.Channel, error) {
	if c, ok := channels[name]; ok {
		return c, nil
	}
	return "", usagef("--channel %s: want both, fingerprints or text", name)
}

func (a *app) evalCommand() *cobra.Command {
	c := &cobra.Command{Use: "eval", Short: "Measure detection on documents with known reuse", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.evalAlign(), a.evalRetrieve(), a.evalScore(), a.evalFederate(), a.evalCalibrate(), a.evalRun())
	return c
}

func (a *app) evalRun() *cobra.Command {
	var o eval.Options
	c := &cobra.Command{Use: "run [NAME...]", Short: "Run the evaluations of doc/evaluation*.md on the corpora", Args: cobra.ArbitraryArgs,
		Long: `Run measures the product on corpora with known reuse and prints each figure with the bounds it is held to.
Without a name it runs all of:

` + evaluationNames() + `
The corpora lie in the folder that --corpora or CONCORDAT_CORPORA names; an evaluation whose corpus is not there
is skipped. It exits with 1 if a figure misses its bounds.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Corpora = cmp.Or(o.Corpora, os.Getenv("CONCORDAT_CORPORA"))
			for _, name := range args {
				if !slices.ContainsFunc(eval.Evaluations(), func(e eval.Evaluation) bool { return e.Name == name }) {
					return usagef("no evaluation %s: there are\n%s", name, evaluationNames())
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
				if err := a.printOutcome(e, out); err != nil {
					return err
				}
			}
			if missed > 0 {
				return fmt.Errorf("%d figures miss their bounds", missed)
			}
			return nil
		}}
	c.Flags().StringVar(&o.Corpora, "corpora", "", "folder of the corpora; CONCORDAT_CORPORA if not given")
	c.Flags().BoolVar(&o.Short, "short", false, "a sample of each, which takes seconds and has bounds of its own")
	c.Flags().StringArrayVar(&o.Scenarios, "scenario", nil, "folder of the innocent documents to be measured, such as 09-ring (repeatable; default all)")
	c.Flags().StringArrayVar(&o.Modes, "mode", nil, "way of comparing innocent documents to be measured, such as tmpl (repeatable; default all)")
	c.Flags().StringVar(&o.Passages, "passages", "", "file for passages that reports on innocent documents count, one JSON object a line")
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
func (a *app) printOutcome(e eval.Evaluation, out eval.Outcome) error {
	if a.json {
		return a.line(out)
	}
	if out.Skipped != "" {
		a.say("%s: skipped: %s\n", e.Name, out.Skipped)
		return nil
	}
	a.say("%s: %s (%.1f s of CPU)", e.Name, e.About, out.CPU)
	for _, t := range out.Tables {
		a.say("  %s", t.Title)
		if err := t.Write(a.stdout); err != nil {
			return err
		}
	}
	of := ""
	for _, f := range out.Figures {
		if f.Of != of {
			of = f.Of
			a.say("  %s", of)
		}
		a.say("    %-60s %s", f.Measure, f)
	}
	a.say("")
	return nil
}

// folders are the flags for where documents and detections lie.
type folders struct{ src, susp, out string }

func (f *folders) add(c *cobra.Command) {
	c.Flags().StringVar(&f.src, "src", "", "folder of the source documents")
	c.Flags().StringVar(&f.susp, "susp", "", "folder of the suspicious documents")
	c.Flags().StringVar(&f.out, "out", "", "folder for the detections")
}

func (f *folders) validate() error {
	if f.src == "" || f.susp == "" || f.out == "" {
		return usagef("--src, --susp and --out must each name a folder")
	}
	return nil
}

func (a *app) evalAlign() *cobra.Command {
	var f folders
	var pairs, channel string
	c := &cobra.Command{Use: "align --pairs FILE --src DIR --susp DIR --out DIR", Short: "Align given pairs of documents", Args: cobra.NoArgs,
		Long: `Align compares each pair of the file, lines "susp src", and writes one <susp>-<src>.xml for each, offsets
in code points. The channel says what the sides know of each other: the text, 100-bit fingerprints, or
keyed word sets (sketches).`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			if pairs == "" {
				return usagef("--pairs names no file")
			}
			if !slices.Contains([]string{"text", "fingerprints", "sketches"}, channel) {
				return usagef("--channel %s: want text, fingerprints or sketches", channel)
			}
			return eval.Align(cmd.Context(), pairs, f.src, f.susp, f.out, eval.Channel(channel))
		}}
	f.add(c)
	c.Flags().StringVar(&pairs, "pairs", "", "file of pairs")
	c.Flags().StringVar(&channel, "channel", "text", "text, fingerprints or sketches")
	return c
}

func (a *app) evalRetrieve() *cobra.Command {
	var f folders
	var channel string
	c := &cobra.Command{Use: "retrieve --src DIR --susp DIR --out DIR", Short: "Find the sources among all documents, then align", Args: cobra.NoArgs,
		Long: `Retrieve indexes the .txt files of --src, finds candidates for each of --susp as a check does, aligns them,
and writes an XML file for each pair with a detection, and candidates.tsv with every candidate.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			ch, err := channelFlag(channel)
			if err != nil {
				return err
			}
			return eval.Retrieve(cmd.Context(), f.src, f.susp, f.out, ch)
		}}
	f.add(c)
	c.Flags().StringVar(&channel, "channel", "both", "both, fingerprints or text")
	return c
}

func (a *app) evalScore() *cobra.Command {
	var truth, detections, ignore, pairs string
	c := &cobra.Command{Use: "score --truth DIR --detections DIR", Short: "Precision, recall, granularity and plagdet of detections", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if truth == "" || detections == "" {
				return usagef("--truth and --detections must each name a folder")
			}
			r, err := eval.Score(truth, detections, eval.ScoreOptions{Ignore: ignore, Pairs: pairs})
			if err != nil {
				return err
			}
			if err := a.printMeasure("all", r.Measure); err != nil {
				return err
			}
			names := make([]string, 0, len(r.Groups))
			for name := range r.Groups {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				if err := a.printMeasure(name, r.Groups[name]); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&truth, "truth", "", "folder of the annotations, or of folders of them")
	c.Flags().StringVar(&detections, "detections", "", "folder of the detections")
	c.Flags().StringVar(&ignore, "ignore", "", "file of pairs whose detections do not count: reuse that is annotated elsewhere")
	c.Flags().StringVar(&pairs, "pairs", "", "file of pairs that were judged; detections in others do not count")
	return c
}

func (a *app) printMeasure(group string, m eval.Measure) error {
	if a.json {
		return a.line(map[string]any{"group": group, "plagdet": m.Plagdet, "precision": m.Precision, "recall": m.Recall,
			"granularity": m.Granularity, "cases": m.Cases, "detections": m.Detections})
	}
	a.say("%-28s %s", group, m)
	return nil
}

func (a *app) evalCalibrate() *cobra.Command {
	var library, labels, scheme string
	c := &cobra.Command{Use: "calibrate --library DIR --labels FILE", Short: "Measure what the document score means on documents of your own", Args: cobra.NoArgs,
		Long: `Calibrate indexes the .txt files below --library, checks every document of the labels file, lines "path TAB class
TAB reused" or "... clean" with paths relative to the file, and prints how many documents of each class reach
each score, with the 95 % interval of the rate in percent.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if library == "" || labels == "" {
				return usagef("--library must name a folder and --labels a file")
			}
			rows, err := eval.Calibrate(cmd.Context(), library, labels, scheme)
			if errors.Is(err, concordat.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if !a.json {
				return eval.WriteDistribution(a.stdout, rows)
			}
			for _, r := range rows {
				if err := a.line(map[string]any{"group": r.Group, "class": r.Class, "reuse": r.Reuse, "documents": r.N, "not_measured": r.Unmeasured,
					"median": r.Median, "thresholds": eval.ScoreThresholds, "reached": r.Above}); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&library, "library", "", "folder of the library's documents")
	c.Flags().StringVar(&labels, "labels", "", "file that says of each submission whether it reuses the library")
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	return c
}
