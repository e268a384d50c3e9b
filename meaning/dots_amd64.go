//go:build !purego

package meaning

import "golang.org/x/sys/cpu"

// dotRows is dotRowsPlain with SSE instructions, which every amd64 processor has; it adds in the same order, so the bits are the same.
//
//go:noescape
func dotRows(out, x, rows *float32, dimensions, count int)

// avx2 reports whether the processor has the instructions of the functions in avx_amd64.s. They round and add in the same order as the
// plain functions, so the bits are the same.
var avx2 = cpu.X86.HasAVX2

// dotColumnsAVX writes to out the scalar products of x with count columns, a multiple of 32; dimensions is a multiple of 4.
//
//go:noescape
func dotColumnsAVX(out, x, columns *float32, dimensions, count int)

// rotateAVX is rotatePlain with the sign bits of both rounds and the final factor.
//
//go:noescape
func rotateAVX(p *Point, signs *[2][cellDimensions]uint32, by float32)

//go:noescape
func nearestWordAVX(n *nearness) int

//go:noescape
func addRowAVX(v *Vector, row *[vectorBytes]byte, scale float32)

// dotAxes sets a point to the scalar products of v with the axes.
func (c *Cells) dotAxes(p *Point, v *Vector) {
	if avx2 {
		dotColumnsAVX(&p[0], &v[0], &c.axisColumns[0][0], Dimensions, cellDimensions)
		return
	}
	dotRows(&p[0], &v[0], &c.axes[0][0], Dimensions, cellDimensions)
}

// dotWords sets out to the scalar products of part of a rotated point with the words of a band.
func (c *Cells) dotWords(out *nearness, p *Point, band, part int) {
	if avx2 {
		dotColumnsAVX(&out[0], &p[part*partDimensions], &c.wordColumns[band][part][0][0], partDimensions, cellWords)
		return
	}
	dotRows(&out[0], &p[part*partDimensions], &c.words[band][part][0][0], partDimensions, cellWords)
}

// rotate rotates a point in place.
func (c *Cells) rotate(p *Point, band int) {
	if avx2 {
		rotateAVX(p, &c.signs[band], unscaled)
		return
	}
	c.rotatePlain(p, band)
}

// nearestWord returns the nearest word, the first of several.
func nearestWord(n *nearness) int {
	if avx2 {
		return nearestWordAVX(n)
	}
	return nearestWordPlain(n)
}

// addRow adds an encoded vector times scale.
func addRow(v *Vector, row *[vectorBytes]byte, scale float32) {
	if avx2 {
		addRowAVX(v, row, scale)
		return
	}
	addRowPlain(v, row, scale)
}
