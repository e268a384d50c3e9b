package eval

import (
	"slices"
	"strings"
	"testing"

	"concordat"
)

// TestMadeCalls: the generated documents have their copies where the truth says, forms are shared only within their calls, and text that
// is neither form nor copy occurs in only one document.
func TestMadeCalls(t *testing.T) {
	languages, err := madeLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		var c, again madeCorpus
		c.addCalls(l)
		again.addCalls(l)
		mixed := c.mixed[0]
		if len(mixed.docs) != 7*madeCalls || len(mixed.copies) != 8 {
			t.Fatalf("%s: %d documents, %d copies", l.name, len(mixed.docs), len(mixed.copies))
		}
		holders := map[string][]string{} // documents of each sentence outside the forms
		for i, d := range mixed.docs {
			if d.text != again.mixed[0].docs[i].text {
				t.Fatalf("%s: %s is another text when it is made again", l.name, d.name)
			}
			for _, s := range d.legit {
				if !strings.HasPrefix(d.text[s.End:]+"\n\n", "\n") || s.Start > 0 && d.text[s.Start-1] != '\n' {
					t.Errorf("%s: the form of %s is no paragraph: %q", l.name, d.name, s.In(d.text))
				}
			}
			for _, line := range strings.Split(strings.TrimSpace(d.text), "\n\n") {
				if slices.ContainsFunc(d.legit, func(s concordat.Span) bool { return s.In(d.text) == line }) {
					continue
				}
				for _, s := range strings.FieldsFunc(line, func(r rune) bool { return r == '.' || r == '。' }) {
					if s = strings.TrimSpace(s); s != "" && !slices.Contains(holders[s], d.name) {
						holders[s] = append(holders[s], d.name)
					}
				}
			}
		}
		verbatim := 0
		for s, names := range holders {
			if len(names) == 1 {
				continue
			}
			verbatim++
			if len(names) != 2 || !slices.ContainsFunc(mixed.copies, func(c innocentCopy) bool {
				return slices.Contains(names, c.A) && slices.Contains(names, c.B)
			}) {
				t.Errorf("%s: %v hold %q, which none of them copied", l.name, names, s)
			}
		}
		if verbatim < 50 {
			t.Errorf("%s: %d sentences were copied to the letter", l.name, verbatim)
		}
		for _, c := range mixed.copies {
			a, b := mixed.of(c.A), mixed.of(c.B)
			if len(a.copied[c.B]) == 0 || len(a.copied[c.B]) != len(b.copied[c.A]) {
				t.Errorf("%s: of the copy %+v %d and %d spans are known", l.name, c, len(a.copied[c.B]), len(b.copied[c.A]))
			}
		}
	}
}
