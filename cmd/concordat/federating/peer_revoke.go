package federating

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/instance"
	"concordat/partners"
)

func (a *commands) peerRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke SITE", Aliases: []string{"remove"}, Short: "Refuse a partner from now on and stop sharing with it",
		Long: `Revoke takes effect with the next message. The revoked site keeps what it has been shown, and the secrets of the
federations that both sites belong to, so also remove it from those federations (concordat federation remove).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.revoke(cmd.Context(), o, args[0]) })
		},
	}
	c.ValidArgsFunction = a.completePartners
	return c
}

func (a *commands) revoke(ctx context.Context, o *instance.Instance, who string) error {
	p, err := o.Partner(ctx, who)
	if err != nil {
		return err
	}
	in, err := partners.Revoke(ctx, o, p, instance.Administrator)
	if err != nil {
		return err
	}
	for _, f := range in {
		a.Warn("%s is still in federation %s; to remove it, run concordat federation remove %s %s", who, f, f, who)
	}
	if p, err = o.Store.Partners.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
