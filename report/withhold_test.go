package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
)

const withheldText = `On the marking of ballads

I declare that this work is my own and that no other help was used.

The ballad collectors wrote down what they heard at the fairs (Smith, 2019), and they marked the tunes with letters. “A song that is sung by everybody belongs to nobody, and a song that nobody sings belongs to the book.” 民歌的搜集者在集市上记下所听到的歌词，并用字母标注曲调。 The é and the ½ stay what they are, 12345.

References

Smith, J. (2019). Ballads of the northern fairs. Leeds: Press.
`

func withheldFindings() *report.Findings {
	at := func(s string) concordat.Span {
		i := strings.Index(withheldText, s)
		return concordat.Span{Start: i, End: i + len(s)}
	}
	passage := func(s string, kind concordat.Kind, doc concordat.DocumentID) concordat.Passage {
		return concordat.Passage{Span: at(s), Source: concordat.Ref{Site: "here", Library: "l", Document: doc}, Title: "Title of " + string(doc),
			SourceSpan: concordat.Span{Start: 10, End: 10 + len(s)}, Kind: kind, Similarity: 0.9, Text: "what the source has"}
	}
	return &report.Findings{Version: report.Version, Task: "t", Threshold: 0.3,
		Submission: concordat.Document{ID: "s", Title: "Ballads", Text: withheldText},
		Templates:  []report.Template{{Name: "form", Text: "I declare that this work is my own and that no other help was used."}},
		Passages: []concordat.Passage{
			passage("The ballad collectors wrote down what they heard at the fairs", concordat.KindVerbatim, "a"),
			passage("A song that is sung by everybody belongs to nobody", concordat.KindNear, "b"),
			passage("民歌的搜集者在集市上记下所听到的歌词", concordat.KindVerbatim, "a"),
			passage("I declare that this work is my own and that no other help was used.", concordat.KindVerbatim, "b"),
			passage("Ballads of the northern fairs", concordat.KindVerbatim, "b"),
		}}
}

// TestWithhold: without the text, every score, place and exclusion is the same under all rules, and the submission's words are gone.
func TestWithhold(t *testing.T) {
	full, kept := withheldFindings(), withheldFindings()
	report.Withhold(kept)
	data, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"collectors", "everybody", "Leeds", "搜集", "12345", "help was used"} {
		text := string(data)
		if word == "help was used" { // the form's own wording remains in its template
			text = kept.Submission.Text
		}
		if strings.Contains(text, word) {
			t.Errorf("%q is still there", word)
		}
	}
	if !utf8.ValidString(kept.Submission.Text) || len(kept.Submission.Text) != len(withheldText) {
		t.Fatalf("another text: %q", kept.Submission.Text)
	}
	var again report.Findings
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if err := again.Validate(); err != nil {
		t.Error(err)
	}
	for _, r := range []report.Rules{{}, {ExcludeQuotes: true}, {ExcludeBibliography: true}, {ExcludeCitations: true}, {CountTemplates: true},
		{ExcludeQuotes: true, ExcludeBibliography: true, ExcludeCitations: true, MinCharacters: 25}} {
		want, got := report.Build(full, r), report.Build(&again, r)
		if d := cmp.Diff(want.Scores, got.Scores); d != "" {
			t.Errorf("rules %+v: scores %s", r, d)
		}
		if d := cmp.Diff(want.Evidence, got.Evidence); d != "" {
			t.Errorf("rules %+v: evidence %s", r, d)
		}
		if want.Digest != got.Digest {
			t.Errorf("digest %s, want that of the text", got.Digest)
		}
	}
	var b bytes.Buffer
	if err := report.WriteText(&b, report.Build(&again, report.Rules{})); err != nil || !strings.Contains(b.String(), "not kept") {
		t.Errorf("the report does not say so: %v\n%s", err, b.String())
	}
	report.Withhold(kept)
	if d, err := json.Marshal(kept); err != nil || !bytes.Equal(d, data) {
		t.Error("twice is not once")
	}
}

func TestRedact(t *testing.T) {
	f := withheldFindings()
	for _, doc := range []concordat.DocumentID{"a", "b"} {
		ref := concordat.Ref{Site: "north", Library: "l", Document: doc}
		f.Partners = append(f.Partners, report.PartnerSource{Ref: ref, Title: "Wells", Author: "A. Writer"})
		f.SharedWorks = append(f.SharedWorks, report.SharedWorks{Source: ref, Title: "Wells"})
	}
	out := report.Redact(f, func(r concordat.Ref) bool { return r.Document == "b" })
	for i, p := range out.Passages {
		if redacted := p.Source.Document == "b"; redacted != (p.Text == "") || redacted == (strings.HasPrefix(p.Title, "Title of")) {
			t.Errorf("passage %d: %+v", i, p)
		}
		if f.Passages[i].Text == "" {
			t.Error("the findings were changed")
		}
	}
	for i, p := range out.Partners {
		want := f.Partners[i]
		if p.Ref.Document == "b" {
			want.Title, want.Author = report.HiddenTitle, ""
		}
		if d := cmp.Diff(want, p); d != "" || f.Partners[i].Author == "" {
			t.Errorf("partner's source %d: %s", i, d)
		}
		if w := out.SharedWorks[i]; w.Title != want.Title || f.SharedWorks[i].Title != "Wells" {
			t.Errorf("works in common with %s: title %q", w.Source.Document, w.Title)
		}
	}
	if d := cmp.Diff(report.Build(f, report.Rules{}).Scores, report.Build(out, report.Rules{}).Scores); d != "" {
		t.Errorf("scores changed: %s", d)
	}
}
