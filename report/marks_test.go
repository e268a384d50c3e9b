package report_test

import (
	"strings"
	"testing"

	"concordat/report"
)

// TestAttributedQuotations: a quotation is legitimately shared if it names its source; quotation marks alone are not enough.
func TestAttributedQuotations(t *testing.T) {
	around := strings.Repeat("The writer goes on about other matters here and keeps to plain sentences of an ordinary length. ", 12)
	const quoted = "any information relating to an identified or identifiable natural person is personal data"
	const han = "本法所称的作品，是指文学、艺术和科学领域内具有独创性并能以一定形式表现的智力成果"
	for name, c := range map[string]struct {
		text string
		want string // empty for none
	}{
		"a provision named before":       {"Article 4 of the Regulation says: “" + quoted + "”. ", "“" + quoted + "”"},
		"a provision named behind":       {"The law has it so: “" + quoted + "” (Regulation (EU) 2016/679, Art. 4). ", "“" + quoted + "”"},
		"a citation behind":              {"It has been put like this: “" + quoted + "” [12]. ", "“" + quoted + "”"},
		"an author before":               {"Smith (2020, p. 4) puts it so: “" + quoted + "”. ", "“" + quoted + "”"},
		"a German section":               {"In § 51 des Urheberrechtsgesetzes heißt es: „" + quoted + "“. ", "„" + quoted + "“"},
		"a Chinese statute":              {"《中华人民共和国著作权法》第三条规定：“" + han + "。”", "“" + han + "。”"},
		"marks and no source":            {"Somebody has said: “" + quoted + "”. ", ""},
		"a source of another sentence":   {"Smith (2020) is of use here. Somebody has said: “" + quoted + "”. ", ""},
		"a source and no marks":          {"Article 4 of the Regulation says that " + quoted + ". ", ""},
		"a term":                         {"Article 4 says “personal data”. ", ""},
		"a text made of its quotations":  {strings.Repeat("Article 4 says: “"+quoted+"”. ", 40), ""},
		"a number that is no provision":  {"In 2020 people said: “" + quoted + "”. ", ""},
		"a bracket that is no citation":  {"Somebody has said: “" + quoted + "” (and went away). ", ""},
		"text that is not UTF-8 at edge": {"\xe7\xac" + strings.Repeat("\xac", 300) + "“" + quoted + "”. ", ""},
	} {
		text := around + "\n\n" + c.text + "\n\n" + around
		got := ""
		for _, s := range report.AttributedQuotations(text) {
			got += s.In(text)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
