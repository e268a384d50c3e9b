package profile_test

import (
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/profile"
)

// TestShortOfLists: the short pieces of a text are its lines if all are short, and otherwise its short paragraphs.
func TestShortOfLists(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := "A line of more than forty letters, as running text has them on a page."
	for _, c := range []struct{ text, want string }{
		{"Governance of shared wells\nTrust between owners\r\n\n  - The price of water  \n2024\n", "Governance of shared wells|Trust between owners|The price of water"},
		{"申请书的题目\n合作研究计划\n", "申请书的题目|合作研究计划"},
		{"Trust between owners", "Trust between owners"},
		{"Trust between owners\n\n" + long + "\n" + long, "Trust between owners"},
		{"Trust between\nowners and users\n\n" + long, "Trust between\nowners and users"},
		{long, ""},
		{"\n\n", ""},
	} {
		out, err := p.Profile(concordat.Document{ID: "d", Text: c.text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range out.Short {
			if s.Span.In(c.text) != s.Text {
				t.Errorf("%q: span %v is %q, text %q", c.text, s.Span, s.Span.In(c.text), s.Text)
			}
			got = append(got, s.Text)
		}
		if want := strings.FieldsFunc(c.want, func(r rune) bool { return r == '|' }); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", c.text, got, want)
		}
	}
}
