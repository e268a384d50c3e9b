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

	"concordat"
)

// Space is where the vectors of one encoder's model are indexed: they are reduced to vectors of the table's size, which cells of their own
// divide. It is read-only and safe for concurrent use.
type Space struct {
	digest string
	axes   [][]float32 // Dimensions of them, each as long as the model's vectors
	probes []Vector    // the reduced vectors of known texts, by which the model is recognised
	cells  *Cells
}

// The bytes of a space (doc/format.md, Space of an encoder).
const (
	spaceMagic = "CMS1"
	// maxModel bounds the numbers of a model's vector, and maxProbes those of its probes.
	maxModel, maxProbes = 8192, 1024
	// leastProbe is the least mean cosine between the probes and the same vectors of the same model. Other roundings of its
	// numbers differ by less.
	leastProbe = 0.97
)

var errSpace = errors.New("damaged space of an encoder")

// EncodeSpace returns the bytes of a space: axes are Dimensions vectors of the model's size, probes the reduced vectors of texts by which
// the model is recognised, and cells the bytes of its cells.
func EncodeSpace(axes [][]float32, probes []Vector, cells []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(spaceMagic), uint32(len(axes[0])))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(probes)))
	for _, a := range axes {
		for _, x := range a {
			b = appendFloat(b, x)
		}
	}
	for i := range probes {
		for _, x := range &probes[i] {
			b = appendFloat(b, x)
		}
	}
	b = append(b, cells...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// DecodeSpace reads a space.
func DecodeSpace(b []byte) (*Space, error) {
	if len(b) < 12+sha256.Size || string(b[:4]) != spaceMagic {
		return nil, fmt.Errorf("%w: it does not begin with %s, or is cut short", errSpace, spaceMagic)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, fmt.Errorf("%w: its digest differs", errSpace)
	}
	r := reader{b: body[4:]}
	model, probes := int(r.uint32()), int(r.uint32())
	if model == 0 || model > maxModel || probes > maxProbes || len(r.b) < 4*Dimensions*(model+probes) {
		return nil, fmt.Errorf("%w: %d numbers of a vector, %d probes in %d bytes", errSpace, model, probes, len(r.b))
	}
	finite := true
	number := func() float32 {
		x := r.float32()
		finite = finite && !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0)
		return x
	}
	s := &Space{digest: hex.EncodeToString(sum)[:16], axes: make([][]float32, Dimensions), probes: make([]Vector, probes)}
	for i := range s.axes {
		s.axes[i] = make([]float32, model)
		for k := range s.axes[i] {
			s.axes[i][k] = number()
		}
	}
	for i := range s.probes {
		for k := range s.probes[i] {
			s.probes[i][k] = number()
		}
	}
	if !finite {
		return nil, fmt.Errorf("%w: an invalid number", errSpace)
	}
	var err error
	s.cells, err = DecodeCells(r.b)
	return s, err
}

// Digest returns the first 16 hexadecimal digits of the SHA-256 digest. Vectors of spaces with different digests must not be compared.
func (s *Space) Digest() string { return s.digest }

// Cells returns the cells that divide the space.
func (s *Space) Cells() *Cells { return s.cells }

// Takes reports whether a vector has the size of the model's.
func (s *Space) Takes(v []float32) bool { return len(v) == len(s.axes[0]) }

// Reduce returns a vector of the model in the space; see Takes.
func (s *Space) Reduce(v []float32) Vector { return Reduced(s.axes, v) }

// Reduced returns the scalar products of a vector with Dimensions axes of its size.
func Reduced(axes [][]float32, v []float32) Vector {
	var out Vector
	for i := range out {
		out[i] = dot(axes[i], v)
	}
	return out
}

// Recognises reports whether vectors of the texts by which the space knows its model come from that model.
func (s *Space) Recognises(vectors [][]float32) bool {
	if len(vectors) != len(s.probes) || len(vectors) == 0 {
		return false
	}
	sum := float32(0)
	for i, v := range vectors {
		if !s.Takes(v) {
			return false
		}
		a, b := s.Reduce(v), s.probes[i]
		a, b = Centred(&a, &s.cells.centres[0]), Centred(&b, &s.cells.centres[0])
		sum += Dot(&a, &b)
	}
	return sum >= leastProbe*float32(len(vectors))
}

// Prose returns the indexes of a text's sentences of prose, ascending.
func (t *Text) Prose() []int {
	var out []int
	for i, is := range t.prose {
		if is {
			out = append(out, i)
		}
	}
	return out
}

// In returns the text with the vectors of an encoder's model in place of those of the table: vectors are those of the first sentences of
// Prose, in order, and further sentences are left out. Its sentences have no pieces, so it is compared by vectors alone.
func (t *Text) In(s *Space, vectors [][]float32) *Text {
	out := *t
	out.prose, out.sentences = make([]bool, len(t.prose)), make([]Sentence, len(t.Spans))
	for k, i := range t.Prose() {
		if k == len(vectors) {
			break
		}
		out.prose[i] = true
		out.sentences[i].Mean = s.Reduce(vectors[k])
	}
	return &out
}

// Cells returns the cells of a text, distinct and ascending, never nil: those of each sentence of prose and of each pair of consecutive
// ones.
func (t *Text) Cells(c *Cells) []concordat.Cell {
	placed := t.Placed(c)
	out := make([]concordat.Cell, 0, concordat.Bands*len(placed))
	for i := range placed {
		for band, cell := range c.Of(&placed[i].Point) {
			out = append(out, concordat.CellOf(placed[i].Chinese, band, cell))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Directions returns the directions of a text's sentences of prose, in order.
func (t *Text) Directions(c *Cells) Directions {
	var out Directions
	for i := range t.Spans {
		if t.prose[i] {
			out = append(out, c.Direction(&t.sentences[i].Mean, t.chinese[i]))
		}
	}
	return out
}

// packed is the letter that stands for a coordinate of 0; letters before and after it stand for -7 to 7 steps.
const packed = 'h'

// Pack returns the directions with four bits a number, as letters from a to o, Dimensions of them for each direction. A number is counted
// in sevenths of the greatest of its direction, so the length of a direction is lost. They are made to be compressed.
func (d Directions) Pack() string {
	out := make([]byte, 0, Dimensions*len(d))
	for i := range d {
		most := float32(0)
		for _, x := range &d[i] {
			most = max(most, x, -x)
		}
		by := steps / max(most, 1e-12)
		for _, x := range &d[i] {
			out = append(out, byte(packed+int(math.RoundToEven(float64(x*by)))))
		}
	}
	return string(out)
}

// UnpackDirections returns the directions that Pack packed, each scaled to length 1.
func UnpackDirections(text string) (Directions, error) {
	if len(text)%Dimensions != 0 {
		return nil, fmt.Errorf("%d letters of directions: %w", len(text), concordat.ErrCorrupt)
	}
	out := make(Directions, len(text)/Dimensions)
	for i := range out {
		var v Vector
		for k := range v {
			x := int(text[i*Dimensions+k]) - packed
			if x < -steps || x > steps {
				return nil, fmt.Errorf("letter %d of directions: %w", i*Dimensions+k, concordat.ErrCorrupt)
			}
			v[k] = float32(x)
		}
		out[i] = Centred(&v, &Vector{})
	}
	return out, nil
}
