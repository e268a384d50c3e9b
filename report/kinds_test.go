package report

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// joined returns findings in which one document contains the first sentences of a passage word for word, another contains the rest in
// other words, and both contain some sentences.
func joined(exact, both, reworded int) *Findings {
	p, q := at(0, exact+both-1, "exact"), at(exact, exact+both+reworded-1, "reworded")
	p.Kind, p.Similarity = concordat.KindVerbatim, 1
	q.Kind = concordat.KindParaphrase
	return of(40, p, q)
}

// TestKindsOfPassage: if several sources contain a passage in different ways, the passage names each way with its number of letters. A
// heading that stated only the kind of the best source would claim "word for word" for letters that no source has word for word.
func TestKindsOfPassage(t *testing.T) {
	of := NewCounter(sentence).Characters(concordat.Span{End: len(sentence)})
	rep := Build(joined(3, 1, 2), Rules{})
	if len(rep.Evidence) != 1 || rep.Evidence[0].Characters != 6*of {
		t.Fatalf("evidence %+v", rep.Evidence)
	}
	e := rep.Evidence[0]
	want := []concordat.KindCount{{Kind: concordat.KindVerbatim, Characters: 4 * of}, {Kind: concordat.KindParaphrase, Characters: 2 * of}}
	if d := cmp.Diff(want, e.Kinds); d != "" {
		t.Errorf("kinds (-want +got):\n%s", d)
	}
	heading := fmt.Sprintf("word for word (%d letters), reworded (%d letters)", 4*of, 2*of)
	if got := English.EvidenceKind(e); got != heading {
		t.Errorf("heading %q, want %q", got, heading)
	}
	for form, x := range map[string]struct {
		write func(io.Writer, *Report) error
		want  string
	}{
		"text": {WriteText, heading},
		"csv": {func(w io.Writer, r *Report) error { return WriteCSV(w, r, CSVOptions{}) },
			fmt.Sprintf(`"verbatim %d; paraphrase %d"`, 4*of, 2*of)},
		"json": {WriteJSON, fmt.Sprintf(`"kinds": [ { "kind": "verbatim", "characters": %d }, { "kind": "paraphrase", "characters": %d } ]`, 4*of, 2*of)},
	} {
		var b bytes.Buffer
		if err := x.write(&b, rep); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, x.want) {
			t.Errorf("%s lacks %s:\n%s", form, x.want, got)
		}
	}
}

// TestKindOfMostLetters: a passage has the kind of most of its letters, even if a smaller part is closer; a passage of a single kind has
// no numbers.
func TestKindOfMostLetters(t *testing.T) {
	if e := Build(joined(1, 1, 4), Rules{}).Evidence; len(e) != 1 || e[0].Kind != concordat.KindParaphrase {
		t.Errorf("evidence %+v, want one paraphrase", e)
	}
	one := Build(of(40, at(0, 3, "source")), Rules{})
	if got := English.EvidenceKind(one.Evidence[0]); got != "lightly edited" {
		t.Errorf("heading %q of one kind", got)
	}
}

// TestKindsOfOneSource: a source that was used in two ways names both.
func TestKindsOfOneSource(t *testing.T) {
	p, q := at(0, 2, "source"), at(3, 4, "source")
	q.Kind = concordat.KindVerbatim
	p.Similarity, q.Similarity = 0.95, 1
	q.SourceSpan = concordat.Span{Start: 900, End: 980}
	n := NewCounter(sentence).Characters(concordat.Span{End: len(sentence)})
	want := fmt.Sprintf("lightly edited (%d letters), word for word (%d letters), nearly identical", 3*n, 2*n)
	if got := SourceKind(English, Build(of(40, p, q), Rules{}).Evidence[0].Sources[0]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKindsAddUp: over all passages that count, the letters of the kinds add up to the letters that are drawn and count.
func TestKindsAddUp(t *testing.T) {
	eachRandom(t, 300, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		rep := Build(f, randomRules(rnd, f))
		count := NewCounter(rep.Submission.Text)
		got, want := map[concordat.Kind]int{}, map[concordat.Kind]int{}
		for _, s := range rep.Covered {
			if n := count.Characters(s.Span); n > 0 {
				want[s.Kind] += n
			}
		}
		for i, e := range rep.Evidence {
			sum := 0
			for _, k := range e.Kinds {
				sum += k.Characters
				if e.Excluded == "" {
					got[k.Kind] += k.Characters
				}
			}
			if e.Excluded == "" && sum != e.Characters {
				t.Errorf("passage %d: kinds of %d letters, %d count", i, sum, e.Characters)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("letters by kind, drawn and headed (-drawn +headed):\n%s", d)
		}
	})
}
