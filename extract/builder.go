package extract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// builder collects paragraphs. A reader uses it to write text, end paragraphs, name places and raise flags.
type builder struct {
	res     Result
	opt     Options
	lim     *budget
	out     strings.Builder
	para    []byte // paragraph being written
	label   string // label of the place to record with the next paragraph
	full    bool   // MaxText was reached
	counts  map[string]int
	left    map[string]int // letters left out by a rule, by flag code
	alts    []string       // text that replaces other text; see alternative
	altSize int            // size of alts in bytes
	// include returns a file included by a LaTeX text; nil if there are no other files.
	include  func(name string) ([]byte, bool)
	spans    spanFlags   // stretches of para that need a flag
	places   []paraPlace // places that begin inside para
	saved    []interrupted
	scans    []Scan
	directed bool     // the reader wrote direction controls in place of equivalent elements
	asides   []string // texts above or next to the paragraph
	nested   int      // nesting depth of files read as part of the text
	garbled  bool     // the file does not define the meaning of its characters
	// attached holds the files inside the file, which Members reads after it.
	attached []attachedFile
}

// paraPlace is a place that begins inside the current paragraph.
type paraPlace struct {
	at    int // offset in builder.para
	label string
}

// maxFlags is the maximum number of flags of one code with a place; any more are only counted.
const maxFlags = 100

func newBuilder(f Format, o Options, lim *budget) *builder {
	return &builder{res: Result{Format: string(f)}, opt: o, lim: lim, counts: map[string]int{}}
}

// text appends s to the paragraph. It drops control characters other than tab and line break, because nothing downstream can display
// them.
func (b *builder) text(s string) {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.para = utf8.AppendRune(b.para, utf8.RuneError)
		case r >= 0x1d455 && r <= 0x1d551 && mathHoles[r] != 0:
			b.para = utf8.AppendRune(b.para, mathHoles[r])
		case r == '\t' || r == '\n' || r >= 0x20 && r != 0x7f:
			b.para = append(b.para, s[:n]...)
		}
		s = s[n:]
	}
	if len(b.para) > 1<<20 && int64(b.out.Len()+len(b.para)) > b.opt.MaxText {
		b.end()
	}
}

// interrupted is a paragraph that contains another text, for example a note or a text box.
type interrupted struct {
	para   []byte
	spans  []paraSpan
	places []paraPlace
}

// interrupt sets the paragraph aside until resume is called; any text written in the meantime precedes it.
func (b *builder) interrupt() {
	b.saved = append(b.saved, interrupted{bytes.Clone(b.para), slices.Clone(b.spans.open), slices.Clone(b.places)})
	b.para, b.spans.open, b.places = b.para[:0], b.spans.open[:0], b.places[:0]
}

// resume continues the paragraph most recently set aside, if any.
func (b *builder) resume() {
	if n := len(b.saved); n > 0 {
		s := b.saved[n-1]
		b.saved = b.saved[:n-1]
		b.para, b.spans.open, b.places = append(b.para[:0], s.para...), append(b.spans.open[:0], s.spans...), append(b.places[:0], s.places...)
	}
}

// space appends a space unless the paragraph is empty or ends in white space.
func (b *builder) space() {
	if n := len(b.para); n > 0 && b.para[n-1] != ' ' && b.para[n-1] != '\n' && b.para[n-1] != '\t' {
		b.para = append(b.para, ' ')
	}
}

// line inserts a line break into the paragraph.
func (b *builder) line() {
	for n := len(b.para); n > 0 && (b.para[n-1] == ' ' || b.para[n-1] == '\t'); n-- {
		b.para = b.para[:n-1]
	}
	if n := len(b.para); n > 0 && b.para[n-1] != '\n' {
		b.para = append(b.para, '\n')
	}
}

// end closes the paragraph; an empty one leaves no trace. Invisible text inside a visible paragraph moves to a separate paragraph after
// it, so that words read together stay together even if text is hidden between their letters.
func (b *builder) end() {
	if len(b.para) == 0 {
		b.spans.open, b.places = b.spans.open[:0], b.places[:0]
		b.endAsides()
		return
	}
	var unseen []unseenText
	if len(b.spans.open) > 0 {
		unseen = b.takeUnseen()
	}
	b.endParagraph()
	for _, u := range unseen {
		b.para = append(b.para, u.text...)
		b.spans.add(u.code, u.detail, 0, len(b.para))
		b.endParagraph()
	}
	b.endAsides()
}

// endAsides writes the texts that are above or beside a paragraph, after the paragraph itself.
func (b *builder) endAsides() {
	for len(b.asides) > 0 {
		b.para = append(b.para, b.asides[0]...)
		b.asides = b.asides[1:]
		b.endParagraph()
	}
}

// cut drops the paragraph's text starting at byte from, and that text's flags.
func (b *builder) cut(from int) {
	b.para = b.para[:from]
	b.spans.open = slices.DeleteFunc(b.spans.open, func(s paraSpan) bool { return s.from >= from })
}

func (b *builder) endParagraph() {
	raw := string(b.para)
	s := trimParagraph(raw)
	b.para = b.para[:0]
	if s == "" {
		b.spans.open, b.places = b.spans.open[:0], b.places[:0]
		return
	}
	at, whole := b.offset(), !b.full
	b.raw("\n\n", s)
	if !whole {
		b.spans.open = b.spans.open[:0]
	}
	lead := len(raw) - len(strings.TrimLeftFunc(raw, unicode.IsSpace))
	for _, p := range b.places {
		if !b.full {
			b.res.Places = append(b.res.Places, Place{min(at+max(p.at-lead, 0), b.out.Len()), p.label})
		}
	}
	if len(b.spans.open) > 0 {
		b.spans.raise(b, at, lead, b.out.Len())
	}
	b.spans.open, b.places = b.spans.open[:0], b.places[:0]
}

// raw appends sep, unless the text is still empty, followed by s.
func (b *builder) raw(sep, s string) {
	if b.full {
		b.cutOff(s)
		return
	}
	if b.out.Len() == 0 {
		sep = ""
	}
	if room := b.opt.MaxText - int64(b.out.Len()) - int64(len(sep)); int64(len(s)) > room {
		rest := s
		s = cutString(s, int(max(room, 0)))
		b.full = true
		if s == "" {
			sep = ""
		}
		b.cutOff(rest[len(s):])
	}
	b.out.WriteString(sep)
	if b.label != "" {
		b.res.Places = append(b.res.Places, Place{b.out.Len(), b.label})
		b.label = ""
	}
	b.out.WriteString(s)
}

// cutOff records that s exceeds the text limit.
func (b *builder) cutOff(s string) {
	b.missing(Flag{Code: FlagTextLimit, Letters: characters(s),
		Detail: fmt.Sprintf("the text is cut off after %d bytes; raise %s to read more", b.opt.MaxText, SettingOf("MaxText"))})
}

// cutString returns the longest prefix of s of at most n bytes that ends on a rune boundary.
func cutString(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// trimParagraph removes surrounding white space, and inner empty lines, which would look like the end of the paragraph.
func trimParagraph(s string) string {
	s = strings.TrimFunc(s, unicode.IsSpace)
	if !strings.Contains(s, "\n") {
		return s
	}
	lines := strings.Split(s, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimRightFunc(l, unicode.IsSpace); l != "" {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// place labels the place of the following text; the next nonempty paragraph gets the label.
func (b *builder) place(label string) {
	b.end()
	b.label = label
}

// offset returns where the next paragraph will begin.
func (b *builder) offset() int {
	if b.out.Len() == 0 {
		return 0
	}
	return b.out.Len() + 2
}

func (b *builder) any() bool { return b.out.Len() > 0 || len(b.para) > 0 }

// flag raises f, or increases the count of a flag with the same code and detail.
func (b *builder) flag(f Flag) {
	f.Count = max(f.Count, 1)
	if f.Start == 0 && f.End == 0 {
		for i := range b.res.Flags {
			if g := &b.res.Flags[i]; g.Code == f.Code && g.Detail == f.Detail && g.End == 0 && g.Missing == f.Missing {
				g.add(f)
				return
			}
		}
	}
	if b.counts[f.Code]++; b.counts[f.Code] > maxFlags {
		for i := len(b.res.Flags) - 1; i >= 0; i-- {
			if g := &b.res.Flags[i]; g.Code == f.Code && g.Missing == f.Missing {
				g.add(f)
				return
			}
		}
	}
	b.res.Flags = append(b.res.Flags, f)
}

// add adds the counts of g to those of f.
func (f *Flag) add(g Flag) {
	f.Count, f.Letters, f.Bytes = f.Count+g.Count, f.Letters+g.Letters, f.Bytes+g.Bytes
}

// partial marks the result as incomplete and says why.
func (b *builder) partial(code, detail string) { b.missing(Flag{Code: code, Detail: detail}) }

// missing marks the result as incomplete for the reason in f.
func (b *builder) missing(f Flag) {
	b.res.Partial, f.Missing = true, true
	b.flag(f)
}

// pictures flags pictures, which can contain text, with their number and size.
func (b *builder) pictures(n int, bytes int64) {
	b.flag(Flag{Code: FlagPictures, Detail: "pictures are not read; text in them is not checked", Count: n, Missing: true, Bytes: bytes})
}

func (b *builder) result() (*Result, error) {
	b.end()
	b.res.Text = b.out.String()
	b.res.Title, b.res.Author = cleanTitle(b.res.Title), cleanTitle(b.res.Author)
	if !hasCharacter(b.res.Text) {
		return nil, b.emptyError()
	}
	b.dropLineNumbers()
	b.asSeen()
	b.tellLeft()
	scanText(b)
	return &b.res, nil
}

// emptyError converts a result without text to an error that explains why.
func (b *builder) emptyError() *Error {
	for _, f := range b.res.Flags {
		switch f.Code {
		case NoTextLayer, Encrypted, Limit, Damaged:
			return &Error{Code: f.Code, Detail: f.Detail}
		case FlagPictures:
			return &Error{Code: NoTextLayer, Detail: f.Detail}
		case FlagPart:
			return &Error{Code: Empty, Detail: "the file contains no text; " + f.Detail}
		}
	}
	return &Error{Code: Empty, Detail: "the file contains no text"}
}

func hasCharacter(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && r != utf8.RuneError && !unicode.Is(unicode.Cf, r)
	}) >= 0
}

// mathHoles maps the codes that the mathematical alphabets leave unassigned, because the letter has another code (Unicode 15, section
// 22.2), to those letters. Programs that compute codes by counting use these unassigned codes.
var mathHoles = map[rune]rune{0x1d455: 'ℎ', 0x1d49d: 'ℬ', 0x1d4a0: 'ℰ', 0x1d4a1: 'ℱ', 0x1d4a3: 'ℋ', 0x1d4a4: 'ℐ', 0x1d4a7: 'ℒ',
	0x1d4a8: 'ℳ', 0x1d4ad: 'ℛ', 0x1d4ba: 'ℯ', 0x1d4bc: 'ℊ', 0x1d4c4: 'ℴ', 0x1d506: 'ℭ', 0x1d50b: 'ℌ', 0x1d50c: 'ℑ', 0x1d515: 'ℜ', 0x1d51d: 'ℨ',
	0x1d53a: 'ℂ', 0x1d53f: 'ℍ', 0x1d545: 'ℕ', 0x1d547: 'ℙ', 0x1d548: 'ℚ', 0x1d549: 'ℝ', 0x1d551: 'ℤ'}
