//go:build !amd64 || purego

package meaning

func dotRows(out, x, rows *float32, dimensions, count int) {
	dotRowsPlain(out, x, rows, dimensions, count)
}

func (c *Cells) dotAxes(p *Point, v *Vector) {
	dotRows(&p[0], &v[0], &c.axes[0][0], Dimensions, cellDimensions)
}

func (c *Cells) dotWords(out *nearness, p *Point, band, part int) {
	dotRows(&out[0], &p[part*partDimensions], &c.words[band][part][0][0], partDimensions, cellWords)
}

func (c *Cells) rotate(p *Point, band int) { c.rotatePlain(p, band) }

func nearestWord(n *nearness) int { return nearestWordPlain(n) }

func addRow(v *Vector, row *[vectorBytes]byte, scale float32) { addRowPlain(v, row, scale) }
