package screen_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"concordat/internal/corpora"
	"concordat/screen"
	"concordat/segment"
)

// bag returns the grams of a text with their counts, by definition.
func bag(text string, lengths []int) map[string]int {
	out := map[string]int{}
	r := []rune(text)
	if lengths == nil {
		lengths = []int{2, 3}
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			lengths = []int{1, 2}
		}
	}
	for _, m := range lengths {
		if len(r) < m && len(r) > 0 {
			out[fmt.Sprint(m, text)]++
		}
		for i := 0; i+m <= len(r); i++ {
			out[fmt.Sprint(m, string(r[i:i+m]))]++
		}
	}
	return out
}

// similarity implements the definition of the measure.
func similarity(m screen.Measure, a, b string, lengths []int) float64 {
	if m == screen.Edit {
		x, y := []rune(a), []rune(b)
		if len(x)+len(y) == 0 {
			return 0
		}
		d := make([][]int, len(x)+1)
		for i := range d {
			d[i] = make([]int, len(y)+1)
			for j := range d[i] {
				switch {
				case i == 0 || j == 0:
					d[i][j] = i + j
				case x[i-1] == y[j-1]:
					d[i][j] = d[i-1][j-1]
				default:
					d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
				}
			}
		}
		return 1 - float64(d[len(x)][len(y)])/float64(max(len(x), len(y)))
	}
	p, q := bag(a, lengths), bag(b, lengths)
	common, x, y := 0, 0, 0
	for g, n := range p {
		x += n
		common += min(n, q[g])
	}
	for _, n := range q {
		y += n
	}
	if common == 0 {
		return 0
	}
	if m == screen.Cosine {
		return float64(common) / math.Sqrt(float64(x)*float64(y))
	}
	return float64(common) / float64(x+y-common)
}

// edit replaces, deletes or inserts one letter of r.
func edit(rng *rand.Rand, r []rune, alphabet []rune) []rune {
	at, letter := rng.IntN(len(r)), alphabet[rng.IntN(len(alphabet))]
	switch rng.IntN(3) {
	case 0:
		r = slices.Clone(r)
		r[at] = letter
		return r
	case 1:
		return slices.Delete(slices.Clone(r), at, at+1)
	}
	return slices.Insert(slices.Clone(r), at, letter)
}

// TestShortOfWords compares grams of words with measurements of all pairs on the words themselves.
func TestShortOfWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	words := strings.Fields("the cat sat on a mat and ran off to see red blue sky 项目 申请")
	var texts []string
	for range 150 {
		var text []string
		for range 2 + rng.IntN(6) {
			text = append(text, words[rng.IntN(len(words))])
		}
		texts = append(texts, strings.Join(text, " "))
	}
	// With one rune per word, grams of words become grams of letters.
	coded := make([]string, len(texts))
	for i, text := range texts {
		for w := range strings.FieldsSeq(text) {
			coded[i] += string(rune('A' + slices.Index(words, w)))
		}
	}
	both := []int{1, 2}
	for _, o := range []screen.ShortOptions{{Threshold: 0.4, Grams: both}, {Threshold: 0.5, Grams: []int{2}},
		{Measure: screen.Cosine, Threshold: 0.6, Grams: both}} {
		var got, want [][2]int
		emit := func(out *[][2]int) func(a, b int, v float64) bool {
			return func(a, b int, v float64) bool { *out = append(*out, [2]int{a, b}); return true }
		}
		letters, err := screen.NewShort(coded, o)
		if err != nil {
			t.Fatal(err)
		}
		letters.Pairs(0, 0, emit(&want))
		o.Words = true
		s, err := screen.NewShort(texts, o)
		if err != nil {
			t.Fatal(err)
		}
		s.Pairs(0, 0, emit(&got))
		slices.SortFunc(got, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(want, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, want) || len(got) < 5 {
			t.Errorf("%+v: %d pairs, want %d", o, len(got), len(want))
		}
	}
	if _, err := screen.NewShort(texts, screen.ShortOptions{Words: true, Edits: 1}); err == nil {
		t.Error("edits of words were taken")
	}
}

// TestShortIsBruteForce compares the index with measurements of all pairs, by every measure.
func TestShortIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("abcde项目申请")
	texts := []string{"", "a", "aaaa", "aaaaa"}
	for i := range 160 {
		var r []rune
		if i%2 == 0 {
			r = slices.Clone([]rune(texts[rng.IntN(len(texts))]))
			for range rng.IntN(4) {
				if len(r) > 0 {
					r = edit(rng, r, alphabet)
				}
			}
		} else {
			for range rng.IntN(14) {
				r = append(r, alphabet[rng.IntN(len(alphabet))])
			}
		}
		texts = append(texts, string(r))
	}
	for _, o := range []screen.ShortOptions{
		{Threshold: 0.4}, {Threshold: 0.7, Grams: []int{2}}, {Threshold: 1}, {Measure: screen.Cosine, Threshold: 0.6},
		{Measure: screen.Cosine, Threshold: 0.5, Grams: []int{3}},
		{Measure: screen.Edit, Threshold: 0.8}, {Measure: screen.Edit, Threshold: 0.5},
		{Measure: screen.Edit, Threshold: 0.75, Grams: []int{2, 4}},
		{Threshold: 0.4, Edits: 2}, {Threshold: 0.8, Edits: 1}, {Threshold: 0.4, Edits: 2, Grams: []int{1, 2}},
		{Threshold: 0.9, Edits: 1, Grams: []int{2}}, {Measure: screen.Edit, Threshold: 0.9, Edits: 3},
		{Measure: screen.Cosine, Threshold: 0.8, Edits: 2, Grams: []int{1}},
	} {
		similar := func(a, b string) bool {
			longer := float64(max(len([]rune(a)), len([]rune(b))))
			edits := (1 - similarity(screen.Edit, a, b, nil)) * longer
			return similarity(o.Measure, a, b, o.Grams) >= o.Threshold || longer > 0 &&
				edits < min(float64(o.Edits), math.Floor(longer/2))+0.5 && o.Edits > 0
		}
		s, err := screen.NewShort(texts, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[[2]int]float64{}
		for a := range texts {
			for b := a + 1; b < len(texts); b++ {
				if similar(texts[a], texts[b]) {
					want[[2]int{a, b}] = similarity(o.Measure, texts[a], texts[b], o.Grams)
				}
			}
		}
		got := map[[2]int]float64{}
		emit := func(a, b int, v float64) bool { got[[2]int{a, b}] = v; return true }
		s.Pairs(0, 100, emit)
		s.Pairs(100, len(texts), emit)
		for p, v := range want {
			if g, ok := got[p]; !ok || math.Abs(g-v) > 1e-12 {
				t.Errorf("%+v: %q and %q: got %v, want %v", o, texts[p[0]], texts[p[1]], g, v)
			}
		}
		parted, twice := map[[2]int]float64{}, 0
		for part := range 3 {
			s.PairsOf(part, 3, func(a, b int, v float64) bool {
				if _, ok := parted[[2]int{a, b}]; ok {
					twice++
				}
				parted[[2]int{a, b}] = v
				return true
			})
		}
		if !maps.Equal(parted, got) || twice > 0 {
			t.Errorf("%+v: %d pairs in parts, %d of them twice; want %d", o, len(parted), twice, len(got))
		}
		if len(got) != len(want) || len(want) < 20 {
			t.Errorf("%+v: got %d pairs, want %d, at least 20", o, len(got), len(want))
		}
		for range 50 {
			q := string(edit(rng, []rune(texts[len(texts)-1]+"xyz"), []rune("qab")))
			hits, _ := s.Near(q, nil)
			n := 0
			for _, text := range texts {
				if similar(q, text) {
					n++
				}
			}
			if len(hits) != n {
				t.Fatalf("%+v query %q: %d hits, want %d", o, q, len(hits), n)
			}
		}
	}
}

func TestShortRefuses(t *testing.T) {
	for _, o := range []screen.ShortOptions{{Threshold: -1}, {Threshold: 1.5}, {Threshold: math.NaN()}, {Grams: []int{0}}, {Grams: []int{}},
		{Measure: 9}} {
		if _, err := screen.NewShort([]string{"a"}, o); err == nil {
			t.Errorf("%+v gave no error", o)
		}
	}
}

// TestShortRecall edits the first sentences of two sets of short Chinese texts by one and by two letters, and looks for
// the original.
func TestShortRecall(t *testing.T) {
	for _, set := range []string{"lcqmc", "oppo"} {
		var texts []string
		seen := map[string]bool{}
		corpora.Lines(t, "zh-sentence-pairs/"+set+".tsv.gz", func(line string) bool {
			first, _, _ := strings.Cut(line, "\t")
			cut, err := segment.Split(first)
			if err != nil {
				t.Fatal(err)
			}
			if l := screen.Letters(cut); l != "" && !seen[l] {
				seen[l] = true
				texts = append(texts, l)
			}
			return true
		})
		rng := rand.New(rand.NewPCG(11, 12))
		var alphabet []rune
		for _, text := range texts[:200] {
			alphabet = append(alphabet, []rune(text)...)
		}
		const rounds = 1000
		for _, c := range []struct {
			o     screen.ShortOptions
			edits int
			least float64
		}{
			{screen.ShortOptions{}, 1, 0.99},
			{screen.ShortOptions{Edits: 2}, 2, 0.95},
			{screen.ShortOptions{Edits: 2, Threshold: 0.8}, 2, 0.95},
			{screen.ShortOptions{Measure: screen.Edit, Threshold: 0.75, Edits: 2}, 2, 0.95},
		} {
			s, err := screen.NewShort(texts, c.o)
			if err != nil {
				t.Fatal(err)
			}
			found, measured, hits := 0, 0, 0
			for range rounds {
				id := rng.IntN(len(texts))
				r := []rune(texts[id])
				for range c.edits {
					if len(r) > 1 {
						r = edit(rng, r, alphabet)
					}
				}
				h, n := s.Near(string(r), nil)
				measured += n
				hits += len(h)
				if slices.ContainsFunc(h, func(x screen.ShortHit) bool { return x.ID == id }) {
					found++
				}
			}
			recall := float64(found) / rounds
			t.Logf("%s, %d texts, %+v, %d letters edited: recall %.4f, %.0f candidates and %.1f hits a query", set, len(texts), c.o, c.edits, recall,
				float64(measured)/rounds, float64(hits)/rounds)
			if recall < c.least {
				t.Errorf("%s, %d letters edited: recall %.4f, want %.2f", set, c.edits, recall, c.least)
			}
		}
	}
}
