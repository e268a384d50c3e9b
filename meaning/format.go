package meaning

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"
)

// Dimensions is the number of dimensions of a vector.
const Dimensions = 128

// Encoded form of a table (doc/format.md, Table of pieces).
const (
	magic       = "CMT1"
	headerBytes = 4 + 5*4
	vectorBytes = Dimensions / 2
	maxPieces   = 1 << 20
	maxUnits    = 1 << 24
	maxNorms    = 1 << 16
	maxNotice   = 1 << 16
	maxReplaced = 64 // bytes that replace a character
)

// Piece is a run of letters with its log probability. A leading space marks the start of a word.
type Piece struct {
	Text  string
	Score float32
}

// Parts are the contents of a table.
type Parts struct {
	Pieces  []Piece               // distinct and not empty
	Vectors [][Dimensions]float32 // one per piece
	// Unknown is the score of a character that no piece covers.
	Unknown float32
	Norms   map[rune]string // character replacements
	Notice  string          // authors and licence
}

// Table is read-only and safe for concurrent use.
type Table struct {
	digest  string
	unknown float32
	trie    []unit
	ends    []int32 // piece ending at each node; -1 if none
	scores  []float32
	scales  []float32
	weights []float32
	vectors []byte // vectorBytes per piece, lower four bits first; 8 represents zero
	norms   map[rune]string
	pages   [utf8.MaxRune>>8 + 1]bool // pages of 256 characters with any character in norms

	encoders sync.Pool // of *Encoder, so that they remember words from one text to the next
}

// Digest returns the first 16 hexadecimal digits of the table's SHA-256 digest. Do not compare vectors of different tables.
func (t *Table) Digest() string { return t.digest }

// Weight returns a piece's weight in a sentence's mean, 0 to 1.
func (t *Table) Weight(piece int32) float32 { return t.weights[piece] }

var errTable = errors.New("the table of word pieces is damaged")

// Encode encodes a table. It fails if two pieces are equal or if Decode would refuse the table.
func Encode(p Parts) ([]byte, error) {
	if len(p.Vectors) != len(p.Pieces) || len(p.Pieces) > maxPieces {
		return nil, fmt.Errorf("number of word pieces differs from number of vectors, or is too large: %d and %d", len(p.Pieces), len(p.Vectors))
	}
	trie, err := buildTrie(p.Pieces)
	if err != nil {
		return nil, err
	}
	b := []byte(magic)
	for _, n := range []int{len(p.Pieces), len(trie), len(p.Norms), len(p.Notice)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = appendFloat(b, p.Unknown)
	for _, u := range trie {
		b = binary.LittleEndian.AppendUint32(b, uint32(u.base))
		b = binary.LittleEndian.AppendUint32(b, uint32(u.check))
	}
	for _, x := range p.Pieces {
		b = appendFloat(b, x.Score)
	}
	for i := range p.Vectors {
		b = appendFloat(b, scaleOf(&p.Vectors[i]))
	}
	for i := range p.Vectors {
		b = appendQuantised(b, &p.Vectors[i])
	}
	var from []rune
	for r := range p.Norms {
		from = append(from, r)
	}
	slices.Sort(from)
	for _, r := range from {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
		b = append(b, byte(len(p.Norms[r])))
		b = append(b, p.Norms[r]...)
	}
	b = append(b, p.Notice...)
	sum := sha256.Sum256(b)
	b = append(b, sum[:]...)
	_, err = Decode(b) // Decode refuses values outside its bounds
	return b, err
}

func appendFloat(b []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}

// steps is the largest value of a four-bit coordinate, in steps.
const steps = 7

// scaleOf returns the step size of a vector.
func scaleOf(v *[Dimensions]float32) float32 {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	return most / steps
}

func appendQuantised(b []byte, v *[Dimensions]float32) []byte {
	scale := scaleOf(v)
	at := func(i int) byte {
		if scale == 0 {
			return steps + 1
		}
		return byte(steps + 1 + int(math.RoundToEven(float64(v[i]/scale))))
	}
	for i := 0; i < Dimensions; i += 2 {
		b = append(b, at(i)|at(i+1)<<4)
	}
	return b
}

// Decode decodes a table. The table retains parts of b.
func Decode(b []byte) (*Table, error) {
	if len(b) < headerBytes+sha256.Size || string(b[:4]) != magic {
		return nil, fmt.Errorf("%w: missing %s prefix", errTable, magic)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, fmt.Errorf("%w: digest mismatch", errTable)
	}
	r := reader{b: body[4:]}
	pieces, units, norms, notice := r.uint32(), r.uint32(), r.uint32(), r.uint32()
	if pieces > maxPieces || units > maxUnits || norms > maxNorms || notice > maxNotice {
		return nil, fmt.Errorf("%w: header is out of range: %d pieces, %d units, %d norms, notice of %d bytes", errTable, pieces, units, norms, notice)
	}
	t := &Table{digest: hex.EncodeToString(sum)[:16], unknown: r.float32()}
	if len(r.b) < int(units)*8+int(pieces)*(8+vectorBytes) {
		return nil, fmt.Errorf("%w: file is truncated", errTable)
	}
	t.trie = make([]unit, units)
	for i := range t.trie {
		t.trie[i] = unit{int32(r.uint32()), int32(r.uint32())}
	}
	t.scores, t.scales, t.weights = make([]float32, pieces), make([]float32, pieces), make([]float32, pieces)
	for i := range t.scores {
		t.scores[i] = r.float32()
		t.weights[i] = weightOf(t.scores[i])
	}
	t.ends = make([]int32, units)
	for i := range t.ends {
		t.ends[i] = t.pieceAt(int32(i))
	}
	for i := range t.scales {
		t.scales[i] = r.float32()
	}
	t.vectors = r.bytes(int(pieces) * vectorBytes)
	t.norms = make(map[rune]string, norms)
	for range norms {
		from, n := rune(r.uint32()), int(r.byte())
		if from < 0 || from > utf8.MaxRune || n > maxReplaced {
			return nil, fmt.Errorf("%w: invalid replacement for character %x: %d bytes", errTable, from, n)
		}
		t.norms[from] = string(r.bytes(n))
		t.pages[from>>8] = true
	}
	r.bytes(int(notice)) // describes the vectors' origin for people reading the file
	if r.short || len(r.b) > 0 {
		return nil, fmt.Errorf("%w: file is truncated or too long", errTable)
	}
	return t, nil
}

// frequent is the probability above which a piece carries little information: the parameter a of Arora, Liang and Ma 2017, section 3.
const frequent = 1e-4

// weightOf returns the weight of a piece with the given log probability (equation 2 there).
func weightOf(score float32) float32 {
	return float32(frequent / (frequent + math.Exp(float64(score))))
}

// reader reads numbers from the front of a byte slice. Beyond the end, it returns zeros and records the error.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) float32() float32 { return math.Float32frombits(r.uint32()) }
