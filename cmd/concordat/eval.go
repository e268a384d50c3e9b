package main

import (
	"errors"
	"io/fs"
	"slices"

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
	c := &cobra.Command{Use: "eval", Short: "Measure detection on documents with known reuse, in PAN's formats", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.evalAlign(), a.evalRetrieve(), a.evalScore(), a.evalFederate(), a.evalCalibrate())
	return c
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
	var truth, detections string
	c := &cobra.Command{Use: "score --truth DIR --detections DIR", Short: "Precision, recall, granularity and plagdet of detections", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if truth == "" || detections == "" {
				return usagef("--truth and --detections must each name a folder")
			}
			r, err := eval.Score(truth, detections)
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
