package stage

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"

	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

func distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// Shingles writes each document's sketch MOD_m (Broder 1997, section 3), which is one in modulus of its shingles, each with the
// document's identifier and the number of these shingles. A document without such shingles is in no pair.
func Shingles(in io.Reader, out io.Writer, s screen.Shingling, modulus uint64) error {
	shingler := minhash.NewShingler(nil)
	var shingles []uint64
	return documents(in, func(id, text string) error {
		t, err := segment.Split(text)
		if err != nil {
			return err
		}
		shingles = s.Append(t, shingles[:0])
		m := shingler.Mod(shingles, modulus)
		n := strconv.Itoa(len(m.Values))
		for _, v := range m.Values {
			if err := put(out, fmt.Sprintf("%016x", v), id, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// Shared reads the lines of Shingles by shingle and writes a record for every two documents that share it: both identifiers, the number
// of shingles of each, and 1. If more than common documents have a shingle, each is paired only with the common ones before it. Merge
// with Sum adds up the records.
func Shared(in io.Reader, out io.Writer, common int) error {
	return groups(in, 3, func(_ string, lines [][]string) error {
		for i, b := range lines {
			if _, err := count(b[2]); err != nil {
				return err
			}
			for _, a := range lines[max(0, i-common):i] {
				one, two := a, b
				if one[1] == two[1] {
					return fmt.Errorf("duplicate identifier: document %q has both %s and %s shingles", a[1], a[2], b[2])
				}
				if one[1] > two[1] {
					one, two = two, one
				}
				if err := put(out, one[1], two[1], one[2], two[2], "1"); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("invalid count %q: must be at least 1", s)
	}
	return n, nil
}

// Resemblance reads the summed records of Shared and writes the pairs at or above the threshold: both identifiers, the estimated
// resemblance, and the proportion of each that is in the other (Broder 1997, section 3). With contained, the threshold applies to either
// proportion.
func Resemblance(in io.Reader, out io.Writer, threshold float64, contained bool) error {
	return each(in, 5, func(f []string) error {
		var n [3]int
		for i := range n {
			var err error
			if n[i], err = count(f[2+i]); err != nil {
				return err
			}
		}
		shared := float64(n[2])
		if n[2] > min(n[0], n[1]) {
			return errors.New("two documents have more shingles in common than one of them contains; add up the records of each pass only once")
		}
		r, a, b := shared/float64(n[0]+n[1]-n[2]), shared/float64(n[0]), shared/float64(n[1])
		if v := r; v < threshold && (!contained || max(a, b) < threshold) {
			return nil
		}
		return put(out, f[0], f[1], decimal(r), decimal(a), decimal(b))
	})
}

// decimal returns the shortest form that parses as the same number.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
