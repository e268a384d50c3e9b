package pieces

import (
	"concordat/meaning/fit"
)

// cellsNotice is stored with the cells.
const cellsNotice = `Principal axes and points of cells, made by concordat-lab cells with the table of pieces, learned on calls of the
National Institutes of Health (United States government, no copyright), laws of the People's Republic of China (no copyright),
modern translations of Chinese classics (NiuTrans/Classical-Modern, MIT), and English, German and French translations of the Bible
in the public domain. No text is in it.`

// Sample is a sentence for learning cells.
type Sample = fit.Sample

// MakeCells returns encoded cells learned from sentences. The same sentences in the same order yield the same bytes.
func MakeCells(samples []Sample) []byte { return fit.Cells(samples, cellsNotice) }
