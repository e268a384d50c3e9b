package segment

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat/segment/runetab"
	"concordat/segment/spaced"
)

const (
	// This is about the minimum number of bytes of text per word.
	wordBytes = 5
	// A word of more folded bytes is cut, since it is not a word of any language, and a line of base64 must not become one giant feature.
	maxWordBytes = 240
	// A run of an unspaced or syllabic script is cut after this many bytes. Its features are n-grams that span the cuts, so this only
	// affects where a long sentence can be divided.
	maxRunBytes = 96
	// Lines longer than this many bytes are not wrapped, so each line end is intentional.
	wrapBytes = 200
	// A line shorter than this fraction of its paragraph's longest line was ended on purpose.
	shortLine = 0.6
)

// Split splits text, which need not be valid UTF-8, into words, sentences and paragraphs. It fails if the text is larger than MaxBytes or
// the Chinese dictionaries cannot be loaded.
//
// Sentence ends follow Unicode Standard Annex 29 (terminators, closing marks, full stops not before a lower-case letter), except after
// abbreviations and initials. A single line end within a paragraph is a space, unless the line is markedly shorter than its neighbours,
// the text is not wrapped at all, or a list item follows; a blank line ends the paragraph. Words with letters written apart are joined
// (package spaced); their spans cover all their letters.
func Split(text string) (*Text, error) {
	t := &Text{}
	if err := t.Split(text); err != nil {
		return nil, err
	}
	return t, nil
}

// Split does the same as the function Split but reuses the memory of t, whose content is lost.
func (t *Text) Split(text string) error {
	return t.splitAll(text, true)
}

// Skim does the same as Split without searching for Chinese words, which is most of the cost for Chinese text. A run of Han characters is
// then one word without a hash or stop words.
func (t *Text) Skim(text string) error {
	return t.splitAll(text, false)
}

func (t *Text) splitAll(text string, chinese bool) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("the text has %d bytes, but at most %d can be split", len(text), MaxBytes)
	}
	if runs := spaced.Find(text); len(runs) > 0 {
		return t.splitApart(text, runs, chinese)
	}
	return t.split(text, chinese)
}

// split splits a text without words written apart. If chinese is set, it also finds Chinese words.
func (t *Text) split(text string, chinese bool) error {
	t.Source = text
	t.Norm, t.Words, t.hanAt = t.Norm[:0], t.Words[:0], t.hanAt[:0]
	t.Sentences, t.Paragraphs = t.Sentences[:0], t.Paragraphs[:0]
	if cap(t.Norm) < len(text) { // otherwise they would grow many times
		t.Norm = make([]byte, 0, len(text)+len(text)/16+64)
		t.Words = make([]Word, 0, len(text)/wordBytes+16)
	}
	s := splitter{t: t, runes: runes(), stop: stopLists(), memory: memories.Get().(*memory), start: -1}
	defer memories.Put(s.memory)
	s.run()
	if s.han && chinese {
		return t.cutChinese()
	}
	return nil
}

// splitter makes one pass over a text. It folds runes into words and decides at each rune whether the previous sentence has ended.
type splitter struct {
	t      *Text
	runes  *runeData
	stop   *stopTable
	memory *memory // nil if words get no terms

	start   int // first byte of the current sentence, or -1
	first   int // first word of the current sentence
	para    int // first sentence of the current paragraph
	pending pending
	end     int // end of the pending sentence, after its terminator and closing marks

	open    bool // whether a word is being read
	script  runetab.Script
	word    Word
	last    rune // last folded rune of the word, for composition
	lastAt  int  // its start in Norm
	clause  bool // whether clause punctuation occurred since the last word
	space   bool // whether white space occurred since the last word
	barrier bool // whether anything but white space occurred since the last word
	han     bool // whether the text has Chinese characters
}

// pending is the kind of an undecided sentence end.
type pending uint8

const (
	none   pending = iota
	dot            // full stop: must be followed by white space and no lower-case letter, and not preceded by an abbreviation
	strong         // ASCII terminator: must be followed by white space and no lower-case letter
	sure           // any other terminator
)

func (s *splitter) run() {
	text := s.t.Source
	for at := 0; at < len(text); {
		chunk, next := paragraphAt(text, at)
		s.paragraph(at, at+chunk)
		at = next
	}
}

// paragraphAt returns the length of the paragraph that starts at byte at and, after blank lines, the start of the next one.
func paragraphAt(text string, at int) (length, next int) {
	for i := at; ; {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			return len(text) - at, len(text)
		}
		i += n + 1
		end := i
		for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
			i++
		}
		if i < len(text) && text[i] == '\n' || strings.HasPrefix(text[end:], "\u3000") {
			return end - at, end
		}
		i = end
	}
}

// paragraph reads the lines of text[from:to] and ends the paragraph.
func (s *splitter) paragraph(from, to int) {
	text := s.t.Source[:to]
	longest := 0
	for at := from; at < to; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			n = to - at
		}
		longest = max(longest, n)
		at += n + 1
	}
	for at := from; at < to; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			n = to - at
		}
		s.line(at, at+n)
		at += n + 1
		s.space = true
		if longest > wrapBytes || float64(n) < shortLine*float64(longest) || listItem(text[min(at, to):]) {
			s.breakHere()
		}
	}
	s.breakHere()
	if p := len(s.t.Sentences); p > s.para {
		s.t.Paragraphs = append(s.t.Paragraphs, Paragraph{s.para, p})
		s.para = p
	}
}

// listItem reports whether a line begins like a list item, a heading or a table row.
func listItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return false
	}
	if strings.IndexByte("-*#>|+", line[0]) >= 0 || strings.HasPrefix(line, "•") {
		return true
	}
	i := 0
	for i < len(line) && i < 4 && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	return i > 0 && i+1 < len(line) && (line[i] == '.' || line[i] == ')') && line[i+1] == ' '
}

// line reads the runes of Source[from:to].
func (s *splitter) line(from, to int) {
	text := s.t.Source
	for i := from; i < to; {
		if c := text[i]; c < utf8.RuneSelf {
			if s.runes.ascii[c] != 0 {
				if !s.open && s.runes.quick && s.memory != nil {
					if next := s.asciiWords(i); next > i {
						i = next
						continue
					}
				}
				i = s.asciiWord(i, to)
				continue
			}
			if c == ' ' { // mark would do the same
				s.closeWord()
				s.space = true
			} else {
				s.mark(s.runes.class[c], i, 1)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:to])
		if r == utf8.RuneError && size == 1 {
			s.mark(runetab.Other, i, 1)
			i++
			continue
		}
		e := s.runes.At(r)
		switch c := e.Class(); c {
		case runetab.Letter, runetab.Mark, runetab.Digit, runetab.Expand:
			s.letter(e, i, size)
		default:
			s.mark(c, i, size)
		}
		i += size
	}
	s.closeWord()
}

// asciiWord reads ASCII letters and digits starting at byte i and returns their end.
func (s *splitter) asciiWord(i, to int) int {
	text, ascii := s.t.Source, &s.runes.ascii
	if !s.open || s.script != runetab.Spaced {
		c := text[i]
		s.begin(i, runetab.Spaced, c >= 'a' && c <= 'z', c >= '0' && c <= '9')
	}
	room := int(s.word.NormStart) + maxWordBytes - len(s.t.Norm)
	most := max(room, 1)
	norm := slices.Grow(s.t.Norm, most)
	start, out := i, norm[len(norm):len(norm)+most]
	for _, c := range []byte(text[i:min(to, i+most)]) {
		f := ascii[c]
		if f == 0 {
			break
		}
		out[i-start] = f
		i++
	}
	norm = norm[:len(norm)+i-start]
	s.word.Chars += uint16(i - start)
	s.word.End = int32(i)
	s.last, s.lastAt = rune(norm[len(norm)-1]), len(norm)-1
	s.t.Norm = norm
	if room <= i-start {
		s.closeWord()
	}
	return i
}

// letter adds one rune to a word.
func (s *splitter) letter(e runetab.Entry, at, size int) {
	class, script := e.Class(), e.Script()
	if class == runetab.Mark {
		if !s.open {
			s.mark(runetab.Other, at, size) // a mark without a letter
			return
		}
		script = s.script
		if c := s.runes.Compose(s.last, e.Target()); c != 0 {
			s.t.Norm = utf8.AppendRune(s.t.Norm[:s.lastAt], c)
			s.last = c
			s.word.End = int32(at + size)
			return
		}
	}
	if s.open && script != s.script {
		s.closeWord()
	}
	if !s.open && !(script == runetab.Han && s.rejoin()) {
		s.begin(at, script, e.Lower(), class == runetab.Digit)
	}
	if class != runetab.Expand {
		s.add(e.Target(), at)
	} else {
		for _, r := range s.runes.Expansion(e.Target()) {
			if r != 0 {
				s.add(r, at)
			}
		}
	}
	s.word.End = int32(at + size)
	if n := len(s.t.Norm) - int(s.word.NormStart); n >= maxWordBytes ||
		n >= maxRunBytes && (s.script == runetab.Syllabic || s.script == runetab.Unspaced) {
		s.closeWord()
	}
}

// add appends a folded rune to the word. It composes conjoining jamo by arithmetic, and other letters and marks by a table.
func (s *splitter) add(r rune, at int) {
	if c := composeHangul(s.last, r); c != 0 {
		r = c
		s.t.Norm = s.t.Norm[:s.lastAt]
	} else {
		s.word.Chars++
	}
	if s.script == runetab.Han {
		s.t.hanAt = append(s.t.hanAt, int32(at))
		s.han = true
	}
	s.lastAt = len(s.t.Norm)
	s.t.Norm = utf8.AppendRune(s.t.Norm, r)
	s.last = r
}

// rejoin reopens the last word if it is a Han run followed only by white space. Chinese has no spaces between words, and spaces from line
// ends, justified text or disguise mean nothing.
func (s *splitter) rejoin() bool {
	n := len(s.t.Words)
	if n == 0 || n <= s.first || s.barrier || s.pending != none || s.t.Words[n-1].Flags&Han == 0 {
		return false
	}
	s.word, s.t.Words = s.t.Words[n-1], s.t.Words[:n-1]
	if len(s.t.Norm)-int(s.word.NormStart) >= maxWordBytes {
		s.t.Words = append(s.t.Words, s.word)
		return false
	}
	s.open, s.script = true, runetab.Han
	return true
}

// begin starts a word at byte at, after deciding whether a sentence ended before it.
func (s *splitter) begin(at int, script runetab.Script, lower, digit bool) {
	s.closeWord()
	s.decide(lower, digit, script != runetab.Spaced)
	if s.start < 0 {
		s.start = at
	}
	norm := s.t.Norm
	if len(norm) > 0 {
		norm = append(norm, ' ')
		s.t.Norm = norm
	}
	s.word = Word{Start: int32(at), NormStart: int32(len(norm))}
	switch script {
	case runetab.Han:
		s.word.Flags = Han
	case runetab.Syllabic:
		s.word.Flags = Syllabic
	case runetab.Unspaced:
		s.word.Flags = Unspaced
	}
	if s.clause {
		s.word.Flags |= AfterClause
	}
	if s.space {
		s.word.Flags |= AfterSpace
	}
	s.open, s.script, s.last = true, script, 0
	s.clause, s.space, s.barrier = false, false, false
}

func (s *splitter) closeWord() {
	if !s.open {
		return
	}
	s.open = false
	s.word.NormEnd = int32(len(s.t.Norm))
	if s.word.Flags&Han == 0 {
		s.word.Hash = xxhash.Sum64(s.t.Norm[s.word.NormStart:])
		s.word.Stop = s.stop.mask(s.word.Hash)
		if s.memory != nil {
			s.word.Term = s.memory.stems.term(s.word.Hash, s.t.Norm[s.word.NormStart:])
		}
	}
	s.t.Words = append(s.t.Words, s.word)
}

// mark handles a rune that is not part of a word.
func (s *splitter) mark(c runetab.Class, at, size int) {
	if c == runetab.Drop {
		return
	}
	s.closeWord()
	switch c {
	case runetab.Space:
		s.space = true
		return
	case runetab.Newline:
		if s.t.Source[at] == '\r' {
			s.space = true
		} else {
			s.breakHere()
		}
		return
	}
	s.barrier = true
	ended := s.pending != none && !s.space
	switch {
	case c == runetab.Closer && ended:
		s.end = at + size
		return
	case c == runetab.Dot || c == runetab.Terminator:
		kind := dot
		if c == runetab.Terminator {
			kind = sure
			if size == 1 {
				kind = strong
			}
		}
		if s.pending == none || ended {
			s.pending, s.end, s.space = max(s.pending, kind), at+size, false
		}
		return
	case c == runetab.Clause && ended:
		s.pending = none // "etc.," continues
	case s.pending != none:
		s.decide(false, false, false)
	}
	if c == runetab.Clause {
		s.clause = true
	}
	if s.start < 0 && c != runetab.Clause {
		s.start = at
	}
}

// decide settles a pending sentence end now that the next rune is known.
func (s *splitter) decide(lower, digit, unspaced bool) {
	p := s.pending
	s.pending = none
	switch {
	case p == none,
		p == strong && (lower || !s.space && !unspaced),
		p == dot && (!s.space || lower || s.abbreviated(digit)):
		return
	}
	s.cut(s.end)
}

// abbreviated reports whether the full stop follows an initial or a known abbreviation.
func (s *splitter) abbreviated(digit bool) bool {
	n := len(s.t.Words)
	if n <= s.first {
		return false
	}
	w := &s.t.Words[n-1]
	if w.Flags&(Han|Syllabic|Unspaced) != 0 || int(w.End) != s.end-1 {
		return false
	}
	folded := s.t.Norm[w.NormStart:w.NormEnd]
	if w.Chars == 1 && (folded[0] < '0' || folded[0] > '9') {
		return true
	}
	always, known := abbreviations[string(folded)]
	return known && (always || digit)
}

// breakHere ends the sentence at an intended line end.
func (s *splitter) breakHere() {
	s.closeWord()
	end := s.end
	if s.pending == none {
		if n := len(s.t.Words); n > s.first {
			end = int(s.t.Words[n-1].End)
		}
	}
	s.pending = none
	s.cut(end)
	s.space, s.barrier, s.clause = true, true, false
}

// cut ends the current sentence at byte end if it has words.
func (s *splitter) cut(end int) {
	n := len(s.t.Words)
	if n > s.first {
		chars := 0
		for _, w := range s.t.Words[s.first:n] {
			chars += int(w.Chars)
		}
		s.t.Sentences = append(s.t.Sentences, Sentence{
			Span:  Span{min(s.start, int(s.t.Words[s.first].Start)), max(end, int(s.t.Words[n-1].End))},
			First: s.first, Last: n, Chars: chars,
		})
	}
	s.first, s.start = n, -1
}
