package meaning

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sync"

	"concordat"
)

//go:embed data/cells.bin
var embeddedCells []byte

// DefaultCells returns the embedded cells for the embedded table, with the centres of languages. Their digest covers both (doc/format.md,
// Cells).
var DefaultCells = sync.OnceValues(func() (*Cells, error) {
	c, err := DecodeCells(embeddedCells)
	if err != nil {
		return nil, err
	}
	c.languages = languageCentres().Centres
	sum := sha256.Sum256(append([]byte(c.digest), centresData...))
	c.digest = hex.EncodeToString(sum[:])[:16]
	return c, nil
})

// CellParts holds the numbers that define cells.
type CellParts struct {
	Centres [2]Vector              // of sentences in an alphabet, and of sentences in Chinese characters
	Axes    [cellDimensions]Vector // a point consists of the scalar products with these
	Words   CellWords
	Notice  string // origin of the sentences from which they were learned
}

// CellWords holds the points for each part of each band.
type CellWords [concordat.Bands][cellParts][cellWords][partDimensions]float32

// Encoded form of cells (doc/format.md, Cells).
const (
	cellsMagic  = "CMC1"
	cellNumbers = 2*Dimensions + cellDimensions*Dimensions + concordat.Bands*cellParts*cellWords*partDimensions
	cellsBytes  = 4 + 4 + cellNumbers*4
)

var errCells = errors.New("the meaning cells are damaged")

// numbers calls do with each number in encoding order.
func (p *CellParts) numbers(do func(*float32)) {
	for _, vs := range [][]Vector{p.Centres[:], p.Axes[:]} {
		for i := range vs {
			for k := range vs[i] {
				do(&vs[i][k])
			}
		}
	}
	for band := range p.Words {
		for part := range p.Words[band] {
			for w := range p.Words[band][part] {
				for i := range p.Words[band][part][w] {
					do(&p.Words[band][part][w][i])
				}
			}
		}
	}
}

// EncodeCells encodes cells.
func EncodeCells(p *CellParts) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(cellsMagic), uint32(len(p.Notice)))
	p.numbers(func(x *float32) { b = appendFloat(b, *x) })
	b = append(b, p.Notice...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// DecodeCells decodes cells.
func DecodeCells(b []byte) (*Cells, error) {
	if len(b) < cellsBytes+sha256.Size || string(b[:4]) != cellsMagic {
		return nil, fmt.Errorf("%w: truncated, or missing %s prefix", errCells, cellsMagic)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, fmt.Errorf("%w: digest mismatch", errCells)
	}
	r := reader{b: body[4:]}
	notice := r.uint32()
	var p CellParts
	finite := true
	p.numbers(func(x *float32) {
		*x = r.float32()
		finite = finite && !math.IsNaN(float64(*x)) && !math.IsInf(float64(*x), 0)
	})
	if uint64(len(r.b)) != uint64(notice) || !finite {
		return nil, fmt.Errorf("%w: invalid number, or got a notice of %d bytes, want %d", errCells, len(r.b), notice)
	}
	return CellsOf(&p, hex.EncodeToString(sum)[:16]), nil
}

// CellsOf returns the cells defined by parts, without encoding them.
func CellsOf(p *CellParts, digest string) *Cells {
	c := &Cells{digest: digest, centres: p.Centres, axes: p.Axes, words: p.Words}
	for band := range c.words {
		for round := range c.signs[band] {
			sum := sha256.Sum256(fmt.Appendf(nil, "concordat/meaning/signs/%d/%d", band, round))
			for i := range c.signs[band][round] {
				c.signs[band][round][i] = uint32(sum[i/8]>>(i%8)) << 31
			}
		}
		for part := range c.words[band] {
			for w := range c.words[band][part] {
				for i, x := range c.words[band][part][w] {
					c.squares[band][part][w] += float32(x * x)
					c.wordColumns[band][part][i][w] = x
				}
			}
		}
	}
	for axis := range c.axes {
		for i, x := range c.axes[axis] {
			c.axisColumns[i][axis] = x
		}
	}
	return c
}

// Rotated returns a point in the form compared with a band's words.
func (c *Cells) Rotated(p *Point, band int) Point { return c.rotated(p, band) }
