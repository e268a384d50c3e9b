package site

import (
	"context"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// Names returns the display names of this site, its accounts and its libraries for reports. The caller adds the names of partners.
func Names(ctx context.Context, db *store.DB, id concordat.SiteID, title string) (report.Names, error) {
	n := report.Names{Site: id, Sites: map[concordat.SiteID]string{}, People: map[string]string{},
		Libraries: map[report.LibraryPlace]string{}}
	if title != "" {
		n.Sites[id] = title
	}
	accounts, err := db.People.Accounts(ctx)
	if err != nil {
		return n, err
	}
	first := map[string]string{} // the first account with each name
	for _, a := range accounts {
		title := report.Printable(a.Title)
		if title == "" {
			continue
		}
		if other, twice := first[title]; twice { // people with the same name are distinguished by account
			n.People[other], n.People[a.Name] = title+" ("+other+")", title+" ("+a.Name+")"
			continue
		}
		first[title], n.People[a.Name] = a.Name, title
	}
	libraries, err := db.Catalogue.Libraries(ctx)
	for _, l := range libraries {
		if title := report.Printable(l.Title); title != "" {
			n.Libraries[report.LibraryPlace{Site: id, Library: l.ID}] = title
		}
	}
	return n, err
}
