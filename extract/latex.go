package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readLaTeX returns what LaTeX prints as running text: headings, paragraphs, captions, notes, and the text of the document's own simple
// macros. It does not evaluate TeX arithmetic. It drops the name of an unknown command and keeps the argument.
func readLaTeX(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	x := &latex{b: b, macros: map[string]macro{}, fuel: int(b.opt.MaxText)}
	x.whole(cleanPlain(s), 0)
	x.endParagraph()
	if len(x.missing) > 0 {
		b.partial(FlagPart, "missing files: "+strings.Join(x.missing, ", "))
	}
	return nil
}

type macro struct {
	args int
	body string
}

// latex is the state while reading one document.
type latex struct {
	b       *builder
	macros  map[string]macro
	notes   []string // footnotes in the paragraph
	missing []string
	fuel    int // number of characters that macros and includes can still add
	body    bool
	depth   int
}

// maxLatexDepth is the maximum nesting of groups, macros and includes.
const maxLatexDepth = 100

// whole reads a file, taking title, author and macros from the preamble, and text from the body. A file without \begin{document} consists
// entirely of body.
func (x *latex) whole(s string, depth int) {
	s = dropComments(s)
	if i := strings.Index(s, `\begin{document}`); i >= 0 && depth == 0 {
		x.preamble(s[:i])
		s = s[i+len(`\begin{document}`):]
		if j := strings.LastIndex(s, `\end{document}`); j >= 0 {
			s = s[:j]
		}
	}
	x.body = true
	x.text(s)
}

// dropComments removes each comment with its line end and the leading blanks of the next line, as TeX does.
func dropComments(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var out strings.Builder
	for line := range strings.Lines(s) {
		cut := -1
		for i := 0; i < len(line); i++ {
			if line[i] == '\\' {
				i++
			} else if line[i] == '%' {
				cut = i
				break
			}
		}
		switch {
		case cut < 0:
			out.WriteString(line)
		case strings.TrimSpace(line[:cut]) != "":
			out.WriteString(line[:cut])
		}
	}
	return out.String()
}

// preamble reads title, author and the document's own macros.
func (x *latex) preamble(s string) {
	p := &latexScan{s: s}
	for p.i < len(s) {
		if s[p.i] != '\\' {
			p.i++
			continue
		}
		switch name := p.command(); name {
		case "title":
			p.optional()
			x.b.res.Title = x.plain(p.argument())
		case "author":
			p.optional()
			x.b.res.Author = x.plain(p.argument())
		case "newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "def", "gdef":
			x.define(name, p)
		case "input", "include":
			x.includeMacros(p.argument())
		}
	}
}

// includeMacros reads the definitions in a file included by the preamble.
func (x *latex) includeMacros(name string) {
	if x.b.include == nil || x.depth >= maxLatexDepth {
		return
	}
	if d, ok := x.b.include(strings.TrimSpace(name)); ok && len(d) <= x.fuel {
		x.fuel -= len(d)
		x.depth++
		x.preamble(dropComments(strings.ToValidUTF8(string(d), "\uFFFD")))
		x.depth--
	}
}

// define reads a macro definition; an optional argument of the macro is ignored.
func (x *latex) define(kind string, p *latexScan) {
	p.star()
	name, args := "", 0
	if kind == "def" || kind == "gdef" {
		p.space()
		if p.i < len(p.s) && p.s[p.i] == '\\' {
			name = p.command()
		}
		for p.i < len(p.s) && p.s[p.i] != '{' && p.s[p.i] != '\n' {
			if p.s[p.i] == '#' {
				args++
			}
			p.i++
		}
	} else {
		name = strings.TrimPrefix(strings.TrimSpace(p.argument()), `\`)
		if n, ok := p.optional(); ok && len(n) == 1 && n[0] >= '0' && n[0] <= '9' {
			args = int(n[0] - '0')
		}
		if _, ok := p.optional(); ok {
			args--
		}
	}
	body := p.argument()
	if name != "" && len(x.macros) < 10000 && !latexKnown(name) {
		x.macros[name] = macro{max(args, 0), body}
	}
}

// plain returns the printed text of s as one line.
func (x *latex) plain(s string) string {
	y := &latex{b: newBuilder(LaTeX, x.b.opt, x.b.lim), macros: x.macros, fuel: min(len(s)*10+1000, x.fuel), body: true, depth: x.depth + 1}
	if y.depth < maxLatexDepth {
		y.text(s)
		y.endParagraph()
	}
	return cleanTitle(y.b.out.String())
}

func (x *latex) endParagraph() {
	x.b.end()
	notes := x.notes
	x.notes = nil
	for _, n := range notes {
		x.text(n)
		x.b.end()
	}
}

// text writes the printed text of s.
func (x *latex) text(s string) {
	if x.depth >= maxLatexDepth {
		x.b.missing(Flag{Code: Limit, Detail: "LaTeX groups that are nested too deeply were left out", Letters: characters(s)})
		return
	}
	x.depth++
	defer func() { x.depth-- }()
	p := &latexScan{s: s}
	for p.i < len(s) && !x.b.full {
		c := s[p.i]
		switch {
		case c == '\\':
			x.command(p)
		case c == '$':
			x.math(p.dollars())
		case c == '{', c == '}':
			p.i++
		case c == '~':
			p.i++
			x.b.space()
		case c == '&':
			p.i++
			x.endParagraph()
		case c == '\n' && p.blankLine():
			x.endParagraph()
		case isFlowSpace(rune(c)):
			p.i++
			x.b.space()
		case c == '-' || c == '`' || c == '\'' || c == '"':
			x.b.text(p.ligature())
		default:
			from := p.i
			for p.i < len(s) && !strings.ContainsRune("\\${}~&\n \t\r\f-`'\"", rune(s[p.i])) {
				p.i++
			}
			x.b.text(s[from:p.i])
		}
	}
}

// command handles a control sequence.
func (x *latex) command(p *latexScan) {
	name := p.command()
	if m, ok := x.macros[name]; ok {
		x.expand(m, p)
		return
	}
	if s, ok := latexSigns[name]; ok {
		x.b.text(s)
		p.emptyGroup(name)
		return
	}
	if mark, ok := latexAccents[name]; ok && (len(name) > 1 || !unicode.IsLetter(rune(name[0])) || p.accentFollows()) {
		x.accent(mark, p)
		return
	}
	if n, ok := latexDropped[name]; ok {
		p.star()
		for range n {
			p.optional()
			p.argument()
		}
		if k := len(x.b.para); p.i < len(p.s) && strings.IndexByte(",.;:)", p.s[p.i]) >= 0 && k > 0 && x.b.para[k-1] == ' ' {
			x.b.para = x.b.para[:k-1] // drops the space before a reference that is left out entirely
		}
		return
	}
	switch name {
	case "begin":
		x.environment(p)
	case "end":
		p.argument()
		x.endParagraph()
	case "par", "item", "bibitem", "newline", "maketitle", "hline", "tabularnewline", "noindent", "newpage", "clearpage":
		x.breakAt(name, p)
	case "\\":
		p.star()
		p.optional()
		x.b.line()
	case "(", "[":
		close := map[string]string{"(": `\)`, "[": `\]`}[name]
		x.math(p.until(close), name == "[")
	case "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "caption", "title":
		x.heading(name, p)
	case "footnote", "footnotetext", "thanks", "marginpar":
		p.optional()
		if len(x.notes) < 10000 {
			x.notes = append(x.notes, p.argument())
		}
	case "input", "include", "subfile", "bibliography":
		x.includeFile(name, p)
	case "verb":
		x.b.text(p.verb())
	case "href", "textcolor", "colorbox", "raisebox", "parbox", "scalebox", "fontsize", "foreignlanguage", "rule":
		p.optional()
		p.argument()
	case "newcommand", "renewcommand", "providecommand", "DeclareRobustCommand", "def", "gdef":
		x.define(name, p)
	case "iffalse":
		p.until(`\fi`)
	default:
		p.optional()
	}
}

// breakAt handles commands that end a paragraph.
func (x *latex) breakAt(name string, p *latexScan) {
	switch name {
	case "item":
		x.endParagraph()
		if l, ok := p.optional(); ok {
			x.text(l)
			x.b.space()
		}
		return
	case "bibitem":
		p.optional()
		p.argument()
	case "maketitle":
		x.endParagraph()
		if x.b.res.Title != "" {
			x.b.text(x.b.res.Title)
		}
	}
	if name != "noindent" && name != "hline" {
		x.endParagraph()
	}
}

func (x *latex) heading(name string, p *latexScan) {
	p.star()
	p.optional()
	arg := p.argument()
	if name == "title" {
		x.b.res.Title = x.plain(arg)
		return
	}
	x.endParagraph()
	if name != "caption" {
		x.b.label = "section " + x.plain(arg)
	}
	x.text(arg)
	x.endParagraph()
}

// expand replaces a macro with its body and arguments.
func (x *latex) expand(m macro, p *latexScan) {
	body := m.body
	for i := range m.args {
		arg := p.argument()
		if strings.Count(body, "#")*len(arg) > x.fuel {
			return
		}
		body = strings.ReplaceAll(body, fmt.Sprintf("#%d", i+1), arg)
	}
	if x.fuel -= len(body); x.fuel < 0 {
		x.b.partial(Limit, "LaTeX macros expand without end")
		return
	}
	x.text(body)
}

// accent puts a mark on the next letter.
func (x *latex) accent(mark rune, p *latexScan) {
	p.space()
	base := ""
	switch {
	case p.i < len(p.s) && p.s[p.i] == '{':
		base = p.argument()
	case p.i < len(p.s) && p.s[p.i] == '\\':
		base = `\` + p.command()
	case p.i < len(p.s):
		_, n := utf8.DecodeRuneInString(p.s[p.i:])
		base = p.s[p.i : p.i+n]
		p.i += n
	}
	base = strings.NewReplacer(`\i`, "i", `\j`, "j").Replace(base)
	_, n := utf8.DecodeRuneInString(base)
	if base != "" {
		x.b.text(norm.NFC.String(base[:n] + string(mark)))
		x.text(base[n:])
	}
}

// environment handles \begin.
func (x *latex) environment(p *latexScan) {
	name := p.argument()
	switch strings.TrimSuffix(name, "*") {
	case "equation", "align", "eqnarray", "gather", "multline", "displaymath", "math", "flalign", "alignat", "prooftree":
		x.endMath(p.until(`\end{`+name+`}`), name != "math")
	case "verbatim", "lstlisting", "minted", "Verbatim", "alltt":
		x.endParagraph()
		x.b.text(p.until(`\end{` + name + `}`))
		x.endParagraph()
	case "comment", "tikzpicture", "picture", "filecontents":
		p.until(`\end{` + name + `}`)
		x.endParagraph()
	case "tabular", "tabularx", "longtable", "array", "minipage", "thebibliography", "multicols", "wrapfigure":
		x.endParagraph()
		p.optional()
		p.argument()
		if name == "tabularx" || name == "wrapfigure" {
			p.argument()
		}
	default:
		x.endParagraph()
		if title, ok := p.optional(); ok && !isPlacement(title) {
			x.text(title)
			x.endParagraph()
		}
	}
}

// isPlacement distinguishes the optional argument of a float from the title of a theorem.
func isPlacement(s string) bool { return strings.Trim(s, "htbpH!,.=0123456789cmin ") == "" }

func (x *latex) includeFile(name string, p *latexScan) {
	file := strings.TrimSpace(p.argument())
	if name == "bibliography" {
		file = `\jobname.bbl`
	}
	if x.b.include != nil {
		if d, ok := x.b.include(file); ok && len(d) <= x.fuel {
			x.fuel -= len(d)
			c, err := detectEncoding(d)
			if err != nil {
				x.b.partial(FlagPart, file+": "+err.Error())
				return
			}
			s, err := c.decode(d)
			if err == nil {
				x.whole(cleanPlain(s), 1)
				return
			}
		}
	}
	if name != "bibliography" && file != "" && len(x.missing) < 20 {
		x.missing = append(x.missing, cleanTitle(file))
	}
}

// math writes the letters, digits and signs of a formula.
func (x *latex) math(s string, display bool) { x.endMath(s, display) }

func (x *latex) endMath(s string, display bool) {
	if display {
		x.b.line()
	}
	p := &latexScan{s: s}
	for p.i < len(s) {
		c := s[p.i]
		switch {
		case c == '\\':
			name := p.command()
			switch sign := latexMath[name]; {
			case sign != "":
				x.b.text(sign)
			case name == "text" || name == "mbox" || name == "textrm" || name == "intertext":
				x.text(p.argument())
			case name == "label" || name == "begin" || name == "end" || name == "tag":
				p.argument()
			case name == "\\":
				x.b.space()
			}
		case c == '{', c == '}', c == '&', c == '$':
			p.i++
		case isFlowSpace(rune(c)):
			p.i++
			x.b.space()
		default:
			_, n := utf8.DecodeRuneInString(s[p.i:])
			x.b.text(s[p.i : p.i+n])
			p.i += n
		}
	}
	if display {
		x.b.line()
	}
}
