// Package fit learns how to divide a model's vectors into cells. [Space] makes the space for indexing an encoder's vectors, from its
// vectors of [Sentences]; [Cells] makes cells for vectors of the table's size.
//
// The same vectors yield the same bytes. Learning a space takes several seconds for vectors of 384 numbers, and a minute or more for
// 1,024.
package fit

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"concordat"
	"concordat/meaning"
)

// packedSentences has one sentence per line, compressed by zstd -19.
//
//go:embed data/sentences.txt.zst
var packedSentences []byte

// Sentences returns 2,397 sentences in 16 languages from funding calls of the National Institutes of Health (United States government, no
// copyright), laws of the People's Republic of China (no copyright) and the Universal Declaration of Human Rights (public domain).
var Sentences = sync.OnceValues(func() ([]string, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	text, err := d.DecodeAll(packedSentences, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress the training sentences: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), nil
})

// Minimum and maximum size of a model's vectors; learning time grows with the third power of the size.
const (
	leastModel = meaning.Dimensions
	mostModel  = 2048
)

// probes is the number of sentences for recognising a model, taken at equal steps from the sentences from which its space was learned.
const probes = 16

// Probes returns the sentences by which a space learned from texts recognises its model.
func Probes(texts []string) []string { return probesOf(texts) }

func probesOf[T any](all []T) []T {
	var out []T
	for i := range min(probes, len(all)) {
		out = append(out, all[i*len(all)/probes])
	}
	return out
}

// Space returns the encoded space of a model, learned from its vectors of texts; the space's axes are the principal axes of the vectors
// minus the mean of their script. It fails with concordat.ErrInvalid if the vectors have too few or too many dimensions.
func Space(texts []string, vectors [][]float32) ([]byte, error) {
	if len(texts) == 0 || len(vectors) != len(texts) {
		return nil, fmt.Errorf("got %d vectors for %d texts: %w", len(vectors), len(texts), concordat.ErrInvalid)
	}
	n := len(vectors[0])
	if n < leastModel || n > mostModel {
		return nil, fmt.Errorf("the encoder's vectors have %d dimensions, but an index requires %d to %d: %w", n, leastModel, mostModel,
			concordat.ErrInvalid)
	}
	script := make([]int, len(texts))
	var counts [2]float64
	sums := [2][]float64{make([]float64, n), make([]float64, n)}
	for i, v := range vectors {
		if len(v) != n {
			return nil, fmt.Errorf("vectors of different dimensions: %d and %d: %w", n, len(v), concordat.ErrInvalid)
		}
		if meaning.Wide(texts[i]) {
			script[i] = 1
		}
		counts[script[i]]++
		for k, x := range v {
			sums[script[i]][k] += float64(x)
		}
	}
	covariance, row := Square(n), make([]float64, n)
	for i, v := range vectors {
		for k, x := range v {
			row[k] = float64(x) - sums[script[i]][k]/counts[script[i]]
		}
		AddOuter(covariance, row, 1)
	}
	Finish(covariance, float64(len(vectors)))
	values, columns := Eigen(covariance)
	order := Descending(values)
	axes := make([][]float32, meaning.Dimensions)
	for d := range axes {
		axes[d] = make([]float32, n)
		for k := range axes[d] {
			axes[d][k] = float32(columns[k][order[d]])
		}
	}
	samples := make([]Sample, len(texts))
	for i, v := range vectors {
		samples[i] = Sample{meaning.Reduced(axes, v), script[i] == 1}
	}
	var known []meaning.Vector
	for _, s := range probesOf(samples) {
		known = append(known, s.Mean)
	}
	return meaning.EncodeSpace(axes, known, Cells(samples, "Learned from sentences of package meaning/fit.")), nil
}
