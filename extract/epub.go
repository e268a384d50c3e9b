package extract

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// readEPUB reads the chapters of an electronic book as HTML, in the order of the spine.
func readEPUB(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	locked := &epubLocks{parts: map[string]bool{}}
	_ = p.part("META-INF/encryption.xml", true, func(d []byte) error { return walkXML(b, d, locked) })
	root := &epubRoot{}
	if err := p.part("META-INF/container.xml", false, func(d []byte) error { return walkXML(b, d, root) }); err != nil {
		return err
	}
	if root.path == "" {
		return &Error{Code: Damaged, Detail: "the book has no list of contents"}
	}
	_ = p.part(root.path, false, func(d []byte) error { return walkXML(b, d, &coreProperties{b: b}) })
	opf := &epubSpine{root: root.path, item: map[string]string{}, kind: map[string]string{}, nav: map[string]bool{}, files: map[string]bool{}}
	_ = p.part(root.path, false, func(d []byte) error { return walkXML(b, d, opf) })
	book := &epubBook{parts: p, opf: opf, styles: p.styleSheets(opf), locked: locked.parts}
	inSpine := map[string]bool{}
	for i, id := range opf.order {
		inSpine[id] = true
		if opf.item[id] == "" {
			b.partial(FlagPart, fmt.Sprintf("chapter %d is not in the book", i+1))
			continue
		}
		b.place(fmt.Sprintf("chapter %d", i+1))
		book.chapter(opf.path(id), fmt.Sprintf("chapter %d", i+1))
	}
	for _, id := range opf.all {
		switch kind := opf.kind[id]; {
		case inSpine[id] || !p.has(opf.path(id)):
		case kind == "application/xhtml+xml", kind == "text/html", kind == "application/x-dtbook+xml":
			if opf.nav[id] {
				book.beside(opf.path(id), "the table of contents")
				continue
			}
			b.place("outside the reading order")
			book.chapter(opf.path(id), "a chapter outside the reading order")
		case kind == "application/x-dtbncx+xml":
			book.beside(opf.path(id), "the table of contents")
		case strings.HasPrefix(kind, "image/"):
			p.used[partName(opf.path(id))] = true
			b.pictures(1, p.size(opf.path(id)))
		}
	}
	p.census(func(name string) bool { return opf.files[name] })
	return nil
}

// epubBook is a book whose chapters are read one at a time.
type epubBook struct {
	*parts
	opf    *epubSpine
	styles string
	locked map[string]bool // encrypted parts
}

// chapter reads one chapter; what describes it.
func (e *epubBook) chapter(name, what string) {
	b := e.b
	if e.locked[partName(name)] {
		e.used[partName(name)] = true
		b.missing(Flag{Code: Encrypted, Bytes: e.size(name), Detail: "copy-protected: " + what})
		return
	}
	_ = e.part(name, false, func(d []byte) error {
		title := b.res.Title
		c, err := detectEncoding(d)
		if err != nil {
			return err
		}
		s, err := c.decode(d)
		if err != nil {
			return err
		}
		b.styledText(s, e.styles)
		b.res.Title = title
		return nil
	})
}

// beside reads content that a reading program displays alongside the text, if the text lacks it.
func (e *epubBook) beside(name, what string) {
	if e.locked[partName(name)] {
		e.used[partName(name)] = true
		return
	}
	probe := newBuilder(EPUB, e.b.opt, e.b.lim)
	other := &epubBook{parts: &parts{probe, e.zip, e.byName, e.used, e.rels}, opf: e.opf, styles: e.styles, locked: e.locked}
	if strings.HasSuffix(partName(name), ".ncx") {
		_ = other.part(name, false, func(d []byte) error {
			err := walkXML(probe, d, &xmlText{b: probe})
			probe.end()
			return err
		})
	} else {
		other.chapter(name, what)
	}
	e.b.place(what)
	e.b.unlessThere(probe.out.String())
	e.b.takeLeft(probe)
	e.b.label = ""
}

// epubLocks finds encrypted parts (EPUB Open Container Format 3.3, section 4.2.5).
type epubLocks struct{ parts map[string]bool }

func (r *epubLocks) start(name string, a attrs) {
	if local(name) == "CipherReference" && len(r.parts) < 100_000 {
		uri := a.get("URI")
		if plain, err := url.PathUnescape(uri); err == nil {
			uri = plain
		}
		r.parts[partName(uri)] = true
	}
}
func (r *epubLocks) stop(string)  {}
func (r *epubLocks) chars(string) {}

// styleSheets returns all style sheets of a book; every chapter is assumed to use all of them.
func (p *parts) styleSheets(opf *epubSpine) string {
	var out strings.Builder
	for _, href := range opf.styles {
		if d, err := p.read(p.resolve(path.Dir(opf.root), href)); err == nil && out.Len()+len(d) <= maxStyleBytes {
			out.Write(d)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// epubRoot finds the first package document.
type epubRoot struct{ path string }

func (r *epubRoot) start(name string, a attrs) {
	if strings.HasSuffix(name, ":rootfile") && r.path == "" {
		r.path = path.Clean(a.get("full-path"))
	}
}
func (r *epubRoot) stop(string)  {}
func (r *epubRoot) chars(string) {}

// epubSpine reads the manifest and the reading order.
type epubSpine struct {
	root   string // path of the package document itself
	item   map[string]string
	kind   map[string]string // media types
	nav    map[string]bool   // tables of contents
	files  map[string]bool   // parts of items other than text
	all    []string          // items in manifest order
	order  []string
	styles []string
}

// path returns the part name of an item.
func (r *epubSpine) path(id string) string {
	href := r.item[id]
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return path.Join(path.Dir(r.root), href)
}

func (r *epubSpine) start(name string, a attrs) {
	switch {
	case strings.HasSuffix(name, ":item"):
		id := a.get("id")
		r.item[id], r.kind[id] = a.get("href"), a.get("media-type")
		r.nav[id] = slices.Contains(strings.Fields(a.get("properties")), "nav")
		r.all = append(r.all, id)
		if k := r.kind[id]; strings.HasPrefix(k, "font/") || strings.HasPrefix(k, "audio/") || strings.HasPrefix(k, "video/") ||
			strings.Contains(k, "font") || k == "application/smil+xml" || k == "text/css" || strings.Contains(k, "javascript") {
			r.files[partName(r.path(id))] = true
		}
		if a.get("media-type") == "text/css" && len(r.styles) < 100 {
			r.styles = append(r.styles, a.get("href"))
		}
	case strings.HasSuffix(name, ":itemref"):
		if id := a.get("idref"); id != "" {
			r.order = append(r.order, id)
		}
	}
}
func (r *epubSpine) stop(string)  {}
func (r *epubSpine) chars(string) {}
