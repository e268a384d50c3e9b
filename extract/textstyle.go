package extract

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// hidingProperties are the style sheet properties that can hide text or reverse it.
var hidingProperties = map[string]bool{
	"display": true, "visibility": true, "opacity": true, "font": true, "font-size": true, "color": true, "-webkit-text-fill-color": true,
	"background": true, "background-color": true, "background-image": true, "position": true, "left": true, "top": true, "right": true,
	"bottom": true, "text-indent": true, "content": true,
	"margin-left": true, "width": true, "height": true, "max-height": true, "max-width": true, "overflow": true, "clip": true,
	"direction": true, "unicode-bidi": true,
}

// textStyle contains the properties of an element that affect whether its text is legible.
type textStyle struct {
	gone       string // flag code of an enclosing element that hides everything in it, or ""
	invisible  bool   // visibility, which an inner element can reset
	size       float64
	foreground colour
	background colour
	fromRight  bool // direction: rtl
	turn       rune // direction control for the direction requested by the element itself; 0 if it requests none
}

// colour is a colour in comparable form, or "" if unknown.
type colour string

// pageStyle is the style of an unstyled page: black on white, 16 pixels.
var pageStyle = textStyle{size: 16, foreground: "#000000", background: "#ffffff"}

// code returns the flag required for text in this style, or "".
func (l *textStyle) code() string {
	switch {
	case l.gone != "":
		return l.gone
	case l.invisible, l.size == 0:
		return FlagHidden
	case l.size <= tinyPixels:
		return FlagTiny
	case l.foreground == "transparent", l.foreground != "" && l.background != "" && alike(l.foreground, l.background):
		return FlagWhite
	}
	return ""
}

// tinyPixels is tinyPoints at 96 pixels per inch.
const tinyPixels = tinyPoints * 96 / 72.0

// htmlDetail explains the flags for a page's text.
var htmlDetail = map[string]string{
	FlagHidden:  "text that a browser does not show",
	FlagWhite:   "text in the colour of the background",
	FlagTiny:    "text of 2 points or less",
	FlagOffPage: "text placed outside the page",
}

// box contains the non-inherited properties of one element.
type box struct {
	none, faint, placed, cut, clipped bool
	order                             string // unicode-bidi
	away, small                       sides
}

// sides is a bit set of properties; combinations of them can move a box out of sight or make it small.
type sides uint8

var (
	awayProperties  = []string{"left", "top", "right", "bottom", "text-indent", "margin-left"}
	smallProperties = []string{"height", "max-height", "width", "max-width"}
)

func (s *sides) note(bit int, on bool) {
	if *s &^= 1 << bit; on {
		*s |= 1 << bit
	}
}

// of returns the style of an element inside l, given the declarations that apply to it, weakest first.
func (l textStyle) of(n *html.Node, sets []setting) textStyle {
	var b box
	outer := l
	l.turn = 0
	l.attributes(n, &b)
	for _, important := range []bool{false, true} {
		for _, d := range sets {
			if d.important == important {
				l.set(&b, d, &outer)
			}
		}
	}
	switch {
	case l.gone != "":
	case b.none, b.faint, b.clipped && b.placed, b.small != 0 && b.cut:
		l.gone = FlagHidden
	case b.away != 0:
		l.gone = FlagOffPage
	}
	l.turn = b.control(l.fromRight)
	return l
}

// control returns the direction control that corresponds to unicode-bidi and direction.
func (b *box) control(fromRight bool) rune {
	switch b.order {
	case "bidi-override", "isolate-override":
		if fromRight {
			return bidiRLO
		}
		return bidiLRO
	case "embed", "isolate":
		if fromRight {
			return bidiRLI
		}
		return bidiLRI
	}
	return 0
}

// attributes applies the old attributes that colour and hide text; any style overrides them.
func (l *textStyle) attributes(n *html.Node, b *box) {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			b.none = true
		case "dir":
			if v := strings.ToLower(a.Val); v == "rtl" || v == "ltr" {
				l.fromRight, b.order = v == "rtl", "isolate"
			}
		case "bgcolor":
			l.background = readColour(a.Val)
		case "background":
			l.background = ""
		case "text":
			if n.DataAtom == atom.Body {
				l.foreground = readColour(a.Val)
			}
		case "color":
			if n.DataAtom == atom.Font {
				l.foreground = readColour(a.Val)
			}
		}
	}
	if n.DataAtom == atom.Bdo {
		b.order = "bidi-override"
	}
}

func (l *textStyle) set(b *box, d setting, outer *textStyle) {
	v := d.value
	switch d.name {
	case "display":
		b.none = v == "none"
	case "visibility":
		if v != "inherit" {
			l.invisible = v == "hidden" || v == "collapse"
		}
	case "direction":
		l.fromRight = v == "rtl"
	case "unicode-bidi":
		b.order = v
	case "opacity":
		n, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
		if strings.HasSuffix(v, "%") {
			n /= 100
		}
		b.faint = err == nil && n <= 0.05
	case "font-size":
		l.size = readSize(v, outer.size, l.size)
	case "font":
		for _, f := range strings.Fields(v) { // the size is the first length
			f, _, _ = strings.Cut(f, "/")
			if n := readSize(f, outer.size, -1); n >= 0 && f[0] >= '0' && f[0] <= '9' && strings.Trim(f, "0123456789") != "" {
				l.size = n
				break
			}
		}
	case "color", "-webkit-text-fill-color":
		switch v {
		case "inherit", "unset", "currentcolor":
			l.foreground = outer.foreground
		default:
			l.foreground = readColour(v)
		}
	case "background", "background-color", "background-image":
		l.setBackground(d.name, v, outer)
	case "position":
		b.placed = v == "absolute" || v == "fixed"
	case "left", "top", "right", "bottom", "text-indent", "margin-left":
		b.away.note(slices.Index(awayProperties, d.name), isFar(v))
	case "overflow":
		b.cut = strings.HasPrefix(v, "hidden") || strings.HasPrefix(v, "clip")
	case "height", "max-height", "width", "max-width":
		b.small.note(slices.Index(smallProperties, d.name), readSize(v, 16, 100) <= 1 && !strings.HasSuffix(v, "%"))
	case "clip":
		b.clipped = strings.HasPrefix(v, "rect(") && strings.Trim(v[4:], "(0px1,) ") == ""
	}
}

// setBackground applies a background; a picture can have any colour.
func (l *textStyle) setBackground(name, v string, outer *textStyle) {
	if strings.Contains(v, "url(") || strings.Contains(v, "gradient(") {
		l.background = ""
		return
	}
	if name == "background-image" {
		return
	}
	for _, f := range splitValue(v) {
		switch c := readColour(f); {
		case c == "transparent" || f == "none" || f == "inherit" || f == "initial":
			l.background = outer.background
		case c != "":
			l.background = c
		}
	}
}

// splitValue splits a value at blanks outside brackets.
func splitValue(v string) []string {
	depth := 0
	return strings.FieldsFunc(v, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ' ' && depth <= 0
	})
}

// isFar reports whether a length moves something out of every window.
func isFar(v string) bool {
	n := readSize(v, 16, 0)
	return n <= -900 || n >= 9000
}

// readSize returns the length v in pixels, with relative lengths relative to base. If v is not a length, it returns otherwise.
func readSize(v string, base, otherwise float64) float64 {
	switch v {
	case "xx-small":
		return 9
	case "x-small", "small", "medium", "large", "x-large", "xx-large":
		return 16
	case "smaller":
		return base * 5 / 6
	case "larger":
		return base * 6 / 5
	}
	i := strings.LastIndexAny(v, "0123456789.") + 1
	n, err := strconv.ParseFloat(v[:i], 64)
	if err != nil {
		return otherwise
	}
	switch v[i:] {
	case "px":
		return n
	case "":
		if n == 0 {
			return 0
		}
		return otherwise
	case "pt":
		return n * 96 / 72
	case "pc":
		return n * 16
	case "in":
		return n * 96
	case "cm":
		return n * 96 / 2.54
	case "mm":
		return n * 96 / 25.4
	case "em", "ch", "ex", "%":
		if v[i:] == "%" {
			n /= 100
		}
		return n * base
	case "rem":
		return n * 16
	case "vw", "vh":
		return n * 10
	}
	return otherwise
}

// colourNames contains the colour names of CSS 1 and the near-white ones; others are compared by name.
var colourNames = map[string]colour{
	"white": "#ffffff", "black": "#000000", "red": "#ff0000", "lime": "#00ff00", "blue": "#0000ff", "yellow": "#ffff00", "aqua": "#00ffff",
	"cyan":    "#00ffff",
	"fuchsia": "#ff00ff", "magenta": "#ff00ff", "silver": "#c0c0c0", "gray": "#808080", "grey": "#808080", "maroon": "#800000",
	"olive": "#808000",
	"green": "#008000", "purple": "#800080", "teal": "#008080", "navy": "#000080", "snow": "#fffafa", "ivory": "#fffff0",
	"ghostwhite":  "#f8f8ff",
	"floralwhite": "#fffaf0", "whitesmoke": "#f5f5f5", "mintcream": "#f5fffa", "azure": "#f0ffff", "transparent": "transparent",
}

// readColour returns the colour that v names, or "" if the colour is unknown.
func readColour(v string) colour {
	v = strings.ToLower(strings.TrimSpace(v))
	if c, ok := colourNames[v]; ok {
		return c
	}
	if h, ok := strings.CutPrefix(v, "#"); ok {
		if strings.Trim(h, "0123456789abcdef") != "" {
			return ""
		}
		if len(h) == 3 || len(h) == 4 {
			var long strings.Builder
			for i := range len(h) {
				long.WriteByte(h[i])
				long.WriteByte(h[i])
			}
			h = long.String()
		}
		switch {
		case len(h) == 8 && h[6:] < "0d":
			return "transparent"
		case len(h) == 8, len(h) == 6:
			return colour("#" + h[:6])
		}
		return ""
	}
	if strings.HasPrefix(v, "rgb") {
		return readRGB(v)
	}
	return ""
}

// readRGB reads rgb(255, 255, 255), rgba(0 0 0 / 0%) and the like.
func readRGB(v string) colour {
	_, args, _ := strings.Cut(strings.TrimSuffix(v, ")"), "(")
	f := strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == ' ' || r == '/' })
	if len(f) < 3 {
		return ""
	}
	if len(f) > 3 {
		if n, err := strconv.ParseFloat(strings.TrimSuffix(f[3], "%"), 64); err == nil && n <= 0.05 {
			return "transparent"
		}
	}
	out := colour("#")
	for _, s := range f[:3] {
		n, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
		if err != nil {
			return ""
		}
		if strings.HasSuffix(s, "%") {
			n *= 2.55
		}
		c := min(max(int(n), 0), 255)
		out += colour("0123456789abcdef"[c>>4:c>>4+1] + "0123456789abcdef"[c&15:c&15+1])
	}
	return out
}

// alike reports whether two colours are indistinguishable on a page, with no channel differing by more than 10 of 255.
func alike(a, b colour) bool {
	x, errX := strconv.ParseUint(strings.TrimPrefix(string(a), "#"), 16, 32)
	y, errY := strconv.ParseUint(strings.TrimPrefix(string(b), "#"), 16, 32)
	if errX != nil || errY != nil {
		return false
	}
	for shift := 0; shift < 24; shift += 8 {
		if d := int(x>>shift&255) - int(y>>shift&255); d > 10 || d < -10 {
			return false
		}
	}
	return true
}
