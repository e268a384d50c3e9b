package extract

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML returns everything that a browser would display, without filtering boilerplate, because text that is left out would not be
// checked. Text hidden by markup is kept and flagged.
func readHTML(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	b.htmlText(s)
	return nil
}

// htmlState is the state while reading one HTML text.
type htmlState struct {
	b       *builder
	skip    int // nesting depth in elements whose text is not content
	pre     int
	stack   []htmlTag    // open elements, up to MaxDepth deep
	nodes   []*html.Node // the same elements in the form needed by selectors
	styles  *styleSheet  // nil if the page has none
	title   bool
	tooDeep bool

	ruby    readings
	forms   formulas
	turns   int  // number of open elements whose text needs a direction control
	dropped bool // the paragraph so far is one letter, an enlarged initial

	outer textStyle // style of text outside all elements
}

type htmlTag struct {
	name    atom.Atom
	raw     string
	style   textStyle
	turned  bool // the direction control was written to the paragraph
	skipped bool // its text is not content
	from    int  // start in the paragraph of a formula, or of its visible form; -1 if not a formula
}

// style returns how text at this point is displayed.
func (st *htmlState) style() textStyle {
	if n := len(st.stack); n > 0 {
		return st.stack[n-1].style
	}
	return st.outer
}

// htmlText writes the text of s.
func (b *builder) htmlText(s string) { b.styledText(s, "") }

// styledText writes the text of s, applying the given style sheets in addition to those in s.
func (b *builder) styledText(s, styles string) {
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(0) // the input is already in memory
	st := &htmlState{b: b, outer: pageStyle}
	if styles += ownStyles(s); styles != "" {
		st.styles = parseStyles(styles)
	}
	st.read(z)
}

// read writes the text of the tokenizer's tokens.
func (st *htmlState) read(z *html.Tokenizer) {
	b := st.b
	for !b.full {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				b.partial(Damaged, "HTML: "+err.Error())
			}
			st.end()
			if st.styles != nil && st.styles.steps > maxStyleSteps {
				b.flag(Flag{Code: Limit, Detail: "the style sheet is too large, so some hidden text may not be recognised"})
			}
			return
		case html.TextToken:
			st.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			st.start(z.Token())
		case html.EndTagToken:
			st.close(z.Token())
		}
	}
}

// ownStyles returns the style sheets from anywhere in a page, since they apply to all of it.
func ownStyles(s string) string {
	if !strings.Contains(s, "<style") && !strings.Contains(s, "<STYLE") && !strings.Contains(s, "<Style") {
		return ""
	}
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(0)
	for open := false; out.Len() < maxStyleBytes; {
		switch z.Next() {
		case html.ErrorToken:
			return out.String()
		case html.StartTagToken:
			t := z.Token()
			open = t.DataAtom == atom.Style
			for _, a := range t.Attr {
				open = open && (a.Key != "media" || alwaysHolds("@media", a.Val))
			}
		case html.TextToken:
			if open {
				out.Write(z.Text())
				out.WriteByte('\n')
			}
		case html.EndTagToken:
			open = false
		}
	}
	return out.String()
}

// leaveHead ends a head, as browsers do, when something appears that can occur only in a body (HTML, 13.2.6.4.4).
func (st *htmlState) leaveHead() {
	if n := len(st.stack); n > 0 && st.stack[n-1].name == atom.Head {
		st.pop(n - 1)
	}
}

// standsInHead reports whether an element can occur in a head without ending it.
func standsInHead(a atom.Atom) bool {
	switch a {
	case atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta, atom.Title, atom.Noscript, atom.Noframes, atom.Style, atom.Script,
		atom.Template, atom.Head:
		return true
	}
	return false
}

func (st *htmlState) text(s string) {
	if strings.TrimSpace(s) != "" {
		st.leaveHead()
	}
	if !st.title && st.skip > 0 {
		st.ruby.add(s)
		st.unshown(s)
		return
	}
	if st.title {
		st.b.res.Title += s
		return
	}
	if n := len(st.stack); n > 0 && st.stack[n-1].name == atom.Noscript {
		st.within(s, FlagHidden) // the tokenizer treats it as plain text, as browsers with scripts enabled do
		return
	}
	if st.dropped {
		if r, _ := utf8.DecodeRuneInString(s); !unicode.IsLower(r) {
			st.end()
		}
		st.dropped = false
	}
	if st.turns > 0 {
		st.turn(s)
	}
	from := len(st.b.para)
	if st.pre > 0 {
		st.b.text(s)
	} else {
		st.b.flow(s)
	}
	st.mark(from)
}

// end ends the paragraph.
func (st *htmlState) end() {
	st.b.end()
	st.forms, st.dropped = formulas{}, false
	if st.turns > 0 {
		for i := range st.stack {
			st.stack[i].turned = false
		}
	}
}

// turn writes the open elements' direction controls before text s, unless they are already in the paragraph.
func (st *htmlState) turn(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	for i := range st.stack {
		if t := &st.stack[i]; t.style.turn != 0 && !t.turned && t.ordersText() {
			t.turned, st.b.directed = true, true
			st.b.text(string(t.style.turn))
		}
	}
}

// ordersText reports whether an element's direction changes the order of its text. A block's direction sets only the paragraph's
// direction; people still read the paragraph in the direction of its letters.
func (t *htmlTag) ordersText() bool {
	return isInline(t.name) || t.style.turn == bidiRLO || t.style.turn == bidiLRO
}

// mark flags the paragraph's text starting at byte from if its style requires a flag.
func (st *htmlState) mark(from int) {
	l := st.style()
	code := l.code()
	if code == "" || from > len(st.b.para) || strings.TrimSpace(string(st.b.para[from:])) == "" {
		return
	}
	for st.b.para[from] == ' ' {
		from++
	}
	st.b.spans.add(code, htmlDetail[code], from, len(st.b.para))
}

// flow writes text in which any run of white space counts as one space, as in HTML and XML formats.
func (b *builder) flow(s string) {
	for i, w := range strings.FieldsFunc(s, isFlowSpace) {
		if i > 0 || isFlowSpace(rune(s[0])) {
			b.space()
		}
		b.text(w)
	}
	if len(s) > 0 && isFlowSpace(rune(s[len(s)-1])) {
		b.space()
	}
}

func isFlowSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' }

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Source, atom.Track, atom.Wbr, atom.Param, atom.Frame, atom.Keygen:
		return true
	}
	return false
}

// isInline reports whether an element leaves the paragraph open.
func isInline(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn, atom.Em,
		atom.Font, atom.I, atom.Img, atom.Input, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Meter, atom.Q, atom.Ruby, atom.S, atom.Samp,
		atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Nobr,
		atom.Blink, atom.Rb, atom.Rt, atom.Rp, atom.Rtc, atom.Svg, atom.Math, atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext, atom.Mglyph,
		atom.Malignmark, atom.Annotation, atom.AnnotationXml, atom.Basefont:
		return true
	}
	return a == 0 // unknown elements are inline, as in browsers
}

// isSkipped reports whether a browser does not display an element's text.
func isSkipped(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Head, atom.Template, atom.Rt, atom.Rp, atom.Rtc, atom.Noframes, atom.Iframe, atom.Datalist,
		atom.Noembed:
		return true
	}
	return false
}

// unshown records text that no current program displays; it can differ from what is displayed.
func (st *htmlState) unshown(s string) {
	for i := len(st.stack) - 1; i >= 0; i-- {
		if !st.stack[i].skipped {
			continue
		}
		switch st.stack[i].name {
		case atom.Template, atom.Datalist:
			st.b.alternative(s)
		case atom.Noframes, atom.Noembed, atom.Iframe: // the tokenizer treats everything inside as text
			st.b.alternative(htmlWords(s))
		}
		return
	}
}

func (st *htmlState) start(t html.Token) {
	a := t.DataAtom
	if !standsInHead(a) {
		st.leaveHead()
	}
	switch a {
	case atom.Br:
		st.b.line()
		return
	case atom.Meta:
		st.meta(t)
		return
	case atom.Title:
		st.title = st.b.res.Title == ""
	case atom.Body:
		st.skip = 0 // a head that was never closed
	case atom.Img, atom.Area, atom.Input:
		st.alternative(t)
		st.formValue(t)
	case atom.Optgroup:
		st.formValue(t)
	case atom.Iframe, atom.Frame, atom.Embed, atom.Object:
		st.frame(t)
	}
	if !isInline(a) {
		st.end()
	}
	if isVoid(a) || t.Type == html.SelfClosingTagToken && a == 0 {
		return
	}
	if len(st.stack) >= st.b.opt.MaxDepth*16 {
		if !st.tooDeep {
			st.tooDeep = true
			st.b.flag(Flag{Code: Limit, Detail: "elements are nested too deeply: hidden text inside them is not recognised; raise " + SettingOf("MaxDepth")})
		}
		return
	}
	switch a {
	case atom.P, atom.Li, atom.Td, atom.Tr:
		st.closeImplied(a)
	case atom.Rt, atom.Rp, atom.Rb, atom.Rtc:
		st.closeImplied(atom.Rt, atom.Rp, atom.Rb)
	}
	st.push(t)
	st.ruby.start(a, st.b.para)
	if n := len(st.stack); (isSkipped(a) || isAnnotation(t.Data)) && !isShadowRoot(t) {
		st.stack[n-1].skipped = true
		st.skip++
	}
	st.generated(pseudoBefore)
	if a == atom.Pre || a == atom.Textarea || a == atom.Xmp || a == atom.Listing {
		st.pre++
	}
}

// push opens an element and determines its style.
func (st *htmlState) push(t html.Token) {
	outer := st.style()
	n := &html.Node{Type: html.ElementNode, Data: t.Data, DataAtom: t.DataAtom, Attr: t.Attr}
	outer.turn = 0
	from := -1
	if isFormula(t) {
		from = len(st.b.para)
	}
	st.stack, st.nodes = append(st.stack, htmlTag{name: t.DataAtom, raw: t.Data, style: outer, from: from}), append(st.nodes, n)
	sets := st.styles.settings(st.nodes)
	for _, a := range t.Attr {
		if a.Key == "style" {
			sets = append(sets, inlineStyle(a.Val)...)
		}
	}
	if len(sets) > 0 || len(t.Attr) > 0 {
		style := outer.of(n, sets)
		st.stack[len(st.stack)-1].style = style
		if style.turn != 0 {
			st.turns++
		}
	}
}

// closeImplied closes an open element with one of the given names, which the new element ends (<li>a<li>b).
func (st *htmlState) closeImplied(names ...atom.Atom) {
	if n := len(st.stack); n > 0 && slices.Contains(names, st.stack[n-1].name) {
		st.pop(n - 1)
	}
}

func (st *htmlState) close(t html.Token) {
	a := t.DataAtom
	if a == atom.Title {
		st.title = false
	}
	open := -1
	for i := len(st.stack) - 1; i >= 0 && i >= len(st.stack)-64 && open < 0; i-- {
		if st.stack[i].name == a && st.stack[i].raw == t.Data {
			open = i
		}
	}
	if open >= 0 && open == len(st.stack)-1 {
		st.generated(pseudoAfter)
	}
	if a == atom.P || !isInline(a) {
		st.endBlock(a)
	}
	if open >= 0 {
		st.pop(open)
	}
}

// endBlock ends a block's paragraph, unless the block is a division with a single capital, which can be the enlarged initial of a word
// that continues after it.
func (st *htmlState) endBlock(a atom.Atom) {
	if r, n := utf8.DecodeRune(st.b.para); a == atom.Div && n == len(st.b.para) && unicode.IsUpper(r) && len(st.b.spans.open) == 0 {
		st.dropped = true
		return
	}
	st.end()
}

// pop closes all elements at index i and above.
func (st *htmlState) pop(i int) {
	for j := len(st.stack) - 1; j >= i; j-- {
		st.ended(&st.stack[j])
		switch a := st.stack[j].name; {
		case st.stack[j].skipped && st.skip > 0:
			st.skip--
		case (a == atom.Pre || a == atom.Textarea || a == atom.Xmp || a == atom.Listing) && st.pre > 0:
			st.pre--
		}
	}
	st.stack, st.nodes = st.stack[:i], st.nodes[:i]
}

// ended performs the remaining work at the end of an element.
func (st *htmlState) ended(t *htmlTag) {
	if t.style.turn != 0 {
		st.turns--
		if t.turned {
			closer := bidiPDF
			if t.style.turn >= bidiLRI {
				closer = bidiPDI
			}
			st.b.text(string(closer))
		}
	}
	if t.from >= 0 && st.skip == 0 {
		st.forms.ended(st.b, t.from, t.name == atom.Math)
	}
	st.ruby.stop(st.b, t.name)
}

// meta reads the author from a meta element; the encoding was determined earlier.
func (st *htmlState) meta(t html.Token) {
	var name, content string
	for _, a := range t.Attr {
		switch strings.ToLower(a.Key) {
		case "name", "property":
			name = strings.ToLower(a.Val)
		case "content":
			content = a.Val
		}
	}
	if (name == "author" || name == "dc.creator" || name == "citation_author") && st.b.res.Author == "" {
		st.b.res.Author = content
	}
	switch name {
	case "date", "dc.date", "dc.date.issued", "dcterms.date", "dcterms.issued", "dcterms.created", "citation_date",
		"citation_publication_date", "article:published_time":
		st.b.dated(content)
	}
}

// alternative writes a picture's alternative text, which readers see if pictures are not displayed.
func (st *htmlState) alternative(t html.Token) {
	if st.skip > 0 {
		return
	}
	for _, a := range t.Attr {
		if a.Key == "src" && strings.HasPrefix(strings.TrimSpace(a.Val), "data:image/") {
			st.b.pictures(1, int64(len(a.Val)))
		}
		if strings.EqualFold(a.Key, "alt") && strings.TrimSpace(a.Val) != "" {
			if st.forms.pictured(st.b, a.Val) {
				continue
			}
			st.b.space()
			from := len(st.b.para)
			st.b.flow(a.Val)
			st.mark(from)
			st.b.space()
		}
	}
}
