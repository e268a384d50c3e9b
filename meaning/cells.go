package meaning

import (
	"cmp"
	"math/bits"
	"slices"

	"concordat"
)

// Geometry of cells. A vector, reduced to cellDimensions, is turned by a rotation for each band and cut in cellParts; each part is
// the number of the nearest of cellWords points. So a band is a cell of an inverted multi-index (Babenko and Lempitsky 2012) over
// a product quantiser (Jégou, Douze and Schmid 2011).
const (
	cellDimensions = 64
	cellParts      = 4
	cellWords      = 32
	partDimensions = cellDimensions / cellParts
	wordBits       = concordat.BandBits / cellParts
)

// Point is a vector as cells are made of it: reduced, half whitened.
type Point [cellDimensions]float32

// Cells says in which cells vectors lie. Vectors that are near share some of their five cells, or lie in cells near by; two cells
// tell nothing of how far apart. It is read-only and safe for concurrent use.
type Cells struct {
	digest  string
	centres [2]Vector // of sentences in an alphabet, and in Chinese characters
	axes    [cellDimensions]Vector
	signs   [concordat.Bands][2]uint64 // bit i: coordinate i changes its sign before the first and before the second transform
	words   [concordat.Bands][cellParts][cellWords][partDimensions]float32
	squares [concordat.Bands][cellParts][cellWords]float32
}

// Digest is the first 16 hexadecimal digits of the SHA-256 digest. Cells of different digests must not be compared.
func (c *Cells) Digest() string { return c.digest }

// Direction returns the mean of a sentence without the centre of its writing, of length 1.
func (c *Cells) Direction(mean *Vector, wide bool) Vector {
	if wide {
		return Centred(mean, &c.centres[1])
	}
	return Centred(mean, &c.centres[0])
}

// Point returns the point of a direction.
func (c *Cells) Point(v *Vector) Point {
	var p Point
	for i := range p {
		p[i] = Dot(v, &c.axes[i])
	}
	return p
}

// rotated returns a point turned for a band: two rounds of signs and a Walsh-Hadamard transform.
func (c *Cells) rotated(p *Point, band int) Point {
	out := *p
	for _, signs := range c.signs[band] {
		for s := signs; s != 0; s &= s - 1 {
			i := bits.TrailingZeros64(s)
			out[i] = -out[i]
		}
		for half := 1; half < cellDimensions; half *= 2 {
			for i := 0; i < cellDimensions; i += 2 * half {
				for k := i; k < i+half; k++ {
					out[k], out[k+half] = out[k]+out[k+half], out[k]-out[k+half]
				}
			}
		}
		for i := range out {
			out[i] /= 8 // the root of cellDimensions
		}
	}
	return out
}

// nearness is how far a point is from the words of a part, less what is the same for all.
type nearness [cellWords]float32

// distances returns the nearness of a point to the words of each part of a band.
func (c *Cells) distances(p *Point, band int) [cellParts]nearness {
	r := c.rotated(p, band)
	var out [cellParts]nearness
	for part := range out {
		x := (*[partDimensions]float32)(r[part*partDimensions:])
		for w := range cellWords {
			y := &c.words[band][part][w]
			var s0, s1, s2, s3 float32
			for i := 0; i < partDimensions; i += 4 {
				s0 += float32(x[i] * y[i])
				s1 += float32(x[i+1] * y[i+1])
				s2 += float32(x[i+2] * y[i+2])
				s3 += float32(x[i+3] * y[i+3])
			}
			out[part][w] = c.squares[band][part][w] - 2*(s0+s1+s2+s3)
		}
	}
	return out
}

// Of returns the cell of a point in each band, 20 bits each.
func (c *Cells) Of(p *Point) [concordat.Bands]uint32 {
	var out [concordat.Bands]uint32
	for band := range out {
		for _, d := range c.distances(p, band) {
			best := 0
			for w := range d {
				if d[w] < d[best] {
					best = w
				}
			}
			out[band] = out[band]<<wordBits | uint32(best)
		}
	}
	return out
}

// Near appends to dst the n cells of a band nearest to a point, by the sum of the distances of their parts, the nearest first.
func (c *Cells) Near(dst []uint32, p *Point, band, n int) []uint32 {
	var parts [cellParts][]ranked
	for i, d := range c.distances(p, band) {
		for w, x := range d {
			parts[i] = append(parts[i], ranked{uint32(w), x})
		}
		sortRanked(parts[i])
	}
	for _, x := range nearest2(nearest2(parts[0], parts[1], wordBits, n), nearest2(parts[2], parts[3], wordBits, n), 2*wordBits, n) {
		dst = append(dst, x.cell)
	}
	return dst
}

// ranked is part of a cell, with how far it is.
type ranked struct {
	cell     uint32
	distance float32
}

func sortRanked(rs []ranked) {
	slices.SortFunc(rs, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.cell, b.cell)) })
}

// nearest2 returns the n nearest of all pairs of two lists, each the nearest first. Before the pair at i and k stand all pairs of
// what is before them, so that those beyond n need not be looked at. b takes the lower bits.
func nearest2(a, b []ranked, shift, n int) []ranked {
	var out []ranked
	for i, x := range a {
		for k, y := range b {
			if (i+1)*(k+1) > n {
				break
			}
			out = append(out, ranked{x.cell<<shift | y.cell, x.distance + y.distance})
		}
	}
	sortRanked(out)
	return out[:min(len(out), n)]
}
