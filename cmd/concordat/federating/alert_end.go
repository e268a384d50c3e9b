package federating

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/site"
)

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
	err = o.Asks.EndStanding(ctx, task, partners...)
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
