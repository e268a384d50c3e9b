package meaning

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"concordat"
)

func defaultCells(t testing.TB) *Cells {
	t.Helper()
	c, err := DefaultCells()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCellsGolden: the cells equal the ones in testdata/cells.txt, which other implementations can use.
func TestCellsGolden(t *testing.T) {
	c, e := defaultCells(t), NewEncoder(table(t))
	var b strings.Builder
	fmt.Fprintf(&b, "cells %s\n", c.Digest())
	for _, text := range samples[:5] {
		mean := e.mean(text)
		v := c.Direction(&mean, Wide(text), "en")
		p := c.Point(&v)
		fmt.Fprintf(&b, "%q\n %05x\n near the first %05x\n", text, c.Of(&p), c.Near(nil, &p, 0, 8))
	}
	golden(t, "testdata/cells.txt", b.String())
}

// TestNear: the nearest cells are the same as when all cells are tried, and the nearest of all is the point's own.
func TestNear(t *testing.T) {
	c := defaultCells(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		var p Point
		for i := range p {
			p[i] = float32(r.NormFloat64())
		}
		band := r.IntN(concordat.Bands)
		d := c.distances(&p, band)
		type distant struct {
			cell     uint32
			distance float32
		}
		all := make([]distant, 1<<concordat.BandBits)
		for v := range all {
			all[v].cell = uint32(v)
			// Add in pairs, like Near.
			all[v].distance = (d[0][v>>15] + d[1][v>>10&31]) + (d[2][v>>5&31] + d[3][v&31])
		}
		slices.SortFunc(all, func(a, b distant) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.cell, b.cell))
		})
		got := c.Near(nil, &p, band, 100)
		for k, cell := range got {
			if cell != all[k].cell {
				t.Fatalf("cell %d is %05x, want %05x", k, cell, all[k].cell)
			}
		}
		if own := c.Of(&p)[band]; got[0] != own {
			t.Errorf("the nearest cell is %05x, that of the point %05x", got[0], own)
		}
	}
}

// TestDotRows: the products of rows are bit for bit the results of Dot, with and without the processor's vector instructions.
func TestDotRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	var x Vector
	rows := make([]Vector, 12)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		for k := range rows {
			rows[k][i] = float32(r.NormFloat64()) / float32(1+k)
		}
	}
	got, plain := make([]float32, len(rows)), make([]float32, len(rows))
	dotRows(&got[0], &x[0], &rows[0][0], Dimensions, len(rows))
	dotRowsPlain(&plain[0], &x[0], &rows[0][0], Dimensions, len(rows))
	for k := range rows {
		if want := Dot(&x, &rows[k]); got[k] != want || plain[k] != want {
			t.Errorf("row %d: %v and %v, want %v", k, got[k], plain[k], want)
		}
	}
}

// TestVectorInstructions: with the processor's vector instructions, points, rotations, nearest words and sums have the same bits as
// without.
func TestVectorInstructions(t *testing.T) {
	c, tb := defaultCells(t), table(t)
	r := rand.New(rand.NewPCG(4, 5))
	for n := range 200 {
		var v, sum, sumPlain Vector
		for i := range v {
			v[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(7)-3)))
			sum[i], sumPlain[i] = v[i], v[i]
		}
		if n%4 == 0 {
			clear(v[n%100:]) // zeros of either sign must keep their sign
			v[n%100] = float32(math.Copysign(0, -1))
		}
		piece := r.IntN(len(tb.scores))
		row := (*[vectorBytes]byte)(tb.vectors[piece*vectorBytes:])
		addRow(&sum, row, tb.scales[piece]*v[7])
		addRowPlain(&sumPlain, row, tb.scales[piece]*v[7])
		equalBits(t, "sum", sum[:], sumPlain[:])

		p := c.Point(&v)
		var plain Point
		dotRowsPlain(&plain[0], &v[0], &c.axes[0][0], Dimensions, cellDimensions)
		equalBits(t, "point", p[:], plain[:])

		band, part := r.IntN(concordat.Bands), r.IntN(cellParts)
		c.rotate(&p, band)
		c.rotatePlain(&plain, band)
		equalBits(t, "rotated point", p[:], plain[:])

		var near, nearPlain nearness
		c.dotWords(&near, &p, band, part)
		dotRowsPlain(&nearPlain[0], &p[part*partDimensions], &c.words[band][part][0][0], partDimensions, cellWords)
		equalBits(t, "products with words", near[:], nearPlain[:])
		near[r.IntN(cellWords)], near[r.IntN(cellWords)] = -1e9, -1e9 // often two equal ones
		if got, want := nearestWord(&near), nearestWordPlain(&near); got != want {
			t.Fatalf("nearest word %d, want %d", got, want)
		}
	}
}

func equalBits(t *testing.T, name string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: coordinate %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

// TestLentEncoders: texts that are read at the same time, with encoders that a table lends, have the cells that a new encoder computes.
func TestLentEncoders(t *testing.T) {
	c, tb := defaultCells(t), table(t)
	var wg sync.WaitGroup
	for i := range 8 {
		text := fmt.Sprintf("The ferry number %d crosses the sound before sunrise and returns to the harbour late in the evening. ", i) +
			fmt.Sprintf("Its captain has counted the %d lights on the opposite shore every night for more than thirty years.", 100*i)
		want := NewEncoder(tb).Cells(text, "en", c)
		if len(want) == 0 {
			t.Fatal("no cells")
		}
		wg.Go(func() {
			for range 20 {
				if got := tb.Cells(text, "en", c); !slices.Equal(got, want) {
					t.Errorf("text %d: cells %v, want %v", i, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestRanked: a ranking preserves its elements, ordered by distance, then by cell.
func TestRanked(t *testing.T) {
	distances := []float32{-7, -1e-30, 0, 1e-30, 0.5, 0.75, 1e30}
	for i, d := range distances {
		if x := rank(5, d); x.distance() != d || x.cell() != 5 || x >= rank(6, d) || i > 0 && x <= rank(9, distances[i-1]) {
			t.Errorf("%v: rank %x", d, x)
		}
	}
}

// TestRotation: a rotation preserves lengths, and two bands have different rotations.
func TestRotation(t *testing.T) {
	c := defaultCells(t)
	var p Point
	for i := range p {
		p[i] = float32(i%7) - 3
	}
	length := func(p Point) (sum float64) {
		for _, x := range p {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	for band := range concordat.Bands {
		if got, want := length(c.Rotated(&p, band)), length(p); got < want*0.999 || got > want*1.001 {
			t.Errorf("band %d: length %v, want %v", band, got, want)
		}
	}
	if c.Rotated(&p, 0) == c.Rotated(&p, 1) {
		t.Error("two bands have one rotation")
	}
}

// TestAskedCells: a text's questions find the cells of a reworded text in the same script, and fewer cells of an unrelated text.
func TestAskedCells(t *testing.T) {
	c, e := defaultCells(t), NewEncoder(table(t))
	text := e.Read("In 1767 the British legislature made tea dearer by a levy, which the colonies would not pay. "+
		"Since they had no seat in it, the merchants of Boston threw the cargo of three ships into the harbour.", "en")
	asked := text.Questions(c)
	if len(asked) != len(text.Spans) || asked[1].Sentence != 1 {
		t.Fatalf("%d questions of %d sentences", len(asked), len(text.Spans))
	}
	met := func(chinese bool, text string) (sum float64) {
		cells := e.Cells(text, "en", c)
		if !slices.IsSorted(cells) || len(slices.Compact(slices.Clone(cells))) != len(cells) {
			t.Error("cells are not distinct and ascending")
		}
		for _, q := range asked {
			for _, x := range q.Cells(chinese) {
				if x.Term >= concordat.Term(concordat.Cells) {
					t.Fatalf("term %08x is no cell", x.Term)
				}
				if _, ok := slices.BinarySearch(cells, concordat.Cell(x.Term)); ok {
					sum += x.Weight
				}
			}
		}
		return sum
	}
	same := "Parliament in London raised the taxes on tea in 1767, and the American colonists refused to pay them. " +
		"Having no vote there, traders in Boston emptied the load of three vessels into the port."
	other := "Bees cannot find flowers easily when the air is full of exhaust fumes from the roads near by. " +
		"The painter destroyed his early works because he was ashamed of them and of his youth."
	if a, b := met(false, same), met(false, other); a <= 2*b {
		t.Errorf("the same in other words weighs %v, an unrelated text %v", a, b)
	}
	if x := met(true, same); x != 0 {
		t.Errorf("cells of the other writing weigh %v", x)
	}
}

// TestCellsDamage: cells with a changed byte, or truncated ones, are refused.
func TestCellsDamage(t *testing.T) {
	for _, i := range []int{0, 4, 100, len(embeddedCells) - 1} {
		b := bytes.Clone(embeddedCells)
		b[i] ^= 1
		if _, err := DecodeCells(b); err == nil {
			t.Errorf("byte %d changed, and the cells were taken", i)
		}
		if _, err := DecodeCells(b[:i]); err == nil {
			t.Errorf("%d bytes were taken", i)
		}
	}
	if _, err := DecodeCells(seal(append(embeddedCells[:len(embeddedCells)-32:len(embeddedCells)-32], 'x'))); err == nil {
		t.Error("a notice longer than it says was taken")
	}
}

// FuzzDecodeCells: no bytes decode to cells that fail later.
func FuzzDecodeCells(f *testing.F) {
	f.Add(embeddedCells[:len(embeddedCells)-32])
	f.Add(make([]byte, cellsBytes))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := DecodeCells(seal(body))
		if err != nil {
			return
		}
		var p Point
		p[3] = 1
		for band, cell := range c.Of(&p) {
			if cell >= 1<<concordat.BandBits || len(c.Near(nil, &p, band, 40)) != 40 {
				t.Fatalf("band %d: cell %x", band, cell)
			}
		}
	})
}

func BenchmarkCells(b *testing.B) {
	c, e := defaultCells(b), NewEncoder(table(b))
	mean := e.mean(samples[0])
	v := c.Direction(&mean, false, "")
	b.Run("point", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Point(&v)
		}
	})
	p := c.Point(&v)
	b.Run("of", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Of(&p)
		}
	})
	b.Run("near", func(b *testing.B) {
		b.ReportAllocs()
		var dst []uint32
		for b.Loop() {
			dst = dst[:0]
			for band := range concordat.Bands {
				dst = c.Near(dst, &p, band, cellProbes)
			}
		}
	})
}

// TestDirections: the nearest direction is the same as in a comparison with each, however many there are.
func TestDirections(t *testing.T) {
	c, e := defaultCells(t), NewEncoder(table(t))
	var all strings.Builder
	for _, s := range Samples() {
		if s.Language == "en" {
			all.WriteString(s.Text + " ")
		}
	}
	const asked = "Because ice had blocked the channel, the harbour could not be used for three weeks."
	text := e.Read(asked+"\n12 34 56 78 90 11 22 33 44 55 66 77 88 12 34 56 78 90 11 22 33.", "en")
	d := e.Directions(strings.Repeat(all.String(), 3), "en", c)
	if len(d) < 70 {
		t.Fatalf("%d directions", len(d))
	}
	var s Sentence
	e.Encode(asked, &s)
	v := c.Direction(&s.Mean, false, "en")
	for _, n := range []int{0, 1, 3, 4, 5, 63, 64, 65, 70} {
		want := float32(-1)
		for i := range d[:n] {
			want = max(want, Dot(&v, &d[i]))
		}
		if got, at := d[:n].Nearest(c, text, 0); got != want || n > 0 && Dot(&v, &d[at]) != want {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
	}
	if got, at := d.Nearest(c, text, 1); got != -1 || at != -1 {
		t.Errorf("numbers are at %v", got)
	}
}
