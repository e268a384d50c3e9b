package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// called contains the names of accounts, sites and libraries that a page shows.
type called struct{ report.Names }

// Of returns the name of the person with an account, or the account if the person has given no name.
func (c called) Of(account string) string { return cmp.Or(c.People[account], account) }

// Partner returns the name of a partner, or its identity if it is no longer a partner.
func (c called) Partner(id concordat.SiteID) string { return cmp.Or(c.Sites[id], string(id)) }

// Library returns the title of a library of this site, or its name if it has no title.
func (c called) Library(id concordat.LibraryID) string { return c.LibraryAt(c.Site, id) }

// LibraryAt returns the title of a library of a site.
func (c called) LibraryAt(site concordat.SiteID, id concordat.LibraryID) string {
	return cmp.Or(c.Libraries[report.LibraryPlace{Site: site, Library: id}], string(id))
}

// Called returns the visitor's name.
func (v *Visitor) Called() string { return cmp.Or(visible(v.Title), v.Name) }

// calledOn returns the names of people, sites and libraries for pages and reports.
func calledOn(ctx context.Context, w *Web) (called, error) {
	n, err := site.Names(ctx, w.o.Store, w.o.Site.ID(), w.o.Title())
	if err != nil {
		return called{n}, err
	}
	partners, err := w.o.Partners(ctx)
	for _, p := range partners {
		n.Sites[p.Site] = visible(p.Name)
		for _, l := range p.Libraries {
			if title := visible(l.Title); title != "" {
				n.Libraries[report.LibraryPlace{Site: p.Site, Library: l.ID}] = title
			}
		}
	}
	return called{n}, err
}

// namesDigest returns a digest of the names, for caches.
func namesDigest(n report.Names) (string, error) {
	titles := map[string]string{}
	for place, title := range n.Libraries {
		titles[string(place.Site)+"/"+string(place.Library)] = title
	}
	b, err := json.Marshal([]any{n.People, n.Sites, titles})
	if err != nil {
		return "", fmt.Errorf("names: %w", err)
	}
	sum := sha256.Sum256(b)
	return string(sum[:16]), nil
}
