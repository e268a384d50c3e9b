package meaning

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Vector is a point in the table's space.
type Vector [Dimensions]float32

// Sentence is the meaning of a piece of text.
type Sentence struct {
	// Mean is the weighted mean of its pieces' vectors, before any centre is subtracted; zero without pieces.
	Mean Vector
	// Pieces are its distinct pieces, ascending, weighted as words; the weights form a vector of length 1, if there are any.
	Pieces []Weighted
}

// Weighted is a piece with its weight.
type Weighted struct {
	Piece  int32
	Weight float32
}

// Encoder converts text to meaning. It is not safe for concurrent use. Once its buffers have grown and it knows the words, it allocates
// nothing.
type Encoder struct {
	t      *Table
	text   []byte // one sentence, normalised, with a space before each word
	best   []step
	pieces []int32
	known  []knownWord // words cut earlier, by wordBytes.place; nil until needed
}

// knownWord is a word of up to knownLength bytes with its pieces.
type knownWord struct {
	word   wordBytes
	count  int32 // number of pieces
	pieces [knownPieces]int32
}

// wordBytes are the bytes of a word, padded with zeros, which no word contains.
type wordBytes [knownLength]byte

// Bounds on the words that an encoder remembers, 2 MB.
const (
	knownLength = 32 // bytes of a word including its space
	knownPieces = 7
	knownBits   = 15 // an encoder remembers up to 1<<knownBits words
)

// step is the best path to a position in a word.
type step struct {
	score float32
	piece int32 // last piece of the path; -1 if unknown
	from  int32
}

// NewEncoder returns an encoder that uses a table.
func NewEncoder(t *Table) *Encoder { return &Encoder{t: t} }

// longestWord is the maximum number of bytes cut into pieces at once; longer text without spaces is divided there.
const longestWord = 1 << 10

// Encode sets s to the meaning of text, reusing the memory of its pieces. text may be any bytes.
func (e *Encoder) Encode(text string, s *Sentence) {
	s.Mean = e.mean(text)
	s.Pieces = e.weigh(s.Pieces[:0])
}

// Cut returns the numbers of text's pieces, valid until the next call of e.
func (e *Encoder) Cut(text string) []int32 {
	e.mean(text)
	return e.pieces
}

// mean returns Sentence.Mean and leaves the text's pieces in e.
func (e *Encoder) mean(text string) Vector {
	e.normalise(text)
	e.pieces = e.pieces[:0]
	for rest := e.text; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] != ' ' && (n < longestWord || !utf8.RuneStart(rest[n])) {
			n++
		}
		e.cutKnown(rest[:n])
		rest = rest[n:]
	}
	var out Vector
	total := float32(0)
	for _, p := range e.pieces {
		e.t.add(&out, p)
		total += e.t.weights[p]
	}
	if total > 0 {
		for i := range out {
			out[i] /= total
		}
	}
	return out
}

// normalise writes text to e.text as the model's normaliser does, in lower case, with a space before each word and no other white space.
func (e *Encoder) normalise(text string) {
	e.text = e.text[:0]
	space := true
	for _, r := range text {
		if r < utf8.RuneSelf {
			e.text, space = appendLetter(e.text, r, space)
			continue
		}
		if e.t.pages[r>>8] {
			if to, ok := e.t.norms[r]; ok {
				for _, r := range to {
					e.text, space = appendLetter(e.text, r, space)
				}
				continue
			}
		}
		e.text, space = appendLetter(e.text, r, space)
	}
}

// appendLetter appends a character in lower case, preceded by any pending space; white space makes a space pending.
func appendLetter(b []byte, r rune, space bool) ([]byte, bool) {
	if r == 0 || unicode.IsSpace(r) {
		return b, true
	}
	if space {
		b = append(b, ' ')
	}
	return utf8.AppendRune(b, unicode.ToLower(r)), false
}

// cutKnown appends the pieces of a word, from memory if it was cut before.
func (e *Encoder) cutKnown(word []byte) {
	if len(word) > knownLength {
		e.cut(word)
		return
	}
	if e.known == nil {
		e.known = make([]knownWord, 1<<knownBits)
	}
	var text wordBytes
	copy(text[:], word)
	k := &e.known[text.place()]
	if k.word == text {
		e.pieces = append(e.pieces, k.pieces[:k.count]...)
		return
	}
	n := len(e.pieces)
	e.cut(word)
	if pieces := e.pieces[n:]; len(pieces) <= knownPieces {
		k.word, k.count = text, int32(copy(k.pieces[:], pieces))
	}
}

// place returns the index in Encoder.known of a word, which replaces an earlier word with the same index.
func (w *wordBytes) place() uint64 { return xxhash.Sum64(w[:]) >> (64 - knownBits) }

// cut appends a word's most probable pieces (Kudo 2018, section 3.1: Viterbi's algorithm over a unigram model). It omits characters that
// no piece covers.
func (e *Encoder) cut(word []byte) {
	t := e.t
	e.best = slices.Grow(e.best[:0], len(word)+1)[:len(word)+1]
	for i := range e.best {
		e.best[i] = step{score: float32(math.Inf(-1)), piece: -1}
	}
	e.best[0].score = 0
	for i := 0; i < len(word); i++ {
		here := e.best[i].score
		if math.IsInf(float64(here), -1) {
			continue // inside a character
		}
		node := int32(0)
		for k := i; k < len(word) && len(t.trie) > 0; k++ {
			if node = child(t.trie, node, word[k]); node < 0 {
				break
			}
			if p := t.ends[node]; p >= 0 && here+t.scores[p] > e.best[k+1].score {
				e.best[k+1] = step{here + t.scores[p], p, int32(i)}
			}
		}
		size := 1
		if word[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(word[i:])
		}
		if score := here + t.unknown; score > e.best[i+size].score {
			e.best[i+size] = step{score, -1, int32(i)}
		}
	}
	for i := int32(len(word)); i > 0; i = e.best[i].from {
		if p := e.best[i].piece; p >= 0 {
			e.pieces = append(e.pieces, p)
		}
	}
}

// add adds the vector of a piece, times its weight.
func (t *Table) add(v *Vector, piece int32) {
	addRow(v, (*[vectorBytes]byte)(t.vectors[int(piece)*vectorBytes:]), t.scales[piece]*t.weights[piece])
}

// addRowPlain adds an encoded vector times scale.
func addRowPlain(v *Vector, row *[vectorBytes]byte, scale float32) {
	for i, b := range row {
		two := &nibbles[b]
		v[2*i] += float32(scale * two[0])
		v[2*i+1] += float32(scale * two[1])
	}
}

// nibbles holds the two coordinates in each byte of a vector, before scaling.
var nibbles = func() (out [256][2]float32) {
	for b := range out {
		out[b] = [2]float32{float32(b&15 - steps - 1), float32(b>>4 - steps - 1)}
	}
	return out
}()

// plain is the maximum negative log probability at which a piece carries no information, because a sentence of forty pieces probably
// contains it (ln(40) is 3.7).
const plain = 3.7

// weigh appends the distinct pieces of e, weighted by frequency and rarity and scaled to length 1.
func (e *Encoder) weigh(dst []Weighted) []Weighted {
	slices.Sort(e.pieces)
	sum := 0.0
	for i := 0; i < len(e.pieces); {
		p, n := e.pieces[i], 0
		for ; i < len(e.pieces) && e.pieces[i] == p; i++ {
			n++
		}
		rare := -float64(e.t.scores[p]) - plain
		if rare <= 0 {
			continue
		}
		w := (1 + math.Log(float64(n))) * rare
		sum += w * w
		dst = append(dst, Weighted{p, float32(w)})
	}
	if sum > 0 {
		by := float32(1 / math.Sqrt(sum))
		for i := range dst {
			dst[i].Weight *= by
		}
	}
	return dst
}

// Shared returns the cosine between two sentences by their pieces, 0 to 1.
func Shared(a, b []Weighted) float32 {
	sum := float32(0)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Piece < b[j].Piece:
			i++
		case a[i].Piece > b[j].Piece:
			j++
		default:
			sum += a[i].Weight * b[j].Weight
			i, j = i+1, j+1
		}
	}
	return sum
}

// Dot returns the scalar product of two vectors.
func Dot(a, b *Vector) float32 {
	var s0, s1, s2, s3 float32
	for i := 0; i < Dimensions; i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	return s0 + s1 + s2 + s3
}

// Centred returns v minus centre, scaled to length 1, or zero if nothing is left.
func Centred(v, centre *Vector) Vector {
	var out Vector
	for i := range v {
		out[i] = v[i] - centre[i]
	}
	if n := Dot(&out, &out); n > 1e-12 {
		by := float32(1 / math.Sqrt(float64(n)))
		for i := range out {
			out[i] *= by
		}
	}
	return out
}
