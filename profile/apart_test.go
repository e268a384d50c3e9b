package profile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"concordat"
	"concordat/internal/corpora"
	"concordat/profile"
	"concordat/segment"
)

// apart spaces out the letters of s, with inner between two letters of a word and outer between words.
func apart(s, inner, outer string) string {
	var words []string
	for _, w := range strings.Fields(s) {
		words = append(words, strings.Join(strings.Split(w, ""), inner))
	}
	return strings.Join(words, outer)
}

// TestLettersApart spaces out real sentences. Their fingerprints must equal the original sentences' fingerprints, and their spans must
// cover everything that is spaced out.
func TestLettersApart(t *testing.T) {
	p := profiler(t, profile.Options{})
	russian := "Комитет установил, что купцы города считали бочки с солёной рыбой всю долгую зиму и продавали её жителям города."
	greek := "Η επιτροπή διαπίστωσε ότι οι έμποροι της πόλης μέτρησαν τα βαρέλια με το αλατισμένο ψάρι όλο τον χειμώνα."
	for _, text := range []string{"The committee found that merchants counted barrels of salt fish throughout the long winter.", russian,
		greek} {
		for _, gaps := range [][2]string{{" ", "   "}, {" ", "  "}, {"\u2009", " "}, {"\u200b \u200b", "  "}, {"\u200b", " "}} {
			first := "An ordinary sentence stands before it, and it is long enough to be one of its own. "
			written := apart(text, gaps[0], gaps[1])
			want, got := indexed(t, p, first+text), indexed(t, p, first+written)
			if len(got) != len(want) || got[1].Fingerprint != want[1].Fingerprint {
				t.Errorf("%q: other fingerprints than the text written together", written[:40])
				continue
			}
			if s := (first + written)[got[1].Span.Start:got[1].Span.End]; s != written {
				t.Errorf("the sentence stands at %q, want %q", s, written)
			}
		}
	}
}

func indexed(t *testing.T, p *profile.Profiler, text string) []concordat.Sentence {
	t.Helper()
	prof, err := p.ForIndex(concordat.Document{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return prof.Indexed
}

// TestRealLettersApart measures the same with real English, with and without wider spaces between words.
func TestRealLettersApart(t *testing.T) {
	p := profiler(t, profile.Options{})
	for _, outer := range []string{"   ", " "} {
		all, equal, near := 0, 0, 0
		for _, d := range corpora.Reviews(t, 40) {
			split, err := segment.Split(d.Text)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range split.Sentences {
				text := d.Text[s.Span.Start:s.Span.End]
				if utf8.RuneCountInString(text) < 60 || s.Chars > 200 {
					continue
				}
				want, got := indexed(t, p, text), indexed(t, p, apart(text, " ", outer))
				if len(want) != 1 {
					continue
				}
				all++
				if len(got) != 1 {
					continue
				}
				switch n := want[0].Fingerprint.Distance(got[0].Fingerprint); {
				case n == 0:
					equal++
					near++
				case n <= want[0].Gate:
					near++
				}
			}
		}
		t.Logf("%q between words: of %d sentences %.3f equal, %.3f within the gate", outer, all, float64(equal)/float64(all),
			float64(near)/float64(all))
		if near*100 < all*85 {
			t.Errorf("%d of %d sentences within the gate", near, all)
		}
	}
}
