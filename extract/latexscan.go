package extract

import (
	"strings"
	"unicode/utf8"
)

// latexScan parses TeX syntax.
type latexScan struct {
	s string
	i int
}

func isTeXLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '@' }

// command parses a control sequence at \ and the blanks after a named one.
func (p *latexScan) command() string {
	p.i++
	if p.i >= len(p.s) {
		return ""
	}
	from := p.i
	for p.i < len(p.s) && isTeXLetter(p.s[p.i]) {
		p.i++
	}
	if p.i == from {
		_, n := utf8.DecodeRuneInString(p.s[p.i:])
		p.i += n
		return p.s[from:p.i]
	}
	name := p.s[from:p.i]
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
	return name
}

func (p *latexScan) space() {
	for p.i < len(p.s) && isFlowSpace(rune(p.s[p.i])) {
		p.i++
	}
}

func (p *latexScan) star() {
	if p.i < len(p.s) && p.s[p.i] == '*' {
		p.i++
	}
}

// argument parses a group in braces, without the braces, or one character or command.
func (p *latexScan) argument() string {
	p.space()
	if p.i >= len(p.s) {
		return ""
	}
	if p.s[p.i] == '\\' {
		from := p.i
		p.command()
		return p.s[from:p.i]
	}
	if p.s[p.i] != '{' {
		_, n := utf8.DecodeRuneInString(p.s[p.i:])
		p.i += n
		return p.s[p.i-n : p.i]
	}
	return p.balanced('{', '}')
}

// optional parses an argument in square brackets, if present.
func (p *latexScan) optional() (string, bool) {
	at := p.i
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
	if p.i >= len(p.s) || p.s[p.i] != '[' {
		p.i = at
		return "", false
	}
	// Brackets need not be paired; one without a closing bracket nearby is text.
	if j := strings.IndexByte(p.s[p.i:min(len(p.s), p.i+4096)], ']'); j < 0 {
		p.i = at
		return "", false
	}
	return p.balanced('[', ']'), true
}

// balanced parses from an opening bracket to its closing one, or to the end.
func (p *latexScan) balanced(open, close byte) string {
	p.i++
	from, level := p.i, 1
	braces := 0
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '\\':
			p.i++
		case c == close && (open == '{' || braces == 0):
			if level--; level == 0 {
				p.i++
				return p.s[from : p.i-1]
			}
		case c == open:
			level++
		case open == '[' && c == '{':
			braces++
		case open == '[' && c == '}':
			braces--
		}
		p.i++
	}
	p.i = len(p.s)
	return p.s[from:]
}

// until parses to the end of the next occurrence of mark, or to the end of the text.
func (p *latexScan) until(mark string) string {
	rest := p.s[p.i:]
	if j := strings.Index(rest, mark); j >= 0 {
		p.i += j + len(mark)
		return rest[:j]
	}
	p.i = len(p.s)
	return rest
}

// dollars parses a formula at $ or $$.
func (p *latexScan) dollars() (string, bool) {
	if strings.HasPrefix(p.s[p.i:], "$$") {
		p.i += 2
		return p.until("$$"), true
	}
	p.i++
	from := p.i
	for p.i < len(p.s) && p.s[p.i] != '$' {
		if p.s[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	to := min(p.i, len(p.s))
	p.i = min(p.i+1, len(p.s))
	return p.s[from:to], false
}

// blankLine reports whether an empty line follows, and skips it if so.
func (p *latexScan) blankLine() bool {
	j := p.i + 1
	for j < len(p.s) && (p.s[j] == ' ' || p.s[j] == '\t' || p.s[j] == '\r') {
		j++
	}
	if j < len(p.s) && p.s[j] == '\n' {
		p.i = j
		return true
	}
	return false
}

// ligature parses dashes and quotation marks that TeX composes from several signs.
func (p *latexScan) ligature() string {
	for _, l := range []struct{ from, to string }{{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}, {"`", "‘"}, {"'", "’"}} {
		if strings.HasPrefix(p.s[p.i:], l.from) {
			p.i += len(l.from)
			return l.to
		}
	}
	p.i++
	return p.s[p.i-1 : p.i]
}

// verb parses the argument of \verb, between two identical delimiters.
func (p *latexScan) verb() string {
	p.star()
	if p.i >= len(p.s) {
		return ""
	}
	_, n := utf8.DecodeRuneInString(p.s[p.i:])
	mark := p.s[p.i : p.i+n]
	p.i += n
	return p.until(mark)
}

// emptyGroup drops the {} that ends a named sign.
func (p *latexScan) emptyGroup(name string) {
	if len(name) > 1 && strings.HasPrefix(p.s[p.i:], "{}") {
		p.i += 2
	}
}

// accentFollows distinguishes \c{c} from a command that happens to have the accent's name.
func (p *latexScan) accentFollows() bool { return p.i < len(p.s) && p.s[p.i] != '\\' }

func latexKnown(name string) bool {
	_, dropped := latexDropped[name]
	_, sign := latexSigns[name]
	return dropped || sign || name == "section" || name == "item" || name == "begin" || name == "end"
}

// latexDropped maps commands to the number of their arguments that are not printed.
var latexDropped = map[string]int{
	"label": 1, "ref": 1, "eqref": 1, "pageref": 1, "autoref": 1, "cref": 1, "Cref": 1, "cite": 1, "citep": 1, "citet": 1, "citealp": 1,
	"citeauthor": 1, "citeyear": 1, "nocite": 1, "parencite": 1, "textcite": 1, "footcite": 1, "index": 1, "vspace": 1, "hspace": 1,
	"includegraphics": 1, "usepackage": 1, "documentclass": 1, "bibliographystyle": 1, "setlength": 2, "addtolength": 2,
	"setcounter": 2, "addtocounter": 2, "newtheorem": 2, "newenvironment": 3, "renewenvironment": 3, "DeclareMathOperator": 2,
	"color": 1, "pagestyle": 1, "thispagestyle": 1, "pagenumbering": 1, "hypersetup": 1, "graphicspath": 1, "definecolor": 3,
	"addcontentsline": 3, "phantomsection": 0, "tableofcontents": 0, "listoffigures": 0, "listoftables": 0, "linewidth": 0,
	"cmidrule": 1, "cline": 1, "multicolumn": 2, "multirow": 2, "newcounter": 1, "stepcounter": 1, "refstepcounter": 1,
	"addbibresource": 1, "markboth": 2, "markright": 1, "glsaddall": 0, "selectlanguage": 1, "symlabel": 1, "indexdef": 1,
	"let": 2, "newlength": 1, "hyphenation": 1, "centering": 0, "raggedright": 0, "date": 1, "hskip": 0, "vskip": 0,
}

// latexSigns maps commands to the signs they print.
var latexSigns = map[string]string{
	"%": "%", "$": "$", "&": "&", "#": "#", "_": "_", "{": "{", "}": "}", " ": " ", "\n": " ", ",": " ", ";": " ", ":": " ", "!": "", "/": "",
	"-": "", "@": "", "quad": " ", "qquad": " ", "ldots": "…", "dots": "…", "textellipsis": "…", "ss": "ß", "ae": "æ", "AE": "Æ",
	"oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "th": "þ",
	"textendash": "–", "textemdash": "—", "textquotedblleft": "“", "textquotedblright": "”", "textquoteleft": "‘", "textquoteright": "’",
	"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textbar": "|", "textless": "<", "textgreater": ">",
	"copyright": "©", "pounds": "£", "euro": "€", "S": "§", "P": "¶", "dag": "†", "ddag": "‡", "LaTeX": "LaTeX", "TeX": "TeX",
	"guillemotleft": "«", "guillemotright": "»", "textdegree": "°", "slash": "/", "nobreakspace": " ", "textbullet": "•", "space": " ",
}

// latexAccents maps commands to the marks they put on a letter.
var latexAccents = map[string]rune{
	"'": 0x301, "`": 0x300, "^": 0x302, `"`: 0x308, "~": 0x303, "=": 0x304, ".": 0x307,
	"u": 0x306, "v": 0x30c, "H": 0x30b, "c": 0x327, "k": 0x328, "r": 0x30a, "d": 0x323, "b": 0x331,
}

// latexMath maps formula commands that also occur in text to their signs.
var latexMath = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
	"iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
	"upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
	"Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "times": "×", "cdot": "·", "leq": "≤",
	"le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "sim": "∼", "in": "∈", "to": "→", "rightarrow": "→",
	"infty": "∞", "sum": "∑", "prod": "∏", "int": "∫", "pm": "±", "subset": "⊂", "cup": "∪", "cap": "∩", "forall": "∀", "exists": "∃",
	"partial": "∂", "nabla": "∇", "equiv": "≡", "ldots": "…", "cdots": "⋯", "dots": "…", "%": "%", "{": "{", "}": "}", ",": " ", "quad": " ",
}
