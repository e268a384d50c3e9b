package wording

import (
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"concordat"
	"concordat/segment"
)

const (
	// gramWords is the number of words in a gram.
	gramWords = 5
	// maxLine is the maximum number of words in a line that as a whole is a gram, for example a heading or a label.
	maxLine = 12
	// maxSlot is the maximum number of words between two common grams that are considered part of them, as filled in by a person.
	maxSlot = 4
	// leastWords is the minimum number of words in a stretch that can be common, unless it is a whole line. Anything shorter is an
	// ordinary phrase of the language.
	leastWords = 8
)

// Words are the words of one text and the grams they form. They are immutable and safe for concurrent use.
type Words struct {
	hashes     []uint64
	start, end []int32 // in bytes of the text
	grams      []gram  // by first word, followed by grams of lines
	ends       []int32 // words that end a line
	paragraphs []int32 // words that end a paragraph, followed by an empty line, if the text has any
}

// gram consists of words [first, last) of a text.
type gram struct {
	hash        uint64
	first, last int32
}

var texts = sync.Pool{New: func() any { return new(segment.Text) }}

// Split returns the words of a text, or none if [segment.Split] refuses it.
func Split(text string) *Words {
	t := texts.Get().(*segment.Text)
	defer texts.Put(t)
	w := &Words{}
	if t.Split(text) != nil {
		return w
	}
	defer func() { t.Source = "" }()
	n := len(t.Words)
	w.hashes, w.start, w.end = make([]uint64, n), make([]int32, n), make([]int32, n)
	for i := range t.Words {
		x := &t.Words[i]
		w.hashes[i], w.start[i], w.end[i] = x.Hash, x.Start, x.End
	}
	w.grams = make([]gram, 0, max(0, n-gramWords+1)+n/16)
	for i := 0; i+gramWords <= n; i++ {
		w.grams = append(w.grams, gram{w.hashOf(i, i+gramWords), int32(i), int32(i + gramWords)})
	}
	w.cutParagraphs(text)
	w.lines(text)
	return w
}

// lines adds short lines as grams. The end of a wrapped line looks like an intended one, so a line counts only as a whole.
func (w *Words) lines(text string) {
	for i := 0; i < len(w.hashes); {
		j := i + 1
		for j < len(w.hashes) && strings.IndexByte(text[w.end[j-1]:w.start[j]], '\n') < 0 {
			j++
		}
		if j-i <= maxLine {
			w.grams = append(w.grams, gram{^w.hashOf(i, j), int32(i), int32(j)})
		}
		if j < len(w.hashes) {
			w.ends = append(w.ends, int32(j))
			if strings.Count(text[w.end[j-1]:w.start[j]], "\n") > 1 {
				w.paragraphs = append(w.paragraphs, int32(j))
			}
		}
		i = j
	}
	if len(w.paragraphs) == 0 {
		w.paragraphs = w.ends
	}
}

// cutParagraphs removes the hashes of grams that span an empty line, because the first word of an answer is not part of the question.
func (w *Words) cutParagraphs(text string) {
	for i := 1; i < len(w.hashes); i++ {
		if strings.Count(text[w.end[i-1]:w.start[i]], "\n") < 2 {
			continue
		}
		for k := max(0, i-gramWords+1); k < min(i, len(w.grams)); k++ {
			w.grams[k].hash = noGram
		}
	}
}

// noGram is the hash of something other than a gram; no two texts share it.
const noGram = 0

// hashOf returns the hash of words [from, to).
func (w *Words) hashOf(from, to int) uint64 {
	var d xxhash.Digest
	d.Reset()
	var b [8]byte
	for _, h := range w.hashes[from:to] {
		for k := range b {
			b[k] = byte(h >> (8 * k))
		}
		d.Write(b[:])
	}
	return d.Sum64()
}

// Len returns the number of words.
func (w *Words) Len() int { return len(w.hashes) }

// span returns the span of words [first, last).
func (w *Words) span(first, last int32) concordat.Span {
	return concordat.Span{Start: int(w.start[first]), End: int(w.end[last-1])}
}

// within returns the words that start inside a span.
func (w *Words) within(s concordat.Span) (first, last int32) {
	i, _ := slices.BinarySearch(w.start, int32(s.Start))
	j, _ := slices.BinarySearch(w.start, int32(s.End))
	return int32(i), int32(j)
}

// Count returns the number of words that start inside a span.
func (w *Words) Count(s concordat.Span) int {
	if s.End <= s.Start {
		return 0
	}
	first, last := w.within(s)
	return int(last - first)
}
