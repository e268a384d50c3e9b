package federating

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/store"
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
				for last := after; ; {
					all, err := o.Alerts(cmd.Context(), last, 0)
					if err != nil || len(all) == 0 {
						return err
					}
					for _, x := range all {
						if err := a.printAlert(x); err != nil {
							return err
						}
						last = x.Seq
					}
				}
			})
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "only alerts after the one of this number")
	return c
}

// alertLine is an alert as programs read it.
type alertLine struct {
	Number    int64            `json:"number"`
	Side      store.AlertSide  `json:"side"`
	Task      concordat.TaskID `json:"task,omitempty"`
	At        time.Time        `json:"at"`
	Partner   concordat.SiteID `json:"partner,omitempty"` // the partner whose check was told
	Job       string           `json:"job,omitempty"`     // of it
	Purpose   string           `json:"purpose,omitempty"`
	Asked     time.Time        `json:"asked,omitzero"`
	Source    concordat.Ref    `json:"source"`
	Title     string           `json:"title,omitempty"`
	Author    string           `json:"author,omitempty"`
	Contact   string           `json:"contact,omitempty"`
	Level     concordat.Show   `json:"level,omitempty"` // of a partner
	Sentences int              `json:"sentences"`
	Words     string           `json:"words,omitempty"`
	Spans     []concordat.Span `json:"spans"` // of the submission, or of the document that a partner was told of
	Read      *alertMark       `json:"read,omitempty"`
	Handled   *alertMark       `json:"handled,omitempty"`
}

// alertMark says who has read or handled an alert, and when.
type alertMark struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// marked is nil where nobody made the mark.
func marked(m store.AlertMark) *alertMark {
	if m.At.IsZero() {
		return nil
	}
	return &alertMark{m.By, m.At}
}

func (a *commands) printAlert(x store.Alert) error {
	if a.JSON {
		return a.Line(alertLine{x.Seq, x.Side, x.Task, x.At, x.Partner, x.Job, x.Purpose, x.Asked, x.Source, x.Title, x.Author, x.Contact,
			x.Level, x.Sentences, x.Words, append([]concordat.Span{}, x.Spans...), marked(x.Read), marked(x.Handled)})
	}
	line := fmt.Sprintf("%d  %s  ", x.Seq, x.At.Local().Format(time.DateTime))
	if x.Side == store.AlertTold {
		line += seenPart(x)
	} else {
		line += fmt.Sprintf("%s  %s of it in %s", x.Task, report.Plural(x.Sentences, "sentence", "sentences"), x.Source)
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

// seenPart describes the part of a document of this site that a partner has seen.
func seenPart(x store.Alert) string {
	what := "something in " + string(x.Source.Library)
	switch {
	case len(x.Spans) > 0:
		what = fmt.Sprintf("%s %q", x.Source, x.Title)
	case x.Source.Document != "":
		what = "a document of " + string(x.Source.Library)
	}
	line := fmt.Sprintf("%s was told that its check of %s finds %s", x.Partner, x.Asked.Local().Format(time.DateOnly), what)
	if x.Purpose != "" {
		line += ", purpose " + x.Purpose
	}
	if x.Sentences > 0 {
		line += ", " + report.Plural(x.Sentences, "sentence", "sentences")
	}
	return line
}
