package segment

import (
	"strings"
	"unicode/utf8"

	"concordat/segment/spaced"
)

// splitApart does the work of Split for a text that contains words with letters written apart. It splits the text with these letters
// joined, and maps all results to their places in the original.
func (t *Text) splitApart(text string, runs []spaced.Run, chinese bool) error {
	var joined strings.Builder
	joined.Grow(len(text))
	var blocks []replaced
	from := 0
	for _, r := range runs {
		joined.WriteString(text[from:r.Start])
		blocks = append(blocks, replaced{joined.Len(), joined.Len() + len(r.Joined), r})
		joined.WriteString(r.Joined)
		from = r.End
	}
	joined.WriteString(text[from:])
	if err := t.split(joined.String(), chinese); err != nil {
		return err
	}
	m := mapper{text: text, blocks: blocks}
	for i := range t.Words {
		w := &t.Words[i]
		w.Start, w.End = int32(m.begin(int(w.Start))), int32(m.end(int(w.End)))
	}
	m.next, m.shift = 0, 0
	for i := range t.Sentences {
		s := &t.Sentences[i].Span
		s.Start, s.End = m.begin(s.Start), m.end(s.End)
	}
	t.Source = text
	return nil
}

// replaced is a run and its position in the joined text.
type replaced struct {
	from, to int
	run      spaced.Run
}

// mapper maps ascending byte positions in the joined text to the original.
type mapper struct {
	text   string
	blocks []replaced
	next   int // first block that can contain the requested byte
	shift  int // how much longer the blocks before next are in the original
}

// begin returns where the character at byte at of the joined text begins.
func (m *mapper) begin(at int) int {
	for m.next < len(m.blocks) && m.blocks[m.next].to <= at {
		b := &m.blocks[m.next]
		m.shift = b.run.End - b.to
		m.next++
	}
	if m.next < len(m.blocks) && m.blocks[m.next].from <= at {
		b := &m.blocks[m.next]
		return b.run.At[at-b.from]
	}
	return at + m.shift
}

// end returns where the character before byte at of the joined text ends.
func (m *mapper) end(at int) int {
	if at == 0 {
		return 0
	}
	if m.next == len(m.blocks) || m.blocks[m.next].from >= at { // between runs
		return at + m.shift
	}
	next, shift := m.next, m.shift
	defer func() { m.next, m.shift = next, shift }() // the next word can begin before this one's end
	last := m.begin(at - 1)
	if m.next < len(m.blocks) && m.blocks[m.next].from <= at-1 { // inside a run, At gives the character's position
		_, size := utf8.DecodeRuneInString(m.text[last:])
		return last + size
	}
	return last + 1
}
