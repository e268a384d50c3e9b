package screen

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"concordat/minhash"
	"concordat/segment"
)

// Shingling defines the shingles of a text, which are its runs of Width words, or of Width letters without spaces (Broder 1997, section
// 2, whose system used 10 words). Words and letters are folded as in package segment.
type Shingling struct {
	Width   int
	Letters bool
	// Sentences selects runs of whole sentences instead and takes precedence over Letters.
	Sentences bool
	// Content omits stop words (segment.Text.StopWords), and Stems uses the stems of English words; neither applies to letters.
	Content, Stems bool
}

// Features returns the features for a text's print, which are its shingles for each element of runs. runs must not be empty. Shingles of
// different runs are distinct. A text that consists only of stop words keeps them.
func Features(t *segment.Text, runs []Shingling) []uint64 {
	var out []uint64
	for i, r := range runs {
		from := len(out)
		out = r.Append(t, out)
		for j := range out[from:] {
			out[from+j] ^= uint64(i) * 0x9e3779b97f4a7c15 // distinguishes a short text from a run of its length
		}
	}
	if len(out) > 0 || len(t.Words) == 0 || !runs[0].Content {
		return out
	}
	return Shingling{Width: 1}.Append(t, out)
}

// Append appends the shingles of t to dst as xxHash64 values, including repeats, in text order. A text shorter than Width has one
// shingle, the whole text; an empty text has none.
func (s Shingling) Append(t *segment.Text, dst []uint64) []uint64 {
	if s.Letters && !s.Sentences {
		return s.letters(t, dst)
	}
	var stops []bool
	if s.Content {
		stops = t.StopWords()
	}
	words := make([]uint64, 0, len(t.Words))
	ends := make([]int, 0, len(t.Sentences)) // ends of sentences, in words
	at := 0
	take := func(last int) {
		for ; at < last; at++ {
			switch w := &t.Words[at]; {
			case s.Content && stops[at]:
			case s.Stems:
				words = append(words, uint64(w.Term))
			default:
				words = append(words, w.Hash)
			}
		}
	}
	for i := range t.Sentences {
		take(t.Sentences[i].Last)
		ends = append(ends, len(words))
	}
	take(len(t.Words))
	if s.Sentences {
		words = sentenceHashes(words, ends)
	}
	return appendRuns(words, s.Width, dst)
}

// sentenceHashes returns a hash for each sentence with words, instead of the hashes of its words.
func sentenceHashes(words []uint64, ends []int) (out []uint64) {
	from := 0
	for _, end := range ends {
		if end > from {
			out = appendRuns(words[from:end], end-from, out)
		}
		from = end
	}
	return out
}

// appendRuns appends the hashes of all runs of width words, or of all words if there are fewer.
func appendRuns(words []uint64, width int, dst []uint64) []uint64 {
	width = min(width, len(words))
	if width < 1 {
		return dst
	}
	buf := make([]byte, 8*width)
	for i := 0; i+width <= len(words); i++ {
		for j, h := range words[i : i+width] {
			binary.LittleEndian.PutUint64(buf[8*j:], h)
		}
		dst = append(dst, xxhash.Sum64(buf))
	}
	return dst
}

func (s Shingling) letters(t *segment.Text, dst []uint64) []uint64 {
	text := make([]byte, 0, len(t.Norm))
	for _, c := range t.Norm {
		if c != ' ' {
			text = append(text, c)
		}
	}
	return appendGrams(text, s.Width, dst)
}

// appendGrams appends the hashes of all runs of width runes, or of the whole text if it is shorter.
func appendGrams(text []byte, width int, dst []uint64) []uint64 {
	if len(text) == 0 || width < 1 {
		return dst
	}
	starts := make([]int, 0, len(text))
	for i, c := range text {
		if c&0xc0 != 0x80 { // first byte of a rune
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(text))
	if len(starts) <= width {
		return append(dst, xxhash.Sum64(text))
	}
	for i := 0; i+width < len(starts); i++ {
		dst = append(dst, xxhash.Sum64(text[starts[i]:starts[i+width]]))
	}
	return dst
}

// SketchOptions define which pairs of sketches to find.
type SketchOptions struct {
	// Threshold is the minimum resemblance or, with Contained, the minimum containment of either in the other.
	Threshold float64
	Contained bool
	// Common is the number of documents at which a shingle is too common to compare all of them with each other. Each is then compared
	// with the next Common of them, so that groups of copies stay connected. The default is 200.
	Common int
	// Super compares documents that share super-shingles of this many neighbouring values instead of single values. This produces far
	// fewer candidates and omits pairs with little resemblance (Broder 1997, section 4; minhash.MinSketch.Super). 0 means single values.
	Super int
}

// maxSharing is the default of Common.
const maxSharing = 200

// keys returns the distinct keys for looking up a sketch, in any order.
func (o *SketchOptions) keys(m minhash.MinSketch) []uint64 {
	if o.Super == 0 {
		return m.Values
	}
	out := m.Super(o.Super)
	slices.Sort(out)
	return slices.Compact(out)
}

// SketchPair is a pair of documents A < B, numbered in the order of their sketches, with estimates.
type SketchPair struct {
	A, B        int
	Resemblance minhash.Estimate
	ContainedA  minhash.Estimate // proportion of A that is in B
	ContainedB  minhash.Estimate
}

// measure sets the estimates of the pair and reports whether it reaches the threshold.
func (p *SketchPair) measure(a, b minhash.MinSketch, o SketchOptions) bool {
	p.Resemblance, p.ContainedA, p.ContainedB = minhash.MinEstimates(a, b)
	v := p.Resemblance.Value()
	if o.Contained {
		v = max(p.ContainedA.Value(), p.ContainedB.Value())
	}
	return v >= o.Threshold
}

// lists is an inverted index. It holds the documents of each value, ascending. It omits values of only one document.
type lists struct {
	values []uint64 // distinct, ascending
	starts []uint32 // start of the documents of values[i]; one more for the end
	docs   []int32
}

// newLists inverts the values of n documents; each document's values must be distinct.
func newLists(n int, values func(int) []uint64) *lists {
	total := 0
	for i := range n {
		total += len(values(i))
	}
	keys, docs := make([]uint64, 0, total), make([]uint32, 0, total)
	for i := range n {
		for _, x := range values(i) {
			keys, docs = append(keys, x), append(docs, uint32(i))
		}
	}
	radix(keys, make([]uint64, total), docs, make([]uint32, total)) // a stable sort, so documents ascend
	l := &lists{}
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j] == keys[i] {
			j++
		}
		if j > i+1 {
			l.values, l.starts = append(l.values, keys[i]), append(l.starts, uint32(len(l.docs)))
			for _, d := range docs[i:j] {
				l.docs = append(l.docs, int32(d))
			}
		}
		i = j
	}
	l.starts = append(l.starts, uint32(len(l.docs)))
	return l
}

// after returns the documents of a value after the given one.
func (l *lists) after(value uint64, doc int32) []int32 {
	i := lowerBound(l.values, value)
	if i == len(l.values) || l.values[i] != value {
		return nil
	}
	docs := l.docs[l.starts[i]:l.starts[i+1]]
	at, found := slices.BinarySearch(docs, doc)
	if found {
		at++
	}
	return docs[at:]
}
