package deleting

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) deleteReceipt() *cobra.Command {
	return &cobra.Command{Use: "receipt ID", Short: "Print the receipt of a deletion as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				e, err := o.Store.Retention.Erasure(cmd.Context(), args[0])
				if errors.Is(err, concordat.ErrNotFound) || err == nil && e.Receipt == nil {
					return cli.Usagef("no receipt %s; see concordat delete list", args[0])
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Stdout, "%s\n", e.Receipt)
				return err
			})
		}}
}
