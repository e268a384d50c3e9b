package segment_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat/segment"
)

// TestWordsAreBounded: no word is longer than 240 folded bytes plus the character that reaches that length, whatever its letters, so a
// line of base64 is not one feature.
func TestWordsAreBounded(t *testing.T) {
	for _, letter := range []string{"x", "é", "ж", "𝐱", "é\u0323", "中", "가", "カ", "ไ", "ﷺ"} {
		s := split(t, strings.Repeat(letter, 2000))
		if len(s.Words) < 2 {
			t.Errorf("2000 of %q: %d words", letter, len(s.Words))
		}
		for i := range s.Words {
			if n := len(s.Folded(i)); n > 240+40 {
				t.Errorf("2000 of %q: a word of %d bytes", letter, n)
				break
			}
		}
	}
}

// TestHangulComposes: a syllable composes only with the consonants that can end one, U+11A8 to U+11C2 (Unicode 15, section 3.12).
func TestHangulComposes(t *testing.T) {
	for r, want := range map[rune]string{
		0x11A8: "각", 0x11C2: "갛", 0x11A7: "가\u11a7", 0x11C3: "가\u11c3", 0x1161: "가\u1161",
	} {
		if got := string(split(t, "가"+string(r)).Norm); got != want {
			t.Errorf("가 and %U are %+q, want %+q", r, got, want)
		}
	}
	if got, want := string(split(t, "각\u11a8").Norm), "각\u11a8"; got != want {
		t.Errorf("a syllable that has its last consonant and another one are %+q, want %+q", got, want)
	}
	// The jamo after the last syllable belong to old Korean and do not compose.
	if got, want := string(split(t, "\ud7c0\u11a8").Norm), "\ud7c0\u11a8"; got != want {
		t.Errorf("U+D7C0 and U+11A8 are %+q, want %+q", got, want)
	}
}

// TestQuotedSpeechGoesOn: speech that ends within quotation marks and is followed by a comma is part of the surrounding sentence.
func TestQuotedSpeechGoesOn(t *testing.T) {
	for _, text := range []string{"老师说：“明天会下雨。”，然后离开了教室。", "“Stop!”, the warden cried to the crowd.", "They sold pears etc., and went home."} {
		if got := split(t, text); len(got.Sentences) != 1 {
			t.Errorf("%q is %d sentences", text, len(got.Sentences))
		}
	}
}

// TestStopWordsOfNoLanguage: if fewer than a tenth of the words are in a stop list, the text has no known language, and none of its
// words is a stop word.
func TestStopWordsOfNoLanguage(t *testing.T) {
	for others, want := range map[int]int{9: 1, 10: 0} {
		text := "which" + strings.Repeat(" xqzt", others)
		n := 0
		for _, stop := range split(t, text).StopWords() {
			if stop {
				n++
			}
		}
		if n != want {
			t.Errorf("one listed word and %d others: %d stop words, want %d", others, n, want)
		}
	}
}

// TestLanguages: each stop list has its own bit; Chinese has none.
func TestLanguages(t *testing.T) {
	languages := segment.Languages()
	if len(languages) < 10 || len(languages) > 32 || !slices.IsSorted(languages) || slices.Contains(languages, "zh") {
		t.Errorf("languages %v", languages)
	}
	for lang, word := range map[string]string{"en": "which", "de": "nicht", "fr": "avec"} {
		if w := split(t, word).Words[0]; w.Stop&(1<<slices.Index(languages, lang)) == 0 {
			t.Errorf("%s is in the lists %b, and not in that of %s", word, w.Stop, lang)
		}
	}
}

// TestHeadingsAreShort: a line is a heading if its pattern matches and it has 1 to 200 bytes without surrounding white space.
func TestHeadingsAreShort(t *testing.T) {
	tmpl, err := segment.ParseTemplate("mine", "summary = ^Summary\nany = ^(x|)$")
	if err != nil {
		t.Fatal(err)
	}
	long := "Summary" + strings.Repeat(".", 193)
	for text, want := range map[string]int{
		"Summary\ntext": 1, " \tSummary \ntext": 1, long + "\ntext": 1, " " + long + " \ntext": 1, long + ".\ntext": 0,
		"\n\n \ntext\n": 0, "x\n\nx": 2,
	} {
		if got := tmpl.Find(text); len(got) != want {
			t.Errorf("%.20q of %d bytes: %d sections, want %d", text, len(text), len(got), want)
		}
	}
}

// TestTermsOfRuns: text without spaces is found by all runs of two characters in scripts where a character is a syllable, of
// four in others, and by the whole text if it is shorter.
func TestTermsOfRuns(t *testing.T) {
	for text, n := range map[string]int{
		"ไทยไม่มีวรรค": 4, "ไทยไ": 4, "ไท": 4, "ลาวບໍ່ມີ": 4,
		"カタカナノ": 2, "カタ": 2, "カ": 2, "ひらがな": 2, "한국어문장": 2, "한": 2,
	} {
		s := split(t, text)
		var got, want []uint32
		got = s.Terms(0, len(s.Words), s.Language(), got)
		for i := range s.Words {
			runes := []rune(string(s.Folded(i)))
			for at := 0; at == 0 || at+n <= len(runes); at++ {
				want = append(want, uint32(xxhash.Sum64String(string(runes[at:min(at+n, len(runes))]))))
			}
		}
		if len(s.Words) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s, %d characters in %d words: %d terms, want the %d runs of %d", text, utf8.RuneCountInString(text), len(s.Words), len(got), len(want), n)
		}
	}
}
