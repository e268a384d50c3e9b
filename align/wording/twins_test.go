package wording_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// block returns n words, in sentences of twelve, that occur only in the block with the given number.
func block(number, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "b%dx%d", number, i)
		if i%12 == 11 {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// formOf returns the wording of a form with the given number of questions, each followed by an answer.
func formOf(questions int, answer func(k int) string) string {
	var parts []string
	for k := range questions {
		parts = append(parts, block(1_000_000+k, 18), answer(k))
	}
	return strings.Join(parts, "\n\n")
}

// kindOf returns the classification of most of a span, or the empty string if the span counts.
func kindOf(text string, in string, of []wording.Class) concordat.Kind {
	at := strings.Index(text, in)
	most, best := 0, concordat.Kind("own")
	for _, x := range of {
		if n := min(x.End, at+len(in)) - max(x.Start, at); n > most {
			most, best = n, x.Kind
		}
	}
	return best
}

// TestTwins: if k of n documents contain a block of at least LongWords words, the block counts or is left for a person to decide, with
// and without a form around it. The form's questions do not count, and shorter wording is common if a fifth of the documents contain it.
func TestTwins(t *testing.T) {
	for _, c := range []struct {
		n, k, words int
		want        concordat.Kind
	}{
		{2, 2, 70, ""}, {2, 2, 40, ""}, {5, 2, 70, ""}, {5, 3, 70, concordat.KindUndecided}, {5, 3, 45, concordat.KindCommon},
		{12, 2, 70, ""}, {12, 3, 190, concordat.KindUndecided}, {12, 6, 400, concordat.KindUndecided}, {12, 3, 45, concordat.KindCommon},
		{40, 2, 70, ""}, {40, 7, 150, ""}, {40, 8, 150, concordat.KindUndecided}, {40, 8, 45, concordat.KindCommon}, {40, 4, 45, ""},
		{400, 7, 150, ""}, {400, 8, 150, concordat.KindUndecided}, {400, 21, 150, concordat.KindUndecided},
	} {
		for _, questions := range []int{0, 6} {
			if c.n == 2 && questions > 0 || c.n == 400 && questions > 0 {
				continue // two documents alone cannot reveal a form; 400 with a form are slow and behave like 40
			}
			texts := make([]string, c.n)
			copied := block(77, c.words)
			for i := range texts {
				own := func(k int) string { return block(100*i+k+1000, 45) }
				texts[i] = own(0) + "\n\n" + formOf(questions, func(k int) string {
					if k == 2 && i < c.k {
						return own(k+1) + "\n\n" + copied + "\n\n" + own(k+50)
					}
					return own(k + 1)
				})
				if questions == 0 {
					texts[i] += own(1)
					if i < c.k {
						texts[i] += "\n\n" + copied + "\n\n" + own(2)
					}
				}
			}
			got := classes(texts)
			if kind := kindOf(texts[0], copied, got); kind != c.want && (c.want != concordat.KindCommon || kind != concordat.KindForm) {
				t.Errorf("%d of %d hold %d words, form of %d: %q, want %q", c.k, c.n, c.words, questions, kind, c.want)
			}
			for k := range questions {
				if kind := kindOf(texts[0], block(1_000_000+k, 18), got); kind != concordat.KindForm && kind != concordat.KindCommon {
					t.Errorf("%d of %d hold %d words: question %d of the form is %q", c.k, c.n, c.words, k, kind)
				}
			}
		}
	}
}

// TestManyOfMany: wording that eight of many documents have within their paragraphs was copied; in a separate paragraph it may be the
// declaration required by their call.
func TestManyOfMany(t *testing.T) {
	const n = 60
	copied := block(77, 90)
	for k, want := range map[int]concordat.Kind{2: "", 7: "", 8: "", 12: "", 13: concordat.KindUndecided} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = block(1000+i, 60)
			if i < k {
				texts[i] += " " + copied + " " + block(2000+i, 60)
			}
		}
		if kind := kindOf(texts[0], copied, classes(texts)); kind != want {
			t.Errorf("%d of %d hold it within a paragraph: %q, want %q", k, n, kind, want)
		}
	}
}

// TestQuestionsAreNoOwnText: a copied block remains a single block if it contains questions of a form that was handed out.
func TestQuestionsAreNoOwnText(t *testing.T) {
	const questions = 5
	question := func(k int) string { return block(1_000_000+k, 25) }
	texts := make([]string, 30)
	for i := range texts {
		for k := range questions {
			number := 100*i + k + 1000
			if i < 5 {
				number = 77 + k
			}
			texts[i] += question(k) + "\n\n" + block(number, 40) + "\n\n"
		}
		texts[i] += block(100*i+99_000, 200)
	}
	walls := make([][]concordat.Span, len(texts))
	for i, text := range texts {
		for k := range questions {
			at := strings.Index(text, question(k))
			walls[i] = append(walls[i], concordat.Span{Start: at, End: at + len(question(k))})
		}
	}
	s, split := scopeOf(texts, walls)
	got := classify(s, split[0], nil, walls[0])
	for k := range questions {
		if kind := kindOf(texts[0], block(77+k, 40), got); kind != "" {
			t.Errorf("answer %d, which five of thirty hold: %q", k, kind)
		}
	}
}

// TestPhrasesChangeNothing: a phrase before each sentence excludes no paragraph, whether one or both texts have it.
func TestPhrasesChangeNothing(t *testing.T) {
	sentences := strings.SplitAfter(block(5, 96), ". ")
	for _, phrase := range []string{"Note that ", "We acknowledge that ", "Please bear in mind that ", "请注意，",
		"Bitte beachten Sie: ", "1 | ", "(see section 3) "} {
		plain, with := strings.Join(sentences, ""), phrase+strings.Join(sentences, phrase)
		asked := strings.ReplaceAll(with, ". ", "?\n\n")
		around := func(n int, s string) string { return block(n, 60) + "\n\n" + s + "\n\n" + block(n+10, 60) }
		for name, texts := range map[string][]string{
			"one":       {around(1, with), around(2, plain)},
			"both":      {around(1, with), around(2, with)},
			"questions": {around(1, asked), around(2, asked)},
		} {
			for _, x := range classes(texts) {
				if x.Kind != "" && wordsIn(x.In(texts[0])) > 5 {
					t.Errorf("%q, %s: %q does not count: %s %s", phrase, name, x.In(texts[0]), x.Kind, x.Why)
				}
			}
		}
	}
}

func wordsIn(s string) int { return len(strings.Fields(s)) }

// TestUnrelatedDocumentsChangeNothing: text that counts or awaits a decision keeps that state when unrelated documents are added, the
// documents are reordered, or only some of them are examined.
func TestUnrelatedDocumentsChangeNothing(t *testing.T) {
	copied := block(9, 90)
	var ring []string
	for i := range 3 {
		ring = append(ring, block(10+i, 80)+"\n\n"+copied+"\n\n"+block(20+i, 80))
	}
	for unrelated := range 14 {
		texts := slices.Clone(ring)
		for i := range unrelated {
			texts = append(texts, block(100+i, 200))
		}
		if kind := kindOf(texts[0], copied, classes(texts)); kind != "" && kind != concordat.KindUndecided {
			t.Errorf("with %d others: %q", unrelated, kind)
		}
		slices.Reverse(texts[1:])
		if kind := kindOf(texts[0], copied, classes(texts)); kind != "" && kind != concordat.KindUndecided {
			t.Errorf("with %d others, in another order: %q", unrelated, kind)
		}
		if kind := kindOf(texts[0], copied, classes([]string{ring[0], ring[1]})); kind != "" {
			t.Errorf("two of them alone: %q", kind)
		}
	}
}

// TestIdenticalDocumentsCount: two identical documents that answer a form count, and do not make its questions count in a third document.
func TestIdenticalDocumentsCount(t *testing.T) {
	same := formOf(6, func(k int) string { return block(300+k, 40) })
	other := formOf(6, func(k int) string { return block(400+k, 40) })
	if got := classes([]string{same, same}); len(got) != 1 || got[0].Kind != "" {
		t.Errorf("two identical documents: %+v", got)
	}
	answer := block(302, 40)
	if kind := kindOf(same, answer, classes([]string{same, same, other})); kind != "" {
		t.Errorf("an answer of two identical documents is %q", kind)
	}
	for _, x := range classes([]string{other, same, same}) {
		if x.Kind == "" {
			t.Errorf("of the third document counts %q", x.In(other))
		}
	}
}
