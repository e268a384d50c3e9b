package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode"

	"concordat"
	"concordat/report"
)

// Partner is another site that a check can ask.
type Partner struct {
	Site      concordat.SiteID
	Name      string
	Libraries []concordat.OpenLibrary // as last announced; nil if the partner has not announced any
}

// PlatformOwner is the prefix of the owner of checks requested by a learning platform; no account name begins with it.
const PlatformOwner = "lti:"

// Names contains the names of accounts, sites and libraries that a page shows.
type Names struct{ report.Names }

// Of returns the name of an account's owner, or the account name if the owner has not given one.
func (n Names) Of(account string) string { return cmp.Or(n.People[account], account) }

// Partner returns the name of a partner, or its ID if it is no longer a partner.
func (n Names) Partner(id concordat.SiteID) string { return cmp.Or(n.Sites[id], string(id)) }

// Library returns the title of a library of this site, or its name if it has no title.
func (n Names) Library(id concordat.LibraryID) string { return n.LibraryAt(n.Site, id) }

// LibraryAt returns the title of a library of a site.
func (n Names) LibraryAt(site concordat.SiteID, id concordat.LibraryID) string {
	return cmp.Or(n.Libraries[report.LibraryPlace{Site: site, Library: id}], string(id))
}

// Called returns the visitor's display name.
func (v *Visitor) Called() string { return cmp.Or(Visible(v.Title), v.Name) }

// Digest returns a digest of the names, for use as a cache key.
func (n Names) Digest() (string, error) {
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

// Visible replaces with U+FFFD each character that is invisible or changes the order of letters, so that a file named x, override,
// gnp.txt is not read as x.txt.png.
func Visible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}

// CleanName returns the last element of a file name without characters that could do harm when displayed.
func CleanName(name string) string {
	name = path.Base("/" + strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/"))
	name = Visible(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name))
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[len(runes)-120:])
	}
	return name
}
