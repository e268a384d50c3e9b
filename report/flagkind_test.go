package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// flagged returns findings for a text, with flags at the places where the given words occur; an empty or absent word yields a flag
// without a place.
func flagged(text string, flags map[string][]string) *report.Findings {
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{Text: text}}
	for _, code := range []string{"look_alike", "white_text", "pictures", "hidden_text"} {
		for _, at := range flags[code] {
			x := concordat.Flag{Code: code, Detail: "detail of " + code, Count: 1}
			if i := strings.Index(text, at); at != "" && i >= 0 {
				x.Span = &concordat.Span{Start: i, End: i + len(at)}
			}
			f.Flags = append(f.Flags, x)
		}
	}
	return f
}

// TestFlagKinds: every kind of flag is one row with its size; kinds that can hide something come first and are counted.
func TestFlagKinds(t *testing.T) {
	text := "Thе first words are wrоng here. White words follow in a row. The rest is plain."
	r := report.Build(flagged(text, map[string][]string{"look_alike": {"Thе", "wrоng"},
		"white_text": {"White words follow", "words follow in a row"},
		"pictures":   {""}}), report.Rules{})
	var titles []string
	for _, k := range report.FlagKinds(r) {
		titles = append(titles, r.Language.FlagTitle(k))
		if r.Language.FlagMeans(k) == "" || k.Disguise && r.Language.FlagAdvice(k) == "" {
			t.Errorf("%s says neither what it means nor what to do", k.Code)
		}
	}
	if got, want := strings.Join(titles, "; "), "White text: 6 words; Replaced letters: 2 words; Pictures"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := report.Disguises(r.Flags); got != 2 {
		t.Errorf("%d kinds may hide something, want 2", got)
	}
	if got, want := r.Language.FlagsFound(report.FlagKinds(r)), "Flags: White text: 6 words; Replaced letters: 2 words"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for flag, want := range map[concordat.Flag]string{
		{Code: "leads_end", Count: 2712}:  "Leads stop before the end of the text: 2,712 sentences",
		{Code: "long_sources", Count: 3}:  "Long sources not searched to the end: 3 documents",
		{Code: "unknown_code", Count: 3}:  "Unknown code: 3 times",
		{Code: "lead_language", Count: 1}: "Leads not measured in this language"} {
		f := flagged(text, nil)
		f.Flags = []concordat.Flag{flag}
		if got := r.Language.FlagTitle(report.FlagKinds(report.Build(f, report.Rules{}))[0]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	plain := report.Build(flagged(text, map[string][]string{"pictures": {""}}), report.Rules{})
	if report.Disguises(plain.Flags) != 0 || plain.Language.FlagsFound(report.FlagKinds(plain)) != "" {
		t.Errorf("a picture may hide something: %q", plain.Language.FlagsFound(report.FlagKinds(plain)))
	}
	han := report.Build(flagged("这是正文。白色的文字。", map[string][]string{"hidden_text": {"白色的文字"}}), report.Rules{})
	if got, want := report.Language("zh-Hans").FlagTitle(report.FlagKinds(han)[0]), "隐藏文字：5 个字符"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFlagsBeyondTheMost: flags whose places are not stored are counted with the last flag that has a place.
func TestFlagsBeyondTheMost(t *testing.T) {
	f := flagged("Thе first words are wrоng here.", map[string][]string{"look_alike": {"Thе", "wrоng"}})
	f.Flags[1].Count = 50
	r := report.Build(f, report.Rules{})
	if got, want := r.Language.FlagTitle(report.FlagKinds(r)[0]), "Replaced letters: 51 words"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFlagKindsInEveryForm: JSON, text and summary say the same about flags as the page.
func TestFlagKindsInEveryForm(t *testing.T) {
	r := report.Build(flagged("Thе first words are wrоng here.", map[string][]string{"look_alike": {"wrоng"}}), report.Rules{})
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		FlagKinds []struct {
			Code, Name, Advice string
			Disguise           bool
			Count, Words       int
			Places             []concordat.Span
		} `json:"flag_kinds"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.FlagKinds) != 1 {
		t.Fatalf("got %+v", got.FlagKinds)
	}
	k := got.FlagKinds[0]
	if k.Code != "look_alike" || k.Name != "Replaced letters" || !k.Disguise || k.Count != 1 || k.Words != 1 || k.Advice == "" ||
		len(k.Places) != 1 || k.Places[0] != (concordat.Span{Start: 20, End: 25}) {
		t.Errorf("got %+v", k)
	}
	for _, write := range []func() error{func() error { return report.WriteSummary(&b, r) }, func() error { return report.WriteText(&b, r) }} {
		b.Reset()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "Replaced letters: 1 word. ") {
			t.Errorf("flags are missing in %s", b.String())
		}
	}
}

// TestFlagDetails: for several flags of one kind, each different detail is stated once, and further ones beyond the limit are counted.
func TestFlagDetails(t *testing.T) {
	f := flagged("These words are plain.", nil)
	for _, detail := range []string{"a.xml cannot be read", "b.xml is not read: 80 letters", "a.xml cannot be read"} {
		f.Flags = append(f.Flags, concordat.Flag{Code: "part", Detail: detail, Count: 1, Missing: true})
	}
	means := func() string {
		r := report.Build(f, report.Rules{})
		return r.Language.FlagMeans(report.FlagKinds(r)[0])
	}
	if got, want := means(), "A.xml cannot be read. B.xml is not read: 80 letters."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 21 {
		f.Flags = append(f.Flags, concordat.Flag{Code: "part", Detail: fmt.Sprintf("sheet %d cannot be read", i), Count: 1, Missing: true})
	}
	if got := means(); !strings.Contains(got, "Sheet 17 cannot be read. 3 more.") || strings.Contains(got, "Sheet 18") {
		t.Errorf("got %q, want 20 details and the number of the others", got)
	}
}
