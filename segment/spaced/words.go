package spaced

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

//go:generate go -C ../../lab run ./gen/spaced /usr/share/dict/scowl

// englishGz contains English words with their SCOWL sizes, smaller for more common words, one "size word" per line, made by gen; its
// notice is in data/SCOWL.txt.
//
//go:embed data/english.txt.gz
var englishGz []byte

// codeVersion counts changes to the code that change the result of Find.
const codeVersion = 1

// Digest returns a hexadecimal digest of everything besides the text that determines the result of Find. The name at its beginning need
// not match the package, because it is part of every scheme and remains the same even if the package is moved.
func Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "concordat/spaced/%d\n", codeVersion)
	h.Write(englishGz)
	return hex.EncodeToString(h.Sum(nil))
}

// functionWords are the most common English words; SCOWL does not distinguish them from the thousands that follow.
const functionWords = `the of and to in a is that for it as was with be by on not he i this are or his from at which but have
	an had they you were there one all we their has would when if so no will him her more what out up she about into been who its them can
	some only could then other do my than me your these any may now our such must also two how did most after over where being through
	between before us under should because those each`

// These are the costs of a word, which are approximate negative logarithms of the frequency of such words in English text. A word missing
// from the dictionary has a high cost, which increases with each letter.
const (
	functionCost   = 6.0
	unknownCost    = 15.0
	unknownLetter  = 2.5
	longestEnglish = 20
)

var sizeCosts = map[string]float32{"10": 9.5, "20": 11, "35": 12.4, "40": 13.2, "50": 13.6}

// english maps words to their costs.
var english = sync.OnceValue(func() map[string]float32 {
	z, err := gzip.NewReader(bytes.NewReader(englishGz))
	if err != nil {
		panic(fmt.Sprintf("spaced: embedded dictionary: %v", err))
	}
	m := make(map[string]float32, 60000)
	sc := bufio.NewScanner(z)
	for sc.Scan() {
		size, word, _ := strings.Cut(sc.Text(), " ")
		m[word] = sizeCosts[size]
	}
	if err := sc.Err(); err != nil {
		panic(fmt.Sprintf("spaced: embedded dictionary: %v", err))
	}
	for _, w := range strings.Fields(functionWords) {
		m[w] = functionCost
	}
	return m
})

// IsWord reports whether the English dictionary contains a word, which must be in lower case.
func IsWord(word string) bool { return english()[word] > 0 }

// isKnown reports whether the letters form a dictionary word.
func isKnown(letters []byte) bool { return english()[string(letters)] > 0 }

// divide splits letters into the most likely words, the cheapest path (Viterbi 1967). It returns the starts of all words but the first,
// and the number of letters in dictionary words.
func divide(letters []byte) (cuts []int, known int) {
	n := len(letters)
	if n == 0 {
		return nil, 0
	}
	words := english()
	cost := make([]float32, n+1)
	back := make([]int, n+1)
	for end := 1; end <= n; end++ {
		cost[end] = -1
		for start := max(0, end-longestEnglish); start < end; start++ {
			c, ok := words[string(letters[start:end])]
			if !ok {
				c = unknownCost + unknownLetter*float32(end-start)
			}
			if c += cost[start]; cost[end] < 0 || c < cost[end] {
				cost[end], back[end] = c, start
			}
		}
	}
	for end := n; end > 0; end = back[end] {
		if isKnown(letters[back[end]:end]) {
			known += end - back[end]
		}
		if back[end] > 0 {
			cuts = append(cuts, back[end])
		}
	}
	for i, k := 0, len(cuts)-1; i < k; i, k = i+1, k-1 {
		cuts[i], cuts[k] = cuts[k], cuts[i]
	}
	return cuts, known
}
