package extract

import (
	"encoding/base64"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// within reads HTML embedded in the page and, unless code is empty, raises that flag for its text.
func (st *htmlState) within(s, code string) {
	if st.skip > 0 || st.b.nested >= st.b.opt.MaxNesting {
		if st.skip == 0 && strings.TrimSpace(s) != "" {
			st.b.partial(FlagPart, "pages nested too deeply in other pages to be read")
		}
		return
	}
	inner := &htmlState{b: st.b, outer: st.style(), styles: st.styles}
	if code != "" && inner.outer.gone == "" {
		inner.outer.gone = code
	}
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(0)
	title := st.b.res.Title
	st.b.nested++
	inner.read(z)
	st.b.nested--
	st.b.res.Title = title
}

// isShadowRoot reports whether a template is the content of its parent element.
func isShadowRoot(t html.Token) bool {
	for _, a := range t.Attr {
		if (a.Key == "shadowrootmode" || a.Key == "shadowroot") && t.DataAtom == atom.Template {
			return true
		}
	}
	return false
}

// frame reads the page in a frame if the file contains it, and otherwise reports its name.
func (st *htmlState) frame(t html.Token) {
	if st.skip > 0 {
		return
	}
	source, kind := "", ""
	for _, a := range t.Attr {
		switch a.Key {
		case "srcdoc":
			st.end()
			st.own(a.Val)
			return
		case "src", "data":
			source = strings.TrimSpace(a.Val)
		case "type":
			kind = strings.ToLower(a.Val)
		}
	}
	lower := strings.ToLower(source)
	switch {
	case source == "", strings.HasPrefix(lower, "about:"), strings.HasPrefix(lower, "javascript:"):
	case strings.HasPrefix(lower, "data:"):
		head, body, _ := strings.Cut(source[len("data:"):], ",")
		s, err := url.PathUnescape(body)
		if err == nil && strings.HasSuffix(strings.ToLower(head), ";base64") {
			var raw []byte
			raw, err = base64.StdEncoding.DecodeString(strings.TrimSpace(s))
			s = string(raw)
		}
		switch {
		case err != nil || !utf8.ValidString(s):
			st.b.partial(FlagPart, "a frame whose page cannot be read")
		case strings.HasPrefix(strings.ToLower(head), "text/html"), strings.HasPrefix(strings.ToLower(head), "application/xhtml"):
			st.end()
			st.own(s)
		case strings.HasPrefix(strings.ToLower(head), "text/"), head == "":
			st.b.plainParagraphs(s)
		}
	case t.DataAtom == atom.Embed || t.DataAtom == atom.Object:
		if e := ext(source); kind == "text/html" || kind == "application/pdf" || e == "html" || e == "htm" || e == "pdf" || e == "txt" {
			st.b.partial(FlagPart, "an object that is not in the file: "+cleanTitle(source))
		}
	default:
		st.b.partial(FlagPart, "a frame shows a page that is not in the file: "+cleanTitle(source))
	}
}

// own reads a page embedded in this one.
func (st *htmlState) own(s string) {
	if st.b.nested >= st.b.opt.MaxNesting {
		st.b.partial(FlagPart, "pages nested too deeply in other pages to be read")
		return
	}
	title := st.b.res.Title
	st.b.nested++
	st.b.htmlText(s)
	st.b.nested--
	st.b.res.Title = title
}

// formValue writes what a form control displays besides its content.
func (st *htmlState) formValue(t html.Token) {
	if st.skip > 0 {
		return
	}
	var kind, value, label, placeholder string
	for _, a := range t.Attr {
		switch a.Key {
		case "type":
			kind = strings.ToLower(a.Val)
		case "value":
			value = a.Val
		case "label":
			label = a.Val
		case "placeholder":
			placeholder = a.Val
		}
	}
	if t.DataAtom == atom.Optgroup {
		kind, value = "", label
	}
	switch kind {
	case "hidden", "password", "checkbox", "radio", "file", "image", "range", "color":
		return
	}
	if value == "" {
		value = placeholder
	}
	if strings.TrimSpace(value) == "" {
		return
	}
	st.b.space()
	from := len(st.b.para)
	st.b.flow(value)
	st.mark(from)
	st.b.space()
}

// generated writes what the style sheets insert before or after the content of the innermost element.
func (st *htmlState) generated(at pseudo) {
	if st.skip > 0 || len(st.nodes) == 0 {
		return
	}
	if s := st.styles.generated(st.nodes, at); s != "" {
		from := len(st.b.para)
		st.b.flow(s)
		st.mark(from)
	}
}
