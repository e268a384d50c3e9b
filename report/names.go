package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"concordat"
)

// Names holds display names for the accounts, sites and libraries in a report. Records contain only identities; anything without a name
// here is displayed as its identity.
type Names struct {
	Site      concordat.SiteID            // site of the report; its libraries are displayed without its name
	People    map[string]string           // by account
	Libraries map[LibraryPlace]string     // titles
	Sites     map[concordat.SiteID]string // names of sites missing from the report, including this one
}

// LibraryPlace identifies a library of a site.
type LibraryPlace struct {
	Site    concordat.SiteID
	Library concordat.LibraryID
}

// Printable returns name without characters that are invisible or reorder text.
func Printable(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name))
}

// Person returns the display name for an account in a record.
func (n Names) Person(account string) string { return cmp.Or(n.People[account], account) }

// shownIdentity is the number of characters displayed of an unreadable identity.
const shownIdentity = 7

// SiteName returns the display name of a site, as chosen by the partner. It appends the start of the identity only if another partner
// uses the same name.
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

// Place describes where a document is: its library, then the site for a partner's document, or the document's name for a document of this
// site.
func (r *Report) Place(ref concordat.Ref) string {
	if _, ok := ref.Library.Batch(); ok {
		return r.Language.Say("another document of this batch: %s", string(ref.Document))
	}
	place := r.libraryPlace(ref.Site, ref.Library)
	if atPartner(r, ref.Site) {
		return place // the partner uses a pseudonym for its document
	}
	return place + "/" + string(ref.Document)
}

// SourcePlace describes where a document is, for display after its title: like Report.Place, but without the document's name.
func SourcePlace(r *Report, ref concordat.Ref) string {
	if _, ok := ref.Library.Batch(); ok {
		return r.Place(ref)
	}
	return r.libraryPlace(ref.Site, ref.Library)
}

// atPartner reports whether a site is a partner: it provided a name, or it is not the site of the report.
func atPartner(r *Report, id concordat.SiteID) bool {
	_, named := r.Sites[id]
	return named || r.Names.Site != "" && id != r.Names.Site
}

// LibraryWords returns the display name of a library: its title, or a description for the batch of the submission.
func (r *Report) LibraryWords(s concordat.SiteID, id concordat.LibraryID) string {
	if _, ok := id.Batch(); ok {
		return r.Language.Say("the other documents of this batch")
	}
	return cmp.Or(r.Names.Libraries[LibraryPlace{s, id}], string(id))
}

// libraryPlace describes where a library is.
func (r *Report) libraryPlace(s concordat.SiteID, id concordat.LibraryID) string {
	if _, ok := id.Batch(); ok || s == r.Names.Site {
		return r.LibraryWords(s, id)
	}
	return r.SiteName(s) + "/" + r.LibraryWords(s, id)
}

// mentioned returns only the names of people and libraries that the report mentions.
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
