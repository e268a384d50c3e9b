package segment

//go:generate go -C ../lab run ./gen/segment

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"math"
	"sync"

	"concordat/segment/internal/words"
	"concordat/segment/runetab"
)

// MaxBytes is the maximum size of a text that Split accepts.
const MaxBytes = math.MaxInt32 / 4

// Span is a half-open range of bytes of the original text, on rune boundaries.
type Span struct{ Start, End int }

// Word is a run of letters, marks and digits, or one word of a run of Chinese characters.
type Word struct {
	Start, End         int32  // bytes of Source
	NormStart, NormEnd int32  // bytes of Norm
	Hash               uint64 // xxHash64 of the folded letters
	Term               uint32 // search term: the low 32 bits of the stem's xxHash64
	Stop               uint32 // languages whose stop list contains the word: bit i is Languages()[i]
	Chars              uint16 // number of folded characters
	Flags              WordFlags
}

// WordFlags are the properties of a word on which features depend.
type WordFlags uint8

// These are the flags of a word.
const (
	Han         WordFlags = 1 << iota // Chinese characters
	Syllabic                          // kana or hangul
	Unspaced                          // an alphabet written without spaces
	HanStop                           // in the Chinese stop list
	AfterClause                       // preceded by a comma or similar
	AfterSpace                        // preceded by white space
)

// Sentence is a natural sentence: Words[First:Last], with its punctuation.
type Sentence struct {
	Span        Span
	First, Last int
	Chars       int // number of folded characters
}

// Paragraph is Sentences[First:Last].
type Paragraph struct{ First, Last int }

// Text is a text split into words, sentences and paragraphs.
type Text struct {
	Source     string
	Norm       []byte // folded words, separated by single spaces
	Words      []Word
	Sentences  []Sentence
	Paragraphs []Paragraph

	hanAt []int32 // byte position in Source of each rune in Han runs, while splitting
	spare []Word  // reusable memory
	room  words.Scratch
}

// Chars returns the number of folded characters of the text.
func (t *Text) Chars() int {
	n := 0
	for i := range t.Sentences {
		n += t.Sentences[i].Chars
	}
	return n
}

// Folded returns the folded letters of word i.
func (t *Text) Folded(i int) []byte { return t.Norm[t.Words[i].NormStart:t.Words[i].NormEnd] }

//go:embed data/runes.bin.gz
var runesGz []byte

// runes returns the rune table and its ASCII part in the form required by the inner loop, which is the folded letter, or 0 if the byte is
// not part of a word.
var runes = sync.OnceValue(func() *runeData {
	raw, err := gunzip(runesGz)
	if err != nil {
		panic(fmt.Sprintf("segment: embedded rune table: %v", err))
	}
	t, err := runetab.Decode(raw)
	if err != nil {
		panic(fmt.Sprintf("segment: embedded rune table: %v", err))
	}
	d := &runeData{Table: t}
	for c := range d.class {
		e := t.At(rune(c))
		if d.class[c] = e.Class(); d.class[c] == runetab.Letter || d.class[c] == runetab.Digit {
			d.ascii[c] = byte(e.Target())
		}
	}
	d.quick = d.asciiEnds()
	return d
})

type runeData struct {
	*runetab.Table
	ascii [256]byte // 0 for 128 and above
	class [128]runetab.Class
	ends  [256]bool // ASCII signs that end a word
	quick bool      // whether asciiWords may be used
}

func gunzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
