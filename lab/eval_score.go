package main

import (
	"slices"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/eval"
)

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
