package federating

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
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
	Task      concordat.TaskID `json:"task"`
	At        time.Time        `json:"at"`
	Source    concordat.Ref    `json:"source"`
	Title     string           `json:"title,omitempty"`
	Author    string           `json:"author,omitempty"`
	Contact   string           `json:"contact,omitempty"`
	Level     concordat.Show   `json:"level,omitempty"` // of a partner
	Sentences int              `json:"sentences"`
	Words     string           `json:"words,omitempty"`
	Spans     []concordat.Span `json:"spans"` // of the submission
}

func (a *commands) printAlert(x store.Alert) error {
	if a.JSON {
		return a.Line(alertLine{x.Seq, x.Task, x.At, x.Source, x.Title, x.Author, x.Contact, x.Level, x.Sentences, x.Words,
			append([]concordat.Span{}, x.Spans...)})
	}
	line := fmt.Sprintf("%d  %s  %s  %s of it in %s", x.Seq, x.At.Local().Format(time.DateTime), x.Task,
		report.Plural(x.Sentences, "sentence", "sentences"), x.Source)
	if x.Title != "" {
		line += fmt.Sprintf(" %q", x.Title)
	}
	if x.Author != "" {
		line += " by " + x.Author
	}
	if x.Contact != "" {
		line += " (" + x.Contact + ")"
	}
	if x.Words != "" {
		line += ": " + x.Words
	}
	a.Say("%s", line)
	return nil
}
