package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/html"
)

const (
	leadText  = "Floods are measured at gauges. Nobody owned the river for a hundred years. Then two towns did."
	leadThere = "For a century the river belonged to no one. After that it belonged to two cities."
)

// withLeads returns findings with a lead of two sentences from another language, and a lead covered by evidence.
func withLeads(t *testing.T) *report.Findings {
	t.Helper()
	at := func(text, phrase string) concordat.Span {
		i := strings.Index(text, phrase)
		if i < 0 {
			t.Fatalf("no %q", phrase)
		}
		return concordat.Span{Start: i, End: i + len(phrase)}
	}
	source := concordat.Ref{Site: "here", Library: "theses", Document: "river.txt"}
	pair := func(here, there string) report.LeadPair {
		return report.LeadPair{Span: at(leadText, here), SourceSpan: at(leadThere, there), SourcePoints: at(leadThere, there), Similarity: 0.5,
			Text: there}
	}
	lead := report.Lead{Span: at(leadText, leadText[strings.Index(leadText, "Nobody"):]), Source: source, Title: "The river",
		SourceSpan:   concordat.Span{End: len(leadThere)},
		SourcePoints: concordat.Span{End: len(leadThere)},
		Kind:         report.LeadTranslation,
		Languages:    [2]string{"en", "zh"}, Encoder: "table@0", Text: leadThere,
		Pairs: []report.LeadPair{pair("Nobody owned the river for a hundred years.", "For a century the river belonged to no one."),
			pair("Then two towns did.", "After that it belonged to two cities.")}}
	covered := lead
	covered.Span, covered.Pairs = at(leadText, "Floods are measured at gauges."), []report.LeadPair{
		pair("Floods are measured at gauges.", "For a century the river belonged to no one.")}
	return &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "a", Text: leadText},
		Leads: []report.Lead{lead, covered},
		Passages: []concordat.Passage{{Span: at(leadText, "Floods are measured at gauges."), Source: source, Kind: concordat.KindVerbatim,
			Similarity: 1, SourceSpan: concordat.Span{End: 10}}}}
}

// TestCountedLead: a lead counts, in addition to the share of evidence, only if a named person has decided so; a lead that was set aside
// shows the reason. Both also hold if its source has a different name.
func TestCountedLead(t *testing.T) {
	f := withLeads(t)
	open := report.Build(f, report.Rules{})
	if len(open.Leads) != 1 || open.Leads[0].Number != "L2" || open.Leads[0].State != report.LeadOpen || open.Scores.Leads != 0 ||
		open.CountedLeads() != "" {
		t.Fatalf("open: %+v, share %v", open.Leads, open.Scores.Leads)
	}
	if got := open.LeadWords(open.Leads[0].Lead); got != "says the same thing in other words (English, from Chinese)" {
		t.Errorf("words %q", got)
	}
	ruling := report.LeadRuling{Span: open.Leads[0].Span, Source: open.Leads[0].SourcePoints, Comment: "read both", By: "ada",
		At: time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)}
	counted := report.Rules{CountLeads: []report.LeadRuling{ruling}}
	to := open.Leads[0].Source
	to.Document = "deleted-0123456789abcdef"
	renamed := report.Renamed(f, map[concordat.Ref]concordat.Ref{open.Leads[0].Source: to})
	for _, f := range []*report.Findings{f, renamed} {
		r := report.Build(f, counted)
		const want = 50.0 / 75 // letters in the two sentences, and in the text
		if got := r.Scores.Leads; got < want-0.02 || got > want+0.02 || r.Scores.Covered != open.Scores.Covered {
			t.Errorf("counted: share %v, want about %v; covered %v, without %v", got, want, r.Scores.Covered, open.Scores.Covered)
		}
		forms(t, r, "Counted by ada", "read both")
		for name, less := range map[string]*report.Report{"without wording": report.WithoutWording(r), "scores only": report.ScoreOnly(r)} {
			if text := written(t, less); strings.Contains(text, "ada") || strings.Contains(text, "read both") ||
				strings.Contains(text, "For a century") || less.Scores.Leads == 0 {
				t.Errorf("%s, share %v:\n%s", name, less.Scores.Leads, text)
			}
		}
	}
	aside := report.Build(f, report.Rules{CountLeads: counted.CountLeads, SetAsideLeads: []report.LeadRuling{ruling}})
	if aside.Scores.Leads != 0 || aside.Leads[0].State != report.LeadSetAside {
		t.Errorf("set aside: share %v, %+v", aside.Scores.Leads, aside.Leads[0])
	}
	forms(t, aside, "Marked as not a lead by ada", "read both")
	elsewhere := ruling
	elsewhere.Source.Start++
	if r := report.Build(f, report.Rules{CountLeads: []report.LeadRuling{elsewhere}}); r.Scores.Leads != 0 {
		t.Error("a ruling about another place of the source counts the lead")
	}
	if err := (&report.Rules{CountLeads: []report.LeadRuling{{Span: ruling.Span}}}).Validate(); err == nil {
		t.Error("a ruling that names no place of a source is valid")
	}
}

// TestLeadsMeasured: the report states the figures of doc/evaluation/meaning.md, including an encoder's if one was used.
func TestLeadsMeasured(t *testing.T) {
	b, err := os.ReadFile("../doc/evaluation/meaning.md")
	if err != nil {
		t.Fatal(err)
	}
	f := withLeads(t)
	for encoder, words := range map[string]string{"table@0": "the embedded table", "e5": "multilingual-e5-small"} {
		for i := range f.Leads {
			f.Leads[i].Encoder = encoder
		}
		r := report.Build(f, report.Rules{})
		said := r.LeadsMeasured()
		figures := regexp.MustCompile(`[0-9]+ of [0-9]+`).FindAllString(said, -1)
		for _, figure := range figures {
			if !regexp.MustCompile(`\b` + figure + `\b`).Match(b) {
				t.Errorf("doc/evaluation/meaning.md has no %q", figure)
			}
		}
		if len(figures) < 2 || !strings.Contains(said, words) || strings.Count(written(t, r), words) != 2 {
			t.Errorf("%s: %q", encoder, said)
		}
	}
}

// TestLeadsSought: the report says how leads were searched for and in how many documents, even if none were found. Without the index, it
// says that only documents with words in common were searched, and states no figures measured with the index. It names languages without
// measurements. The figures come from doc/evaluation/meaning.md.
func TestLeadsSought(t *testing.T) {
	b, err := os.ReadFile("../doc/evaluation/meaning.md")
	if err != nil {
		t.Fatal(err)
	}
	row := func(name string) []string {
		m := regexp.MustCompile(`(?m)^\| ` + name + ` \| [0-9]+ of ([0-9]+) \| ([0-9]+) \| ([0-9]+) \|`).FindStringSubmatch(string(b))
		if m == nil {
			t.Fatalf("doc/evaluation/meaning.md has no row %s", name)
		}
		return m
	}
	english, chinese, translated := row("rewritten, English"), row("rewritten, Chinese"), row("translated")
	f := withLeads(t)
	for _, c := range []struct {
		search leadSearchCase
		says   []string
		not    string
	}{
		{leadSearchCase{true, 0, "table@0", "en"}, []string{"7 of 9 documents were compared by meaning", "compared with the embedded table",
			english[2] + " of " + english[1] + " passages", translated[2] + " of " + translated[1] + " translations"}, "Only the"},
		{leadSearchCase{true, 0, "e5-query", "zh"}, []string{"compared with the encoder e5-query", chinese[3] + " of " + chinese[1] + " passages",
			translated[3] + " of " + translated[1] + " translations"}, "compared with the embedded table"},
		{leadSearchCase{true, 4, "table@0", "en"}, []string{"documents are not indexed by meaning yet"}, "Only the"},
		{leadSearchCase{false, 0, "table@0", "en"}, []string{"Only the 7 of 9 documents that share the most words", "was not measured"},
			"In tests among"},
		{leadSearchCase{true, 0, "table@0", "fr"}, []string{"not measured in this language (French)"}, "In tests among"},
		{leadSearchCase{true, 0, "table@0", ""}, []string{"language of this text is not known"}, "In tests among"},
		{leadSearchCase{true, 0, "bge-m3", "en"}, []string{"This encoder was not measured"}, "In tests among"},
	} {
		for _, leads := range [][]report.Lead{f.Leads, {}} {
			g := *f
			g.Leads = leads
			g.LeadSearch = &report.LeadSearch{Documents: 9, Compared: 7, Index: c.search.index, NotIndexed: c.search.missing, By: c.search.by,
				Language: c.search.language}
			r := report.Build(&g, report.Rules{})
			said := report.LeadsSought(r)
			for _, want := range c.says {
				if !strings.Contains(said, want) {
					t.Errorf("%+v: %q lacks %q", c.search, said, want)
				}
			}
			if strings.Contains(said, c.not) || c.search.index == strings.Contains(r.LeadsMeasured(), "no figures") {
				t.Errorf("%+v: %q, %q", c.search, said, r.LeadsMeasured())
			}
			if text := strings.Join(strings.Fields(written(t, r)), " "); strings.Count(text, c.says[0]) < 2 {
				t.Errorf("text or page do not say %q", c.says[0])
			}
			s := schema(t)
			if err := check(s, s, parse(t, r), "report"); err != nil {
				t.Error(err)
			}
		}
	}
	if f.LeadSearch != nil || report.LeadsSought(report.Build(f, report.Rules{})) != "" {
		t.Error("findings of an earlier version say how leads were looked for")
	}
}

// leadSearchCase is a way of searching for leads.
type leadSearchCase struct {
	index        bool
	missing      int
	by, language string
}

// TestLikelihood: a report states the likelihood of each measured lead to two digits, and none for a lead that was not measured.
func TestLikelihood(t *testing.T) {
	f := withLeads(t)
	for _, x := range []struct {
		likelihood float64
		says, json string
	}{
		{12.345, "Likely: 12 to 1", `"likelihood": 12,`}, {2.449, "Likely: 2.4 to 1", `"likelihood": 2.4,`},
		{20, "Likely: 20 to 1 or more", `"likelihood": 20,`}, {0, "", `"likelihood": null,`},
	} {
		for i := range f.Leads {
			f.Leads[i].Likelihood = x.likelihood
		}
		r := report.Build(f, report.Rules{})
		if x.says == "" {
			if text := written(t, r); strings.Contains(text, "as frequent in reworded") {
				t.Errorf("not measured:\n%s", text)
			}
		} else if text := strings.Join(strings.Fields(written(t, r)), " "); strings.Count(text, x.says) != 2 {
			t.Errorf("text or page do not say %q:\n%s", x.says, text)
		}
		var b bytes.Buffer
		if err := report.WriteJSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), x.json) {
			t.Errorf("%v: no %s in JSON", x.likelihood, x.json)
		}
		if err := check(schema(t), schema(t), parse(t, r), "report"); err != nil {
			t.Error(err)
		}
	}
}

// written returns a report as text and as a page.
func written(t *testing.T, r *report.Report) string {
	t.Helper()
	var b, page bytes.Buffer
	if err := report.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := html.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	return b.String() + assets.ReplaceAllString(page.String(), "")
}

// forms checks the wording about a report's only lead in every format except PDF.
func forms(t *testing.T, r *report.Report, words ...string) {
	t.Helper()
	for _, w := range words {
		if text := written(t, r); strings.Count(strings.Join(strings.Fields(text), " "), w) < 2 {
			t.Errorf("text or page do not say %q:\n%s", w, text)
		}
	}
	s := schema(t)
	if err := check(s, s, parse(t, r), "report"); err != nil {
		t.Error(err)
	}
	var got struct {
		Leads []struct{ Number, State, Comment, By string }
		Rules struct {
			Count    []struct{ By string } `json:"count_leads"`
			SetAside []struct{ By string } `json:"set_aside_leads"`
		}
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || len(got.Leads) != 1 || got.Leads[0].State != string(r.Leads[0].State) || got.Leads[0].By != "ada" ||
		got.Leads[0].Comment != "read both" || len(got.Rules.Count)+len(got.Rules.SetAside) == 0 {
		t.Errorf("JSON: %+v, %v", got, err)
	}
	var table strings.Builder
	if err := report.WriteCSV(&table, r, report.CSVOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	last := rows[len(rows)-1]
	if err != nil || last[0] != "L2" || last[3] != "lead" || last[4] != "no" ||
		strings.Join(last[len(last)-12:len(last)-9], ",") != string(r.Leads[0].State)+",ada,read both" {
		t.Errorf("CSV: %q, %v", last, err)
	}
}

// TestChosenLeads: each format includes only the chosen leads and states the number of all leads; the text marks only chosen leads too.
// Scores and counts do not change.
func TestChosenLeads(t *testing.T) {
	f := withLeads(t)
	open := report.Build(f, report.Rules{})
	ruling := report.LeadRuling{Span: open.Leads[0].Span, Source: open.Leads[0].SourcePoints, Comment: "read both", By: "ada"}
	r := report.Build(f, report.Rules{CountLeads: []report.LeadRuling{ruling}})
	share, s := r.Scores.Leads, schema(t)
	for _, c := range []struct {
		filter report.LeadFilter
		words  string
		leads  int
	}{
		{report.LeadFilter{State: report.LeadCounted, Languages: "en-zh"}, "1 of 1 leads are shown. Filter: counted, English, from Chinese.", 1},
		{report.LeadFilter{State: report.LeadOpen}, "0 of 1 leads are shown. Filter: not decided.", 0},
		{report.LeadFilter{Least: 2.5}, "0 of 1 leads are shown. Filter: 2.5 to 1 or more.", 0},
	} {
		r.LeadFilter = c.filter
		text := strings.Join(strings.Fields(written(t, r)), " ")
		if n := strings.Count(text, c.words); n != 2 {
			t.Errorf("text and page say %q %d times, want twice:\n%s", c.words, n, text)
		}
		for _, mark := range []string{"[L2] ", `id="L2"`, `id="tL2"`} {
			if n := strings.Count(text, mark); n != c.leads {
				t.Errorf("%+v: %q %d times, want %d", c.filter, mark, n, c.leads)
			}
		}
		v := parse(t, r)
		if err := check(s, s, v, "report"); err != nil {
			t.Error(err)
		}
		if of, leads := v["lead_filter"].(map[string]any), v["leads"].([]any); of["total"] != 1.0 || len(leads) != c.leads {
			t.Errorf("%+v: JSON has %d leads, filter %v", c.filter, len(leads), of)
		}
		var b bytes.Buffer
		if err := report.WriteCSV(&b, r, report.CSVOptions{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n\"L2\","); n != c.leads {
			t.Errorf("%+v: CSV has %d leads, want %d", c.filter, n, c.leads)
		}
		if r.Scores.Leads != share || *r.LeadCount() != (concordat.LeadCount{All: 1, Counted: 1}) {
			t.Errorf("%+v: share %v, count %v", c.filter, r.Scores.Leads, r.LeadCount())
		}
	}
}

// TestLeadToOwnWork: each format says that the source of a lead may be the author's own earlier work, until a person decides; a document
// later than the text, or by someone else, is not proposed.
func TestLeadToOwnWork(t *testing.T) {
	f := withLeads(t)
	f.Passages = nil
	source := f.Leads[0].Source
	f.Authors = concordat.ParseCreators("J. Roe (0000-0002-1825-0097)")
	f.Works = []report.SourceWork{{Source: source, Authors: concordat.ParseCreators("Roe, Jane (0000-0002-1825-0097)")}}
	const says = "Probably the author's own earlier work"
	read := func(r *report.Report) (by string, words int) {
		t.Helper()
		if err := check(schema(t), schema(t), parse(t, r), "report"); err != nil {
			t.Error(err)
		}
		b, err := json.Marshal(r)
		var got struct {
			Leads []struct {
				Own *struct{ By string } `json:"own_work"`
			}
		}
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		var table strings.Builder
		if err == nil {
			err = report.WriteCSV(&table, r, report.CSVOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got.Leads {
			if l.Own != nil {
				by += l.Own.By
			}
		}
		rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		in := ""
		for _, row := range rows[1:] {
			in += row[len(row)-3]
		}
		if in != by {
			t.Errorf("the table says %q, JSON %q", in, by)
		}
		text := strings.ReplaceAll(written(t, r), "&#39;", "'")
		return by, strings.Count(strings.Join(strings.Fields(text), " "), says)
	}
	if by, words := read(report.Build(f, report.Rules{})); by != "orcidorcid" || words != 4 {
		t.Errorf("proposed by %q, %d times", by, words)
	}
	if by, words := read(report.Build(f, report.Rules{NotOwnWork: []concordat.Ref{source}})); by != "" || words != 0 {
		t.Errorf("dismissed: by %q, %d times", by, words)
	}
	if r := report.Build(f, report.Rules{OwnWork: []concordat.Ref{source}}); len(r.Leads) != 0 {
		t.Errorf("marked as own: %d leads", len(r.Leads))
	}
	f.Dated, f.Dates = "2020", []report.SourceDate{{Source: source, Date: "2021", By: concordat.DateGiven}}
	if by, words := read(report.Build(f, report.Rules{})); by != "" || words != 0 {
		t.Errorf("later: by %q, %d times", by, words)
	}
	f.Dates, f.Authors = nil, concordat.ParseCreators("Ann Lee")
	if by, words := read(report.Build(f, report.Rules{})); by != "" || words != 0 {
		t.Errorf("by another author: by %q, %d times", by, words)
	}
}
