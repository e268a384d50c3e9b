package partners

import (
	"context"
	"maps"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// NameOf returns a partner's name from its card or, without a card, from the invitation.
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

// ReportNames returns the display names of the accounts, sites and libraries in a report.
func ReportNames(ctx context.Context, o *instance.Instance) (report.Names, error) {
	n, err := site.Names(ctx, o.Store, o.Site.ID(), o.Live.Now().Site.Title)
	if err != nil {
		return n, err
	}
	names, err := Names(ctx, o.Store)
	maps.Copy(n.Sites, names)
	return n, err
}
