package extract

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// readEPUB reads an electronic book: its chapters in the order of the spine, as HTML.
func readEPUB(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	if m, err := p.read("META-INF/encryption.xml"); err == nil && !strings.Contains(string(m), "idpf.org/2008/embedding") &&
		!strings.Contains(string(m), "ns.adobe.com/pdf/enc#RC") {
		return &Error{Code: Encrypted, Detail: "the book is protected against copying"}
	}
	root := &epubRoot{}
	if err := p.part("META-INF/container.xml", false, func(d []byte) error { return walkXML(b, d, root) }); err != nil {
		return err
	}
	if root.path == "" {
		return &Error{Code: Damaged, Detail: "the book does not name its content"}
	}
	_ = p.part(root.path, false, func(d []byte) error { return walkXML(b, d, &coreProperties{b: b}) })
	opf := &epubSpine{root: root.path, item: map[string]string{}}
	_ = p.part(root.path, false, func(d []byte) error { return walkXML(b, d, opf) })
	styles := p.styleSheets(opf)
	for i, id := range opf.order {
		href, err := url.PathUnescape(opf.item[id])
		if err != nil || href == "" {
			b.partial(FlagPart, fmt.Sprintf("chapter %d is not in the book", i+1))
			continue
		}
		b.place(fmt.Sprintf("chapter %d", i+1))
		_ = p.part(path.Join(path.Dir(root.path), href), false, func(d []byte) error {
			title := b.res.Title
			c, err := detectEncoding(d)
			if err != nil {
				return err
			}
			s, err := c.decode(d)
			if err != nil {
				return err
			}
			b.styledText(s, styles)
			b.res.Title = title
			return nil
		})
	}
	return nil
}

// styleSheets gives all style sheets of a book; each chapter is taken to use them all.
func (p *parts) styleSheets(opf *epubSpine) string {
	var out strings.Builder
	for _, href := range opf.styles {
		if d, err := p.read(path.Join(path.Dir(opf.root), href)); err == nil && out.Len()+len(d) <= maxStyleBytes {
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
	root   string // the package document's own path
	item   map[string]string
	order  []string
	styles []string
}

func (r *epubSpine) start(name string, a attrs) {
	switch {
	case strings.HasSuffix(name, ":item"):
		r.item[a.get("id")] = a.get("href")
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
