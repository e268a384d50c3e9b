package rechecking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site/batch"
	"concordat/store"
	"concordat/view"
)

func Command(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "recheck", Short: "Repeat checks and batches on a schedule", Args: cobra.NoArgs,
		Long: `A check or batch can be repeated every few days, or once on a date, against the libraries as they are then.
concordat serve repeats it and names new sources.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var every int
	var on string
	set := &cobra.Command{Use: "set ID", Short: "Repeat a check or batch", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				return a.setRecheck(cmd.Context(), o, args[0],
					every, on)
			})
		}}
	set.Flags().IntVar(&every, "every", 0, "days between repetitions; 0: repeat once, on the date given by --on")
	set.Flags().StringVar(&on, "on", "", "date of the first repetition, YYYY-MM-DD (default: after --every days)")
	list := &cobra.Command{Use: "list", Short: "List repeated checks and batches, with the new sources found", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listRechecks(cmd.Context(), o) })
		}}
	remove := &cobra.Command{Use: "remove ID", Short: "Stop repeating a check or batch", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				kind, err := recheckKind(cmd.Context(), o, args[0])
				if err != nil {
					return err
				}
				return o.Store.Alerts.DeleteRecheck(cmd.Context(), kind, args[0])
			})
		}}
	c.AddCommand(set, list, remove)
	return c
}

// recheckKind reports whether an ID belongs to a batch or to a check.
func recheckKind(ctx context.Context, o *instance.Instance, id string) (string, error) {
	_, err := o.Store.Batches.Batch(ctx, id)
	if err == nil {
		return store.RecheckBatch, nil
	}
	if errors.Is(err, concordat.ErrNotFound) {
		if _, err = o.Store.Checks.Findings(ctx, concordat.TaskID(id)); err == nil {
			return store.RecheckCheck, nil
		}
	}
	if errors.Is(err, concordat.ErrNotFound) {
		err = cli.Usagef("no batch or finished check has the ID %s; see concordat batch list and concordat report list", id)
	}
	return "", err
}

func (a *commands) setRecheck(ctx context.Context, o *instance.Instance, id string, every int, on string) error {
	kind, err := recheckKind(ctx, o, id)
	if err != nil {
		return err
	}
	next, err := batch.RecheckTime(time.Now(), every, on)
	if err != nil {
		return cli.Usage(err)
	}
	r, err := o.Store.Alerts.Recheck(ctx, kind, id)
	if errors.Is(err, concordat.ErrNotFound) {
		r, err = store.Recheck{Kind: kind, Target: id}, nil
	}
	if err != nil {
		return err
	}
	r.Every, r.Next = every, next
	if err := o.Store.Alerts.PutRecheck(ctx, r); err != nil {
		return err
	}
	if a.JSON {
		return printRecheck(ctx, &a.Terminal, o, r)
	}
	a.Say("%s %s will be repeated on %s by concordat serve", kind, id, next.Local().Format(time.DateTime))
	return nil
}

// everyDays returns how often a check is repeated, in words; 0 means once.
func everyDays(n int) string {
	switch n {
	case 0:
		return "once"
	case 1:
		return "every day"
	}
	return fmt.Sprintf("every %d days", n)
}

func (a *commands) listRechecks(ctx context.Context, o *instance.Instance) error {
	all, err := o.Store.Alerts.Rechecks(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		fresh, err := view.Fresh(r)
		if err != nil {
			return err
		}
		if a.JSON {
			if err := printRecheck(ctx, &a.Terminal, o, r); err != nil {
				return err
			}
			continue
		}
		next := "no more"
		if !r.Next.IsZero() {
			next = r.Next.Local().Format(time.DateTime)
		}
		a.Say("%s %s: %s, next %s", r.Kind, r.Target, everyDays(r.Every), next)
		for _, f := range fresh {
			a.Say("  new: %s/%s (%s), %.0f%%", f.Library, f.Document, f.Title, 100*f.Share)
		}
	}
	return nil
}

// printRecheck prints a recheck as one line of JSON.
func printRecheck(ctx context.Context, t *cli.Terminal, o *instance.Instance, r store.Recheck) error {
	fresh, err := view.Fresh(r)
	if err != nil {
		return err
	}
	var title string
	if r.Kind == store.RecheckBatch {
		var b store.Batch
		b, err = o.Store.Batches.Batch(ctx, r.Target)
		title = b.Title
	} else {
		var task store.Task
		task, err = o.Store.Checks.Task(ctx, concordat.TaskID(r.Target))
		title = task.Title
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted in the meantime
		return err
	}
	return t.Line(view.OfRecheck(r, title, fresh))
}
