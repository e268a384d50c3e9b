package screen

import (
	"crypto/sha1"
	"encoding/binary"
	"slices"

	"concordat/simhash"
)

// I-Match uses features whose inverse document frequency, relative to the maximum, is between these bounds. They exclude the most
// frequent features and those that occur in hardly any document.
const (
	imatchLeast = 0.2
	imatchMost  = 0.9
)

// IMatch returns the signature of I-Match (Chowdhury, Frieder, Grossman and McCabe 2002), which is 128 bits of the SHA-1 of the
// document's distinct features that are neither too frequent nor too rare in a collection. Documents with equal signatures are
// near-duplicates; how much unequal signatures differ has no meaning. It sorts features in place.
func IMatch(features []uint64, df *simhash.Frequencies) [4]uint64 {
	most := float64(df.IDF(0))
	slices.Sort(features)
	h := sha1.New()
	var b [8]byte
	for i, f := range features {
		if i > 0 && features[i-1] == f {
			continue
		}
		if share := float64(df.IDF(f)) / most; share < imatchLeast || share > imatchMost {
			continue
		}
		binary.BigEndian.PutUint64(b[:], f)
		h.Write(b[:])
	}
	sum := h.Sum(nil)
	return [4]uint64{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])}
}
