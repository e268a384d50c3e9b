package partners

import (
	"context"

	"concordat"
	"concordat/crypto"
	"concordat/store"
)

// NameOf returns the name of a partner: that of its card, or without one that of the invitation.
func NameOf(p store.Partner) string {
	if c, err := crypto.ParseCard(p.Card); err == nil {
		return c.Name
	}
	return p.Name
}

// Names returns the names of the active partners.
func Names(ctx context.Context, db *store.DB) (map[concordat.SiteID]string, error) {
	all, err := db.Partners.Partners(ctx)
	out := map[concordat.SiteID]string{}
	for _, p := range all {
		if p.State == store.PartnerActive {
			out[p.Site] = NameOf(p)
		}
	}
	return out, err
}
