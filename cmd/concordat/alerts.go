package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

func (a *app) alertCommand() *cobra.Command {
	c := &cobra.Command{Use: "alert", Short: "What later documents matched checks that stay", Args: cobra.NoArgs,
		Long: `A check with --standing stays: documents that come later, here or at the partners that agreed to keep its
questions, raise an alert if they match. Alerts of partners come to the process that serves the site.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.alertList(), a.alertStanding(), a.alertEnd())
	return c
}

func (a *app) alertList() *cobra.Command {
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

func (a *app) printAlert(x store.Alert) error {
	if a.JSON {
		return a.Line(alertLine{x.Seq, x.Task, x.At, x.Source, x.Title, x.Author, x.Contact, x.Level, x.Sentences, x.Words, append([]concordat.Span{}, x.Spans...)})
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

func (a *app) alertStanding() *cobra.Command {
	return &cobra.Command{
		Use: "standing", Short: "List the checks that stay", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listStanding(cmd.Context(), o) })
		},
	}
}

func (a *app) listStanding(ctx context.Context, o *instance.Instance) error {
	tasks, err := o.StandingChecks(ctx)
	if err != nil {
		return err
	}
	for _, id := range tasks {
		t, err := o.Store.Task(ctx, id)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		at, err := standingAt(ctx, o, id)
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.Line(map[string]any{"task": id, "title": t.Title, "made": t.Made, "partners": append([]concordat.SiteID{}, at...)})
		} else {
			a.Say("%s  %s  %s (%s)", id, t.Made.Local().Format(time.DateTime), t.Title, report.Plural(len(at), "partner keeps it", "partners keep it"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// standingAt returns the partners that keep the questions of a check, each once and in order.
func standingAt(ctx context.Context, o *instance.Instance, task concordat.TaskID) ([]concordat.SiteID, error) {
	asks, err := o.Store.Asks(ctx, task)
	if err != nil {
		return nil, err
	}
	at := map[concordat.SiteID]bool{}
	for _, x := range asks {
		if x.Standing {
			at[x.Site] = true
		}
	}
	return sortedKeys(at), nil
}

func (a *app) alertEnd() *cobra.Command {
	var deadline time.Duration
	c := &cobra.Command{
		Use: "end TASK", Short: "End a check that stays, here and at partners", Args: cobra.ExactArgs(1),
		Long: `End ends a check that stays: here at once, and at each partner that keeps its questions. Partners that could
not be told are named, and the command fails; run it again to tell them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline <= 0 {
				return cli.Usagef("--deadline %v: want more than nothing", deadline)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.endStanding(cmd.Context(), o, concordat.TaskID(args[0]), deadline)
			})
		},
	}
	c.Flags().DurationVar(&deadline, "deadline", site.DefaultDeadline, "how long each partner may take")
	return c
}

func (a *app) endStanding(ctx context.Context, o *instance.Instance, task concordat.TaskID, deadline time.Duration) error {
	at, err := standingAt(ctx, o, task)
	if err != nil {
		return err
	}
	var partners []concordat.Partner
	if len(at) > 0 {
		c, err := a.Partners(ctx, o)
		if err != nil {
			return err
		}
		var closing func()
		if partners, closing, err = c.ConnectAll(at, deadline); err != nil {
			return err
		}
		defer closing()
	}
	err = o.EndStanding(ctx, task, partners...)
	if len(at) == 0 && errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no check %s stays; see concordat alert standing", task)
	}
	left, err2 := standingAt(ctx, o, task)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	if a.JSON {
		err2 = a.Line(map[string]any{"task": task, "told": len(at) - len(left), "left": append([]concordat.SiteID{}, left...)})
	} else if err == nil {
		a.Say("check %s does not stay any more; %s", task, report.Plural(len(at), "partner was told", "partners were told"))
	}
	if len(left) > 0 && err != nil {
		err = fmt.Errorf("%w (ended here; run the same command again to tell the partners named)", err)
	}
	return errors.Join(err, err2)
}
