package segment_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"concordat/segment"
)

// recipeTexts generates texts of each kind, always the same.
var recipeTexts = map[string]func(r *rand.Rand) string{
	"english": func(r *rand.Rand) string {
		words := strings.Fields("the ancient river carried silver timber and the merchants counted barrels of salted fish which were not sold Dr. Smith i.e. " +
			"naïve re-use don't 3.14 v1.2.3 U.S. (aside) \"quoted\" connections relational hopefulness agreed troubling fizzed happy sky 1,024 e-mail")
		var b strings.Builder
		for range 40 {
			for i := range 2 + r.IntN(70) {
				b.WriteString(words[r.IntN(len(words))])
				b.WriteString([]string{" ", " ", " ", " ", " ", ", ", "; ", "\n", " — ", ": "}[r.IntN(10)])
				if i%37 == 36 {
					b.WriteString(", ")
				}
			}
			b.WriteString([]string{". ", "! ", "?\n", ".\n\n", ".” ", "... "}[r.IntN(6)])
		}
		return b.String()
	},
	"chinese": func(r *rand.Rand) string {
		pieces := []string{"委员会认定", "商人在整个漫长的冬季", "清点了成桶的咸鱼", "并且", "向城市的居民", "按照规定的价格", "出售了这些食品和蜡烛", "的", "了", "是", "不", "人", "第3条", "GDP增长",
			"臺灣國立大學",
			"合同当事人应当履行义务", "《民法典》", "二〇二六年"}
		var b strings.Builder
		for range 40 {
			for range 1 + r.IntN(30) {
				b.WriteString(pieces[r.IntN(len(pieces))])
				b.WriteString([]string{"", "", "", "，", "、", "；", "\n"}[r.IntN(7)])
			}
			b.WriteString([]string{"。", "！", "？\n", "。\n\n", "”。", "……"}[r.IntN(6)])
		}
		return b.String()
	},
	"lists and lines": func(r *rand.Rand) string {
		starts := []string{"- ", "* ", "• ", "1. ", "12) ", "(a) ", "iv. ", "A. ", "第一条 ", "# ", "", "", "> ", "a)", "1.2 ", "-", "2026"}
		ends := []string{"\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\u2028", "\u2029", "\v", "\f", "\n \n", " \n\t"}
		var b strings.Builder
		for range 150 {
			b.WriteString(starts[r.IntN(len(starts))])
			for range r.IntN(14) {
				b.WriteString([]string{"item ", "of the ", "list, ", "and more ", "Number ", "清单 ", "so-\ncalled ", "x. ", "Fig. 3 "}[r.IntN(9)])
			}
			b.WriteString(ends[r.IntN(len(ends))])
		}
		return b.String()
	},
	"other scripts": func(r *rand.Rand) string {
		pieces := []string{"यह एक वाक्य है। ", "هل هذا سؤال؟ ", "नमस्ते ", "ไทยไม่มีวรรคระหว่างคำ ", "こんにちは。", "안녕하세요 ", "Жил-был кот, ",
			"ﬁnd ﷺ ㍻ ", "e\u0301 \u1112\u1161\u11ab ", "s p a c e d  o u t ",
			"\u202ereversed\u202c ", "𝐀𝐁 ", "İstanbul ", "STRASSE ß ", "\xff\xfe", "\x00", "ŀ ", "½ ", "㎏ ", "σς "}
		var b strings.Builder
		for range 300 {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	},
}

// dump describes everything that determines a fingerprint.
func dump(tb testing.TB, text string) string {
	tb.Helper()
	t := split(tb, text)
	var b strings.Builder
	fmt.Fprintln(&b, sentences(t), string(t.Norm), t.Chars())
	for _, w := range t.Words {
		fmt.Fprintln(&b, w.Start, w.End, w.NormStart, w.NormEnd, w.Chars)
	}
	for _, p := range []segment.Packing{segment.Natural, segment.Packed, {Least: 1, Most: 50, Short: 1},
		{Target: 80, Most: 120, Short: 30, Overlap: true}} {
		indexed, asked, skipped := t.Blocks(p)
		fmt.Fprintln(&b, p, skipped)
		for _, blocks := range [][]segment.Block{indexed, asked} {
			for _, x := range blocks {
				features, _ := t.Features(x, nil)
				fmt.Fprintln(&b, x, features)
			}
		}
	}
	return b.String()
}

// TestRecipe: words, sentences, blocks and features of fixed texts are the same bytes on every machine and in every version, because
// fingerprints are compared across sites and years. A change requires a new scheme, never an edit of this list.
func TestRecipe(t *testing.T) {
	want := map[string]uint64{
		"chinese":         0xde4b9561fac9ac0c,
		"english":         0xe4db5cc884fd6d90,
		"lists and lines": 0x80e400fddc0eb579,
		"other scripts":   0x669fa36194812e0c,
	}
	for kind, make := range recipeTexts {
		h := xxhash.New()
		r := rand.New(rand.NewPCG(2026, uint64(len(kind))))
		for range 12 {
			_, _ = h.WriteString(dump(t, make(r)))
		}
		if got := h.Sum64(); got != want[kind] {
			t.Errorf("%q: %#x, want %#x", kind, got, want[kind])
		}
	}
}

// TestListNumbers: a number begins a list item only if a full stop or a bracket follows it.
func TestListNumbers(t *testing.T) {
	const before = "these are the things that we had to say about it and about"
	for mark, item := range map[string]bool{"12. ": true, "12) ": true, "12; ": false, "12, ": false, "12- ": false, "12% ": false,
		"12 ": false, "1234. ": true, "12345. ": false} {
		text := before + "\n" + mark + "second thing of the list that goes on and on for as long"
		if got := len(sentences(split(t, text))) == 2; got != item {
			t.Errorf("%q begins an item: %v, want %v", mark, got, item)
		}
	}
	for _, line := range []string{"1", "12", "12.", "12)", "-", "2026"} { // nothing follows the mark
		if got := sentences(split(t, before+"\n"+line)); len(got) == 0 || len(got) > 2 {
			t.Errorf("a line of %q: %q", line, got)
		}
	}
}
