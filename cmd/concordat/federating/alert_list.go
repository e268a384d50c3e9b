package federating

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/store"
	"concordat/view"
)

func (a *commands) alertList() *cobra.Command {
	var after int64
	c := &cobra.Command{
		Use: "list", Short: "List alerts, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 {
				return cli.Usagef("--after %d: must not be negative", after)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				names, err := partners.Names(cmd.Context(), o.Store)
				if err != nil {
					return err
				}
				for last := after; ; {
					all, err := o.Site.Alerts(cmd.Context(), last, 0)
					if err != nil || len(all) == 0 {
						return err
					}
					for _, x := range all {
						if err := a.printAlert(x, names); err != nil {
							return err
						}
						last = x.Seq
					}
				}
			})
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "list only alerts with numbers above this one")
	return c
}

func (a *commands) printAlert(x store.Alert, names map[concordat.SiteID]string) error {
	if a.JSON {
		return a.Line(view.OfAlert(x, names))
	}
	line := fmt.Sprintf("%d  %s  ", x.Seq, x.At.Local().Format(time.DateTime))
	if x.Side == store.AlertTold {
		line += seenPart(x)
	} else {
		line += fmt.Sprintf("%s  %s found in %s", x.Task, report.Plural(x.Sentences, "sentence", "sentences"), x.Source)
		if x.Title != "" {
			line += fmt.Sprintf(" %q", x.Title)
		}
		if x.Author != "" {
			line += " by " + x.Author
		}
		if x.Contact != "" {
			line += " (" + x.Contact + ")"
		}
	}
	if x.Words != "" {
		line += ": " + x.Words
	}
	if !x.Handled.At.IsZero() {
		line += "; handled by " + x.Handled.By
	}
	a.Say("%s", line)
	return nil
}

// seenPart describes the part of a document that a partner has seen.
func seenPart(x store.Alert) string {
	what := "something in " + string(x.Source.Library)
	switch {
	case len(x.Spans) > 0:
		what = fmt.Sprintf("%s %q", x.Source, x.Title)
	case x.Source.Document != "":
		what = "a document of " + string(x.Source.Library)
	}
	line := fmt.Sprintf("%s was told that its check of %s matches %s", x.Partner, x.Asked.Local().Format(time.DateOnly), what)
	if x.Purpose != "" {
		line += ", purpose " + x.Purpose
	}
	if x.Sentences > 0 {
		line += ", " + report.Plural(x.Sentences, "sentence", "sentences")
	}
	return line
}
