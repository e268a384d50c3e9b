package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// maxQuote is the maximum number of bytes between two quotation marks that form a quotation. A mark that is never closed, or a pair
// around a whole chapter, must not remove text from the scores.
const maxQuote = 3000

// closers maps each mark that can open a quotation to the marks that can close it: English, German and Polish low marks, identical
// Swedish marks, guillemets in either direction, Chinese and Japanese corner brackets and their vertical forms, full-width and ornamental
// marks. Title marks 《》 and 〈〉 name works rather than quote them.
var closers = map[rune]string{
	'“': "”", '”': "”", '„': "“”", '‟': "”", '«': "»", '»': "«»", '‹': "›", '›': "‹›",
	'‘': "’", '‚': "‘’", '‛': "’", '「': "」", '『': "』", '﹁': "﹂", '﹃': "﹄", '｢': "｣",
	'〝': "〞〟", '＂': "＂", '❝': "❞", '❛': "❜", '⹂': "“”", '"': "\"", '\'': "'",
}

// quotations returns the text in quotation marks or block quotations. Quotation marks pair up within a paragraph; a quotation that is not
// closed there is ignored.
func quotations(text string) spans {
	var out []concordat.Span
	ps := paragraphs(text)
	for i, p := range ps {
		if i+1 < len(ps) && continues(text, p, ps[i+1]) {
			out = append(out, p)
			continue
		}
		out = append(out, markedQuotes(text, p)...)
	}
	return union(append(out, blockQuotes(text)...))
}

// continues reports whether p is a paragraph of a quotation that continues in the next one; each of its paragraphs begins with an opening
// mark, and only the last has the closing mark.
func continues(text string, p, next concordat.Span) bool {
	p, next = trim(text, p), trim(text, next)
	r, _ := utf8.DecodeRuneInString(p.In(text))
	if !strings.ContainsRune("“«「『", r) || !strings.HasPrefix(next.In(text), string(r)) || p.Len() > maxQuote {
		return false
	}
	return !strings.ContainsAny(p.In(text), closers[r])
}

// open is an opening quotation mark not yet closed.
type open struct {
	at      int
	closers string
}

// markedQuotes returns the outermost quotations in one paragraph.
func markedQuotes(text string, p concordat.Span) []concordat.Span {
	var out []concordat.Span
	var stack []open
	prev := ' '
	for i := p.Start; i < p.End; {
		r, size := utf8.DecodeRuneInString(text[i:p.End])
		next, _ := utf8.DecodeRuneInString(text[i+size : p.End])
		if i+size >= p.End {
			next = ' '
		}
		if k := closes(stack, r, prev, next); elided(text[i:p.End], r) {
			// an apostrophe for omitted letters
		} else if k >= 0 {
			s := concordat.Span{Start: stack[k].at, End: i + size}
			stack = stack[:k]
			if s.Len() <= maxQuote {
				out = append(out, s)
			}
		} else if c, ok := closers[r]; ok && opens(r, prev, next) && len(stack) < 8 {
			stack = append(stack, open{i, c})
		}
		prev = r
		i += size
	}
	return out
}

// elided reports whether s begins with an apostrophe for omitted letters: '90s, 'n', 'tis.
func elided(s string, r rune) bool {
	if r != '\'' && r != '’' && r != '‘' {
		return false
	}
	s = s[utf8.RuneLen(r):]
	if len(s) >= 3 && isDigit(s[0]) && isDigit(s[1]) && s[2] == 's' {
		return true
	}
	word := strings.ToLower(s[:strings.IndexFunc(s+" ", func(r rune) bool { return !unicode.IsLetter(r) })])
	switch word {
	case "tis", "twas", "em", "til", "cause", "bout", "round":
		return true
	case "n":
		return strings.HasPrefix(s[1:], "'") || strings.HasPrefix(s[1:], "’")
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// closes returns the index of the innermost open mark closed by r, or -1.
func closes(stack []open, r, prev, next rune) int {
	if (r == '\'' || r == '’') && inWord(prev) && inWord(next) {
		return -1 // an apostrophe
	}
	if (r == '"' || r == '\'') && unicode.IsSpace(prev) {
		return -1 // a straight mark after a space opens
	}
	for k := len(stack) - 1; k >= 0; k-- {
		if strings.ContainsRune(stack[k].closers, r) {
			return k
		}
	}
	return -1
}

// opens reports whether an opening mark opens a quotation here.
func opens(r, prev, next rune) bool {
	switch r {
	case '"', '\'', '”', '‘', '»', '›', '＂':
		// A mark that can also close, or be an apostrophe, opens a quotation only after a space or punctuation, except in scripts without
		// spaces.
		if inWord(prev) && !unspaced(prev) {
			return false
		}
		return !unicode.IsSpace(next)
	}
	return true
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// unspaced reports whether r belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// line is a line of text without its line break.
type line struct {
	concordat.Span
	trimmed string // without surrounding white space
}

func lines(text string) []line {
	var out []line
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(text)-at, len(text)
		}
		out = append(out, line{concordat.Span{Start: at, End: at + end}, strings.TrimSpace(text[at : at+end])})
		at = next
	}
	return out
}

// paragraphs returns the stretches of text between blank lines. If a stretch is longer than maxQuote, each line is a paragraph, because
// such a text puts each paragraph on one line.
func paragraphs(text string) []concordat.Span {
	var out []concordat.Span
	ls := lines(text)
	for i := 0; i < len(ls); {
		if ls[i].trimmed == "" {
			i++
			continue
		}
		j := i
		for j < len(ls) && ls[j].trimmed != "" {
			j++
		}
		if ls[j-1].End-ls[i].Start <= maxQuote {
			out = append(out, concordat.Span{Start: ls[i].Start, End: ls[j-1].End})
		} else {
			for _, l := range ls[i:j] {
				out = append(out, l.Span)
			}
		}
		i = j
	}
	return out
}

// blockQuotes returns block quotations: lines that begin with ">", and fully indented paragraphs in a text that is mostly not indented. A
// one-line paragraph is a quotation if it is indented more than normal paragraphs and is not a heading.
func blockQuotes(text string) []concordat.Span {
	ls := lines(text)
	var out, indented []concordat.Span
	prose := 0 // paragraphs of several lines, and long one-line paragraphs
	base := usualIndent(text, ls)
	for i := 0; i < len(ls); {
		j, quoted, inset := i, true, true
		for ; j < len(ls) && ls[j].trimmed != ""; j++ {
			quoted = quoted && strings.HasPrefix(ls[j].trimmed, ">")
			inset = inset && indent(text[ls[j].Start:ls[j].End]) >= 2
		}
		if j == i {
			i++
			continue
		}
		s := concordat.Span{Start: ls[i].Start, End: ls[j-1].End}
		long := j-i >= 2 || len(ls[i].trimmed) >= leastBlock
		if long {
			prose++
		}
		if quoted {
			out = append(out, s)
		} else if inset && long && s.Len() <= maxQuote && (j-i >= 2 && base < 2 || indent(text[s.Start:s.End]) >= base+4) {
			indented = append(indented, s)
		}
		i = j
	}
	if 4*len(indented) <= prose { // in a mostly indented text, indentation does not signal quotations
		out = append(out, indented...)
	}
	return out
}

// leastBlock is the number of bytes at which a separate line is a paragraph rather than a heading.
const leastBlock = 80

// usualIndent returns the median indent of a text's long lines.
func usualIndent(text string, ls []line) int {
	var all []int
	for _, l := range ls {
		if len(l.trimmed) >= leastBlock {
			all = append(all, indent(text[l.Start:l.End]))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// indent returns the width of the white space at the start of s; a tab counts as four, an ideographic space as two.
func indent(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '\t':
			n += 4
		case r == '\u3000':
			n += 2
		case unicode.IsSpace(r):
			n++
		default:
			return n
		}
	}
	return n
}
