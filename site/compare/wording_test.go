package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
	"concordat/report"
)

const (
	quoted  = "the harbour froze so hard that winter that carts crossed it as though it had been a road of stone"
	quoting = "The town had three granaries and a school. The chronicle calls it the coldest in memory: “" + quoted +
		"” (Miller 1999, p. 12). " +
		"Nothing of the old quay is left but a row of iron rings beside the customs house, where boats were moored at night. " +
		"The fishermen moved to the southern shore when the bridge was built, and their children became carpenters and clerks. " +
		"A census of that decade counts four hundred people, two inns, a chapel and a brewery whose cellars may still be seen."
)

// TestQuotationNobodyElseHolds: if another document contains a quotation that names its source, the quotation is shown as wording that
// others also have, with their number; otherwise it is not. Either way it is not compared.
func TestQuotationNobodyElseHolds(t *testing.T) {
	for other, want := range map[string]int{"Somebody else wrote that " + quoted + ", in other words.": 2, "": 0} {
		w := Shareable(quoting, nil, nil)
		if len(w.Named) != 1 || !strings.Contains(w.Named[0].In(quoting), quoted) {
			t.Fatalf("quotations with a source: %v", w.Named)
		}
		counter := wording.CounterOf(w.Words)
		counter.Add(1, wording.Split(other))
		if err := w.Decide(t.Context(), &wording.Scope{Held: counter.Common(2), Of: 10}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, f := range w.Found {
			if f.Kind == concordat.KindQuotation {
				got = f.Documents
			}
		}
		if got != want || want == 0 && len(w.Found) > 0 {
			t.Errorf("beside %q: %+v, want a quotation of %d documents", other, w.Found, want)
		}
		if !strings.Contains(strings.Join(textsOf(w.Walls, quoting), "|"), quoted) {
			t.Errorf("beside %q the quotation takes part in comparing", other)
		}
	}
}

func refOf(text int) concordat.Ref {
	return concordat.Ref{Site: "a", Library: "l", Document: concordat.DocumentID(fmt.Sprint("d", text))}
}

func textsOf(spans []concordat.Span, text string) (out []string) {
	for _, s := range spans {
		out = append(out, s.In(text))
	}
	return out
}

// TestSentenceAloneIsNoEvidence: one sentence of a source is not evidence if, in a long text, it is far from everything else of that
// source. Three copied sentences are evidence, and so are a page and one sentence that makes up most of the submission.
func TestSentenceAloneIsNoEvidence(t *testing.T) {
	const sentence = "The fishermen moved to the southern shore when the bridge was built, and their children became clerks. "
	filler := strings.Repeat("words of another hand stand here. ", 40)
	for _, c := range []struct {
		name   string
		kind   concordat.Kind
		copies int
		filler string
		page   bool
		want   bool // whether it is evidence
	}{
		{"reworded", concordat.KindParaphrase, 1, filler, false, false}, {"copied", concordat.KindVerbatim, 1, filler, false, false},
		{"two reworded", concordat.KindParaphrase, 2, filler, false, false}, {"a mosaic", concordat.KindVerbatim, 3, filler, false, true},
		{"a page", concordat.KindVerbatim, 1, filler, true, true}, {"all of a short text", concordat.KindVerbatim, 1, "", false, true},
	} {
		one := sentence
		if c.page {
			one = strings.Repeat(sentence, 3)
		}
		text := c.filler
		var passages []concordat.Passage
		for i := range c.copies {
			passages = append(passages, concordat.Passage{Kind: c.kind, Span: concordat.Span{Start: len(text), End: len(text) + len(one)},
				SourceSpan: concordat.Span{Start: 9000 * i, End: 9000*i + len(one)}})
			text += one + c.filler
		}
		w := Shareable(text, nil, nil)
		if err := w.Decide(t.Context(), &wording.Scope{Held: &wording.Common{}, Of: 10}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		w.Judge(passages)
		for i, p := range passages {
			if (p.Wording == "") != c.want {
				t.Errorf("%s: passage %d is marked %q, want evidence: %v", c.name, i, p.Wording, c.want)
			}
		}
	}
}

// TestLineInOtherWords: a reworded line far from everything else of its source is a coincidence, even in a text that shares a page with
// the source. A copied line is not, nor is a line next to others from one place, or any line in a short text.
func TestLineInOtherWords(t *testing.T) {
	const line = "The fishermen moved to the southern shore when the bridge was built over the river. "
	page := strings.Repeat("Whoever bought a boat in summer paid for the paint, and whoever sold one left his line on the wall until spring. ", 24)
	for _, c := range []struct {
		name   string
		kind   concordat.Kind
		filler int // sentences in between
		source int // distance in the source from the page to the line, in bytes
		beside bool
		want   bool // whether it is evidence
	}{
		{"by chance", concordat.KindParaphrase, 60, 9000, false, false},
		{"condensed by chance", concordat.KindSummary, 60, 9000, false, false},
		{"copied", concordat.KindVerbatim, 60, 9000, false, true},
		{"beside the page, from elsewhere", concordat.KindParaphrase, 60, 9000, true, false},
		{"beside the page", concordat.KindParaphrase, 60, 200, true, true},
		{"in a short text", concordat.KindParaphrase, 10, 9000, false, true},
	} {
		filler := strings.Repeat("words of another hand stand here and say what they have to say. ", c.filler)
		text := filler + page
		if !c.beside {
			text += filler
		}
		at := len(text)
		text += line + filler
		passages := []concordat.Passage{
			{Kind: concordat.KindVerbatim, Span: concordat.Span{Start: len(filler), End: len(filler) + len(page)},
				SourceSpan: concordat.Span{End: len(page)}},
			{Kind: c.kind, Span: concordat.Span{Start: at, End: at + len(line)},
				SourceSpan: concordat.Span{Start: len(page) + c.source, End: len(page) + c.source + len(line)}},
		}
		w := Shareable(text, nil, nil)
		if err := w.Decide(t.Context(), &wording.Scope{Held: &wording.Common{}, Of: 10}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		w.Judge(passages)
		if passages[0].Wording != "" || (passages[1].Wording == "") != c.want {
			t.Errorf("%s: %d words, the page is marked %q, the line %q, want evidence: %v", c.name, w.Words.Len(), passages[0].Wording,
				passages[1].Wording, c.want)
		}
	}
}

// TestFormsAreShown: wording that reads like a form and occurs in another document is shown as form wording, with the reason, and is not
// compared; a heading is neither compared nor shown.
func TestFormsAreShown(t *testing.T) {
	const instruction, heading = "Please describe in no more than two hundred words how the boat is kept dry in the winter.",
		"Budget justification for equipment"
	text := quoting + "\n\n" + heading + "\n\n" + quoting + "\n\n" + instruction
	other := "Nobody saw the boat leave.\n\n" + heading + "\n\nThe lamp burned all night.\n\n" + instruction
	w := Shareable(text, nil, nil)
	counter := wording.CounterOf(w.Words)
	counter.Add(1, wording.Split(other))
	if err := w.Decide(t.Context(), &wording.Scope{Held: counter.Common(2), Of: 10}, 0, refOf); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range w.Found {
		if f.Kind == concordat.KindForm {
			told = append(told, f.Why+": "+f.In(text))
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], string(wording.WhyInstruction)) ||
		!strings.Contains(told[0], "how the boat is kept dry") {
		t.Errorf("told as a form's: %q, want the instruction", told)
	}
	walls := strings.Join(textsOf(w.Walls, text), "|")
	if !strings.Contains(walls, "how the boat is kept dry") || !strings.Contains(walls, "Budget justification") {
		t.Errorf("takes no part: %q, want the instruction and the heading among it", walls)
	}
}

// TestQuotedOnBothSides: wording that both documents quote from a law is reported as a legitimate quotation and not compared; if only one
// document quotes it, it counts as usual.
func TestQuotedOnBothSides(t *testing.T) {
	const law = "Whoever keeps a boat on the river without a light shall pay for what is broken in the dark by it or by its oars."
	const cited = "Section 12 of the River Act 1871 provides that whoever keeps a boat on the river without a light shall pay for what is " +
		"broken in the dark by it or by its oars."
	text := quoting + "\n\n" + cited + "\n\n" + quoting
	for other, want := range map[string]bool{
		"Nobody saw the boat leave.\n\n" + cited: true,
		"Nobody saw the boat leave.\n\n" + law:   false,
	} {
		w, words := Shareable(text, nil, nil), wording.Split(other)
		held, quoted := wording.CounterOf(w.Words), wording.CounterOf(QuotedWords(text, w.Words))
		held.Add(1, words)
		quoted.Add(1, QuotedWords(other, words))
		if err := w.Decide(t.Context(), &wording.Scope{Held: held.Common(2), Of: 2, Quoted: quoted.Common(2)}, 0, refOf); err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(w.Found, func(f report.Wording) bool {
			return f.Kind == concordat.KindQuotation && f.Why == string(report.AsStatute) && strings.Contains(f.In(text), "River Act")
		})
		if told != want {
			t.Errorf("beside %q: legitimate quotation %v, want %v", other, told, want)
		}
	}
}
