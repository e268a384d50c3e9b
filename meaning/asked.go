package meaning

import (
	"math"
	"slices"

	"concordat"
)

// A question to a partner contains only cells, no vectors or words. The partner estimates the likeliest point from a sentence's five
// cells and measures its own sentences from there (the asymmetric distance of Jégou, Douze and Schmid 2011, section III-B).

// Asked holds the cells of a sentence or of two consecutive ones.
type Asked struct {
	First, End int // indexes into Text.Spans
	Chinese    bool
	Cells      [concordat.Bands]uint32
}

// Asked returns the cells for asking a partner about a text: for each of its disjoint stretches of eight sentences, the cells of every
// prose sentence and of every pair of consecutive ones. It omits stretches without prose.
func (t *Text) Asked(c *Cells) [][]Asked {
	var out [][]Asked
	for from := 0; from < len(t.Spans); from += stretch {
		var of []Asked
		for _, p := range t.placed(c, from, min(from+stretch, len(t.Spans))) {
			of = append(of, Asked{p.First, p.End, p.Chinese, c.Of(&p.Point)})
		}
		if len(of) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// Dummies returns cells for n fictitious sentences in one script. They are the cells of points that take each coordinate from a random
// sample. below(n) draws a number from 0 to n-1.
func (c *Cells) Dummies(n int, chinese bool, below func(int) (int, error)) ([]Asked, error) {
	of := c.samplePoints()[writing(chinese)]
	out := make([]Asked, n)
	for i := range out {
		var p Point
		for k := range p {
			from, err := below(len(of))
			if err != nil {
				return nil, err
			}
			p[k] = of[from][k]
		}
		out[i] = Asked{Chinese: chinese, Cells: c.Of(&p)}
	}
	return out, nil
}

// Placed is the point of a sentence or of two consecutive ones.
type Placed struct {
	First, End int // indexes into Text.Spans
	Chinese    bool
	Point      Point
}

// Placed returns the points of a text's prose sentences and of every pair of consecutive ones.
func (t *Text) Placed(c *Cells) []Placed { return t.placed(c, 0, len(t.Spans)) }

func (t *Text) placed(c *Cells, from, end int) []Placed {
	var out []Placed
	var before Vector
	for i := from; i < end; i++ {
		if !t.prose[i] {
			continue
		}
		v := c.Direction(&t.sentences[i].Mean, t.chinese[i], t.Language)
		out = append(out, Placed{i, i + 1, t.chinese[i], c.Point(&v)})
		if i > from && t.prose[i-1] && t.chinese[i-1] == t.chinese[i] {
			w := together(&before, &v)
			out = append(out, Placed{i - 1, i + 1, t.chinese[i], c.Point(&w)})
		}
		before = v
	}
	return out
}

// Estimate returns the likeliest point for the given cells, which is the mean of the five words that they identify, each rotated back.
func (c *Cells) Estimate(cells [concordat.Bands]uint32) Point {
	var sum Point
	for band, cell := range cells {
		var p Point
		for part := range cellParts {
			word := cell >> (wordBits * (cellParts - 1 - part)) & (cellWords - 1)
			copy(p[part*partDimensions:], c.words[band][part][word][:])
		}
		p = c.turnedBack(&p, band)
		for i := range sum {
			sum[i] += p[i] / concordat.Bands
		}
	}
	return sum
}

// turnedBack reverses rotated. Up to a factor, the transform is its own inverse.
func (c *Cells) turnedBack(p *Point, band int) Point {
	out := *p
	for k := len(c.signs[band]) - 1; k >= 0; k-- {
		hadamard(&out)
		for i, sign := range &c.signs[band][k] {
			out[i] = math.Float32frombits(math.Float32bits(out[i]) ^ sign)
		}
	}
	for i := range out {
		out[i] *= unscaled
	}
	return out
}

// QuestionOf returns the question to an index about points, which consists of the cells near them. The points must belong to nearby
// sentences.
func (c *Cells) QuestionOf(points []Point) Question {
	var near []nearCell
	for i := range points {
		near = c.appendNear(near, &points[i], pointProbes)
	}
	return Question{cells: merged(near)}
}

// Near is the place in a document that stands out for a query point.
type Near struct {
	Asked, Place int // indexes into the query points and into the document's Placed
	// Margin is the cosine minus the usual cosine; the usual cosine is the query point's with other documents or the place's with query
	// points of other stretches, whichever is greater. Usual means the average of the four greatest.
	Margin float64
}

// NearIn returns, for each document, the places that stand out most for the query points, at most one per point and in their order; it
// omits margins below least. stretches holds each point's stretch. Documents in one script form each other's background, and each sample
// counts as a document.
func (c *Cells) NearIn(asked []Point, stretches []int, documents [][]Placed, least float64) [][]Near {
	points := make([]Point, len(asked))
	for k := range asked {
		points[k] = unitPoint(&asked[k])
	}
	samples := c.samplePoints()
	for _, ps := range samples {
		for i := range ps {
			ps[i] = unitPoint(&ps[i])
		}
	}
	unit := make([][]Point, len(documents))
	of := make([]int, len(documents)) // script of each document
	for d, ps := range documents {
		unit[d] = make([]Point, len(ps))
		chinese := 0
		for i := range ps {
			unit[d][i] = unitPoint(&ps[i].Point)
			chinese += writing(ps[i].Chinese)
		}
		of[d] = writing(2*chinese > len(ps))
	}
	out, best := make([][]Near, len(documents)), make([]Near, len(documents))
	var cosines []float32
	for k := range points {
		var others [2]greatest
		for w, ps := range samples {
			cosines = points[k].dots(cosines, ps)
			for _, x := range cosines {
				others[w].add(float64(x))
			}
		}
		for d, ps := range unit {
			cosines = points[k].dots(cosines, ps)
			best[d] = nearestPlace(cosines)
			best[d].Asked = k
			others[of[d]].add(best[d].Margin)
		}
		for d, n := range best {
			if n.Place < 0 || n.Margin-others[of[d]].meanBut(n.Margin) < least {
				continue
			}
			var asked greatest
			cosines = unit[d][n.Place].dots(cosines, points)
			for j, x := range cosines {
				if stretches[j] != stretches[k] {
					asked.add(float64(x))
				}
			}
			if n.Margin -= max(others[of[d]].meanBut(n.Margin), asked.meanBut(2)); n.Margin >= least {
				out[d] = append(out[d], n)
			}
		}
	}
	return out
}

// greatest holds the greatest of many numbers in descending order.
type greatest struct {
	n       int
	numbers [neighbours + 1]float64
}

func (g *greatest) add(x float64) {
	at := g.n
	for at > 0 && g.numbers[at-1] < x {
		at--
	}
	if at == len(g.numbers) {
		return
	}
	g.n = min(g.n+1, len(g.numbers))
	copy(g.numbers[at+1:g.n], g.numbers[at:g.n-1])
	g.numbers[at] = x
}

// meanBut returns the mean of the four greatest numbers other than the given one, or 0 if there are none.
func (g *greatest) meanBut(one float64) float64 {
	sum, n, left := 0.0, 0, false
	for _, x := range g.numbers[:g.n] {
		if x == one && !left {
			left = true
			continue
		}
		if n == neighbours {
			break
		}
		sum, n = sum+x, n+1
	}
	return sum / max(float64(n), 1)
}

// nearestPlace returns the place with the greatest cosine as its Margin; without places, Place is -1.
func nearestPlace(cosines []float32) Near {
	out := Near{Place: -1, Margin: -1}
	for i, x := range cosines {
		if s := float64(x); s > out.Margin {
			out.Place, out.Margin = i, s
		}
	}
	return out
}

// samplePoints returns the points of the samples, by script.
func (c *Cells) samplePoints() (out [2][]Point) {
	for i, mean := range sampleMeans() {
		chinese := Wide(sampleSet[i].Text)
		v := c.Direction(&mean, chinese, sampleSet[i].Language)
		out[writing(chinese)] = append(out[writing(chinese)], c.Point(&v))
	}
	return out
}

// unitPoint returns p scaled to length 1, or zero if p is zero.
func unitPoint(p *Point) Point {
	sum := float32(0)
	for _, x := range p {
		sum += float32(x * x)
	}
	if sum < 1e-12 {
		return Point{}
	}
	out, length := *p, sqrt(sum)
	for i := range out {
		out[i] /= length
	}
	return out
}

func writing(chinese bool) int {
	if chinese {
		return 1
	}
	return 0
}

// dots writes the scalar products of p with points to the memory of dst and returns them.
func (p *Point) dots(dst []float32, points []Point) []float32 {
	dst = slices.Grow(dst[:0], len(points))[:len(points)]
	if len(points) > 0 {
		dotRows(&dst[0], &p[0], &points[0][0], cellDimensions, len(points))
	}
	return dst
}
