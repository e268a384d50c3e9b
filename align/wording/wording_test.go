package wording_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

const form = "Please describe the central question of the project in language that a member of the public can follow."

// own returns text that no other number has.
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

// common returns what of the first text is common among all.
func common(texts []string) []string {
	var c wording.Counter
	for _, x := range texts {
		c.Add(wording.Split(x))
	}
	var out []string
	for _, s := range c.Common(wording.Least(len(texts)), wording.LeastLong(len(texts))).In(wording.Split(texts[0])) {
		out = append(out, s.In(texts[0]))
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

// An answer that follows a question after an empty line is no part of it.
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
		"Please attach no more than two figures.":                                              wording.WhyInstruction,
		"We hereby declare that this work is our own.":                                         wording.WhyDeclaration,
		"Hiermit versichere ich, dass ich die Arbeit selbst verfasst habe.":                    wording.WhyDeclaration,
		"学位论文原创性声明：本人郑重声明，所呈交的论文是本人独立完成的。":                                                     wording.WhyDeclaration,
		"1. What did you like best, and why?":                                                  wording.WhyQuestion,
		"Budget justification":                                                                 wording.WhyHeading,
		"GDP - gross domestic product":                                                         wording.WhyList,
		"The rest of the paper is organised as follows.":                                       wording.WhyOutline,
		"This Agreement shall be governed by the laws of England.":                             wording.WhyClause,
		"The river rose in spring and took the bridge with it, which nobody had thought of.":   "",
		"他向国王申请援助，国王没有答应他的请求，于是他回到了自己的家乡。":                                                     "",
		"The keeper counted the lamps twice and wrote both numbers down, as they were unlike.": "",
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

// A paragraph that was copied with the declaration above it is no part of the form.
func TestFormsEndBeforeProse(t *testing.T) {
	declared := strings.Repeat("I hereby declare that this thesis is my own work and that I have named all sources that I used. ", 4)
	prose := "The river rose in spring and took the bridge with it, which nobody had thought of before. "
	text := declared + prose
	got := wording.NewReader(text+own(1, 300)).FormsAmong(wording.Split(text+own(1, 300)),
		[]wording.Stretch{{Span: concordat.Span{End: len(text)}, Documents: 2}})
	if len(got) != 1 || got[0].Why != wording.WhyDeclaration || strings.TrimSpace(text[got[0].End:]) != strings.TrimSpace(prose) {
		t.Errorf("of a declaration and a sentence reads like a form %+v of %d bytes, want it without the %d of the sentence", got, len(text),
			len(prose))
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

// FuzzWording: no text panics, and all that is found lies in it, in order.
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
		c.Add(wb)
		end := 0
		shared := c.Common(2, 0).In(wa)
		for _, s := range shared {
			if s.Start < end || s.End <= s.Start || s.End > len(a) {
				t.Fatalf("stretch %v of %d bytes after %d", s.Span, len(a), end)
			}
			end = s.End
			if at, ok := wb.Places(nil).Beside(wa, s.Span); ok && (at.There.End > len(b) || at.Here.End > len(a) || at.Share <= 0 || at.Share > 1) {
				t.Fatalf("beside %v: %+v", s.Span, at)
			}
		}
		wording.NewReader(a).FormsAmong(wa, shared)
		end = 0
		for _, x := range wording.Forms(a) {
			if x.Start < end || x.End <= x.Start || x.End > len(a) {
				t.Fatalf("form %v of %d bytes after %d", x.Span, len(a), end)
			}
			end = x.End
		}
	})
}
