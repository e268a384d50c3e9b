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

// Space is the index space for one encoder model's vectors, which are reduced to vectors of the table's size and divided by the space's
// own cells. It is read-only and safe for concurrent use.
type Space struct {
	digest string
	axes   [][]float32 // Dimensions axes, each as long as the model's vectors
	probes []Vector    // reduced vectors of known texts for recognising the model
	cells  *Cells
}

// Encoded form of a space (doc/format.md, Space of an encoder).
const (
	spaceMagic = "CMS1"
	// maxModel and maxProbes limit the size of a model's vector and the number of probes.
	maxModel, maxProbes = 8192, 1024
	// leastProbe is the minimum mean cosine between the probes and the model's vectors of the same texts. Other roundings of a model's
	// numbers differ less.
	leastProbe = 0.97
)

var errSpace = errors.New("the file with the encoder's vector space is damaged")

// EncodeSpace encodes a space: axes are Dimensions vectors of the model's size, probes the reduced vectors of texts for recognising the
// model, and cells its encoded cells.
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

// DecodeSpace decodes a space.
func DecodeSpace(b []byte) (*Space, error) {
	if len(b) < 12+sha256.Size || string(b[:4]) != spaceMagic {
		return nil, fmt.Errorf("%w: truncated, or missing %s prefix", errSpace, spaceMagic)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, fmt.Errorf("%w: digest mismatch", errSpace)
	}
	r := reader{b: body[4:]}
	model, probes := int(r.uint32()), int(r.uint32())
	if model == 0 || model > maxModel || probes > maxProbes || len(r.b) < 4*Dimensions*(model+probes) {
		return nil, fmt.Errorf("%w: %d numbers per vector and %d probes do not fit in %d bytes", errSpace, model, probes, len(r.b))
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
		return nil, fmt.Errorf("%w: invalid number", errSpace)
	}
	var err error
	s.cells, err = DecodeCells(r.b)
	return s, err
}

// Digest returns the first 16 hexadecimal digits of the SHA-256 digest of the space. Do not compare vectors of spaces with different
// digests.
func (s *Space) Digest() string { return s.digest }

// Cells returns the cells that divide the space.
func (s *Space) Cells() *Cells { return s.cells }

// Takes reports whether a vector has the size of the model's vectors.
func (s *Space) Takes(v []float32) bool { return len(v) == len(s.axes[0]) }

// Reduce maps a model's vector, which must satisfy Takes, to the space.
func (s *Space) Reduce(v []float32) Vector { return Reduced(s.axes, v) }

// Reduced returns the scalar products of a vector with Dimensions axes of its size.
func Reduced(axes [][]float32, v []float32) Vector {
	var out Vector
	for i := range out {
		out[i] = dot(axes[i], v)
	}
	return out
}

// Recognises reports whether vectors, which must be of the space's probe texts, come from its model.
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

// Prose returns the indexes of a text's prose sentences, ascending.
func (t *Text) Prose() []int {
	var out []int
	for i, is := range t.prose {
		if is {
			out = append(out, i)
		}
	}
	return out
}

// In returns the text with the vectors of an encoder's model instead of the table's. vectors belong to the first sentences of Prose, in
// order; further sentences are omitted. Its sentences have no pieces, so only their vectors are compared.
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

// Cells returns the cells of each prose sentence and of each pair of consecutive ones, distinct and ascending, never nil.
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

// Directions returns the directions of a text's prose sentences, in order.
func (t *Text) Directions(c *Cells) Directions {
	var out Directions
	for i := range t.Spans {
		if t.prose[i] {
			out = append(out, c.Direction(&t.sentences[i].Mean, t.chinese[i], t.Language))
		}
	}
	return out
}

// packed is the letter for a coordinate of 0; the letters before and after it represent -7 to 7 steps.
const packed = 'h'

// Pack encodes the directions with four bits per number, as letters from a to o, Dimensions letters per direction. Each number is
// expressed in sevenths of the greatest in its direction, so a direction's length is lost. The result compresses well.
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

// UnpackDirections decodes directions encoded by Pack and scales each to length 1.
func UnpackDirections(text string) (Directions, error) {
	if len(text)%Dimensions != 0 {
		return nil, fmt.Errorf("invalid length of packed directions: %d characters: %w", len(text), concordat.ErrCorrupt)
	}
	out := make(Directions, len(text)/Dimensions)
	for i := range out {
		var v Vector
		for k := range v {
			x := int(text[i*Dimensions+k]) - packed
			if x < -steps || x > steps {
				return nil, fmt.Errorf("invalid character at offset %d of packed directions: %w", i*Dimensions+k, concordat.ErrCorrupt)
			}
			v[k] = float32(x)
		}
		out[i] = Centred(&v, &Vector{})
	}
	return out, nil
}
