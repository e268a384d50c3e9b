package sitemap

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"concordat/harvest/xmltree"
)

// List is a document of a source.
type List struct {
	Capability string // description, capabilitylist, resourcelist, changelist and others; empty for a sitemap without ResourceSync
	Index      bool   // its entries are lists of the same kind
	From       string // time at which a change list begins
	Entries    []Entry
}

// Entry is a resource or another list.
type Entry struct {
	URL        string
	Modified   string
	Change     string // created, updated or deleted
	Capability string
	Type       string // media type
	Hash       string // hash of the content, for example sha-256:…
	Canonical  string // address that identifies the resource
	Describes  string // the resource that this metadata describes
	Meta       []Link // metadata of the resource (describedby), at most maxMeta
}

// Link leads to another resource.
type Link struct {
	URL  string
	Type string // media type without parameters, in lower case; empty if unknown
}

// maxEntries is the maximum number of entries in a sitemap.
const maxEntries = 50_000

// maxMeta is the maximum number of an entry's links to metadata.
const maxMeta = 50

var errNone = errors.New("not a sitemap")

// Read parses a list, which must have been cleaned by xmltree.Clean. base is the list's address. Read skips entries without an address.
func Read(base *url.URL, b []byte) (*List, error) {
	n, err := xmltree.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	if n.Name != "urlset" && n.Name != "sitemapindex" {
		return nil, fmt.Errorf("list: %w", errNone)
	}
	l := &List{Index: n.Name == "sitemapindex"}
	for _, k := range n.Kids {
		switch k.Name {
		case "md":
			l.Capability, l.From = k.Attr("capability"), k.Attr("from")
		case "url", "sitemap":
			e := entryOf(base, k)
			if e.URL == "" {
				continue
			}
			if len(l.Entries) >= maxEntries {
				return nil, fmt.Errorf("list has more than %d entries", maxEntries)
			}
			l.Entries = append(l.Entries, e)
		}
	}
	return l, nil
}

func entryOf(base *url.URL, n *xmltree.Node) Entry {
	e := Entry{URL: absolute(base, n.First("loc").Words()), Modified: n.First("lastmod").Words()}
	for _, k := range n.Kids {
		switch k.Name {
		case "md":
			e.Change, e.Capability, e.Type, e.Hash = k.Attr("change"), k.Attr("capability"), k.Attr("type"), k.Attr("hash")
			if at := k.Attr("datetime"); at != "" {
				e.Modified = at
			}
		case "ln":
			at := absolute(base, k.Attr("href"))
			switch k.Attr("rel") {
			case "canonical":
				e.Canonical = at
			case "describes":
				e.Describes = at
			case "describedby":
				if media, _, _ := strings.Cut(k.Attr("type"), ";"); at != "" && len(e.Meta) < maxMeta {
					e.Meta = append(e.Meta, Link{at, strings.ToLower(strings.TrimSpace(media))})
				}
			}
		}
	}
	return e
}

func absolute(base *url.URL, ref string) string {
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

// After reports whether an entry is not earlier than a time, given in RFC 3339 or as a day. An entry without a date can be later and
// therefore counts as later.
func (e Entry) After(at string) bool {
	a, ok := timeOf(e.Modified)
	b, known := timeOf(at)
	return !ok || !known || !a.Before(b)
}

func timeOf(s string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
