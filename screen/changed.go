package screen

import (
	"math/bits"
	"strings"

	"concordat/segment"
)

// Changed returns the text with a proportion of its words, 0 to 1, replaced by other words of the text, omitted or repeated. The result
// depends only on the arguments and serves as a known near-duplicate.
func Changed(text string, share float64, seed uint64) string {
	t, err := segment.Split(text)
	if err != nil || len(t.Words) == 0 {
		return text
	}
	r := steps(seed)
	var b strings.Builder
	at := 0
	for _, w := range t.Words {
		b.WriteString(t.Source[at:w.Start])
		word := t.Source[w.Start:w.End]
		at = int(w.End)
		if high, _ := bits.Mul64(r.next(), 1_000_000); float64(high) < share*1_000_000 {
			other := t.Words[r.below(len(t.Words))]
			word = []string{t.Source[other.Start:other.End], "", word + " " + word}[r.below(3)]
		}
		b.WriteString(word)
	}
	b.WriteString(t.Source[at:])
	return b.String()
}
