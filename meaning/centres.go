package meaning

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
)

// Centres holds the centre of each language in an alphabet: the mean of its words by frequency. All sentences of a language share it,
// whatever their subject, like the common direction that Arora, Liang and Ma 2017 (section 3) remove. Means of texts on few subjects find
// fewer translations (doc/evaluation/meaning.md).
type Centres struct {
	Table   string            `json:"table"` // digest of the table that has the words' vectors
	Notice  string            `json:"notice"`
	Centres map[string]Vector `json:"centres"` // by language code
}

//go:embed data/centres.json
var centresData []byte

// languageCentres returns the embedded centres.
var languageCentres = sync.OnceValue(func() *Centres {
	c := new(Centres)
	if err := json.Unmarshal(centresData, c); err != nil {
		panic(fmt.Sprintf("meaning: data/centres.json: %v", err)) // a test decodes this file
	}
	return c
})

// MeanOfWords returns the mean vector of words by their frequencies, as if they were one long sentence.
func (t *Table) MeanOfWords(words iter.Seq2[string, float64]) Vector {
	e := t.encoder()
	defer t.encoders.Put(e)
	var sum [Dimensions]float64
	total := 0.0
	for word, frequency := range words {
		for _, p := range e.Cut(word) {
			var v Vector
			t.add(&v, p)
			for k, x := range v {
				sum[k] += frequency * float64(x)
			}
			total += frequency * float64(t.weights[p])
		}
	}
	var out Vector
	for k, x := range sum {
		if total > 0 {
			out[k] = float32(x / total)
		}
	}
	return out
}
