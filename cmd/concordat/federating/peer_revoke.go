package federating

import (
	"context"

	"github.com/spf13/cobra"

	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/store"
)

func (a *commands) peerRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke SITE", Aliases: []string{"remove"}, Short: "Refuse a partner from now on, and close all libraries to it",
		Long: `revoke takes effect with the next message. The site keeps what it has been shown, and the secrets of
federations that it shares with this one: remove it from those (concordat federation remove) as well.`,
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
	if p.State == store.PartnerRevoked {
		return cli.Usagef("%s is revoked already", who)
	}
	// Fail closed: the state first.
	if err := o.Store.SetPartnerState(ctx, p.Site, p.State, store.PartnerRevoked); err != nil {
		return err
	}
	shares, err := o.Store.Shares(ctx, "", p.Site)
	if err != nil {
		return err
	}
	for _, x := range shares {
		if err := o.Answers.Unshare(ctx, x.Library, p.Site); err != nil {
			return err
		}
	}
	if err := o.Audit(ctx, "partner revoked", map[string]any{"site": p.Site}); err != nil {
		return err
	}
	ms, err := o.Store.Memberships(ctx)
	if err != nil {
		return err
	}
	for _, m := range ms {
		for _, x := range m.Members {
			if x.Site == p.Site && x.Removed.IsZero() {
				a.Warn("%s is still in federation %s: concordat federation remove %s %s", who, m.Federation, m.Federation, who)
			}
		}
	}
	if p, err = o.Store.Partner(ctx, p.Site); err != nil {
		return err
	}
	return a.showPartner(ctx, o, p)
}
