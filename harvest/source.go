package harvest

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/store"
)

// Kinds of sources.
const (
	KindOAI    = "oai"
	KindSync   = "resourcesync"
	KindFolder = "folder"
)

// Spec describes a source that an administrator wants harvested.
type Spec struct {
	ID        string // if empty, derived from the address
	URL       string // address of a repository or its interface, or of a folder, for example file:///srv/theses
	Kind      string // if empty, determined from the address
	Library   concordat.LibraryID
	Set       string
	Format    string
	Every     time.Duration // 0 for only on request
	Withdrawn string        // the default is store.HarvestDelete
}

const (
	leastEvery = time.Minute
	mostEvery  = 366 * 24 * time.Hour
	maxID      = 64
)

var (
	sourceID = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)
	notID    = regexp.MustCompile(`[^a-z0-9.-]+`)
	// word matches a set or a format (OAI-PMH 2.0, sections 2.6 and 3.4).
	word = regexp.MustCompile(`^[A-Za-z0-9\-_.!~*'():]{0,300}$`)
)

// NewSource returns the source described by a Spec, due immediately if it is scheduled, or an error that wraps concordat.ErrInvalid. It
// rejects folders unless folders is set, since they are only for administrators of the machine.
func NewSource(s Spec, c *fetch.Client, folders bool, now time.Time) (store.HarvestSource, error) {
	h := store.HarvestSource{ID: s.ID, URL: strings.TrimSpace(s.URL), Kind: s.Kind, Library: s.Library, Set: s.Set, Format: s.Format,
		Every: s.Every, Withdrawn: s.Withdrawn, Made: now}
	bad := func(format string, args ...any) (store.HarvestSource, error) {
		return h, fmt.Errorf("%w: %s", concordat.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if h.Withdrawn == "" {
		h.Withdrawn = store.HarvestDelete
	}
	u, err := url.Parse(h.URL)
	switch {
	case err != nil:
		return bad("the address cannot be parsed")
	case u.Scheme == "file":
		if !folders {
			return bad("address: to add a folder, run concordat harvest add on this machine")
		}
		if h.Kind = KindFolder; !filepath.IsAbs(u.Path) || u.Host != "" {
			return bad("address: want file:/// and an absolute path")
		}
	default:
		if _, err := c.Check(h.URL); err != nil {
			return h, err
		}
		if h.Kind == "" {
			h.Kind = KindOAI
			if looksLikeSync(u) {
				h.Kind = KindSync
			}
		}
	}
	if h.ID == "" {
		h.ID = idOf(u)
	}
	switch {
	case !sourceID.MatchString(h.ID):
		return bad("name %.80q: want up to 64 lower-case letters, digits, dots and hyphens", h.ID)
	case h.Kind != KindOAI && h.Kind != KindSync && h.Kind != KindFolder:
		return bad("kind %.80q: want oai or resourcesync", h.Kind)
	case !word.MatchString(h.Set) || !word.MatchString(h.Format):
		return bad("set and format may contain only letters, digits and - _ . ! ~ * ' ( ) :")
	case h.Kind != KindOAI && (h.Set != "" || h.Format != ""):
		return bad("only OAI-PMH sources can have a set or a format")
	case h.Every != 0 && (h.Every < leastEvery || h.Every > mostEvery):
		return bad("every %s: want an interval from one minute to one year", h.Every)
	case h.Withdrawn != store.HarvestDelete && h.Withdrawn != store.HarvestKeep:
		return bad("withdrawn %.80q: want delete or keep", h.Withdrawn)
	}
	if h.Every > 0 {
		h.Next = now
	}
	return h, nil
}

func looksLikeSync(u *url.URL) bool {
	p := strings.ToLower(u.Path)
	for _, name := range []string{"resourcesync", "capabilitylist", "resourcelist", "changelist", "sitemap"} {
		if strings.Contains(p, name) {
			return true
		}
	}
	return false
}

// idOf derives an ID from an address.
func idOf(u *url.URL) string {
	name := u.Host
	if u.Scheme == "file" {
		name = filepath.Base(u.Path)
	}
	name = strings.Trim(notID.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	if name == "" {
		name = "source"
	}
	return strings.TrimRight(name[:min(len(name), maxID)], "-.")
}
