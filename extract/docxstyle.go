package extract

import (
	"strconv"
	"strings"
)

// runStyle contains the properties of a word processor's run that affect whether its text is legible. The zero value sets nothing.
type runStyle struct {
	hidden, tiny     toggle
	foreground, fill colour // "" if not set or unknown
}

// toggle is a property that a style or run sets, clears or leaves unset.
type toggle int8

const (
	unset toggle = iota
	on
	off
)

// someShade represents any coloured background; all text on it is assumed to be legible.
const someShade colour = "shade"

func toggled(set bool) toggle {
	if set {
		return on
	}
	return off
}

// over returns r overridden by whatever s sets.
func (r runStyle) over(s runStyle) runStyle {
	if s.hidden != unset {
		r.hidden = s.hidden
	}
	if s.tiny != unset {
		r.tiny = s.tiny
	}
	if s.foreground != "" {
		r.foreground = s.foreground
	}
	if s.fill != "" {
		r.fill = s.fill
	}
	return r
}

// code returns the flag that text in this style needs, or "".
func (r runStyle) code() string {
	fill := r.fill
	if fill == "" {
		fill = "#ffffff"
	}
	switch {
	case r.hidden == on:
		return FlagHidden
	case r.foreground != "" && r.foreground != "auto" && alike(r.foreground, fill):
		return FlagWhite
	case r.tiny == on:
		return FlagTiny
	}
	return ""
}

// property reads a run property, and reports whether the element was one.
func (r *runStyle) property(name string, a attrs) bool {
	switch name {
	case "w:vanish":
		r.hidden = toggled(isOn(a))
	case "w:color":
		r.foreground = docxColour(a.get("val"))
	case "w:shd":
		if c := docxColour(a.get("fill")); c != "auto" {
			r.fill = c
		}
	case "w:highlight":
		switch v := a.get("val"); v {
		case "none":
		case "white":
			r.fill = "#ffffff"
		default:
			r.fill = someShade
		}
	case "w:sz": // half points
		n, err := strconv.Atoi(a.get("val"))
		r.tiny = toggled(err == nil && n <= 2*tinyPoints)
	case "w:w": // percentage of the normal width of letters
		if n, err := strconv.Atoi(strings.TrimSuffix(a.get("val"), "%")); err == nil && n < 10 {
			r.tiny = on
		}
	default:
		return false
	}
	return true
}

// docxColour parses six hexadecimal digits; "auto" means black or white, whichever is legible.
func docxColour(v string) colour {
	if v == "" || v == "auto" {
		return "auto"
	}
	return readColour("#" + v)
}

// docxStyles records how each of a document's styles displays text, and which styles are headings.
type docxStyles struct {
	styles map[string]docxStyle
	level  map[string]int  // 1 for a top-level heading
	shaded map[string]bool // styles of tables that shade some of their cells
	normal string          // default style of paragraphs
	list   map[string]docxItem
	id     string // style being read
	inRPr  int
	inPPr  int
	inPart int // nesting depth in properties of table parts
}

type docxStyle struct {
	base string
	set  runStyle
}

// defaultStyle applies to all text.
const defaultStyle = "\x00"

// maxBases is the maximum length of a chain of styles based on one another.
const maxBases = 30

func newDocxStyles() *docxStyles {
	return &docxStyles{styles: map[string]docxStyle{}, level: map[string]int{}, shaded: map[string]bool{}, list: map[string]docxItem{}}
}

// style returns the properties that a style and its ancestors set.
func (s *docxStyles) style(id string) runStyle {
	return s.styleOf(id, 0)
}

func (s *docxStyles) styleOf(id string, depth int) runStyle {
	st, ok := s.styles[id]
	if !ok || depth > maxBases {
		return runStyle{}
	}
	if st.base == "" {
		return st.set
	}
	return s.styleOf(st.base, depth+1).over(st.set)
}

// paragraph returns how text in a paragraph with the given style is displayed; "" is the default style.
func (s *docxStyles) paragraph(id string) runStyle {
	if id == "" {
		id = s.normal
	}
	return s.style(defaultStyle).over(s.style(id))
}

func (s *docxStyles) start(name string, a attrs) {
	switch name {
	case "w:style":
		s.id = a.get("styleId")
		if v := a.get("default"); a.get("type") == "paragraph" && (v == "1" || v == "true" || v == "on") {
			s.normal = s.id
		}
	case "w:rPrDefault":
		s.id = defaultStyle
	case "w:basedOn":
		st := s.styles[s.id]
		st.base = a.get("val")
		s.styles[s.id] = st
	case "w:rPr":
		s.inRPr++
	case "w:pPr":
		s.inPPr++
	case "w:tblStylePr", "w:tblPr", "w:tcPr", "w:trPr":
		s.inPart++
	case "w:shd":
		s.shaded[s.id] = s.shaded[s.id] || s.inPart > 0 && isShade(docxColour(a.get("fill")))
		s.ownProperty(name, a)
	case "w:numId":
		if s.id != "" {
			s.list[s.id] = docxItem{id: a.get("val"), level: s.list[s.id].level}
		}
	case "w:ilvl":
		if n, err := strconv.Atoi(a.get("val")); err == nil && s.id != "" {
			s.list[s.id] = docxItem{id: s.list[s.id].id, level: n}
		}
	case "w:outlineLvl":
		if n, err := strconv.Atoi(a.get("val")); err == nil && n < 9 && s.id != "" {
			s.level[s.id] = n + 1
		}
	default:
		s.ownProperty(name, a)
	}
}

// ownProperty reads a property that applies to all text in the style.
func (s *docxStyles) ownProperty(name string, a attrs) {
	if s.id == "" || s.inPart > 0 || s.inRPr == 0 && (s.inPPr == 0 || name != "w:shd") {
		return
	}
	st := s.styles[s.id]
	if st.set.property(name, a) {
		s.styles[s.id] = st
	}
}

func isShade(c colour) bool { return c != "auto" && c != "" && !alike(c, "#ffffff") }

// shades reports whether a table style, or a style on which it is based, shades cells.
func (s *docxStyles) shades(id string) bool {
	for range maxBases {
		if s.shaded[id] {
			return true
		}
		id = s.styles[id].base
	}
	return false
}

func (s *docxStyles) stop(name string) {
	switch name {
	case "w:style", "w:rPrDefault":
		s.id = ""
	case "w:rPr":
		s.inRPr = max(0, s.inRPr-1)
	case "w:pPr":
		s.inPPr = max(0, s.inPPr-1)
	case "w:tblStylePr", "w:tblPr", "w:tcPr", "w:trPr":
		s.inPart = max(0, s.inPart-1)
	}
}
func (s *docxStyles) chars(string) {}

// docxGround tracks the colours behind the text, which come from table cells, text boxes and the page.
type docxGround struct {
	styles *docxStyles
	page   colour
	tables []bool   // for each open table, whether its style shades some (unknown) cells
	cells  []colour // for each open cell
	boxes  []colour // for each open text box
	shape  colour   // of the current shape
	in     int      // nesting depth in shape properties
	line   int      // nesting depth in outline properties
	shown  bool     // the document displays its page colour
}

// start reads the properties of shapes, cells and pages.
func (g *docxGround) start(name string, a attrs, inCellProperties bool) {
	switch name {
	case "w:background":
		if c := docxColour(a.get("color")); g.shown && c != "auto" {
			g.page = c
		}
	case "w:tbl":
		g.tables = append(g.tables, false)
	case "w:tblStyle":
		if n := len(g.tables); n > 0 {
			g.tables[n-1] = g.styles.shades(a.get("val"))
		}
	case "w:tc":
		under := g.under()
		if n := len(g.tables); n > 0 && g.tables[n-1] {
			under = someShade
		}
		g.cells = append(g.cells, under)
	case "w:shd":
		if n := len(g.cells); inCellProperties && n > 0 {
			if c := docxColour(a.get("fill")); c != "auto" {
				g.cells[n-1] = c
			}
		}
	case "w:txbxContent":
		g.boxes = append(g.boxes, g.shape)
	case "a:ln":
		g.line++
	case "a:solidFill", "a:gradFill", "a:blipFill", "a:pattFill":
		if g.in > 0 && g.line == 0 {
			g.shape = someShade // applies until its colour is read
		}
	case "a:srgbClr":
		if c := docxColour(a.get("val")); g.in > 0 && g.line == 0 {
			g.shape = c
		}
	case "a:schemeClr":
		if g.in > 0 && g.line == 0 && (a.get("val") == "bg1" || a.get("val") == "lt1") {
			g.shape = "#ffffff"
		}
	case "v:shape", "v:rect", "v:roundrect", "v:oval":
		if g.shape = ""; a.get("fillcolor") != "" {
			word, _, _ := strings.Cut(a.get("fillcolor"), " ")
			g.shape = readColour(word)
		}
	default:
		if strings.HasSuffix(name, ":spPr") {
			g.in++
			g.shape = ""
		}
	}
}

func (g *docxGround) stop(name string) {
	switch name {
	case "w:tbl":
		g.tables = g.tables[:max(0, len(g.tables)-1)]
	case "w:tc":
		g.cells = g.cells[:max(0, len(g.cells)-1)]
	case "w:txbxContent":
		g.boxes = g.boxes[:max(0, len(g.boxes)-1)]
	case "a:ln":
		g.line = max(0, g.line-1)
	default:
		if strings.HasSuffix(name, ":spPr") {
			g.in = max(0, g.in-1)
		}
	}
}

// under returns the background colour here, or "" if it is white.
func (g *docxGround) under() colour {
	if n := len(g.boxes); n > 0 {
		return g.boxes[n-1]
	}
	if n := len(g.cells); n > 0 && g.cells[n-1] != "" {
		return g.cells[n-1]
	}
	return g.page
}

// docxSettings determines whether a document displays its page colour.
type docxSettings struct{ ground *docxGround }

func (s *docxSettings) start(name string, a attrs) {
	if name == "w:displayBackgroundShape" {
		s.ground.shown = isOn(a)
	}
}
func (s *docxSettings) stop(string)  {}
func (s *docxSettings) chars(string) {}
