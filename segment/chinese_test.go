package segment_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat/internal/corpora"
	"concordat/segment"
)

// wordsBoth splits a text with gojieba and with our cutter, and fails if they differ.
func wordsBoth(tb testing.TB, text string) {
	tb.Helper()
	defer segment.UseGojieba(false)
	segment.UseGojieba(true)
	want, err := segment.Split(text)
	if err != nil {
		tb.Fatal(err)
	}
	segment.UseGojieba(false)
	got, err := segment.Split(text)
	if err != nil {
		tb.Fatal(err)
	}
	if slices.Equal(got.Words, want.Words) && slices.Equal(got.Sentences, want.Sentences) {
		return
	}
	for i := range got.Words {
		if i == len(want.Words) || got.Words[i] != want.Words[i] {
			var around [2]string
			for k, t := range []*segment.Text{want, got} {
				for j := max(0, i-5); j < min(i+6, len(t.Words)); j++ {
					around[k] += string(t.Folded(j)) + "/"
				}
			}
			tb.Fatalf("word %d: gojieba %s, here %s", i, around[0], around[1])
		}
	}
	tb.Fatalf("%d words, gojieba %d", len(got.Words), len(want.Words))
}

// TestGojieba compares the words with gojieba's on real text and on random characters: frequent and rare ones, some outside the
// dictionary, some beyond the basic plane.
func TestGojieba(t *testing.T) {
	wordsBoth(t, "我来到北京清华大学。小明硕士毕业于中国科学院计算所，后在日本京都大学深造。他来到了网易杭研大厦。南京市长江大桥 㐀㐁𠀀𠀁𰀀 々〇")
	rng := rand.New(rand.NewPCG(11, 11))
	var b strings.Builder
	for range 4000 {
		for range 1 + rng.IntN(40) {
			switch rng.IntN(20) {
			case 0:
				b.WriteRune(0x3400 + rng.Int32N(0x1900))
			case 1:
				b.WriteRune(0x20000 + rng.Int32N(0x12000))
			case 2:
				b.WriteString("abc 12")
			default:
				b.WriteRune(0x4e00 + rng.Int32N(0x5200))
			}
		}
		b.WriteString("。\n")
	}
	wordsBoth(t, b.String())
}

// TestGojiebaEndsInLatin: gojieba is not called if the last part of a long text has no Chinese.
func TestGojiebaEndsInLatin(t *testing.T) {
	wordsBoth(t, strings.Repeat("中文委员会。", 32<<10/16)+"\nNothing more in Chinese.")
}

func TestGojiebaOnCorpora(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 50
	}
	var b strings.Builder
	var letters []rune
	for _, d := range corpora.Histories(t, n) {
		b.WriteString(d.Text)
		b.WriteString("\n\n")
		letters = append(letters, []rune(d.Text)...)
	}
	wordsBoth(t, b.String())
	// Use the same characters in random order, so that dictionary words meet in ways that do not occur in real texts.
	rng := rand.New(rand.NewPCG(12, 12))
	rng.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	wordsBoth(t, string(letters))
}

func FuzzGojieba(f *testing.F) {
	f.Add("我来到北京清华大学，南京市长江大桥")
	f.Add("的的的的的的了了了是是是一一一")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<12 {
			wordsBoth(t, text)
		}
	})
}
