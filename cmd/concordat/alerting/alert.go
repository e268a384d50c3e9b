package alerting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/view"
)

func AlertCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "alert", Short: "Show and handle alerts from standing checks", Args: cobra.NoArgs,
		Long: `With --standing, a check keeps watching: later documents that match raise an alert, here and at partners that
agreed to keep its questions. The server receives partners' alerts. If a later document of this site
matches a partner's check, an alert here shows what the partner was told.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.alertList(), a.alertStanding(), a.alertHandle(), a.alertEnd())
	return c
}

// standingAt returns the partners that hold the questions of a check, in order and without duplicates.
func standingAt(ctx context.Context, o *instance.Instance, task concordat.TaskID) ([]concordat.SiteID, error) {
	asks, err := o.Store.Asks.Asks(ctx, task)
	if err != nil {
		return nil, err
	}
	at := map[concordat.SiteID]bool{}
	for _, x := range asks {
		if x.Standing {
			at[x.Site] = true
		}
	}
	return slices.Sorted(maps.Keys(at)), nil
}

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

func (a *commands) alertStanding() *cobra.Command {
	return &cobra.Command{
		Use: "standing", Short: "List standing checks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listStanding(cmd.Context(), o) })
		},
	}
}

func (a *commands) listStanding(ctx context.Context, o *instance.Instance) error {
	tasks, err := o.Site.StandingChecks(ctx)
	if err != nil {
		return err
	}
	for _, id := range tasks {
		t, err := o.Store.Checks.Task(ctx, id)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		at, err := standingAt(ctx, o, id)
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.Line(map[string]any{"check": id, "title": t.Title, "made": t.Made, "partners": append([]concordat.SiteID{}, at...)})
		} else {
			a.Say("%s  %s  %s (%s)", id, t.Made.Local().Format(time.DateTime), t.Title,
				report.Plural(len(at), "partner keeps watching", "partners keep watching"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *commands) alertHandle() *cobra.Command {
	var reopen bool
	c := &cobra.Command{
		Use: "handle NUMBER...", Short: "Mark alerts as handled", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var numbers []int64
			for _, arg := range args {
				n, err := strconv.ParseInt(arg, 10, 64)
				if err != nil || n < 1 {
					return cli.Usagef("%q is not an alert number; see concordat alert list", arg)
				}
				numbers = append(numbers, n)
			}
			change := store.AlertHandle
			if reopen {
				change = store.AlertReopen
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				for _, n := range numbers {
					changed, err := site.ChangeAlert(cmd.Context(), o.Store, n, change, cli.Operator(), time.Now())
					if err != nil {
						return err
					}
					if a.JSON {
						err = a.Line(map[string]any{"number": n, "changed": changed})
					} else if !changed {
						a.Say("alert %d is already in the requested state", n)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&reopen, "reopen", false, "reopen the alerts instead")
	return c
}

func (a *commands) alertEnd() *cobra.Command {
	var deadline time.Duration
	c := &cobra.Command{
		Use: "end TASK", Short: "Stop watching a check, here and at partners", Args: cobra.ExactArgs(1),
		Long: `End stops watching a check, here immediately and at each partner that keeps its questions. Partners that
cannot be reached are named, and the command fails; run it again to notify them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline <= 0 {
				return cli.Usagef("--deadline %v: want a positive duration", deadline)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.endStanding(cmd.Context(), o, concordat.TaskID(args[0]), deadline)
			})
		},
	}
	c.Flags().DurationVar(&deadline, "deadline", site.DefaultDeadline, "time limit for each partner")
	return c
}

func (a *commands) endStanding(ctx context.Context, o *instance.Instance, task concordat.TaskID, deadline time.Duration) error {
	at, err := standingAt(ctx, o, task)
	if err != nil {
		return err
	}
	var all partners.Connections
	if len(at) > 0 {
		c, err := a.Partners(ctx, o)
		if err != nil {
			return err
		}
		if all, err = c.ConnectAll(at, deadline); err != nil {
			return err
		}
		defer all.Close()
	}
	err = o.Asks.EndStanding(ctx, task, all.Listeners()...)
	if len(at) == 0 && errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no check %s is being watched; see concordat alert standing", task)
	}
	left, err2 := standingAt(ctx, o, task)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	if a.JSON {
		err2 = a.Line(map[string]any{"check": task, "told": len(at) - len(left), "left": append([]concordat.SiteID{}, left...)})
	} else if err == nil {
		a.Say("check %s is no longer watched; %s", task, report.Plural(len(at), "partner was told", "partners were told"))
	}
	if len(left) > 0 && err != nil {
		err = fmt.Errorf("%w (this site no longer watches the check; repeat the command to notify the partners named)", err)
	}
	return errors.Join(err, err2)
}
