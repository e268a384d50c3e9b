package concordat

import (
	"net/url"
	"regexp"
	"strings"
)

// Work describes the publication to which a document's text belongs, according to the repository that provided it. Any field can be
// empty.
type Work struct {
	Title      string    `json:"title,omitempty"`
	Creators   []Creator `json:"creators,omitempty"`
	Date       Date      `json:"date,omitempty"`
	License    string    `json:"license,omitempty"` // an address or a description
	Embargo    Date      `json:"embargo,omitempty"` // first day on which the text may be read
	IDs        []WorkID  `json:"ids,omitempty"`     // persistent identifiers without duplicates
	Page       string    `json:"page,omitempty"`    // address of the repository's page about it
	Repository string    `json:"repository,omitempty"`
}

// Creator is an author of a work.
type Creator struct {
	Name  string `json:"name"`
	ORCID string `json:"orcid,omitempty"` // 0000-0000-0000-0000
	ROR   string `json:"ror,omitempty"`   // ROR ID of the author's organisation, without an address
}

// Authors returns the names of the creators, separated by semicolons.
func (w Work) Authors() string {
	names := make([]string, 0, len(w.Creators))
	for _, c := range w.Creators {
		names = append(names, c.Name)
	}
	return strings.Join(names, "; ")
}

// PageURL returns the address of the repository's page if it can be used as a link, and otherwise "".
func (w Work) PageURL() string { return webAddress(w.Page) }

// LicenseURL returns the address of the licence, or "" if the licence is only described or unknown.
func (w Work) LicenseURL() string { return webAddress(w.License) }

// webAddress returns text if it is a web address and otherwise "". The text comes from a repository and is used as a link.
func webAddress(text string) string {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		strings.ContainsAny(text, " \n\t") {
		return ""
	}
	return text
}

// URL returns the address of the author's ORCID record, or "" if it is unknown.
func (c Creator) URL() string {
	if c.ORCID == "" {
		return ""
	}
	return WorkID{SchemeORCID, c.ORCID}.URL()
}

// OrganisationURL returns the address of the ROR record of the author's organisation, or "" if it is unknown.
func (c Creator) OrganisationURL() string {
	if c.ROR == "" {
		return ""
	}
	return WorkID{SchemeROR, c.ROR}.URL()
}

// Limits of ParseCreators.
const (
	MaxCreators = 64
	maxCreators = 8 << 10 // in bytes
)

// orcidIn matches an ORCID iD in a text, including any surrounding brackets or address.
var orcidIn = regexp.MustCompile(`(?i)[(\[<]?\s*(?:orcid:?\s*|https?://(?:www\.)?orcid\.org/)?([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])\s*[)\]>]?`)

// ParseCreators parses authors separated by semicolons, line breaks or ampersands, each optionally followed by an ORCID iD: "Jane Doe
// (0000-0002-1825-0097); Roe, Richard". It reads at most MaxCreators.
func ParseCreators(text string) []Creator {
	text = text[:min(len(text), maxCreators)]
	text = strings.NewReplacer("\n", ";", "\r", ";", "&", ";", "；", ";", "、", ";").Replace(text)
	for _, and := range []string{" and ", " und ", " et "} {
		text = strings.ReplaceAll(text, and, ";")
	}
	var out []Creator
	for part := range strings.SplitSeq(text, ";") {
		var c Creator
		if m := orcidIn.FindStringSubmatch(part); m != nil {
			if id := strings.ToUpper(m[1]); orcidHolds(id) {
				c.ORCID = id
			}
			part = strings.Replace(part, m[0], " ", 1)
		}
		c.Name = strings.Trim(strings.ToValidUTF8(strings.Join(strings.Fields(part), " "), ""), " ,")
		if c != (Creator{}) && len(out) < MaxCreators {
			out = append(out, c)
		}
	}
	return out
}

// WorkID is a persistent identifier.
type WorkID struct {
	Scheme string `json:"scheme"` // one of the schemes below
	Value  string `json:"value"`  // without prefix or resolver
}

// Schemes of a WorkID.
const (
	SchemeDOI    = "doi"
	SchemeHandle = "handle"
	SchemeURN    = "urn"
	SchemeORCID  = "orcid"
	SchemeROR    = "ror"
)

// OfWork reports whether the identifier belongs to a work rather than a person or an organisation.
func (id WorkID) OfWork() bool { return id.Scheme != SchemeORCID && id.Scheme != SchemeROR }

// resolvers are the addresses at which identifiers resolve, by scheme.
var resolvers = map[string]string{SchemeDOI: "https://doi.org/", SchemeHandle: "https://hdl.handle.net/",
	SchemeURN: "https://nbn-resolving.org/", SchemeORCID: "https://orcid.org/", SchemeROR: "https://ror.org/"}

// idForms match the written forms of identifiers. Their first group is the value.
var idForms = []struct {
	scheme string
	form   *regexp.Regexp
}{
	{SchemeDOI, regexp.MustCompile(`(?i)^(?:doi:\s*|info:doi/|https?://(?:dx\.)?doi\.org/)?(10\.[0-9.]{4,20}/\S{1,500})$`)},
	{SchemeHandle, regexp.MustCompile(`(?i)^(?:hdl:\s*|info:hdl/|https?://hdl\.handle\.net/)([0-9][0-9.]{0,30}/\S{1,500})$`)},
	{SchemeURN, regexp.MustCompile(`(?i)^(?:https?://nbn-resolving\.(?:org|de)/)?(urn:nbn:\S{1,500})$`)},
	{SchemeORCID, regexp.MustCompile(`(?i)^(?:orcid:\s*|https?://(?:www\.)?orcid\.org/)?([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])$`)},
	{SchemeROR, regexp.MustCompile(`(?i)^(?:ror:\s*|https?://ror\.org/)(0[a-z0-9]{6}[0-9]{2})$`)},
}

// ParseWorkID parses a text that consists of a persistent identifier: a DOI (also without prefix), a Handle, a URN of a national library,
// an ORCID iD with a valid check digit (also without prefix), or a ROR ID. DOIs, ORCID iDs and ROR IDs are case-insensitive and are
// returned in a canonical case.
func ParseWorkID(text string) (WorkID, bool) {
	text = strings.TrimSpace(text)
	for _, f := range idForms {
		m := f.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		id := WorkID{f.scheme, m[1]}
		switch f.scheme {
		case SchemeDOI, SchemeROR, SchemeURN:
			id.Value = strings.ToLower(id.Value)
		case SchemeORCID:
			id.Value = strings.ToUpper(id.Value)
			if !orcidHolds(id.Value) {
				return WorkID{}, false
			}
		}
		return id, true
	}
	return WorkID{}, false
}

// orcidHolds reports whether the check digit of an ORCID iD is valid (ISO 7064, MOD 11-2).
func orcidHolds(id string) bool {
	total := 0
	digits := strings.ReplaceAll(id, "-", "")
	for _, c := range digits[:15] {
		total = (total + int(c-'0')) * 2
	}
	check := (12 - total%11) % 11
	return digits[15] == "0123456789X"[check]
}

// URL returns the address at which the identifier resolves, or "" if its scheme has no resolver.
func (id WorkID) URL() string {
	base, ok := resolvers[id.Scheme]
	if !ok {
		return ""
	}
	// Identifiers can contain characters that an address cannot, such as < and >.
	return base + (&url.URL{Path: id.Value}).EscapedPath()
}
