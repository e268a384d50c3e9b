package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
)

// weights writes the logarithm of each count's proportion in the Chinese dictionary: the counts in ascending order, each as the unsigned
// varint of its difference from the previous one, followed by eight bytes, little-endian. The table is committed because the last bit of
// a sum decides between paths of equal weight, and math.Log can round differently on different machines; these values are correctly
// rounded, like the C library's.
func weights(dictionary, to string) error {
	packed, err := os.ReadFile(dictionary)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	var counts []uint64
	sum := 0.0
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("%s: invalid line %q", dictionary, line)
		}
		n, err := strconv.ParseUint(string(fields[1]), 10, 53)
		if err != nil {
			return err
		}
		counts = append(counts, n)
		sum += float64(n)
	}
	slices.Sort(counts)
	var out []byte
	last := uint64(0)
	for _, n := range slices.Compact(counts) {
		out = binary.AppendUvarint(out, n-last)
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(logarithm(float64(n)/sum)))
		last = n
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(out); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, buf.Bytes(), 0o644)
}

// logarithm returns the natural logarithm of x, correctly rounded: with y = math.Log(x) and a small
// r = x·e^-y - 1, it is y + r - r²/2.
func logarithm(x float64) float64 {
	y := math.Log(x)
	r := exponential(-y)
	r.Mul(r, exact(x))
	r.Sub(r, exact(1))
	half := exact(0).Mul(r, r)
	half.SetMantExp(half, -1)
	r.Sub(r, half)
	r.Add(r, exact(y))
	f, _ := r.Float64()
	return f
}

// exponential returns e^y to about 200 bits, by the series of e^(y/2^20), squared 20 times.
func exponential(y float64) *big.Float {
	const squares = 20
	x := exact(y)
	x.SetMantExp(x, -squares)
	sum, term := exact(1), exact(1)
	for k := 1; k < 30; k++ {
		term.Mul(term, x)
		term.Quo(term, exact(float64(k)))
		sum.Add(sum, term)
	}
	for range squares {
		sum.Mul(sum, sum)
	}
	return sum
}

func exact(x float64) *big.Float { return new(big.Float).SetPrec(240).SetFloat64(x) }
