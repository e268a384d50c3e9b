package segment_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat/internal/corpora"
	"concordat/segment"
)

func split(tb testing.TB, text string) *segment.Text {
	tb.Helper()
	t, err := segment.Split(text)
	if err != nil {
		tb.Fatalf("Split(%.40q): %v", text, err)
	}
	return t
}

func sentences(t *segment.Text) []string {
	var out []string
	for _, s := range t.Sentences {
		out = append(out, t.Source[s.Span.Start:s.Span.End])
	}
	return out
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"plain", "One two. Three four! Five?", []string{"One two.", "Three four!", "Five?"}},
		{"abbreviations", "Dr. Smith saw Fig. 3 on Jan. 5. He left.", []string{"Dr. Smith saw Fig. 3 on Jan. 5.", "He left."}},
		{"initials", "J. R. Smith of Washington D.C. wrote. It sold.", []string{"J. R. Smith of Washington D.C. wrote.", "It sold."}},
		{"number word ends", "The answer is no. Then we left.", []string{"The answer is no.", "Then we left."}},
		{"decimals", "It is 3.14 or v1.2.3 now. Yes.", []string{"It is 3.14 or v1.2.3 now.", "Yes."}},
		{"quotes", `He said "No way." Then left. (Really.) So.`, []string{`He said "No way."`, "Then left.", "(Really.)", "So."}},
		{"small letter after", `"Stop!" he cried, etc. and ran.`, []string{`"Stop!" he cried, etc. and ran.`}},
		{"ellipsis", "Wait... what. Go.", []string{"Wait... what.", "Go."}},
		{"wrapped line", "This line of text is wrapped\nin the middle of a sentence. Next one\nends here.",
			[]string{"This line of text is wrapped\nin the middle of a sentence.", "Next one\nends here."}},
		{"short line is meant", "A Heading\nthis is a much longer line of running text that goes on\nand on until it ends.",
			[]string{"A Heading", "this is a much longer line of running text that goes on\nand on until it ends."}},
		{"list", "Items follow here in a list of\n- first item of the list is this\n- second item of the list is it",
			[]string{"Items follow here in a list of", "- first item of the list is this", "- second item of the list is it"}},
		{"blank line", "No stop here\n \nNew paragraph", []string{"No stop here", "New paragraph"}},
		{"chinese", "第一句话。第二句话！“第三句。”第四句", []string{"第一句话。", "第二句话！", "“第三句。”", "第四句"}},
		{"chinese wrapped", "这是一个被换行打断的\n句子。然后是下一个句子。", []string{"这是一个被换行打断的\n句子。", "然后是下一个句子。"}},
		{"hindi", "यह एक वाक्य है। दूसरा वाक्य।", []string{"यह एक वाक्य है।", "दूसरा वाक्य।"}},
		{"arabic", "هل هذا سؤال؟ نعم هو سؤال.", []string{"هل هذا سؤال؟", "نعم هو سؤال."}},
		{"no words", " ... !!! \n\n — ", nil},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sentences(split(t, c.text)); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestFolding(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"case", "Hello WORLD", "hello world"},
		{"full width", "Ｈｅｌｌｏ　１２３", "hello 123"},
		{"look-alike letters", "раураl Αpple ѕсоре", "paypal apple scope"},
		{"zero width", "hel\u200blo w\u00adorld\u2060", "hello world"},
		{"bidirectional controls", "\u202ehello\u202c world", "hello world"},
		{"ligatures", "ﬁne oﬃce", "fine office"},
		{"combining accents", "cafe\u0301 nai\u0308ve Vie\u0323\u0302t", "café naïve Việt"},
		{"mathematical letters", "𝐇𝐞𝐥𝐥𝐨 𝕨𝕠𝕣𝕝𝕕", "hello world"},
		{"traditional chinese", "臺灣國立大學的學術論文", "台湾国立大学的学术论文"},
		{"spaces between chinese characters", "学 术 论 文 的 写 作", "学术论文的写作"},
		{"line end between chinese characters", "学术论\n文的写作", "学术论文的写作"},
		{"conjoining jamo", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"},
		{"arabic vowels and stretching", "كِتَابٌ كـتـاب", "كتاب كتاب"},
		{"hebrew points", "שָׁלוֹם", "שלום"},
		{"sharp s", "STRASSE Straße", "strasse strasse"},
		{"final sigma", "λόγος ΛΌΓΟΣ", "λόγοσ λόγοσ"},
		{"symbols of letters", "5 ㎏ ℡", "5 kg tel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := split(t, c.a), split(t, c.b)
			if string(a.Norm) != string(b.Norm) {
				t.Errorf("%q folds to %q, %q to %q", c.a, a.Norm, c.b, b.Norm)
			}
		})
	}
}

// TestRealScriptsKeepTheirWords: folding look-alikes must not make different words of one script equal.
func TestRealScriptsKeepTheirWords(t *testing.T) {
	for _, words := range [][]string{
		{"вода", "рука", "река", "кот", "ток", "нос", "сон", "мост", "том"},
		{"λόγος", "νόμος", "γάλα", "νερό", "φως", "ώρα"},
		{"мова", "їжак", "єдність", "ґанок"},
	} {
		seen := map[string]string{}
		for _, w := range words {
			n := string(split(t, w).Norm)
			if other, ok := seen[n]; ok {
				t.Errorf("%q and %q both fold to %q", w, other, n)
			}
			seen[n] = w
		}
	}
}

// check checks a split text against its invariants.
func check(tb testing.TB, t *segment.Text) {
	tb.Helper()
	if !utf8.Valid(t.Norm) || strings.ContainsRune(string(t.Norm), 0) {
		tb.Fatalf("Norm is not clean: %q", t.Norm)
	}
	at, norm := int32(0), int32(0)
	for i, w := range t.Words {
		if w.Start < at || w.End <= w.Start || int(w.End) > len(t.Source) {
			tb.Fatalf("word %d at [%d,%d) after %d of %d", i, w.Start, w.End, at, len(t.Source))
		}
		if w.NormStart < norm || w.NormEnd <= w.NormStart || int(w.NormEnd) > len(t.Norm) {
			tb.Fatalf("word %d folded at [%d,%d) after %d of %d", i, w.NormStart, w.NormEnd, norm, len(t.Norm))
		}
		if got := utf8.RuneCount(t.Folded(i)); got != int(w.Chars) {
			tb.Fatalf("word %d %q: %d characters, says %d", i, t.Folded(i), got, w.Chars)
		}
		if got := xxhash.Sum64(t.Folded(i)); got != w.Hash {
			tb.Fatalf("word %d %q: hash %x, want %x", i, t.Folded(i), w.Hash, got)
		}
		at, norm = w.End, w.NormEnd
	}
	word, pos := 0, 0
	for i, s := range t.Sentences {
		if s.First != word || s.Last <= s.First || s.Last > len(t.Words) {
			tb.Fatalf("sentence %d has words [%d,%d) after %d", i, s.First, s.Last, word)
		}
		if s.Span.Start < pos || s.Span.Start > int(t.Words[s.First].Start) || s.Span.End < int(t.Words[s.Last-1].End) ||
			s.Span.End > len(t.Source) {
			tb.Fatalf("sentence %d spans %v after %d", i, s.Span, pos)
		}
		chars := 0
		for _, w := range t.Words[s.First:s.Last] {
			chars += int(w.Chars)
		}
		if chars != s.Chars {
			tb.Fatalf("sentence %d: %d characters, says %d", i, chars, s.Chars)
		}
		word, pos = s.Last, s.Span.End
	}
	if word != len(t.Words) {
		tb.Fatalf("%d of %d words in sentences", word, len(t.Words))
	}
	next := 0
	for _, p := range t.Paragraphs {
		if p.First != next || p.Last <= p.First {
			tb.Fatalf("paragraph %v after %d", p, next)
		}
		next = p.Last
	}
	if next != len(t.Sentences) {
		tb.Fatalf("%d of %d sentences in paragraphs", next, len(t.Sentences))
	}
	for _, p := range []segment.Packing{segment.Natural, segment.Packed} {
		checkBlocks(tb, t, p)
	}
}

func checkBlocks(tb testing.TB, t *segment.Text, p segment.Packing) {
	tb.Helper()
	indexed, asked, skipped := t.Blocks(p)
	end, chars := 0, 0
	for _, b := range indexed {
		if b.Span.Start < end || b.Last <= b.First {
			tb.Fatalf("block %v after %d", b, end)
		}
		end, chars = b.Span.End, chars+b.Chars
		if f, _ := t.Features(b, nil); b.Chars > 0 && len(f) > b.Chars*2 {
			tb.Fatalf("%d features for %d characters", len(f), b.Chars)
		}
	}
	for _, s := range skipped {
		chars += split(tb, t.Source[s.Start:s.End]).Chars()
	}
	if want := t.Chars(); utf8.ValidString(t.Source) && len(skipped) == 0 && chars != want {
		tb.Fatalf("%d of %d characters in blocks", chars, want)
	}
	if p.Overlap {
		for _, b := range indexed {
			if !slices.ContainsFunc(asked, func(a segment.Block) bool { return a.First <= b.First && b.Last <= a.Last }) {
				tb.Fatalf("indexed block %v is not asked", b)
			}
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"One two. Three four!\n\nDr. X. (Yes.) \"No.\" 1. item\n2. item", "第一句。 第二 句\n臺灣\x00國立\xff大學　　段落",
		"\u1112\u1161\u11ab e\u0301\u0301 \u0301 ﷺ ㍻ \u202e", "ไทยไม่มีวรรคระหว่างคำ こんにちは", strings.Repeat("a", 600) +
			strings.Repeat("漢", 600) + strings.Repeat("か", 300),
		"A w o r d  o r  t w o  w r i t t e n  a p a r t .  第一句 c o n n e c t e d w i t h n o g a p s",
		"\r\n\r\n\v\f\u2028\u2029 x\r\ny", "𠀀𠀁。𝐀𝐁", "a\u3000\n\u3000\u3000b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<16 {
			return
		}
		check(t, split(t, s))
	})
}

func TestInvariantsOnRealText(t *testing.T) {
	for _, d := range corpora.Tar(t, "udhr/udhr.tar.zst", "") {
		check(t, split(t, d.Text))
	}
	for _, d := range corpora.Histories(t, 20) {
		check(t, split(t, d.Text))
	}
}

// TestReuse: a reused Text is like a fresh one.
func TestReuse(t *testing.T) {
	texts := []string{"One two. Three.\n\nFour 漢字很多。", "", "学术论文。abc", "plain words only here"}
	var reused segment.Text
	for range 3 {
		for _, s := range texts {
			if err := reused.Split(s); err != nil {
				t.Fatal(err)
			}
			fresh := split(t, s)
			if !slices.Equal(reused.Words, fresh.Words) || !slices.Equal(reused.Sentences, fresh.Sentences) ||
				string(reused.Norm) != string(fresh.Norm) {
				t.Fatalf("split of %q differs on reused memory", s)
			}
		}
	}
}

// TestEditStaysInItsParagraph: an edit does not change the blocks outside its paragraph.
func TestEditStaysInItsParagraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	words := strings.Fields("the ancient river carried silver timber downstream while merchants counted barrels of salt fish and winter wheat 合同 当事人 应当 履行 义务")
	paragraph := func() string {
		var b strings.Builder
		for range 1 + rng.IntN(8) {
			for range 3 + rng.IntN(25) {
				b.WriteString(words[rng.IntN(len(words))])
				b.WriteByte(' ')
			}
			b.WriteString("end. ")
		}
		return b.String()
	}
	blocks := func(text string) map[string]int {
		s := split(t, text)
		indexed, asked, _ := s.Blocks(segment.Natural)
		m := map[string]int{}
		for _, b := range append(indexed, asked...) {
			m[text[b.Span.Start:b.Span.End]]++
		}
		return m
	}
	for range 200 {
		var ps []string
		for range 2 + rng.IntN(6) {
			ps = append(ps, paragraph())
		}
		i := rng.IntN(len(ps))
		whole := blocks(strings.Join(ps, "\n\n"))
		edited := slices.Clone(ps)
		edited[i] = "Inserted words stand here first. " + edited[i]
		after := blocks(strings.Join(edited, "\n\n"))
		for k, n := range blocks(strings.Join(slices.Delete(slices.Clone(ps), i, i+1), "\n\n")) {
			if whole[k] < n || after[k] < n {
				t.Fatalf("block %q outside the edited paragraph is gone", k)
			}
		}
	}
}

func TestEqualBlocksHaveEqualFeaturesAnywhere(t *testing.T) {
	const block = "The committee found that merchants counted barrels of salt fish throughout the winter."
	features := func(text string) []uint64 {
		s := split(t, text)
		indexed, _, _ := s.Blocks(segment.Natural)
		for _, b := range indexed {
			if text[b.Span.Start:b.Span.End] == block {
				f, _ := s.Features(b, nil)
				return f
			}
		}
		t.Fatalf("no such block in %q", text)
		return nil
	}
	want := features(block)
	for _, around := range []string{"这是一段很长的中文文字，用来包围英文的句子，看它是否改变。\n\n%s\n\n更多中文。",
		"Det finns en annan text här som är på svenska och lång nog.\n\n%s"} {
		if got := features(strings.Replace(around, "%s", block, 1)); !slices.Equal(got, want) {
			t.Errorf("features changed within %q", around)
		}
	}
}

func TestLongSentencesAreDivided(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a clause of some words, ", 60), strings.Repeat("word ", 300), strings.Repeat("中文没有标点的长句子", 60), strings.Repeat("x", 5000),
		strings.Repeat("ไทยไม่มีวรรคระหว่างคำ", 50),
	} {
		s := split(t, text)
		indexed, _, _ := s.Blocks(segment.Natural)
		for _, b := range indexed {
			if b.Chars > 260 {
				t.Errorf("block of %d characters in %.20q", b.Chars, text)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		text string
		want segment.Kind
	}{
		{"The committee found that the merchants had counted the barrels.", segment.Content},
		{"Le comité a constaté que les marchands avaient compté les tonneaux.", segment.Content},
		{"Der Ausschuss hat festgestellt, dass die Händler die Fässer gezählt haben.", segment.Content},
		{"Комитет установил, что они не были в этом городе и не видели его.", segment.Content},
		{"Kamati iligundua kuwa wafanyabiashara walihesabu mapipa yote.", segment.Grams},
		{"委员会认定，商人已经清点了木桶。", segment.Chinese},
		{"委员会认为 merchants 已经清点 barrels 完毕。", segment.Chinese},
		{"委員会は、商人が樽を数えたことを認めた。", segment.Bigrams},
		{"위원회는 상인들이 통을 세었다고 밝혔다.", segment.Bigrams},
		{"คณะกรรมการพบว่าพ่อค้าได้นับถัง", segment.Grams},
	} {
		s := split(t, c.text)
		f, kind := s.Features(segment.Block{First: 0, Last: len(s.Words)}, nil)
		if kind != c.want || len(f) == 0 {
			t.Errorf("%s: kind %d with %d features, want kind %d", c.text, kind, len(f), c.want)
		}
	}
}

func TestTemplates(t *testing.T) {
	text := "Preface text\nAbstract\nWe propose things.\n\n2. Research Strategy\nDo work.\n\nReferences\n[1] A book."
	var got []string
	for _, s := range segment.Templates()["grant"].Find(text) {
		name := s.Name
		if s.Skip {
			name += "!"
		}
		got = append(got, name+": "+strings.Split(text[s.Span.Start:s.Span.End], "\n")[1])
	}
	if want := []string{"abstract: We propose things.", "content: Do work.", "references!: [1] A book."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	zh := "中文摘要\n本文研究。\n第一章 绪论\n内容。\n参考文献\n[1] 书。"
	got = nil
	for _, s := range segment.Templates()["thesis"].Find(zh) {
		got = append(got, s.Name)
	}
	if want := []string{"abstract", "introduction", "references"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := segment.ParseTemplate("mine", "a = (\nno pattern\nb = ok"); err == nil || !strings.Contains(err.Error(), "line 1") ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("faults not all reported: %v", err)
	}
}
