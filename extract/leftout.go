package extract

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// leftDetail lists the flag codes for letters that rules leave out of the text, in reporting order, with descriptions.
var leftDetail = []struct{ code, detail string }{
	{FlagHeaders, "page headers, footers and page numbers left out"},
	{FlagComments, "comments are left out"},
	{FlagTracked, "deleted text of tracked changes left out"},
	{FlagReadings, readingsDetail},
	{FlagNumbers, "numbers, dates and truth values of tables and charts are left out"},
	{FlagMetadata, "data about the document is left out: journal, addresses, rights, history"},
	{FlagAlternatives, "fallback text that current programs do not show is left out, although its wording differs"},
}

// characters returns the number of letters, marks and digits in s, which are the characters that reports count.
func characters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// leave counts the letters of s, which the rule with the given code leaves out of the text.
func (b *builder) leave(code, s string) {
	if n := characters(s); n > 0 {
		if b.left == nil {
			b.left = map[string]int{}
		}
		b.left[code] += n
	}
}

// tellLeft adds the letters left out to the flags that report them, raising flags where necessary.
func (b *builder) tellLeft() {
	b.compareAlternatives()
	for _, d := range leftDetail {
		n := b.left[d.code]
		if n == 0 {
			continue
		}
		i := slices.IndexFunc(b.res.Flags, func(f Flag) bool { return f.Code == d.code && f.End == 0 })
		if i < 0 {
			i = len(b.res.Flags)
			b.res.Flags = append(b.res.Flags, Flag{Code: d.code, Detail: d.detail, Count: 1})
		}
		b.res.Flags[i].Letters += n
	}
}

// maxAlternatives is the maximum amount of alternative text compared with the text read, in bytes.
const maxAlternatives = 4 << 20

// alternative records text that replaces other text in programs that cannot display the latter.
func (b *builder) alternative(s string) {
	if strings.TrimSpace(s) != "" && b.altSize+len(s) <= maxAlternatives {
		b.altSize += len(s)
		b.alts = append(b.alts, s)
	} else {
		b.leave(FlagAlternatives, s)
	}
}

// compareAlternatives counts the letters of alternatives with words missing from the text. If the words are the same, the text was
// already read.
func (b *builder) compareAlternatives() {
	if len(b.alts) == 0 {
		return
	}
	text := onlyCharacters(b.res.Text)
	for _, s := range b.alts {
		for line := range strings.SplitSeq(s, "\n") {
			if !strings.Contains(text, onlyCharacters(line)) {
				b.leave(FlagAlternatives, line)
			}
		}
	}
	b.alts = nil
}

// takeLeft adds the counts of letters left out from a part of the file that was read separately.
func (b *builder) takeLeft(apart *builder) {
	apart.res.Text = apart.out.String()
	apart.compareAlternatives()
	for code, n := range apart.left {
		if b.left == nil {
			b.left = map[string]int{}
		}
		b.left[code] += n
	}
}

// onlyCharacters returns the letters, marks and digits of s in a single case.
func onlyCharacters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// htmlWords returns the character data of HTML, one line per stretch.
func htmlWords(s string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	z.SetMaxBuf(0)
	for hidden := false; ; {
		switch z.Next() {
		case html.ErrorToken:
			return out.String()
		case html.StartTagToken:
			name, _ := z.TagName()
			hidden = string(name) == "script" || string(name) == "style"
		case html.EndTagToken:
			hidden = false
		case html.TextToken:
			if !hidden {
				out.WriteString(html.UnescapeString(string(z.Raw())))
				out.WriteByte('\n')
			}
		}
	}
}
