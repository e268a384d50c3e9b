package federating

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/store"
)

func (a *commands) peerRedeem() *cobra.Command {
	var as string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "redeem INVITATION", Aliases: []string{"accept"}, Short: "Redeem an invitation of another site; - reads it from standard input",
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
			inv, err := crypto.ParseInvitation(text)
			if err != nil {
				return cli.Usage(err)
			}
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				return a.redeem(cmd.Context(), o, id, inv, as, timeout)
			})
		},
	}
	c.Flags().StringVar(&as, "name", "", "name of the partner in later commands")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait for the other site")
	return c
}

func (a *commands) redeem(ctx context.Context, o *instance.Instance, id *crypto.Identity, inv *crypto.Invitation, as string,
	timeout time.Duration) error {
	r, err := a.Roster(ctx, o, id)
	if err != nil {
		return err
	}
	if p, err := o.Store.Partner(ctx, instance.PartnerName(inv.Site)); err == nil && p.State == store.PartnerActive {
		return cli.Usagef("%s is a partner already", inv.Site)
	}
	redeemed, err := federation.Redeem(ctx, inv, r, federation.ClientOptions{Timeout: timeout})
	if err != nil {
		return err
	}
	c := redeemed.Inviter
	words := strings.Join(redeemed.Words[:], " ")
	if err := o.Store.AddPartner(ctx, store.Partner{Site: instance.PartnerName(c.Site), Name: as, Words: words, Serial: c.Serial,
		Card: c.Bytes()}); err != nil {
		return err
	}
	if err := o.Audit(ctx, "invitation redeemed", map[string]any{"site": c.Site, "card": c.Serial}); err != nil {
		return err
	}
	p, err := o.Store.Partner(ctx, instance.PartnerName(c.Site))
	if err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
