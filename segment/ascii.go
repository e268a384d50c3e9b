package segment

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/cespare/xxhash/v2"

	"concordat/segment/runetab"
)

// Almost all words of a European text consist of ASCII letters and digits between ASCII signs. They are read eight bytes at a time,
// without a branch on their length; their hashes and stop lists are cached, since most words recur. TestASCIIWords compares the result
// with the loop over runes.

// shortMost is the maximum length in bytes of words read in this way.
const shortMost = 15

// eight equal bytes each
const (
	each = 0x0101010101010101
	high = 0x80 * each
)

// asciiLetters returns how many of the eight bytes of x, starting with the lowest, are ASCII letters or digits. It also returns these
// bytes folded, followed by zero bytes. It compares each byte by an addition that carries into the highest bit.
func asciiLetters(x uint64) (folded uint64, n int) {
	low := x &^ high
	small := low | 0x20*each // digits already have that bit
	letter := (small + (0x80-'a')*each) &^ (small + (0x80-'z'-1)*each)
	digit := (low + (0x80-'0')*each) &^ (low + (0x80-'9'-1)*each)
	n = bits.TrailingZeros64(^((letter|digit)&^x)&high) / 8
	return small & (1<<(8*n) - 1), n
}

// load returns the eight bytes of s starting at i, the first as the lowest.
func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// memory caches data about short words, and keeps the stems of words that it has dropped.
type memory struct {
	words [1 << memoryBits]remembered
	stems stems
}

// memoryBits makes the table 512 KiB, which fits in the second-level cache together with other data in use.
const memoryBits = 14

type remembered struct {
	first, second uint64 // folded letters, then zeros; no word is all zeros
	hash          uint64
	stop, term    uint32 // as in Word
}

// memories are reused across texts, since their results depend only on the word.
var memories = sync.Pool{New: func() any { return new(memory) }}

// word returns the data about the word of n bytes with the given letters.
func (m *memory) word(first, second uint64, n int, stop *stopTable) *remembered {
	at := (first ^ second*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd >> (64 - memoryBits)
	r := &m.words[at]
	if r.first == first && r.second == second {
		return r
	}
	other := &m.words[at^1] // in the same cache line
	if other.first == first && other.second == second {
		return other
	}
	var letters [16]byte
	binary.LittleEndian.PutUint64(letters[:], first)
	binary.LittleEndian.PutUint64(letters[8:], second)
	hash := xxhash.Sum64(letters[:n])
	*other = *r
	*r = remembered{first, second, hash, stop.mask(hash), m.stems.term(hash, letters[:n])}
	return r
}

// asciiWords reads, starting at byte i, short words that each end before an ASCII sign, and the single spaces between them. It returns
// the byte at which it stopped, or i if no such word begins there. No word may be open. A line ends before a line feed or at the end of
// the text, so nothing beyond it is read.
func (s *splitter) asciiWords(i int) int {
	text, norm, words := s.t.Source, s.t.Norm, s.t.Words
	for i+shortMost < len(text) {
		first, n := asciiLetters(load(text, i))
		second := uint64(0)
		if n == 8 {
			var more int
			second, more = asciiLetters(load(text, i+8))
			n += more
		}
		if n == 0 || n > shortMost || !s.runes.ends[text[i+n]] || len(norm)+2*8+1 > cap(norm) {
			break
		}
		if s.pending != none {
			c := text[i]
			s.t.Norm, s.t.Words = norm, words
			s.decide(c >= 'a' && c <= 'z', c >= '0' && c <= '9', false)
		}
		if s.start < 0 {
			s.start = i
		}
		at := len(norm)
		norm = norm[:at+2*8+1]
		norm[at] = ' '
		if at > 0 {
			at++
		}
		binary.LittleEndian.PutUint64(norm[at:], first)
		binary.LittleEndian.PutUint64(norm[at+8:], second)
		norm = norm[:at+n]
		known := s.memory.word(first, second, n, s.stop)
		var flags WordFlags
		if s.clause {
			flags = AfterClause
		}
		if s.space {
			flags |= AfterSpace
		}
		words = append(words, Word{
			Start: int32(i), End: int32(i + n), NormStart: int32(at), NormEnd: int32(at + n),
			Hash: known.hash, Term: known.term, Stop: known.stop, Chars: uint16(n), Flags: flags,
		})
		s.clause, s.space, s.barrier = false, false, false
		if i += n; text[i] == ' ' {
			s.space = true
			i++
		}
	}
	s.t.Norm, s.t.Words = norm, words
	return i
}

// asciiEnds sets ends, and reports whether asciiLetters folds like the table.
func (d *runeData) asciiEnds() bool {
	same := true
	for c := range d.class {
		d.ends[c] = d.ascii[c] == 0 && d.class[c] != runetab.Drop && d.class[c] != runetab.Mark && d.class[c] != runetab.Expand
		folded, n := asciiLetters(uint64(c))
		same = same && (n == 1) == (d.ascii[c] != 0) && byte(folded) == d.ascii[c]
	}
	return same && d.class[' '] == runetab.Space
}
