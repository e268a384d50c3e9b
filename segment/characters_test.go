package segment_test

import (
	"testing"
	"unicode/utf8"

	"concordat/segment"
)

// FuzzCharacters: a word's characters cover its folded letters, and their positions are in order and within the word.
func FuzzCharacters(f *testing.F) {
	for _, s := range []string{
		"한국어 문장", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165", "สำ\u200bนัก\u200bงาน", "港の事\u2060務所", "ကျွန်း\ufe0fငယ်",
		"가\u0301\u0302나", "㌔㍿㎏ ｶﾞｷﾞ が", "h a r b o u r  o f f i c e", "\u3164가\u3164", "ｆｕｌｌ Ⅷ ℡ ǆ", "\xff\xfe한\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := segment.Split(s)
		if err != nil {
			return
		}
		var got []segment.Character
		for i := range text.Words {
			w := &text.Words[i]
			if w.Flags&segment.Han != 0 {
				continue
			}
			got = text.Characters(w, got[:0])
			at, from := int(w.NormStart), int(w.Start)
			for _, c := range got {
				if c.Norm.Start != at || c.Source.Start < from || c.Source.End <= c.Source.Start || c.Source.End > int(w.End) {
					t.Fatalf("%q: character %+v after byte %d of the folded letters and %d of the text", s, c, at, from)
				}
				at, from = c.Norm.End, c.Source.Start
			}
			if at != int(w.NormEnd) || len(got) > 1 && len(got) != utf8.RuneCount(text.Folded(i)) {
				t.Fatalf("%q: %d characters up to byte %d for %q", s, len(got), at, text.Folded(i))
			}
		}
	})
}

// TestCharacters: characters that compose, expand or are dropped keep their positions.
func TestCharacters(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // original letters of each folded character of the first word
	}{
		{"한\u1112\u1161\u11ab", []string{"한", "\u1112\u1161\u11ab"}},
		{"น้ำ", []string{"น", "้", "ำ", "ำ"}}, // sara am folds to two signs
		{"가\u200b\u2060나", []string{"가\u200b\u2060", "나"}},
		{"カ\u3099キ", []string{"カ\u3099", "キ"}},
	} {
		text, err := segment.Split(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := text.Characters(&text.Words[0], nil)
		if len(got) != len(c.want) {
			t.Fatalf("%q: %d characters, want %d", c.text, len(got), len(c.want))
		}
		for i, ch := range got {
			if s := c.text[ch.Source.Start:ch.Source.End]; s != c.want[i] {
				t.Errorf("%q: character %d stands at %q, want %q", c.text, i, s, c.want[i])
			}
		}
	}
}
