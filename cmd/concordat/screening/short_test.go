package screening

import (
	"math/bits"
	"strings"
	"testing"

	"concordat/internal/corpora"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// TestShortAgainstSimhash counts the pairs of short texts that the method simhash finds with its defaults, out of all pairs that the
// method short finds (doc/evaluation/short.md).
func TestShortAgainstSimhash(t *testing.T) {
	var letters []string
	var texts []*segment.Text
	seen := map[string]bool{}
	for _, name := range []string{"lcqmc", "bq-corpus", "oppo"} {
		corpora.Lines(t, "zh-sentence-pairs/"+name+".tsv.gz", func(line string) bool {
			for _, s := range strings.Split(line, "\t")[:2] {
				cut, err := segment.Split(s)
				if err != nil {
					t.Fatal(err)
				}
				if l := screen.Letters(cut); l != "" && !seen[l] {
					seen[l] = true
					letters, texts = append(letters, l), append(texts, cut)
				}
			}
			return true
		})
	}
	f := defaultPrint()
	m, err := NewPrintMaker(f)
	if err != nil {
		t.Fatal(err)
	}
	m.Weigh.Frequencies = &simhash.Frequencies{}
	for _, cut := range texts {
		m.Weigh.Frequencies.Add(screen.Features(cut, m.Runs))
	}
	prints := make([]uint64, len(texts))
	for i, cut := range texts {
		p, _, err := m.print(cut)
		if err != nil {
			t.Fatal(err)
		}
		prints[i] = p[0]
	}
	s, err := screen.NewShort(letters, screen.ShortOptions{Threshold: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	pairs, found := 0, [65]int{}
	measured := s.Pairs(0, 0, func(a, b int, _ float64) bool {
		pairs++
		found[bits.OnesCount64(prints[a]^prints[b])]++
		return true
	})
	all := [65]int{}
	for i, p := range prints {
		for _, q := range prints[i+1:] {
			all[bits.OnesCount64(p^q)]++
		}
	}
	t.Logf("%d texts: %d pairs of similarity 0.6 and above, %d measured", len(texts), pairs, measured)
	near, of := 0, 0
	for k := range 25 {
		near, of = near+found[k], of+all[k]
		if k%3 == 0 {
			t.Logf("simhash at most %d bits apart: %d of them, among %d pairs", k, near, of)
		}
		if k == 3 && (pairs < 1000 || 2*near > pairs) {
			t.Errorf("simhash finds %d of %d pairs: the page says that it misses most", near, pairs)
		}
	}
}
