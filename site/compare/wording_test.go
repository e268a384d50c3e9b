package compare

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

const (
	quoted  = "the harbour froze so hard that winter that carts crossed it as though it had been a road of stone"
	quoting = "The town had three granaries and a school. The chronicle calls it the coldest in memory: “" + quoted +
		"” (Miller 1999, p. 12). " +
		"Nothing of the old quay is left but a row of iron rings beside the customs house, where boats were moored at night. " +
		"The fishermen moved to the southern shore when the bridge was built, and their children became carpenters and clerks. " +
		"A census of that decade counts four hundred people, two inns, a chapel and a brewery whose cellars may still be seen."
)

// TestQuotationNobodyElseHolds: a quotation with its source is told as wording that others have too if another document has it, with
// their number, and never if none has; it takes no part in comparing either way.
func TestQuotationNobodyElseHolds(t *testing.T) {
	for other, want := range map[string]int{"Somebody else wrote that " + quoted + ", in other words.": 2, "": 0} {
		w := Shareable(quoting, nil)
		if len(w.Named) != 1 || !strings.Contains(w.Named[0].In(quoting), quoted) {
			t.Fatalf("quotations with a source: %v", w.Named)
		}
		counter := wording.CounterOf(w.Words)
		counter.Add(1, wording.Split(other))
		w.Decide(&wording.Scope{Held: counter.Common(2), Of: 10}, 0, refOf)
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

// TestSentenceAloneIsNoEvidence: one sentence of a source, far from all else of it in a long text, is no evidence; three copied ones
// are, as is a page, and one sentence that is most of what was handed in.
func TestSentenceAloneIsNoEvidence(t *testing.T) {
	const sentence = "The fishermen moved to the southern shore when the bridge was built, and their children became clerks. "
	filler := strings.Repeat("words of another hand stand here. ", 40)
	for _, c := range []struct {
		name   string
		kind   concordat.Kind
		copies int
		filler string
		page   bool
		want   bool // evidence
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
		w := Shareable(text, nil)
		w.Decide(&wording.Scope{Held: &wording.Common{}, Of: 10}, 0, refOf)
		w.Judge(passages)
		for i, p := range passages {
			if (p.Wording == "") != c.want {
				t.Errorf("%s: passage %d is marked %q, want evidence: %v", c.name, i, p.Wording, c.want)
			}
		}
	}
}

// TestFormsAreShown: what reads like a form's and another document holds is told as that, with the reason, and takes no part in
// comparing; a heading takes none either, and is not shown.
func TestFormsAreShown(t *testing.T) {
	const declaration, heading = "I hereby declare that this thesis is my own work and that I have named all sources that I used.",
		"Budget justification for equipment"
	text := quoting + "\n\n" + heading + "\n\n" + quoting + "\n\n" + declaration
	other := "Nobody saw the boat leave.\n\n" + heading + "\n\nThe lamp burned all night.\n\n" + declaration
	w := Shareable(text, nil)
	counter := wording.CounterOf(w.Words)
	counter.Add(1, wording.Split(other))
	w.Decide(&wording.Scope{Held: counter.Common(2), Of: 10}, 0, refOf)
	var told []string
	for _, f := range w.Found {
		if f.Kind == concordat.KindForm {
			told = append(told, f.Why+": "+f.In(text))
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], string(wording.WhyDeclaration)) ||
		!strings.Contains(told[0], "this thesis is my own work") {
		t.Errorf("told as a form's: %q, want the declaration", told)
	}
	walls := strings.Join(textsOf(w.Walls, text), "|")
	if !strings.Contains(walls, "this thesis is my own work") || !strings.Contains(walls, "Budget justification") {
		t.Errorf("takes no part: %q, want the declaration and the heading among it", walls)
	}
}
