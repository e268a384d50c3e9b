package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// ids returns identifiers of works.
func ids(all ...string) (out []concordat.WorkID) {
	for _, s := range all {
		id, ok := concordat.ParseWorkID(s)
		if !ok {
			panic(s)
		}
		out = append(out, id)
	}
	return out
}

func in(library, document string) concordat.Ref {
	return concordat.Ref{Site: "a", Library: concordat.LibraryID(library), Document: concordat.DocumentID(document)}
}

// TestJoinWorks: sources that are texts of one work are joined.
func TestJoinWorks(t *testing.T) {
	roe, doe := concordat.ParseCreators("Roe, Jane"), concordat.ParseCreators("John Doe")
	work := func(id string, creators []concordat.Creator) concordat.Work {
		w := concordat.Work{Title: "On tides", Creators: creators}
		if id != "" {
			w.IDs = ids(id)
		}
		return w
	}
	for name, c := range map[string]struct {
		a, b SourceWork
		want bool
	}{
		"one DOI, other texts": {SourceWork{Work: work("10.5072/x", nil), Text: "1"},
			SourceWork{Work: work("https://doi.org/10.5072/X", nil), Text: "2"}, true},
		"one handle": {SourceWork{Work: work("hdl:1234/5", nil)}, SourceWork{Work: work("https://hdl.handle.net/1234/5", nil)}, true},
		"other DOIs": {SourceWork{Work: work("10.5072/x", nil), Text: "1"}, SourceWork{Work: work("10.5072/y", nil), Text: "2"}, false},
		"one title":  {SourceWork{Work: work("", roe), Text: "1"}, SourceWork{Work: work("", roe), Text: "2"}, false},
		"one text":   {SourceWork{Text: "1"}, SourceWork{Text: "1"}, true},
		"one text, one author": {SourceWork{Text: "1", Authors: roe},
			SourceWork{Work: work("", concordat.ParseCreators("Jane Roe")), Text: "1"}, true},
		"one text, one unknown":   {SourceWork{Text: "1", Authors: roe}, SourceWork{Text: "1"}, true},
		"one text, other authors": {SourceWork{Text: "1", Authors: roe}, SourceWork{Text: "1", Authors: doe}, false},
		"one text, other DOIs":    {SourceWork{Work: work("10.5072/x", roe), Text: "1"}, SourceWork{Work: work("10.5072/y", roe), Text: "1"}, true},
		"texts unknown":           {SourceWork{Authors: roe}, SourceWork{Authors: roe}, false},
		"one person": {SourceWork{Work: concordat.Work{IDs: ids("0000-0002-1825-0097")}, Text: "1"},
			SourceWork{Work: concordat.Work{IDs: ids("0000-0002-1825-0097")}, Text: "2"}, false},
	} {
		c.a.Source, c.b.Source = in("l", "a"), in("m", "b")
		f := &Findings{Works: []SourceWork{c.a, c.b}}
		JoinWorks(f)
		a, b := f.Works[0].Same, f.Works[1].Same
		if got := a != (concordat.Ref{}); got != c.want || a != b {
			t.Errorf("%s: %v and %v, want the same: %v", name, a, b, c.want)
		}
	}
	// Sameness is transitive: two texts equal to a third are joined.
	f := &Findings{Works: []SourceWork{{Source: in("m", "a"), Text: "1"}, {Source: in("l", "b"), Work: work("10.5072/x", nil)},
		{Source: in("l", "c"), Text: "1", Work: work("10.5072/x", nil)}, {Source: in("l", "d"), Text: "2"}}}
	JoinWorks(f)
	if w := f.Works; w[0].Same != w[1].Same || w[1].Same != w[2].Same || w[3].Same != (concordat.Ref{}) {
		t.Errorf("works %+v", w)
	}
	// The same text by two authors is two sources, and a text without an author does not join two authors.
	for name, works := range map[string][]SourceWork{
		"one library":            {{Source: in("l", "a"), Text: "1"}, {Source: in("l", "b"), Text: "1"}},
		"one library, one known": {{Source: in("l", "a"), Text: "1", Authors: roe}, {Source: in("l", "b"), Text: "1"}},
		"two authors and none": {{Source: in("l", "a"), Text: "1", Authors: roe}, {Source: in("m", "b"), Text: "1"},
			{Source: in("n", "c"), Text: "1", Authors: doe}},
	} {
		f := &Findings{Works: works}
		JoinWorks(f)
		if a, b := works[0].Same, works[len(works)-1].Same; a != (concordat.Ref{}) && a == b {
			t.Errorf("%s: the first and the last are one source: %+v", name, works)
		}
	}
	// If only one library names the author of a text, the other library's copy does not become the author's own work.
	c := newCopies([]SourceWork{{Source: in("l", "a"), Text: "1", Authors: roe, Same: in("l", "a")},
		{Source: in("m", "b"), Text: "1", Same: in("l", "a")}})
	own := refSet{in("l", "a"): true}
	if c.extend(refSet{}, own); own[in("m", "b")] {
		t.Error("a text without an author became the author's own")
	}
}

// copied returns findings in which each source has a second text of the same work in another library.
func copied(f *Findings) *Findings {
	out := *f
	out.Passages = nil
	known := map[concordat.Ref]bool{}
	twin := func(r concordat.Ref) concordat.Ref { r.Library = "copies-" + r.Library; return r }
	for _, p := range f.Passages {
		q := p
		q.Source = twin(p.Source)
		out.Passages = append(out.Passages, p, q)
		if !known[p.Source] {
			known[p.Source] = true
			text := p.Source.String()
			out.Works = append(out.Works, SourceWork{Source: p.Source, Text: text}, SourceWork{Source: q.Source, Text: text})
		}
	}
	JoinWorks(&out)
	return &out
}

// TestCopiesChangeNothing: shares, passages and letters of a report are the same whether its sources' works are in one library or in two.
func TestCopiesChangeNothing(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := randomFindings(rnd)
		rules := Rules{MinSourceShare: []float64{0, 0.2}[seed%2], MinCharacters: int(seed % 3 * 10)}
		if seed%5 == 0 && len(f.Passages) > 0 {
			rules.ExcludeSources = []concordat.Ref{f.Passages[0].Source}
		}
		one, two := Build(f, rules), Build(copied(f), rules)
		if d := cmp.Diff(one.Scores, two.Scores); d != "" {
			t.Fatalf("seed %d: scores:\n%s", seed, d)
		}
		if len(one.Sources) != len(two.Sources) || !slices.Equal(one.Numbers, two.Numbers) {
			t.Fatalf("seed %d: %d sources and passages %v, with copies %d and %v", seed, len(one.Sources), one.Numbers, len(two.Sources), two.Numbers)
		}
		for i, s := range two.Sources {
			x := one.Sources[i]
			if s.Share != x.Share || s.Alone != x.Alone || s.Verbatim != x.Verbatim || s.Excluded != x.Excluded || s.Letter() != x.Letter() ||
				len(s.Also) != 1 || !slices.Contains(s.AllPlaces(), x.Ref) || two.Source(s.Also[0].Ref) != i {
				t.Fatalf("seed %d: source %d is %+v, with copies %+v", seed, i, x, s)
			}
		}
		for i, e := range two.Evidence {
			if len(e.Sources) != len(one.Evidence[i].Sources) {
				t.Fatalf("seed %d: passage %d has %d sources, with copies %d", seed, i, len(one.Evidence[i].Sources), len(e.Sources))
			}
		}
	}
}

// twoTexts returns findings with two different texts of one work in two libraries. The second has one more passage and another source.
func twoTexts() *Findings {
	text := strings.Repeat("the committee of seven met in the hall of the guild. ", 20)
	passage := func(from, to int, of concordat.Ref, title string) concordat.Passage {
		return concordat.Passage{Span: concordat.Span{Start: from, End: to}, Source: of, Title: title, Similarity: 1,
			Kind:       concordat.KindVerbatim,
			SourceSpan: concordat.Span{Start: from, End: to}}
	}
	f := &Findings{Version: Version, Submission: concordat.Document{ID: "s", Text: text},
		Passages: []concordat.Passage{passage(0, 300, in("journals", "x"), "On tides"), passage(0, 301, in("theses", "y"), "On tides, a thesis"),
			passage(600, 800, in("theses", "y"), "On tides, a thesis"), passage(400, 450, in("theses", "z"), "Other")},
		Works: []SourceWork{
			{Source: in("journals", "x"), Work: concordat.Work{Title: "On tides", IDs: ids("10.5072/x"), Page: "https://journal.example/x",
				Creators: []concordat.Creator{{Name: "Roe, Jane", ORCID: "0000-0002-1825-0097", ROR: "05gq02987"}}}},
			{Source: in("theses", "y"), Work: concordat.Work{IDs: ids("10.5072/x"), Page: "javascript:alert(1)", License: "all rights reserved"}},
			{Source: in("theses", "z")}}}
	JoinWorks(f)
	return f
}

// TestTwoTexts: two different texts of one work are one source. The source has everything that either contains, and each passage keeps
// its own text.
func TestTwoTexts(t *testing.T) {
	f := twoTexts()
	r := Build(f, Rules{})
	if len(r.Sources) != 2 || r.Sources[0].Ref != in("theses", "y") || r.Sources[0].Letter() != "A" || len(r.Sources[0].Also) != 1 {
		t.Fatalf("sources %+v", r.Sources)
	}
	if a := r.Sources[0].Also[0]; a.Ref != in("journals", "x") || a.Title != "On tides" || a.Page != "https://journal.example/x" {
		t.Errorf("also %+v", a)
	}
	for name, c := range map[string]struct {
		rules Rules
		want  string // sources that count, then others
	}{
		"library of one text":  {Rules{ExcludeSources: []concordat.Ref{in("theses", "")}}, "A journals/x; B theses/z source"},
		"one text":             {Rules{ExcludeSources: []concordat.Ref{in("journals", "x")}}, "B theses/z; A theses/y source"},
		"own work":             {Rules{OwnWork: []concordat.Ref{in("journals", "x")}}, "B theses/z; A theses/y own_work"},
		"library of own works": {Rules{OwnWork: []concordat.Ref{in("journals", "")}}, "B theses/z; A theses/y own_work"},
	} {
		var got []string
		for _, s := range Build(f, c.rules).Sources {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", s.Letter(), s.Library, s.Document, s.Excluded)))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, "; "), c.want)
		}
	}
}

// TestWorkInForms: JSON, CSV and text contain the identifiers, pages and other places of a work, and no invalid address.
func TestWorkInForms(t *testing.T) {
	f := twoTexts()
	f.Authors = concordat.ParseCreators("Jane Roe (0000-0002-1825-0097)")
	r := Build(f, Rules{})
	r.Language, r.Names.Site = English, "a"
	var b bytes.Buffer
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Sources []struct {
			Work *struct {
				IDs      []struct{ URL string }
				Creators []struct {
					ORCIDURL string `json:"orcid_url"`
					RORURL   string `json:"ror_url"`
				}
				Page string
			}
			Also []struct{ Library, Document, Page string }
			Own  *struct{ By, Author, ORCID string } `json:"own_work"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	s := j.Sources[0]
	if s.Work == nil || s.Work.IDs[0].URL != "https://doi.org/10.5072/x" || s.Work.Page != "" || len(s.Also) != 1 ||
		s.Also[0].Document != "x" || s.Also[0].Page != "https://journal.example/x" || s.Own == nil || s.Own.By != "orcid" {
		t.Errorf("JSON %+v", s)
	}
	if strings.Contains(b.String(), "javascript") {
		t.Error("an address that is none")
	}
	b.Reset()
	if err := WriteCSV(&b, r, CSVOptions{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got, want := rows[1][len(rows[1])-6:len(rows[1])-2], []string{"A", "journals/x", "https://doi.org/10.5072/x", "orcid"}
	if !slices.Equal(got, want) {
		t.Errorf("CSV %q, want %q", got, want)
	}
	b.Reset()
	if err := WriteSummary(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The same work, also in journals/x", "https://doi.org/10.5072/x", "Probably the author's own"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestOwnWork: a report proposes works as the author's own earlier ones and says why; a decision ends the proposal.
func TestOwnWork(t *testing.T) {
	for name, c := range map[string]struct{ authors, of, want string }{
		"ORCID, other spelling":  {"J. Roe-Meyer (0000-0002-1825-0097)", "Roe, Jane (0000-0002-1825-0097)", "orcid"},
		"other ORCID, same name": {"Jane Roe (0000-0002-1694-233X)", "Roe, Jane (0000-0002-1825-0097)", ""},
		"name":                   {"Jane Roe", "Roe, Jane (0000-0002-1825-0097)", "name"},
		"initial":                {"J. Roe", "Roe, Jane M.", "name"},
		"accents":                {"Zoë Müller", "Mueller, Zoe", "name"},
		"family name alone":      {"Roe", "Roe, Jane", ""},
		"other given name":       {"Jane Roe", "Roe, John", ""},
		"other initials":         {"J. A. Roe", "Roe, J. B.", ""},
		"one of several":         {"Ann Lee; Jane Roe", "Doe, John; Roe, Jane", "name"},
		"Chinese":                {"王小明", "王小明", "name"},
		"order":                  {"Wang Xiaoming", "Xiaoming Wang", "name"},
		"no name":                {"Microsoft Office User", "Microsoft Office User", ""},
		"nobody":                 {"", "", ""},
	} {
		f := twoTexts()
		f.Authors = concordat.ParseCreators(c.authors)
		f.Works[0].Work.Creators = concordat.ParseCreators(c.of) // creators of the text that is not first
		got := ""
		if o := Build(f, Rules{}).Sources[0].Own; o != nil {
			got = o.By
		}
		if got != c.want {
			t.Errorf("%s: by %q, want %q", name, got, c.want)
		}
		for _, rules := range []Rules{{NotOwnWork: []concordat.Ref{in("journals", "x")}}, {OwnWork: []concordat.Ref{in("theses", "y")}}} {
			if s := Build(f, rules).Sources; s[0].Own != nil || s[1].Own != nil {
				t.Errorf("%s: proposed after a decision", name)
			}
		}
	}
	// A partner's document is known only by name, and a text later than the submission is not an earlier work.
	f := twoTexts()
	f.Authors = concordat.ParseCreators("Jane Roe")
	f.Partners = []PartnerSource{{Ref: in("theses", "z"), Author: "Roe, J."}}
	f.Works = f.Works[:2]
	f.Dated, f.Dates = "2020", []SourceDate{{Source: in("journals", "x"), Date: "2021", By: concordat.DateGiven}}
	s := Build(f, Rules{}).Sources
	if s[0].Own != nil || s[1].Own == nil || s[1].Own.By != OwnByName {
		t.Errorf("sources %+v", s)
	}
}

// TestOldestCopy: a work has the date of its oldest text.
func TestOldestCopy(t *testing.T) {
	f := twoTexts()
	f.Dated, f.Dates = "2010", []SourceDate{{Source: in("journals", "x"), Date: "2001", By: concordat.DateGiven},
		{Source: in("theses", "y"), Date: "2019", By: concordat.DateOfFile}}
	s := Build(f, Rules{}).Evidence[0].Sources[0]
	if s.Ref != in("theses", "y") || s.Date != "2001" || s.By != concordat.DateGiven || s.Later {
		t.Errorf("%+v", s)
	}
}

// TestRedactedWork: hiding a source also hides its work; its letter stays, and a visible text represents the work.
func TestRedactedWork(t *testing.T) {
	f := twoTexts()
	r := Build(Redact(f, func(ref concordat.Ref) bool { return ref.Library == "theses" }), Rules{})
	if s := r.Sources[0]; len(r.Sources) != 2 || s.Letter() != "A" || s.Ref != in("journals", "x") || s.Title == HiddenTitle ||
		s.Work == nil || s.Work.License != "" || len(s.Also) != 1 || s.Also[0].Title != HiddenTitle || s.Also[0].Page != "" {
		t.Errorf("%+v", s)
	}
	to := in("theses", "deleted-1")
	r = Build(Renamed(f, map[concordat.Ref]concordat.Ref{in("theses", "y"): to}), Rules{})
	if s := r.Sources[0]; s.Ref != to || len(s.Also) != 1 {
		t.Errorf("renamed %+v", s)
	}
}
