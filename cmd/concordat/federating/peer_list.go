package federating

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
	"concordat/view"
)

func (a *commands) peerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List partners and open invitations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listPartners(cmd.Context(), o) })
		},
	}
}

func (a *commands) listPartners(ctx context.Context, o *instance.Instance) error {
	ps, err := o.Store.Partners.Partners(ctx)
	if err != nil {
		return err
	}
	asked, err := o.Store.Asks.Exposures(ctx)
	if err != nil {
		return err
	}
	for _, p := range ps {
		c, err := crypto.ParseCard(p.Card)
		if err != nil {
			return fmt.Errorf("parse the card of %s: %w", p.Site, err)
		}
		if a.JSON {
			if err := a.Line(view.OfPartner(p, cmp.Or(c.Name, p.Name, string(p.Site)), asked[p.Site])); err != nil {
				return err
			}
			continue
		}
		a.Say("%-8s %-12s %s  %s", p.State, p.Name, p.Site, c.Name)
	}
	is, err := o.Store.Partners.Invitations(ctx)
	if err != nil {
		return err
	}
	for _, i := range is {
		if !i.Used.IsZero() || time.Now().After(i.Expires) {
			continue
		}
		if a.JSON {
			if err := a.Line(map[string]any{"state": "invited", "note": i.Note, "made": i.Made, "expires": i.Expires,
				"grants": view.OfGrants(i.Grants)}); err != nil {
				return err
			}
			continue
		}
		a.Say("invited  until %s  %s", i.Expires.Local().Format(time.DateTime), i.Note)
	}
	return nil
}
