package meaning

import (
	"math"
	"slices"

	"concordat"
)

// These constants define the geometry of cells. A vector, reduced to cellDimensions, is rotated for each band and split into cellParts;
// each part becomes the number of the nearest of cellWords points. A band is thus a cell of an inverted multi-index (Babenko and
// Lempitsky 2012) over a product quantiser (Jégou, Douze and Schmid 2011).
const (
	cellDimensions = 64
	cellParts      = 4
	cellWords      = 32
	partDimensions = cellDimensions / cellParts
	wordBits       = concordat.BandBits / cellParts
)

// Point is the reduced and half whitened form of a vector, from which cells are computed.
type Point [cellDimensions]float32

// Cells maps vectors to cells. Vectors near each other share some of their five cells or have neighbouring cells; two different cells do
// not show how far apart the vectors are. It is read-only and safe for concurrent use.
type Cells struct {
	digest    string
	centres   [2]Vector         // of sentences in an alphabet, and of sentences in Chinese characters
	languages map[string]Vector // centres of languages in an alphabet; nil in the space of an encoder
	axes      [cellDimensions]Vector
	signs     [concordat.Bands][2][cellDimensions]uint32 // for each transform, the sign bits of the coordinates that change sign first
	words     [concordat.Bands][cellParts][cellWords][partDimensions]float32
	squares   [concordat.Bands][cellParts][cellWords]float32
	// These are axes and words in the order in which vector instructions read them.
	axisColumns [Dimensions][cellDimensions]float32
	wordColumns [concordat.Bands][cellParts][partDimensions][cellWords]float32
}

// Digest returns the first 16 hexadecimal digits of the SHA-256 digest of the cells. Do not compare cells of Cells with different
// digests.
func (c *Cells) Digest() string { return c.digest }

// Direction returns the mean of a sentence minus the centre of its text's language, scaled to length 1. It subtracts the centre of the
// script if the language has none, or if the sentence is in Chinese characters.
func (c *Cells) Direction(mean *Vector, wide bool, language string) Vector {
	if wide {
		return Centred(mean, &c.centres[1])
	}
	if centre, ok := c.languages[language]; ok {
		return Centred(mean, &centre)
	}
	return Centred(mean, &c.centres[0])
}

// Point returns the point of a direction.
func (c *Cells) Point(v *Vector) Point {
	var p Point
	c.dotAxes(&p, v)
	return p
}

// rotated returns a point rotated for a band by two rounds of signs and a Walsh-Hadamard transform.
func (c *Cells) rotated(p *Point, band int) Point {
	out := *p
	c.rotate(&out, band)
	return out
}

// unscaled makes up for the two transforms of a rotation, each of which multiplies by the root of cellDimensions.
const unscaled = 1.0 / cellDimensions

// rotatePlain rotates a point in place.
func (c *Cells) rotatePlain(p *Point, band int) {
	for round := range c.signs[band] {
		for i, sign := range &c.signs[band][round] {
			p[i] = math.Float32frombits(math.Float32bits(p[i]) ^ sign)
		}
		hadamard(p)
	}
	for i := range p {
		p[i] *= unscaled
	}
}

// hadamard applies the Walsh-Hadamard transform times the root of cellDimensions. It performs two of its six steps at a time.
func hadamard(p *Point) {
	for half := 1; half < cellDimensions; half *= 4 {
		for i := 0; i < cellDimensions; i += 4 * half {
			for k := i; k < i+half; k++ {
				a, b, c, d := &p[k&63], &p[(k+half)&63], &p[(k+2*half)&63], &p[(k+3*half)&63]
				s, t, u, v := *a+*b, *a-*b, *c+*d, *c-*d
				*a, *b, *c, *d = s+u, t+v, s-u, t-v
			}
		}
	}
}

// nearness holds the distances of a point from a part's words, minus the term common to all.
type nearness [cellWords]float32

// distances returns a point's nearness to the words of each part of a band.
func (c *Cells) distances(p *Point, band int) [cellParts]nearness {
	r := c.rotated(p, band)
	var out [cellParts]nearness
	for part := range out {
		c.dotWords(&out[part], &r, band, part)
		for w, square := range &c.squares[band][part] {
			out[part][w] = square - 2*out[part][w]
		}
	}
	return out
}

// Of returns the point's cell in each band, 20 bits each.
func (c *Cells) Of(p *Point) [concordat.Bands]uint32 {
	var out [concordat.Bands]uint32
	for band := range out {
		all := c.distances(p, band)
		for part := range all {
			out[band] = out[band]<<wordBits | uint32(nearestWord(&all[part]))
		}
	}
	return out
}

// nearestWordPlain returns the nearest word, the first of several.
func nearestWordPlain(n *nearness) int {
	best, least := 0, n[0]
	for w, d := range n {
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// Near appends to dst the n cells of a band nearest to a point by the sum of the parts' distances, nearest first.
func (c *Cells) Near(dst []uint32, p *Point, band, n int) []uint32 {
	var parts [cellParts][]ranked
	for i, d := range c.distances(p, band) {
		parts[i] = make([]ranked, 0, cellWords)
		for w, x := range d {
			parts[i] = append(parts[i], rank(uint32(w), x))
		}
		slices.Sort(parts[i])
	}
	for _, x := range nearest2(nearest2(parts[0], parts[1], wordBits, n), nearest2(parts[2], parts[3], wordBits, n), 2*wordBits, n) {
		dst = append(dst, x.cell())
	}
	return dst
}

// ranked holds a part of a cell in its lower 32 bits and the distance above them, so that nearer parts compare as less.
type ranked uint64

func rank(cell uint32, distance float32) ranked {
	b := math.Float32bits(distance + 0) // avoids minus zero
	b ^= uint32(int32(b)>>31) | 1<<31
	return ranked(b)<<32 | ranked(cell)
}

func (r ranked) cell() uint32 { return uint32(r) }

func (r ranked) distance() float32 {
	b := uint32(r >> 32)
	return math.Float32frombits(b ^ (uint32(int32(^b)>>31) | 1<<31))
}

// nearest2 returns the n nearest of all pairs from two lists, each sorted by nearness. b supplies the lower bits.
func nearest2(a, b []ranked, shift, n int) []ranked {
	n = min(n, len(a)*len(b))
	out := make([]ranked, 0, n)
	pair := func(i, k int) ranked { return rank(a[i].cell()<<shift|b[k].cell(), a[i].distance()+b[k].distance()) }
	// A heap holds the first pair not yet taken from each row of a; a row is added once the previous row has yielded a pair.
	type row struct {
		next ranked
		i, k int
	}
	heap := make([]row, 1, 64)
	if n > 0 {
		heap[0] = row{next: pair(0, 0)}
	}
	for len(out) < n {
		x := &heap[0]
		out = append(out, x.next)
		i := x.i
		begins := x.k == 0 && i+1 < len(a)
		if x.k++; x.k < len(b) {
			x.next = pair(i, x.k)
		} else {
			x.next = math.MaxUint64
		}
		for at := 0; ; { // sift down
			least := at
			for child := 2*at + 1; child < min(2*at+3, len(heap)); child++ {
				if heap[child].next < heap[least].next {
					least = child
				}
			}
			if least == at {
				break
			}
			heap[at], heap[least] = heap[least], heap[at]
			at = least
		}
		if begins {
			heap = append(heap, row{next: pair(i+1, 0), i: i + 1})
			for at := len(heap) - 1; at > 0 && heap[at].next < heap[(at-1)/2].next; at = (at - 1) / 2 { // sift up
				heap[at], heap[(at-1)/2] = heap[(at-1)/2], heap[at]
			}
		}
	}
	return out
}
