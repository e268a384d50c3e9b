package federating

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
)

func (a *commands) peerRedeem() *cobra.Command {
	var as string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "redeem INVITATION", Aliases: []string{"accept"}, Short: "Redeem an invitation from another site; - reads it from standard input",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[0]
			if text == "-" {
				b, err := io.ReadAll(io.LimitReader(a.Stdin, 8192))
				if err != nil {
					return err
				}
				text = string(b)
			}
			inv, err := partners.ParseInvitation(text)
			if err != nil {
				return err
			}
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				return a.redeem(cmd.Context(), o, id, inv, as, timeout)
			})
		},
	}
	c.Flags().StringVar(&as, "name", "", "name to use for the partner in later commands")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the other site")
	return c
}

func (a *commands) redeem(ctx context.Context, o *instance.Instance, id *crypto.Identity, inv *crypto.Invitation, as string,
	timeout time.Duration) error {
	r, err := a.Roster(ctx, o, id)
	if err != nil {
		return err
	}
	p, err := partners.Redeem(ctx, o, r, inv, as, timeout, instance.Administrator)
	if err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
