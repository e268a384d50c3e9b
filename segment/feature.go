package segment

import (
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Kind is the kind of a block's features.
type Kind uint8

// These are the kinds of features.
const (
	// Content means the words of the block, except the short words in its stop list.
	Content Kind = iota
	// Grams means character 4-grams of the folded letters without spaces, for languages without a list.
	Grams
	// Chinese means words without stop words, and single characters without stop characters.
	Chinese
	// Bigrams means character 2-grams, for kana and hangul.
	Bigrams
)

// longestStop is the maximum length in folded characters of stop words to omit. Short stop words are the frequent ones. Omitting only
// these recalls up to one percentage point more edited sentences than omitting the whole list, with hardly more chance neighbours
// (doc/evaluation/README.md).
const longestStop = 3

// Features appends the features of block b to dst as xxHash64 values, possibly with repeats. Their kind depends only on the block, that
// is, on its scripts and then on the stop list that contains most of its words. If no list contains a tenth of its words, the features
// are character n-grams.
func (t *Text) Features(b Block, dst []uint64) ([]uint64, Kind) {
	words := t.Words[b.First:b.Last]
	kind, lang := t.kindOf(words)
	switch kind {
	case Content:
		dst = contentFeatures(words, lang, dst)
	case Chinese:
		dst = t.chineseFeatures(words, dst)
	case Grams:
		dst = t.grams(words, 4, dst)
	case Bigrams:
		dst = t.grams(words, 2, dst)
	}
	return dst, kind
}

// contentFeatures appends the words that are not short stop words. A branch on stop words would be mispredicted, so each word is written,
// and then overwritten by the next if it does not count.
func contentFeatures(words []Word, lang uint32, dst []uint64) []uint64 {
	n := len(dst)
	dst = slices.Grow(dst, len(words))[:n+len(words)]
	for i := range words {
		w := &words[i]
		dst[n] = w.Hash
		long := uint32(longestStop-int32(w.Chars)) >> 31 // 1 if it is long
		listed := -(w.Stop & lang) >> 31                 // 1 if it is listed
		n += int(long | (listed ^ 1))
	}
	return dst[:n]
}

// kindOf returns the kind of features and, for Content, the language bit.
func (t *Text) kindOf(words []Word) (Kind, uint32) {
	var chars, han, syllabic, unspaced, spaced int
	for i := range words {
		w := &words[i]
		n := int(w.Chars)
		chars += n
		switch {
		case w.Flags&Han != 0:
			han += n
		case w.Flags&Syllabic != 0:
			syllabic += n
		case w.Flags&Unspaced != 0:
			unspaced += n
		default:
			spaced++
		}
	}
	switch {
	case syllabic*10 >= chars:
		return Bigrams, 0
	case han*4 >= chars:
		return Chinese, 0
	case unspaced*2 >= chars:
		return Grams, 0
	}
	var votes tally
	votes.stops(words)
	language, most := votes.most()
	if most*10 < spaced || most == 0 {
		return Grams, 0
	}
	return Content, language
}

func (t *Text) chineseFeatures(words []Word, dst []uint64) []uint64 {
	stop := stopLists()
	en := stop.english // the English list filters Latin words of Chinese text
	for i := range words {
		w := &words[i]
		if w.Flags&Han == 0 {
			if w.Stop&en == 0 || w.Chars > longestStop {
				dst = append(dst, w.Hash)
			}
			continue
		}
		if w.Flags&HanStop == 0 {
			dst = append(dst, w.Hash)
		}
		if w.Chars == 1 {
			continue
		}
		for at := w.NormStart; at < w.NormEnd; {
			_, size := utf8.DecodeRune(t.Norm[at:w.NormEnd])
			if h := xxhash.Sum64(t.Norm[at : at+int32(size)]); !stop.isHan(h) {
				dst = append(dst, h)
			}
			at += int32(size)
		}
	}
	return dst
}

// grams appends the hashes of all runs of n characters of the words, joined without spaces, or of the whole text if it is shorter.
func (t *Text) grams(words []Word, n int, dst []uint64) []uint64 {
	var letters []byte
	for i := range words {
		letters = append(letters, t.Norm[words[i].NormStart:words[i].NormEnd]...)
	}
	end := 0
	for range n {
		_, size := utf8.DecodeRune(letters[end:])
		end += size
	}
	for start := 0; ; {
		dst = append(dst, xxhash.Sum64(letters[start:end]))
		if end >= len(letters) {
			return dst
		}
		_, size := utf8.DecodeRune(letters[start:])
		start += size
		_, size = utf8.DecodeRune(letters[end:])
		end += size
	}
}

// StopWords returns which words are stop words, that is, are in the list of the text's main language or in the Chinese list. If the
// text's language has no list, only the Chinese list applies. The caller owns the result.
func (t *Text) StopWords() []bool {
	out := make([]bool, len(t.Words))
	var votes tally
	votes.stops(t.Words)
	language, most := votes.most()
	spaced := 0
	for i := range t.Words {
		if t.Words[i].Flags&(Han|Syllabic|Unspaced) == 0 {
			spaced++
		}
	}
	if most*10 < spaced {
		language = 0
	}
	for i := range t.Words {
		w := &t.Words[i]
		out[i] = w.Stop&language != 0 || w.Flags&(Han|HanStop) == Han|HanStop
	}
	return out
}
