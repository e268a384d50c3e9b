package extract

import (
	"strings"
)

// scholarly reads the two vocabularies for articles and editions: JATS (ANSI/NISO Z39.96) and TEI (P5). Their metadata provides title,
// authors and date; sections and references are places; each block is a paragraph.
type scholarly struct {
	b    *builder
	path []string
	skip int // nesting depth in elements with content that is not text of the document

	heading strings.Builder // heading of the current section
	author  strings.Builder
	date    [3]string // year, month, day
}

// isScholarly reports whether the beginning of an XML text, in lower case, is JATS or TEI.
func isScholarly(head string) bool {
	return strings.Contains(head, "<tei") && strings.Contains(head, "tei-c.org") ||
		strings.Contains(head, "<article") && (strings.Contains(head, "jats") || strings.Contains(head, "nlm//dtd") ||
			strings.Contains(head, "<journal-meta") || strings.Contains(head, "<article-meta"))
}

// The elements of both vocabularies, grouped by treatment.
var (
	scholarlySkipped = map[string]bool{"journal-meta": true, "article-id": true, "permissions": true, "history": true, "related-article": true,
		"article-categories": true, "self-uri": true, "counts": true, "custom-meta-group": true, "aff": true, "author-notes": true,
		"volume": true,
		"issue":  true, "fpage": true, "lpage": true, "elocation-id": true, "pub-history": true, "funding-group": true, "tex-math": true,
		"publicationStmt": true, "sourceDesc": true, "encodingDesc": true, "revisionDesc": true, "facsimile": true, "langUsage": true,
		"textClass": true, "seriesStmt": true, "extent": true, "standOff": true, "fw": true}
	scholarlyBlocks = map[string]bool{"p": true, "title": true, "head": true, "td": true, "th": true, "list-item": true,
		"item": true, "ref": true,
		"bibl": true, "biblStruct": true, "label": true, "disp-quote": true, "quote": true, "verse-line": true, "l": true, "caption": true,
		"article-title": true, "subtitle": true, "kwd": true, "sp": true, "speaker": true, "def": true, "term": true, "cell": true, "fn": true,
		"attrib": true, "preformat": true, "ab": true, "trailer": true, "opener": true, "closer": true, "figDesc": true, "disp-formula": true}
)

func (r *scholarly) inside(names ...string) bool {
	for _, p := range r.path {
		for _, n := range names {
			if p == n {
				return true
			}
		}
	}
	return false
}

func (r *scholarly) start(name string, a attrs) {
	n := local(name)
	r.path = append(r.path, n)
	if n == "date" && r.inside("publicationStmt") {
		r.b.dated(a.get("when"))
	}
	if n == "contrib" || n == "author" && r.inside("titleStmt") {
		r.author.Reset()
	}
	if r.skip > 0 || scholarlySkipped[n] {
		r.skip++
		return
	}
	switch {
	case n == "ref-list" || n == "listBibl":
		r.b.place("references")
	case n == "title" && r.inside("sec", "app", "ack") || n == "head" && r.inside("div", "div1", "div2", "div3"):
		r.b.end()
		r.heading.Reset()
	case n == "fn" && r.inside("p"), n == "note" && r.inside("p"):
		r.b.interrupt()
	case n == "break" || n == "lb":
		r.b.line()
	case scholarlyBlocks[n] && !r.inCitation():
		r.b.end()
	}
}

// inCitation reports whether the innermost element is in a reference, which is a single paragraph whatever its elements.
func (r *scholarly) inCitation() bool {
	n := len(r.path) - 1
	for _, p := range r.path[:max(n, 0)] {
		switch p {
		case "mixed-citation", "element-citation", "citation", "nlm-citation", "bibl", "biblStruct":
			return true
		}
	}
	return false
}

func (r *scholarly) stop(name string) {
	n := local(name)
	defer func() { r.path = r.path[:max(0, len(r.path)-1)] }()
	if r.skip > 0 {
		r.skip--
		return
	}
	switch {
	case (n == "contrib" || n == "author") && r.inside("article-meta", "titleStmt") && !r.inCitation():
		if s := strings.Join(strings.Fields(r.author.String()), " "); s != "" {
			r.b.res.Author = strings.TrimPrefix(r.b.res.Author+"; "+s, "; ")
		}
	case n == "pub-date":
		r.b.dated(strings.TrimRight(strings.Join([]string{r.date[0], padded(r.date[1]), padded(r.date[2])}, "-"), "-"))
		r.date = [3]string{}
	case r.heading.Len() > 0 && (n == "title" || n == "head"):
		r.b.label = "section " + cleanTitle(r.heading.String())
		r.heading.Reset()
		r.b.end()
	case (n == "fn" || n == "note") && len(r.b.saved) > 0:
		r.b.end()
		r.b.resume()
	case r.inCitation():
		if r.inside("element-citation", "biblStruct") { // elements whose parts are not separated by signs
			r.b.space()
		}
	case scholarlyBlocks[n]:
		r.b.end()
	}
}

func padded(s string) string {
	if len(s) == 1 {
		return "0" + s
	}
	return s
}

func (r *scholarly) chars(s string) {
	n := ""
	if len(r.path) > 0 {
		n = r.path[len(r.path)-1]
	}
	front := r.inside("front", "teiHeader")
	switch {
	case r.skip > 0:
		if !r.inside("tex-math") { // source of a formula that was already read
			r.b.leave(FlagMetadata, s)
		}
	case r.inside("contrib") || front && r.inside("author"):
		if n == "surname" || n == "given-names" || n == "forename" || n == "persName" || n == "name" || n == "author" || n == "string-name" {
			r.author.WriteString(s + " ")
		}
		r.b.leave(FlagMetadata, s)
	case r.inside("pub-date"):
		for i, of := range []string{"year", "month", "day"} {
			if n == of {
				r.date[i] = strings.TrimSpace(s)
			}
		}
		r.b.leave(FlagMetadata, s)
	case front && (r.inside("article-title") || n == "title" && r.inside("titleStmt")):
		r.b.res.Title += s
		r.b.flow(s)
	case front && !r.inside("abstract", "trans-abstract", "kwd-group", "subtitle"):
		r.b.leave(FlagMetadata, s)
	default:
		if (n == "title" || n == "head") && !r.inCitation() && r.inside("sec", "div", "app", "ack", "div1", "div2", "div3") {
			r.heading.WriteString(s)
		}
		r.b.flow(s)
	}
}
