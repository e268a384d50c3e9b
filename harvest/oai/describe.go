package oai

import (
	"bytes"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/harvest/xmltree"
	"concordat/store"
)

// Access states who may read the text of a work, according to its repository.
type Access int

// The kinds of access.
const (
	Open      Access = iota // no restriction is stated
	Embargoed               // until Work.Embargo or, if that is empty, until an unknown day
	Closed
)

// Description contains the parts of a record that the site uses.
type Description struct {
	Work   concordat.Work
	Access Access
	Files  []store.HarvestFile // best first
}

const (
	maxFiles    = 20
	maxCreators = 100
	maxWords    = 2000 // bytes of a title or a licence
)

// Describe reads the metadata of a record. base is the address of the interface. today determines whether an embargo has ended.
func Describe(r Record, base string, today time.Time) Description {
	b := &builder{today: concordat.Date(today.Format(time.DateOnly)), ids: map[concordat.WorkID]bool{}, urls: map[string]bool{}}
	if u, err := url.Parse(base); err == nil {
		b.host = u.Hostname()
	}
	if r.Meta != nil {
		b.read(r)
	}
	return b.done()
}

// builder accumulates a description.
type builder struct {
	host  string
	today concordat.Date
	d     Description
	ids   map[concordat.WorkID]bool
	urls  map[string]bool // known addresses of files and pages
	pages []string
	words []string // statements about rights
}

func (b *builder) read(r Record) {
	switch n := r.Meta; n.Name {
	case "article": // JATS
		b.jats(n, r.Raw)
	case "mets":
		b.mods(n.First("mods"))
		b.plain(n.First("dc"))
		b.mets(n)
	case "mods":
		b.mods(n)
	case "resource", "oai_datacite": // DataCite, alone or wrapped
		b.datacite(n)
	case "record", "collection":
		b.marc(n)
	case "metadata": // DSpace
		b.dspace(n)
	case "entry", "RDF":
		b.ore(n)
	default: // Dublin Core, simple and qualified, and formats with its elements, such as RIOXX
		b.plain(n)
	}
}

// done decides on access and sorts the locations of the text.
func (b *builder) done() Description {
	w := &b.d.Work
	for _, words := range b.words {
		b.rights(words)
	}
	if w.Embargo != "" && w.Embargo <= b.today { // the embargo has ended
		w.Embargo = ""
		if b.d.Access == Embargoed {
			b.d.Access = Open
		}
	}
	if w.Embargo != "" && b.d.Access == Open {
		b.d.Access = Embargoed
	}
	// The repository's own page comes before the addresses of resolvers, which only redirect to it.
	slices.SortStableFunc(b.pages, func(x, y string) int { return b.rank(x) - b.rank(y) })
	if len(b.pages) > 0 {
		w.Page = b.pages[0]
	}
	for _, id := range w.IDs {
		if u := id.URL(); u != "" && (id.Scheme == concordat.SchemeDOI || id.Scheme == concordat.SchemeHandle) &&
			!slices.Contains(b.pages, u) {
			b.pages = append(b.pages, u)
			if w.Page == "" {
				w.Page = u
			}
		}
	}
	for _, p := range b.pages[:min(len(b.pages), 3)] {
		b.d.Files = append(b.d.Files, store.HarvestFile{URL: p, Page: true})
	}
	return b.d
}

// rank orders pages, with pages on the repository's host first.
func (b *builder) rank(page string) int {
	u, err := url.Parse(page)
	switch {
	case err != nil:
		return 2
	case strings.EqualFold(u.Hostname(), b.host):
		return 0
	}
	return 1
}

func (b *builder) title(t string) {
	if b.d.Work.Title == "" {
		b.d.Work.Title = cut(t)
	}
}

func cut(t string) string {
	if len(t) <= maxWords {
		return t
	}
	return strings.ToValidUTF8(t[:maxWords], "")
}

func (b *builder) creator(name string, ids ...string) {
	all := &b.d.Work.Creators
	id, isID := concordat.ParseWorkID(name)
	switch {
	case name == "" || len(*all) >= maxCreators:
		return
	case isID && id.Scheme == concordat.SchemeORCID: // some repositories list it after the name
		if n := len(*all); n > 0 && (*all)[n-1].ORCID == "" {
			(*all)[n-1].ORCID = id.Value
		}
		return
	}
	c := concordat.Creator{Name: cut(name)}
	for _, text := range ids {
		switch id, _ := concordat.ParseWorkID(text); id.Scheme {
		case concordat.SchemeORCID:
			c.ORCID = id.Value
		case concordat.SchemeROR:
			c.ROR = id.Value
		}
	}
	*all = append(*all, c)
}

// date records the date of the work, which is the first value that can be parsed as a date.
func (b *builder) date(text string) {
	if end, ok := strings.CutPrefix(text, "info:eu-repo/date/embargoEnd/"); ok {
		b.embargo(end)
		return
	}
	if b.d.Work.Date != "" {
		return
	}
	b.d.Work.Date = dateOf(text)
}

// dateOf parses a date, with or without a time. It returns an empty date for other texts.
func dateOf(text string) concordat.Date {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "T")
	if d, err := concordat.ParseDate(text); err == nil {
		return d
	}
	return ""
}

// embargo records the first day on which the text may be read. The latest of several days counts.
func (b *builder) embargo(text string) {
	if d := dateOf(text); d > b.d.Work.Embargo {
		b.d.Work.Embargo = d
	}
}

// available is like embargo for a date that is often in the past or only a year; it uses only days in the future.
func (b *builder) available(text string) {
	if d := dateOf(text); len(d) == len(time.DateOnly) && d > b.today {
		b.embargo(string(d))
	}
}

// rights reads a rights statement, which states who may read the text (info:eu-repo and COAR Access Rights 1.0), and the licence.
func (b *builder) rights(words string) {
	lower := strings.ToLower(words)
	is := func(all ...string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(lower, s) })
	}
	switch {
	case is("semantics/embargoedaccess", "access_right/c_f1cf") || lower == "embargoed access":
		b.d.Access = max(b.d.Access, Embargoed)
	case is("semantics/closedaccess", "semantics/restrictedaccess", "access_right/c_14cb", "access_right/c_16ec") ||
		slices.Contains([]string{"closed access", "restricted access", "metadata only access"}, lower):
		b.d.Access = Closed
	case is("semantics/openaccess", "access_right/c_abf2") || lower == "open access":
	case b.d.Work.License == "" || is("creativecommons.org/") && !strings.Contains(b.d.Work.License, "creativecommons.org/"):
		b.d.Work.License = cut(words)
	}
}

// textForms maps the extensions of text files to media types.
var textForms = map[string]string{".pdf": "application/pdf",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".doc":  "application/msword", ".odt": "application/vnd.oasis.opendocument.text", ".rtf": "application/rtf",
	".tex": "application/x-tex",
	".txt": "text/plain", ".epub": "application/epub+zip", ".ps": "application/postscript", ".xml": "application/xml",
	".md": "text/markdown"}

// IsText reports whether a media type or, without one, a file name's extension belongs to a format in which works are published. Web
// pages do not count because they only lead to texts.
func IsText(media, name string) bool {
	media = strings.ToLower(media)
	if media == "" || media == "application/octet-stream" || media == "application/download" {
		_, ok := textForms[strings.ToLower(path.Ext(name))]
		return ok
	}
	for _, known := range textForms {
		if media == known {
			return true
		}
	}
	return media == "text/xml" || media == "text/rtf" || media == "application/x-pdf"
}

// identifier records a persistent identifier, a file or a page.
func (b *builder) identifier(text, media string) {
	text = strings.TrimSpace(text)
	if id, ok := concordat.ParseWorkID(text); ok {
		if !b.ids[id] && id.Scheme != concordat.SchemeORCID && id.Scheme != concordat.SchemeROR && len(b.ids) < maxFiles {
			b.ids[id] = true
			b.d.Work.IDs = append(b.d.Work.IDs, id)
		}
		return
	}
	if u := address(text); u != nil {
		if IsText("", u.Path) {
			b.file(text, media, "")
		} else if !b.urls[text] && len(b.pages) < maxFiles {
			b.urls[text] = true
			b.pages = append(b.pages, text)
		}
	}
}

// address parses a web address; it returns nil for other texts.
func address(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, " \n\t") ||
		len(text) > maxWords {
		return nil
	}
	return u
}

// file records the location of a text.
func (b *builder) file(at, media, name string) {
	if address(at) == nil || b.urls[at] || len(b.d.Files) >= maxFiles {
		return
	}
	b.urls[at] = true
	b.d.Files = append(b.d.Files, store.HarvestFile{URL: at, Type: media, Name: name})
}

// plain reads elements of Dublin Core, and of vocabularies with the same element names.
func (b *builder) plain(n *xmltree.Node) {
	if n == nil {
		return
	}
	for _, k := range n.Kids {
		text := k.Words()
		switch k.Name {
		case "title":
			b.title(text)
		case "creator", "author":
			b.creator(text, k.Attr("id"), k.Attr("authorityID"))
		case "date", "issued", "publication_date", "dateAccepted", "created":
			b.date(text)
		case "available", "embargo", "embargoDate":
			b.available(text)
		case "free_to_read":
			b.available(k.Attr("start_date"))
		case "license_ref":
			b.d.Work.License = cut(text)
		case "rights", "accessRights", "license":
			b.words = append(b.words, text)
		case "identifier", "version_of_record":
			b.identifier(text, k.Attr("format"))
		case "relation", "source", "hasFormat", "isFormatOf":
			if u := address(text); u != nil && IsText("", u.Path) {
				b.file(text, "", "")
			}
		}
	}
}

// left lists the groups of files that are not part of the work.
var left = []string{"LICENSE", "CC-LICENSE", "THUMBNAIL", "BRANDED_PREVIEW", "TEXT", "SWORD", "METADATA", "ORE", "PREVIEW", "SWORD_PACKAGE"}

func (b *builder) mets(n *xmltree.Node) {
	for _, group := range n.Find("fileGrp") {
		if slices.Contains(left, strings.ToUpper(group.Attr("USE"))) {
			continue
		}
		for _, f := range group.Find("file") {
			if at := f.First("FLocat"); at != nil && IsText(f.Attr("MIMETYPE"), at.Attr("href")) {
				b.file(at.Attr("href"), f.Attr("MIMETYPE"), at.Attr("title"))
			}
		}
	}
}

func (b *builder) mods(n *xmltree.Node) {
	if n == nil {
		return
	}
	for _, k := range n.Kids {
		switch k.Name {
		case "titleInfo":
			b.title(strings.TrimSpace(k.First("title").Words()))
		case "name":
			if role := strings.ToLower(k.First("roleTerm").Words()); role == "" || role == "author" || role == "aut" || role == "creator" {
				b.creator(strings.Join(k.Texts("namePart"), ", "), k.Texts("nameIdentifier")...)
			}
		case "originInfo":
			b.date(k.First("dateIssued").Words())
		case "identifier":
			text := k.Words()
			if kind := k.Attr("type"); kind == "hdl" && !strings.Contains(text, ":") {
				text = "hdl:" + text
			}
			b.identifier(text, "")
		case "location":
			for _, u := range k.Find("url") {
				if u.Attr("access") == "raw object" {
					b.file(u.Words(), "", "")
				} else {
					b.identifier(u.Words(), "")
				}
			}
		case "accessCondition":
			b.words = append(b.words, k.Words())
		}
	}
}

func (b *builder) datacite(n *xmltree.Node) {
	if n.Name == "oai_datacite" {
		n = n.First("resource")
	}
	for _, t := range n.First("titles").Texts("title") {
		b.title(t)
	}
	for _, c := range n.First("creators").Find("creator") {
		ids := c.Texts("nameIdentifier")
		for _, a := range c.Find("affiliation") {
			ids = append(ids, a.Attr("affiliationIdentifier"))
		}
		b.creator(c.First("creatorName").Words(), ids...)
	}
	for _, id := range n.Find("identifier") {
		b.identifier(id.Words(), "")
	}
	for _, id := range n.Find("alternateIdentifier") {
		b.identifier(id.Words(), "")
	}
	for _, d := range n.Find("date") {
		switch d.Attr("dateType") {
		case "Issued":
			b.date(d.Words())
		case "Available":
			b.available(d.Words())
		}
	}
	b.date(n.First("publicationYear").Words())
	for _, r := range n.Find("rights") {
		b.words = append(b.words, r.Attr("rightsURI"), r.Words())
	}
	b.words = slices.DeleteFunc(b.words, func(s string) bool { return s == "" })
}

func (b *builder) marc(n *xmltree.Node) {
	for _, f := range n.Find("datafield") {
		sub := func(code string) string {
			for _, s := range f.Kids {
				if s.Attr("code") == code {
					return s.Words()
				}
			}
			return ""
		}
		switch f.Attr("tag") {
		case "245":
			b.title(strings.TrimRight(strings.TrimSpace(sub("a")+" "+sub("b")), " /:"))
		case "100", "700":
			b.creator(sub("a"), sub("0"))
		case "024", "856":
			b.identifier(sub("a"), "")
			b.identifier(sub("u"), sub("q"))
		case "260", "264":
			b.date(strings.Trim(sub("c"), "[]. ©c"))
		case "540", "506":
			b.words = append(b.words, strings.TrimSpace(sub("u")+" "+sub("a")))
		}
	}
}

// dspace reads a record in DSpace's own format (xoai), in which the names of nested elements together form a field name.
func (b *builder) dspace(n *xmltree.Node) {
	var walk func(n *xmltree.Node, name string)
	walk = func(n *xmltree.Node, name string) {
		for _, k := range n.Kids {
			switch {
			case k.Name == "element" && k.Attr("name") == "bundles":
				b.bundles(k)
			case k.Name == "element":
				walk(k, strings.TrimPrefix(name+"."+k.Attr("name"), "."))
			case k.Name == "field" && k.Attr("name") == "value":
				b.dspaceField(name, k.Words())
			}
		}
	}
	walk(n, "")
}

// dspaceField reads a field; a language can follow its name.
func (b *builder) dspaceField(name, text string) {
	is := func(prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+".") }
	switch {
	case is("dc.title.alternative"):
	case is("dc.title"):
		b.title(text)
	case is("dc.contributor.author"), is("dc.creator"):
		b.creator(text)
	case is("dc.date.issued"):
		b.date(text)
	case is("dc.date.embargo"), is("dc.embargo"), is("dc.description.embargo"):
		b.embargo(text)
	case is("dc.rights"), is("dcterms.accessRights"):
		b.words = append(b.words, text)
	case is("dc.identifier"):
		b.identifier(text, "")
	}
}

func (b *builder) bundles(n *xmltree.Node) {
	field := func(n *xmltree.Node, name string) string {
		for _, k := range n.Kids {
			if k.Name == "field" && k.Attr("name") == name {
				return k.Words()
			}
		}
		return ""
	}
	for _, bundle := range n.Kids {
		if bundle.Name != "element" || slices.Contains(left, strings.ToUpper(field(bundle, "name"))) {
			continue
		}
		for _, list := range bundle.Kids {
			for _, f := range list.Kids {
				if at := field(f, "url"); at != "" && IsText(field(f, "format"), field(f, "name")) {
					b.file(at, field(f, "format"), field(f, "name"))
				}
			}
		}
	}
}

// ore reads a resource map, in Atom or RDF.
func (b *builder) ore(n *xmltree.Node) {
	group := map[string]string{} // in DSpace, the bundle of a file
	for _, d := range n.Find("Description") {
		if text := d.First("description").Words(); text != "" {
			group[d.Attr("about")] = text
		}
		b.plain(d)
	}
	if n.Name == "entry" {
		for _, k := range n.Kids {
			switch {
			case k.Name == "title":
				b.title(k.Words())
			case k.Name == "author":
				b.creator(k.First("name").Words())
			case k.Name == "published":
				b.date(k.Words())
			case k.Name == "link" && k.Attr("rel") == "alternate":
				b.identifier(k.Attr("href"), "")
			case k.Name == "link" && strings.HasSuffix(k.Attr("rel"), "/ore/terms/aggregates"):
				if !slices.Contains(left, strings.ToUpper(group[k.Attr("href")])) && IsText(k.Attr("type"), k.Attr("href")) {
					b.file(k.Attr("href"), k.Attr("type"), k.Attr("title"))
				}
			}
		}
	}
	for _, k := range n.Find("aggregates") {
		if at := k.Attr("resource"); IsText("", at) {
			b.file(at, "", "")
		}
	}
}

var articleTag = regexp.MustCompile(`<(?:[A-Za-z_][\w.-]*:)?article[\s>]`)

// jats reads an article (NISO Z39.96). The record itself can contain its text.
func (b *builder) jats(n *xmltree.Node, raw []byte) {
	meta := n.First("article-meta")
	b.title(meta.First("article-title").Words())
	for _, c := range meta.Find("contrib") {
		if kind := c.Attr("contrib-type"); kind != "" && kind != "author" {
			continue
		}
		name := c.First("surname").Words()
		if given := c.First("given-names").Words(); given != "" && name != "" {
			name += ", " + given
		}
		if name == "" {
			name = c.First("collab").Words()
		}
		b.creator(name, c.Texts("contrib-id")...)
	}
	for _, id := range meta.Find("article-id") {
		b.identifier(id.Words(), "")
	}
	for _, d := range meta.Find("pub-date") {
		parts := []string{d.First("year").Words()}
		for _, part := range []string{"month", "day"} {
			if p := d.First(part).Words(); p != "" && len(parts[0]) == 4 {
				parts = append(parts, strings.Repeat("0", max(0, 2-len(p)))+p)
			}
		}
		b.date(strings.Join(parts, "-"))
	}
	for _, l := range meta.Find("license") {
		b.words = append(b.words, strings.TrimSpace(l.Attr("href")+" "+l.Words()))
	}
	for _, s := range meta.Find("self-uri") {
		if at := s.Attr("href"); IsText(s.Attr("content-type"), at) || s.Attr("content-type") == "pdf" {
			b.file(at, "", "")
		} else {
			b.identifier(at, "")
		}
	}
	if body := n.First("body"); body == nil || len(body.Kids) == 0 {
		return
	}
	at := articleTag.FindIndex(raw)
	end := bytes.LastIndex(raw, []byte("article>"))
	if at == nil || end < at[0] {
		return
	}
	text := append([]byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), raw[at[0]:end+len("article>")]...)
	b.d.Files = append([]store.HarvestFile{{Name: "article.xml", Type: "application/xml", Text: text}}, b.d.Files...)
}
