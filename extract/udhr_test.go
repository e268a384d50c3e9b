package extract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/profile"
)

// TestTwoEncodings reads the same language from files in two encodings, which must yield the same words. It uses pairs with the same
// translation whose files are both in the set; if one file of a pair ends early, only the common part is compared. (Hungarian in Latin-1
// is spelled with other letters.)
func TestTwoEncodings(t *testing.T) {
	dir := filepath.Join(corpus(t, "udhr"), "udhr")
	for _, pair := range [][2]string{
		{"Belorus_Belaruski-Cyrillic", "Belorus_Belaruski-UTF8"}, {"Hebrew_Ivrit-Hebrew", "Hebrew_Ivrit-UTF8"},
		{"Russian_Russky-Cyrillic", "Russian_Russky-UTF8~"}, {"Turkish_Turkce-Turkish", "Turkish_Turkce-UTF8"},
		{"Czech_Cesky-Latin2", "Czech_Cesky-UTF8"},
	} {
		t.Run(pair[0], func(t *testing.T) {
			var words [2][]string
			var names [2]string
			var prints [2][]concordat.Sentence
			for i, n := range pair {
				data, err := os.ReadFile(filepath.Join(dir, n))
				if err != nil {
					t.Skip(err)
				}
				r, err := Bytes(n, data, Options{})
				if err != nil {
					t.Fatal(err)
				}
				words[i], names[i] = wordsOf(r.Text), r.Encoding
				p, err := profile.New(profile.Options{})
				if err != nil {
					t.Fatal(err)
				}
				prof, err := p.ForIndex(concordat.Document{Text: r.Text})
				if err != nil {
					t.Fatal(err)
				}
				prints[i] = prof.Indexed
			}
			if len(prints[0]) > len(prints[1]) {
				prints[0], prints[1] = prints[1], prints[0]
			}
			equal := 0
			for _, s := range prints[0] {
				if slices.ContainsFunc(prints[1], func(o concordat.Sentence) bool { return s.Fingerprint == o.Fingerprint }) {
					equal++
				}
			}
			t.Logf("%d of %d fingerprints the same", equal, len(prints[0]))
			if equal*100 < len(prints[0])*95 {
				t.Errorf("%d of %d fingerprints the same", equal, len(prints[0]))
			}
			if len(words[0]) > len(words[1]) {
				words[0], words[1] = words[1], words[0]
			}
			have := map[string]int{}
			for _, w := range words[1] {
				have[w]++
			}
			same := 0
			var odd []string
			for _, w := range words[0] {
				if have[w] > 0 {
					have[w]--
					same++
				} else if len(odd) < 6 {
					odd = append(odd, w)
				}
			}
			t.Logf("%s and %s: %d of %d words the same; not: %s", names[0], names[1], same, len(words[0]), strings.Join(odd, " "))
			if same*100 < len(words[0])*98 {
				t.Errorf("%d of %d words the same", same, len(words[0]))
			}
		})
	}
}
