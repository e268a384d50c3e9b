package wording_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

const form = "Please describe the central question of the project in language that a member of the public can follow."

// own returns text that occurs only under the given number.
func own(n, words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "w%dx%d ", n, i)
	}
	return b.String()
}

func TestLeast(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 0, 4: 0, 5: 3, 10: 3, 15: 3, 20: 4, 30: 6, 60: 12, 100: 20, 105: 21, 100000: 21} {
		if got := wording.Least(n); got != want {
			t.Errorf("of %d documents %d must hold common wording, want %d", n, got, want)
		}
	}
}

// scopeOf returns the scope of texts, as for a batch, with the walls of each; nil means no walls.
func scopeOf(texts []string, walls [][]concordat.Span) (*wording.Scope, []*wording.Words) {
	var c wording.Counter
	split := make([]*wording.Words, len(texts))
	for i, x := range texts {
		split[i] = wording.Split(x)
		c.Add(i, split[i])
	}
	s := &wording.Scope{Held: c.Common(2), Of: len(texts)}
	places, sketches := map[[2]int]int{}, make([][]uint64, len(texts))
	if walls == nil {
		walls = make([][]concordat.Span, len(texts))
	}
	for i, w := range split {
		for e, n := range s.Held.PlacesWith(w, i, walls[i]) {
			places[[2]int{i, e}] = n
		}
		sketches[i] = w.Sketch(s.Held, s.Of)
	}
	s.Places = func(of, with int) int { return places[[2]int{of, with}] }
	s.Alike = func(a, b int) bool { return wording.MostlyAlike(sketches[a], sketches[b]) }
	return s, split
}

// classify is Classify for the first text, with a context that does not end.
func classify(s *wording.Scope, w *wording.Words, r *wording.Reader, walls []concordat.Span) []wording.Class {
	out, err := s.Classify(context.Background(), 0, w, r, walls)
	if err != nil {
		panic(err)
	}
	return out
}

// classes returns the classes of the first of the texts.
func classes(texts []string) []wording.Class {
	s, split := scopeOf(texts, nil)
	return classify(s, split[0], wording.NewReader(texts[0]), nil)
}

// common returns the parts of the first text that do not count because others share them, whether or not they read like a form.
func common(texts []string) []string {
	var out []string
	s, split := scopeOf(texts, nil)
	for _, x := range classify(s, split[0], nil, nil) {
		if x.Kind != "" {
			out = append(out, x.In(texts[0]))
		}
	}
	return out
}

func TestCommon(t *testing.T) {
	slot := func(n int) string {
		return fmt.Sprintf("This study aims to investigate subject%d number%d from both a theoretical and an empirical point of view.", n, n)
	}
	var call, slots, ring, drafts, whole []string
	for i := range 30 {
		call = append(call, own(i, 30)+"\n\n"+form+"\n\n"+own(100+i, 30))
		slots = append(slots, own(i, 30)+"\n\n"+slot(i)+"\n\n"+own(100+i, 30))
		if i < 5 {
			ring = append(ring, own(i, 30)+"\n\n"+own(500, 80))
		} else {
			ring = append(ring, own(i, 110))
		}
	}
	for i := range 13 {
		if i < 3 {
			drafts = append(drafts, own(900, 400)+own(i, 20))
		} else {
			drafts = append(drafts, own(i, 420))
		}
	}
	for i := range 20 {
		if i < 8 {
			whole = append(whole, own(i, 5)+"\n\n"+own(700, 150))
		} else {
			whole = append(whole, own(i, 155))
		}
	}
	trim := func(s []string) string { return strings.Trim(strings.Join(s, "|"), ". ") }
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"a form":                   {call, strings.Trim(form, ".")},
		"a form with slots":        {slots, strings.Trim(slot(0), ".")},
		"two documents":            {call[:2], ""},
		"a ring of five in thirty": {ring, ""},
		"three drafts in thirteen": {drafts, ""},
		"a text copied whole":      {whole, ""},
	} {
		if got := trim(common(c.texts)); got != c.want {
			t.Errorf("%s: common is %q, want %q", name, got, c.want)
		}
	}
}

// TestGramsEndAtParagraphs: an answer after a question and an empty line is not part of the question.
func TestGramsEndAtParagraphs(t *testing.T) {
	var texts []string
	for i := range 6 {
		texts = append(texts, form+"\n\nThe answer is "+own(i, 20))
	}
	if got := common(texts); len(got) != 1 || strings.Contains(got[0], "answer") {
		t.Errorf("common is %q, want the question alone", got)
	}
}

func TestForms(t *testing.T) {
	for text, want := range map[string]wording.Why{
		"Please attach no more than two figures.":                                                       wording.WhyInstruction,
		"Lay summary Please summarise the proposal in language that a member of the public can follow.": wording.WhyInstruction,
		"Your sketches should be in ink, and the scale has to be on each of them.":                      wording.WhyInstruction,
		"Compare the two treaties and say which of them was kept (25 marks).":                           wording.WhyInstruction,
		"二、试比较两位君主在用人方面的异同，并谈谈你的看法。（25分）":                                                               wording.WhyInstruction,
		"Mit meiner Unterschrift bestätige ich, dass alle Angaben vollständig und richtig sind.":        wording.WhyDeclaration,
		"The keeper told us: Give me the lamp, and I shall show you where the water came in.":           "",
		"Wir geben den Kindern Brot, und sie danken uns mit Liedern, die wir nie gehört haben.":         "",
		"We hereby declare that this work is our own.":                                                  wording.WhyDeclaration,
		"Hiermit versichere ich, dass ich die Arbeit selbst verfasst habe.":                             wording.WhyDeclaration,
		"学位论文原创性声明：本人郑重声明，所呈交的论文是本人独立完成的。":                                                              wording.WhyDeclaration,
		"1. What did you like best, and why?":                                                           wording.WhyQuestion,
		"Budget justification":                                                                          wording.WhyHeading,
		"GDP - gross domestic product":                                                                  wording.WhyList,
		"The rest of the paper is organised as follows.":                                                wording.WhyOutline,
		"In Chapter 2 of what follows we\ndescribe the mill and the wheel in turn.":                     wording.WhyOutline,
		"In Chapter Two of the town stood a mill.\nWe describe the wheel in another place.":             "",
		"This Agreement shall be governed by the laws of England.":                                      wording.WhyClause,
		"The river rose in spring and took the bridge with it, which nobody had thought of.":            "",
		"他向国王申请援助，国王没有答应他的请求，于是他回到了自己的家乡。":                                                              "",
		"The keeper counted the lamps twice and wrote both numbers down, as they were unlike.":          "",
	} {
		why := wording.Why("")
		if fs := wording.Forms(text); len(fs) > 0 {
			why = fs[0].Why
		}
		if why != want {
			t.Errorf("%q reads like %q, want %q", text, why, want)
		}
	}
}

// TestFormsEndBeforeProse: a paragraph copied together with the declaration above it is not part of the form.
func TestFormsEndBeforeProse(t *testing.T) {
	declared := "I hereby declare that this thesis is my own work and that I have named all sources that I used. "
	prose := "The river rose in spring and took the bridge with it, at night. "
	text := declared + prose
	got := classes([]string{text + own(1, 300), own(2, 50) + text})
	if len(got) != 1 || got[0].Why != wording.WhyDeclaration || strings.TrimSpace(text[got[0].End:]) != strings.TrimSpace(prose) {
		t.Errorf("of a declaration and a sentence reads like a form %+v of %d bytes, want it without the %d of the sentence", got, len(text),
			len(prose))
	}
}

// TestPlotIsNoForm: if one sentence of a story addresses someone, the copied paragraph around it is not a form.
func TestPlotIsNoForm(t *testing.T) {
	text := "Your mother must have known. " + strings.Repeat("The river rose in spring and took the bridge with it, which nobody had thought of. ", 3)
	if got := classes([]string{text + own(1, 300), own(2, 50) + text}); len(got) != 1 || got[0].Kind != "" {
		t.Errorf("a copied paragraph of a story reads like a form: %+v", got)
	}
}

func TestBeside(t *testing.T) {
	a := own(1, 20) + "\n\n" + form + "\n\n" + own(2, 20)
	b := own(3, 50) + "\n\n" + form + "\n\n" + own(4, 10)
	wa, wb := wording.Split(a), wording.Split(b)
	at := strings.Index(a, form)
	got, ok := wb.Places(nil).Beside(wa, concordat.Span{Start: at, End: at + len(form)})
	if !ok || got.Share != 1 || strings.Trim(got.There.In(b), ".") != strings.Trim(form, ".") {
		t.Errorf("beside it stands %+v %q, want the form", got, got.There.In(b))
	}
	if _, ok := wb.Places(nil).Beside(wa, concordat.Span{End: 40}); ok {
		t.Error("wording that the other text lacks stands in it")
	}
}

// FuzzWording: no text causes a panic, and everything found is in order and within the text.
func FuzzWording(f *testing.F) {
	f.Add("", "")
	f.Add(form, form+"\n\n"+form)
	f.Add("一、申请人承诺书：我保证申请书内容的真实性。\n\n正文。", "GDP - x\n\n1. Why?\n")
	f.Add("\xff\x00\n\n\n a b c d e", "a b c d e f g h")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 1<<16 {
			return
		}
		wa, wb := wording.Split(a), wording.Split(b)
		c := wording.CounterOf(wa)
		c.Add(1, wb)
		end := 0
		for _, s := range c.Common(2).In(wa) {
			if s.Start < end || s.End <= s.Start || s.End > len(a) {
				t.Fatalf("stretch %v of %d bytes after %d", s.Span, len(a), end)
			}
			end = s.End
			if at, ok := wb.Places(nil).Beside(wa, s.Span); ok && (at.There.End > len(b) || at.Here.End > len(a) || at.Share <= 0 || at.Share > 1) {
				t.Fatalf("beside %v: %+v", s.Span, at)
			}
		}
		end = 0
		for _, s := range classes([]string{a, b, b}) {
			if s.Start < end || s.End <= s.Start || s.End > len(a) {
				t.Fatalf("class %v of %d bytes after %d", s.Span, len(a), end)
			}
			end = s.End
		}
		end = 0
		for _, x := range wording.Forms(a) {
			if x.Start < end || x.End <= x.Start || x.End > len(a) {
				t.Fatalf("form %v of %d bytes after %d", x.Span, len(a), end)
			}
			end = x.End
		}
	})
}

// TestCalls: in a library of many calls, the form of one call is recognised by the documents that answer it. A block shared by copiers is
// not a form, nor are consecutive paragraphs.
func TestCalls(t *testing.T) {
	questions := []string{
		"Which of the two gardens will be dug first, and who is going to bring the spades and the seed?",
		"How will the children of the street hear about it, and what will they be given to do there?",
		"Whatever the money does not pay for has to come from somewhere: where will it come from, and when?",
	}
	answer := func(i, k int) string { return own(1000*i+k, 40) }
	form := func(i int) string {
		return strings.Join([]string{questions[0], answer(i, 1), questions[1], answer(i, 2), questions[2], answer(i, 3)}, "\n\n")
	}
	row := func(i int) string {
		return answer(i, 1) + "\n\n" + strings.Join(questions, "\n\n") + "\n\n" + answer(i, 2)
	}
	block := strings.Join(questions, " ")
	among := func(i, holders int, block string) string {
		return answer(i, 1) + strings.Repeat("\n\n"+block, min(1, max(0, holders-i))) + "\n\n" + answer(i, 2)
	}
	for name, c := range map[string]struct {
		text    func(i int) string
		holders int
		want    bool
	}{
		"a form of seven":             {form, 7, true},
		"a form of four":              {form, 4, true},
		"a block that seven copied":   {func(i int) string { return answer(i, 1) + "\n\n" + block + "\n\n" + answer(i, 2) }, 7, false},
		"a block that eight end with": {func(i int) string { return among(i, 8, block) }, 8, true},
		"one with a slot at its head": {func(i int) string {
			return among(i, 8, fmt.Sprintf("We, guild number %d: ", i)+block)
		}, 8, true},
		"what eight copied into their own paragraphs": {func(i int) string {
			return among(i, 8, own(7000*i, 15)+" "+block+" "+own(7000*i+500, 15))
		}, 8, false},
		"three paragraphs in a row":       {row, 7, false},
		"of seven three copied an answer": {func(i int) string { return form(i) + "\n\n" + own(77, 30*min(1, max(0, 3-i))) }, 7, true},
		"a question each":                 {func(i int) string { return answer(i, 1) + "\n\n" + questions[i%3] + "\n\n" + own(9000+i, 40) }, 7, false},
	} {
		texts := make([]string, 0, 60)
		for i := range 60 {
			text := own(500000+i, 120)
			if i < c.holders {
				text = c.text(i)
			}
			texts = append(texts, text)
		}
		got := common(texts)
		if (len(got) > 0) != c.want {
			t.Errorf("%s: does not count %q", name, got)
		}
		for _, s := range got {
			if !strings.Contains(strings.Join(questions, " "), strings.Trim(s, "?. ")) {
				t.Errorf("%s: does not count %q", name, s)
			}
		}
	}
}
