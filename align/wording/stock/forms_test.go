package stock

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFormsAgainstAll: a paragraph with alternatives adds the same runs as all its combinations written out.
func TestFormsAgainstAll(t *testing.T) {
	const head = "== declaration\tmade up\tCC0-1.0\n"
	pieces := []string{"alder", "birch and cedar",
		"dogwood, elm", "fir. Gorse", "hazel; ivy", "juniper:", "larch lime maple nut", "oak", "", "pine."}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		paragraph, all := "", []string{""}
		for range 1 + r.IntN(5) {
			each := []string{pieces[r.IntN(len(pieces))]}
			if r.IntN(2) == 0 {
				for range 1 + r.IntN(3) {
					each = append(each, pieces[r.IntN(len(pieces))])
				}
				paragraph += "[" + strings.Join(each, "|") + "]"
			} else {
				paragraph += each[0]
			}
			paragraph += " "
			var longer []string
			for _, a := range all {
				for _, e := range each {
					longer = append(longer, a+e+" ")
				}
			}
			all = longer
		}
		got := (&Stock{}).withForms(head + paragraph)
		want := (&Stock{}).With(head + strings.Join(all, "\n\n"))
		if !maps.Equal(got.grams, want.grams) {
			t.Fatalf("seed %d: %q has runs %q, want %q", seed, paragraph, slices.Sorted(maps.Keys(got.grams)), slices.Sorted(maps.Keys(want.grams)))
		}
	}
}

// TestDeclarationsFile: every entry names a kind, an origin and a licence, and no list of alternatives is open, nested or within a word.
func TestDeclarationsFile(t *testing.T) {
	within := regexp.MustCompile(`[\pL\pN]\[|\][\pL\pN]|\[[^\]]*\[|\[[^|\]]*\]`)
	entries := 0
	for line := range strings.Lines(declarations) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, entryMark); ok {
			entries++
			if of := strings.Split(head, "\t"); len(of) != 3 || !slices.Contains(kinds, Kind(of[0])) || of[1] == "" || of[2] == "" {
				t.Errorf("head %q, want a kind, an origin and a licence", line)
			}
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		if m := within.FindString(line); m != "" || strings.Count(line, "[") != strings.Count(line, "]") {
			t.Errorf("faulty list %q in %q", m, line)
		}
	}
	if entries != 14 {
		t.Errorf("%d entries, want two for each of seven languages", entries)
	}
}
