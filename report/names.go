package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"concordat"
)

// Names holds the names that people use for the accounts, sites and libraries in a report. Records contain only identities; anything
// without a name here is shown by its identity.
type Names struct {
	Site      concordat.SiteID            // the site of the report; its libraries are shown without its name
	People    map[string]string           // by account
	Libraries map[LibraryPlace]string     // titles
	Sites     map[concordat.SiteID]string // names of sites that the report does not name, including this one
}

// LibraryPlace is a library of a site.
type LibraryPlace struct {
	Site    concordat.SiteID
	Library concordat.LibraryID
}

// Printable returns a name without characters that are invisible or change the order of letters.
func Printable(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name))
}

// Person returns the name of a person, given the account in a record.
func (n Names) Person(account string) string { return cmp.Or(n.People[account], account) }

// shownIdentity is how much of an unreadable identity is shown.
const shownIdentity = 7

// SiteName returns the name of a site for people, which is the one that a partner gives itself. The beginning of its identity is added only
// if another partner has taken the same name.
func (r *Report) SiteName(id concordat.SiteID) string {
	name := cmp.Or(r.Sites[id], r.Names.Sites[id])
	if name == "" {
		return string(id)
	}
	for _, sites := range []map[concordat.SiteID]string{r.Sites, r.Names.Sites} {
		for other, n := range sites {
			if other != id && n == name {
				return name + " (" + string(id[:min(len(id), shownIdentity)]) + ")"
			}
		}
	}
	return name
}

// Place returns where a document is: its library, with the site if that is a partner, and with the document's name if it is this one.
func (r *Report) Place(ref concordat.Ref) string {
	if _, ok := ref.Library.Batch(); ok {
		return r.Language.Say("another document of this batch: %s", string(ref.Document))
	}
	place := r.libraryPlace(ref.Site, ref.Library)
	if atPartner(r, ref.Site) {
		return place // which uses a pseudonym for its document
	}
	return place + "/" + string(ref.Document)
}

// atPartner reports whether a site is a partner: it gave its name, or is not the site of the report.
func atPartner(r *Report, id concordat.SiteID) bool {
	_, named := r.Sites[id]
	return named || r.Names.Site != "" && id != r.Names.Site
}

// LibraryWords returns the name of a library for people: its title, or words for the batch of the submission.
func (r *Report) LibraryWords(s concordat.SiteID, id concordat.LibraryID) string {
	if _, ok := id.Batch(); ok {
		return r.Language.Say("the other documents of this batch")
	}
	return cmp.Or(r.Names.Libraries[LibraryPlace{s, id}], string(id))
}

// libraryPlace returns where a library is.
func (r *Report) libraryPlace(s concordat.SiteID, id concordat.LibraryID) string {
	if _, ok := id.Batch(); ok || s == r.Names.Site {
		return r.LibraryWords(s, id)
	}
	return r.SiteName(s) + "/" + r.LibraryWords(s, id)
}

// mentioned returns the names of people and libraries that the report mentions, and no other names.
func mentioned(r *Report) (people map[string]string, libraries []jsonLibraryName) {
	accounts := map[string]bool{}
	if v := r.Review; v != nil {
		accounts[v.By] = true
		for _, s := range v.Signed {
			accounts[s.By] = true
		}
	}
	for _, p := range r.Rules.ExcludePassages {
		accounts[p.By] = true
	}
	for _, p := range r.Rules.CountWording {
		accounts[p.By] = true
	}
	for _, l := range r.Leads {
		accounts[l.Ruling.By] = true
	}
	for _, l := range r.Later {
		accounts[l.Read.By], accounts[l.Handled.By] = true, true
	}
	for account := range accounts {
		if name := r.Names.People[account]; account != "" && name != "" {
			if people == nil {
				people = map[string]string{}
			}
			people[account] = name
		}
	}
	places := map[LibraryPlace]bool{}
	for _, c := range r.Consulted {
		places[LibraryPlace{c.Site, c.Library}] = true
	}
	for _, s := range r.Sources {
		places[LibraryPlace{s.Site, s.Library}] = true
	}
	for _, l := range r.Leads {
		places[LibraryPlace{l.Source.Site, l.Source.Library}] = true
	}
	sorted := slices.SortedFunc(maps.Keys(places), func(a, b LibraryPlace) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Library, b.Library))
	})
	for _, p := range sorted {
		if title := r.Names.Libraries[p]; title != "" {
			libraries = append(libraries, jsonLibraryName{p.Site, p.Library, title})
		}
	}
	return people, libraries
}

// jsonLibraryName is the title of a library in the JSON form.
type jsonLibraryName struct {
	Site    concordat.SiteID    `json:"site"`
	Library concordat.LibraryID `json:"library"`
	Title   string              `json:"title"`
}
