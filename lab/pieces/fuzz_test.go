package pieces

import "testing"

// FuzzReadWeights: arbitrary bytes are refused, or yield pieces and rows.
func FuzzReadWeights(f *testing.F) {
	f.Add([]byte("E5S1\x01\x00\x00\x00\x20\x00\x00\x00"))
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ReadWeights(b)
		if err != nil {
			return
		}
		row := make([]float64, w.Width)
		for i := range w.Pieces {
			w.row(i, row)
		}
	})
}
