package segment

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/blevesearch/go-porterstemmer"

	"concordat/internal/corpora"
)

// other returns the stem from a different program for the same algorithm.
func other(word []byte) []byte {
	return []byte(string(porterstemmer.StemWithoutLowerCasing([]rune(string(word)))))
}

func sameStem(t *testing.T, word []byte) {
	t.Helper()
	if got, want := Stem(word), other(word); !bytes.Equal(got, want) {
		t.Errorf("stem of %s: %s, want %s", word, got, want)
	}
}

// TestStem compares the stems of random words, made of letters and suffixes, with the other program's.
func TestStem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1980, 1))
	suffixes := []string{"s", "ss", "sses", "ies", "eed", "ed", "ing", "at", "bl", "iz", "y", "e", "l", "ll", "er", "al", "ion"}
	for _, r := range []rules{step2, step3, step4} {
		for _, group := range r {
			for _, x := range group {
				suffixes = append(suffixes, x.suffix, x.to)
			}
		}
	}
	for range 300_000 {
		var word []byte
		for range rng.IntN(8) {
			word = append(word, "aeiouybcdlstxwz"[rng.IntN(15)])
		}
		for range rng.IntN(4) {
			word = append(word, suffixes[rng.IntN(len(suffixes))]...)
		}
		if len(word) >= 3 && len(word) <= stemMost {
			sameStem(t, word)
		}
	}
	for _, word := range []string{"", "ab", "caf\u00e9s", "b2bs", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopings"} {
		if got := Stem([]byte(word)); string(got) != word {
			t.Errorf("stem of %s: %s, want it as it is", word, got)
		}
	}
}

// TestStemCorpus compares the stem of every word of real text with the other program's.
func TestStemCorpus(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range corpora.Reviews(t, 5000) {
		text, err := Split(d.Text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range text.Words {
			word := text.Folded(i)
			plain := len(word) >= 3 && len(word) <= stemMost && bytes.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
			if plain && !seen[string(word)] {
				seen[string(word)] = true
				sameStem(t, word)
			}
		}
	}
	if len(seen) < 10_000 {
		t.Errorf("%d words, want more", len(seen))
	}
}
