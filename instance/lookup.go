package instance

import (
	"context"
	"errors"
	"slices"
	"strings"

	"concordat"
	"concordat/crypto"
	"concordat/store"
)

// Membership returns the store's record of a federation, or a usage error for an unknown one.
func Membership(ctx context.Context, db *store.DB, f string) (store.Membership, error) {
	ms, err := db.Partners.Memberships(ctx)
	if err != nil {
		return store.Membership{}, err
	}
	i := slices.IndexFunc(ms, func(m store.Membership) bool { return string(m.Federation) == f })
	if i < 0 {
		return store.Membership{}, Usagef("unknown federation %s; list federations with concordat federation show", f)
	}
	return ms[i], nil
}

// Members returns the sites currently in the federation.
func Members(m store.Membership) []concordat.SiteID {
	var sites []concordat.SiteID
	for _, x := range m.Members {
		if x.Removed.IsZero() {
			sites = append(sites, x.Site)
		}
	}
	return sites
}

// Library returns the named library; for an unknown name, it returns a usage error that lists the existing libraries.
func Library(ctx context.Context, db *store.DB, name string) (store.Library, error) {
	l, err := db.Catalogue.Library(ctx, concordat.LibraryID(name))
	if !errors.Is(err, concordat.ErrNotFound) {
		return l, err
	}
	all, err := db.Catalogue.Libraries(ctx)
	if err != nil {
		return l, err
	}
	names := make([]concordat.LibraryID, len(all))
	for i, l := range all {
		names[i] = l.ID
	}
	if len(names) == 0 {
		return l, Usagef("library %s does not exist; create it with concordat library create %s", name, name)
	}
	return l, Usagef("library %s does not exist; available libraries: %s", name, NameList(names))
}

// Partner returns a partner by its identity in any form, or by its name on this site.
func Partner(ctx context.Context, db *store.DB, text string) (store.Partner, error) {
	site := concordat.SiteID(text)
	if id, err := crypto.ParseSiteID(text); err == nil {
		site = PartnerName(id)
	}
	p, err := db.Partners.Partner(ctx, site)
	if errors.Is(err, concordat.ErrNotFound) {
		return p, Usagef("unknown partner %s; list partners with concordat peer list", text)
	}
	return p, err
}

// NameList joins names for a message.
func NameList[K ~string](names []K) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = string(n)
	}
	return strings.Join(all, ", ")
}
