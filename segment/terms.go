package segment

import (
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// These are the numbers of alphabetic letters that one character counts as when measuring content. Chinese needs about a third as many
// characters as English, and a syllabary needs half as many.
const (
	hanLetters      = 3
	syllabicLetters = 2
)

// Letters returns the length of w in alphabetic letters.
func (w *Word) Letters() int {
	switch {
	case w.Flags&Han != 0:
		return hanLetters * int(w.Chars)
	case w.Flags&Syllabic != 0:
		return syllabicLetters * int(w.Chars)
	}
	return int(w.Chars)
}

// stems converts words to search terms and remembers the most recent ones.
type stems struct {
	known  [1 << stemBits]stemmed
	porter porter
}

// stemBits makes the table 256 KiB, for words that are longer or rarer than those in a memory.
const stemBits = 14

type stemmed struct {
	hash uint64 // hash of the folded word
	term uint32
}

// term returns the search term of a folded word with the given hash.
func (m *stems) term(hash uint64, folded []byte) uint32 {
	at := hash >> (64 - stemBits)
	k := &m.known[at]
	if k.hash == hash && hash != 0 {
		return k.term
	}
	second := &m.known[at^1] // in the same cache line
	if second.hash == hash && hash != 0 {
		return second.term
	}
	*second = *k
	*k = stemmed{hash, uint32(xxhash.Sum64(m.porter.stem(folded)))}
	return k.term
}

// Language returns the bit, as in Word.Stop, of the stop list that contains most words of t, or 0 if no list contains any.
func (t *Text) Language() uint32 {
	var votes tally
	votes.stops(t.Words)
	language, _ := votes.most()
	return language
}

// These are the lengths in characters of the runs that replace words in scripts without spaces, the same as for features.
const (
	syllabicGram = 2
	unspacedGram = 4
)

// Terms appends the search terms of Words[first:last] to dst, one per occurrence. Words in the stop list of language, a result of
// Language, have no terms. Runs of kana, hangul and alphabets without spaces yield their character 2-grams or 4-grams.
func (t *Text) Terms(first, last int, language uint32, dst []uint32) []uint32 {
	for i := first; i < last; i++ {
		w := &t.Words[i]
		switch {
		case w.Flags&(Syllabic|Unspaced|HanStop) == 0:
			// A stop word's term is written and then overwritten by the next, because a branch on stop words would be mispredicted.
			dst = append(dst, w.Term)
			dst = dst[:len(dst)-int(-(w.Stop&language)>>31)]
		case w.Stop&language != 0 || w.Flags&HanStop != 0:
		case w.Flags&Syllabic != 0:
			dst = runGrams(t.Folded(i), syllabicGram, dst)
		case w.Flags&Unspaced != 0:
			dst = runGrams(t.Folded(i), unspacedGram, dst)
		}
	}
	return dst
}

// runGrams appends the terms of all runs of n characters of letters, or of the whole text if it is shorter.
func runGrams(letters []byte, n int, dst []uint32) []uint32 {
	end := 0
	for range n {
		_, size := utf8.DecodeRune(letters[end:])
		end += size
	}
	for start := 0; ; {
		dst = append(dst, uint32(xxhash.Sum64(letters[start:end])))
		if end >= len(letters) {
			return dst
		}
		_, size := utf8.DecodeRune(letters[start:])
		start += size
		_, size = utf8.DecodeRune(letters[end:])
		end += size
	}
}
