package extract

import "strings"

// readFB2 reads a FictionBook's title and author from its description, and its text from its bodies.
func readFB2(b *builder, data []byte) error {
	c, err := detectEncoding(data)
	if err != nil {
		return err
	}
	s, err := b.decodeAs(data, c)
	if err != nil {
		return err
	}
	r := &fb2Reader{b: b}
	err = walkDecoded(b, s, r)
	b.end()
	for _, d := range r.dates {
		b.dated(d)
	}
	return err
}

type fb2Reader struct {
	b       *builder
	path    []string
	title   bool // inside a section's title
	section string
	dates   [3]string // dates of the work, its publication and the file
}

func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

func (r *fb2Reader) inside(name string) bool {
	for _, n := range r.path {
		if n == name {
			return true
		}
	}
	return false
}

func (r *fb2Reader) start(name string, a attrs) {
	n := local(name)
	r.path = append(r.path, n)
	if n == "date" {
		r.date(a.get("value"))
	}
	switch n {
	case "p", "v", "subtitle", "text-author", "td", "th", "title":
		r.b.end()
		if n == "title" {
			r.title, r.section = true, ""
		}
	case "empty-line":
		r.b.end()
	}
}

func (r *fb2Reader) stop(name string) {
	switch n := local(name); n {
	case "p", "v", "subtitle", "text-author", "td", "th":
		if r.title && r.inside("body") {
			r.section = strings.TrimSpace(r.section + " " + string(r.b.para))
			r.b.label = "section " + cleanTitle(r.section)
		}
		r.b.end()
	case "title":
		r.title = false
		r.b.end()
	}
	if k := len(r.path); k > 0 {
		r.path = r.path[:k-1]
	}
}

// date records a date; its attribute takes precedence over its text.
func (r *fb2Reader) date(s string) {
	for i, of := range []string{"title-info", "publish-info", "document-info"} {
		if r.inside(of) && r.dates[i] == "" {
			r.dates[i] = strings.TrimSpace(s)
		}
	}
}

func (r *fb2Reader) chars(s string) {
	if n := len(r.path); n > 0 && (r.path[n-1] == "date" || r.path[n-1] == "year") && !r.inside("body") {
		r.date(s)
		return
	}
	switch {
	case r.inside("body"):
		if len(r.path) > 0 && r.path[len(r.path)-1] != "body" && r.path[len(r.path)-1] != "section" {
			r.b.flow(s)
		}
	case r.inside("title-info") && len(r.path) > 0:
		switch r.path[len(r.path)-1] {
		case "book-title":
			r.b.res.Title += s
		case "first-name", "middle-name", "last-name", "nickname":
			if r.inside("author") && strings.TrimSpace(s) != "" {
				r.b.res.Author = strings.TrimSpace(r.b.res.Author + " " + s)
			}
		}
	}
}
