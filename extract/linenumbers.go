package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text copied from a draft or transcript includes its line numbers, before or after the words of each line. They are not part of the
// text, but would end up in its sentences. Lines of lists, tables and chronicles also start with increasing numbers, but there the words
// of a line do not continue on the next.
const (
	leastNumberedWidth = 24 // minimum mean width of a line of running text, in characters; an East Asian one counts twice
	runsOnShare        = 0.5
	sameStartShare     = 0.34 // share of lines with the same first word at which the text counts as a list
	mostNumberDigits   = 5
)

// lineNumber is a number at the edge of a line, with the separator between it and the words.
type lineNumber struct {
	line, value int
	from, to    int  // in bytes of the text
	alone       bool // the line has no words
}

// numberedLines contains the nonempty lines of a text.
type numberedLines struct {
	s     string
	lines [][2]int
	words []int // for each line, the number of earlier lines that contain more than a number
}

// lineNumbers finds line numbers that were copied with the text.
func lineNumbers(s string) []edit {
	n := &numberedLines{s: s}
	var left, right []lineNumber
	count := 0
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			end = len(s) - at
		}
		if from, to := at, at+end; strings.TrimSpace(s[from:to]) != "" {
			n.lines = append(n.lines, [2]int{from, to})
			n.words = append(n.words, count)
			k := len(n.lines) - 1
			a, ok := n.leading(k)
			if ok {
				left = append(left, a)
			}
			if b, ok := n.trailing(k); ok {
				right = append(right, b)
			}
			if !ok || !a.alone {
				count++
			}
		}
		at += end + 1
	}
	edits := n.runs(left)
	if len(edits) == 0 {
		edits = n.runs(right)
	}
	return edits
}

// leading parses the number before the words of a line.
func (n *numberedLines) leading(line int) (lineNumber, bool) {
	from, to := n.lines[line][0], n.lines[line][1]
	text := n.s[from:to]
	at := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	rest := strings.TrimLeftFunc(text[at:], unicode.IsDigit)
	value, ok := digitsValue(text[at : len(text)-len(rest)])
	if !ok {
		return lineNumber{}, false
	}
	if strings.TrimSpace(rest) == "" {
		next := to
		for next < len(n.s) && n.s[next] == '\n' {
			next++
		}
		for next == len(n.s) && from > 0 && n.s[from-1] == '\n' {
			from--
		}
		return lineNumber{line, value, from, next, true}, true
	}
	bare := strings.TrimLeft(rest, ":|.)]")
	words := strings.TrimLeftFunc(bare, unicode.IsSpace)
	if len(rest)-len(bare) > 1 || len(words) == len(bare) && rest[0] != '|' {
		return lineNumber{}, false
	}
	return lineNumber{line, value, from, to - len(words), false}, true
}

// trailing parses the number after the words of a line and a gap.
func (n *numberedLines) trailing(line int) (lineNumber, bool) {
	from, to := n.lines[line][0], n.lines[line][1]
	text := strings.TrimRightFunc(n.s[from:to], unicode.IsSpace)
	words := strings.TrimRightFunc(text, unicode.IsDigit)
	value, ok := digitsValue(text[len(words):])
	bare := strings.TrimRightFunc(words, unicode.IsSpace)
	if !ok || bare == "" || !strings.HasSuffix(words, "  ") && !strings.HasSuffix(words, "\t") {
		return lineNumber{}, false
	}
	return lineNumber{line, value, from + len(bare), to, false}, true
}

// digitsValue returns the number written in digits of any script, unless there are too many.
func digitsValue(digits string) (value int, ok bool) {
	n := 0
	for _, r := range digits {
		d := 0 // the digits of a script are consecutive, starting with zero (Unicode 15, section 4.6)
		for d < 9 && unicode.IsDigit(r-rune(d)-1) {
			d++
		}
		value = 10*value + d
		if n++; n > mostNumberDigits {
			return 0, false
		}
	}
	return value, n > 0
}

// runs returns edits for the numbers that count lines of running text.
func (n *numberedLines) runs(numbers []lineNumber) []edit {
	var out []edit
	for at := 0; at < len(numbers); {
		end := at + 1
		for end < len(numbers) && n.follows(numbers[end-1], numbers[end]) {
			end++
		}
		if run := numbers[at:end]; n.counts(run) {
			for _, one := range run {
				out = append(out, edit{from: one.from, to: one.to})
			}
		}
		at = end
	}
	return out
}

// follows reports whether b counts the lines since a, either all lines or only lines with words.
func (n *numberedLines) follows(a, b lineNumber) bool {
	step := b.value - a.value
	return step > 0 && (step == b.line-a.line || step == n.words[b.line]-n.words[a.line])
}

// counts reports whether the numbers in a run are line numbers.
func (n *numberedLines) counts(run []lineNumber) bool {
	first, last := run[0], run[len(run)-1]
	if len(run) < leastLineNumbers || last.line-first.line+1 < leastNumbered {
		return false
	}
	if step := run[1].value - run[0].value; step > 1 { // for example every fifth line; nothing else is numbered like that
		return !slices.ContainsFunc(run[2:], func(x lineNumber) bool { return (x.value-run[0].value)%step != 0 })
	}
	var texts []string
	for line, k := first.line, 0; line <= last.line; line++ {
		from, to := n.lines[line][0], n.lines[line][1]
		if k < len(run) && run[k].line == line {
			switch one := run[k]; {
			case one.alone:
				from = to
			case one.from == from:
				from = one.to
			default:
				to = one.from
			}
			k++
		}
		if t := strings.TrimSpace(n.s[from:to]); t != "" {
			texts = append(texts, t)
		}
	}
	return runOn(texts)
}

// runOn reports whether lines are running text, which is broken where lines are full.
func runOn(lines []string) bool {
	total, widest := 0, 0
	starts := map[string]int{}
	for _, l := range lines {
		w := lineWidth(l)
		total += w
		widest = max(widest, w)
		starts[openingWord(l)]++
	}
	if len(lines) < leastNumbered || total < leastNumberedWidth*len(lines) {
		return false
	}
	for _, k := range starts {
		if float64(k) > sameStartShare*float64(len(lines)) {
			return false
		}
	}
	on := 0
	for i := 1; i < len(lines); i++ {
		next, _ := utf8.DecodeRuneInString(lines[i])
		full := lineWidth(lines[i-1])+1+lineWidth(openingWord(lines[i])) > widest
		if full && (unicode.IsLower(next) || !sentenceEnds(lines[i-1])) {
			on++
		}
	}
	return float64(on) >= runsOnShare*float64(len(lines)-1)
}

// openingWord returns the first word of a line, or its first character in scripts without blanks.
func openingWord(s string) string {
	for i, r := range s {
		switch {
		case i > 0 && (unicode.IsSpace(r) || isWideRune(r)):
			return s[:i]
		case isWideRune(r):
			return s[:i+utf8.RuneLen(r)]
		}
	}
	return s
}

func lineWidth(s string) int {
	n := 0
	for _, r := range s {
		if n++; isWideRune(r) {
			n++
		}
	}
	return n
}

func isWideRune(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303f ||
		r >= 0xff01 && r <= 0xff60)
}

// sentenceEnds reports whether s ends the way a sentence does.
func sentenceEnds(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, `"'”’»)`))
	return strings.ContainsRune(".!?…:;。！？；：؟۔।", r)
}

// dropLineNumbers removes line numbers from the finished text.
func (b *builder) dropLineNumbers() {
	edits := lineNumbers(b.res.Text)
	if len(edits) == 0 {
		return
	}
	digits := 0
	for _, e := range edits {
		digits += characters(b.res.Text[e.from:e.to])
	}
	b.flag(Flag{Code: FlagHeaders, Detail: "line numbers left out", Count: len(edits), Letters: digits})
	b.rewrite(edits)
}
