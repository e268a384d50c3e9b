package federating

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

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
