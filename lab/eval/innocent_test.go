package eval

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// smallCall returns a call with three documents: a form that all have, and a sentence that b copied from a. The file of c is Markdown,
// which extraction changes.
func smallCall(t *testing.T) *innocentScenario {
	t.Helper()
	const form = "Describe your project in 200 words."
	const taken = "Lichens grow on northern bark."
	files := map[string]string{
		"template.txt":       form + "\n",
		"docs/a.txt":         form + "\n\n" + taken + "\n\nRivers carry sand.\n",
		"docs/b.txt":         form + "\n\nGlass bends light. " + taken + "\n",
		"docs/c.md":          "# " + form + "\n\nSeen.\n\nMoths *avoid* lamps.\n",
		"text/c.md.txt":      form + "\n\nMoths avoid lamps.\n",
		"text/unrelated.txt": "",
	}
	files["truth.jsonl"] = fmt.Sprintf(`{"type": "copy", "a": "a.txt", "b": "b.txt", "how": "60%%", "share_a": 0.4, "share_b": 0.09,`+
		` "spans_a": [[37, %d]], "spans_b": [[56, %d]]}
{"type": "legitimate", "kind": "form", "id": "f0", "documents": 3, "places": {"a.txt": [[0, 35]], "b.txt": [[0, 35]], "c.md": [[0, 35]]}}
`, 37+len(taken), 56+len(taken))
	s, err := newInnocentScenario("small", files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finding returns a report on a document in which one source contains the phrases.
func finding(d *innocentDoc, source string, share float64, phrases ...string) *report.Report {
	s := report.RankedSource{Share: share}
	s.Document = concordat.DocumentID(source)
	for _, p := range phrases {
		i := strings.Index(d.text, p)
		s.Held = append(s.Held, concordat.Span{Start: i, End: i + len(p)})
	}
	return &report.Report{Submission: concordat.Document{Text: d.text}, Sources: []report.RankedSource{s}}
}

func TestInnocentTruthIsPlaced(t *testing.T) {
	s := smallCall(t)
	for _, c := range []struct {
		name   string
		copied string // phrase that the other document has
		legit  string
	}{{"a.txt", "Lichens grow on northern bark.", "Describe your project in 200 words."},
		{"b.txt", "Lichens grow on northern bark.", "Describe your project in 200 words."},
		{"c.md", "", "Describe your project in 200 words"}} {
		d := s.of(c.name)
		got := ""
		for _, spans := range d.copied {
			got += spans[0].In(d.text)
		}
		if legit := d.legit[0].In(d.text); got != c.copied || legit != c.legit {
			t.Errorf("%s: copied %q and legitimate %q, want %q and %q", c.name, got, legit, c.copied, c.legit)
		}
	}
	if got := s.free(5); len(got) != 1 || got[0].name != "c.md" {
		t.Errorf("documents that no copy joins: %v", got)
	}
}

// TestInnocentJudging compares hand-made reports with the truth.
func TestInnocentJudging(t *testing.T) {
	s := smallCall(t)
	a := s.of("a.txt") // 29 letters and digits of the form, 25 copied, 15 of its own
	all := map[string]bool{"a.txt": true, "b.txt": true, "c.md": true}
	for _, c := range []struct {
		name                         string
		rep                          *report.Report
		partners                     map[string]bool
		over, alien                  float64
		found, copied, false10, lost int
	}{
		{"the copy", finding(a, "b.txt", 0.4, "Lichens grow on northern bark."), all, 0, 0, 25, 25, 0, 0},
		{"half of it", finding(a, "b.txt", 0.2, "Lichens grow on"), all, 0, 0, 13, 25, 0, 0},
		{"the form", finding(a, "b.txt", 0.4, "Describe your project in 200 words."), all, 29, 0, 0, 25, 0, 0},
		{"its own text", finding(a, "c.md", 0.03, "Rivers carry sand."), all, 15, 15, 0, 25, 1, 1},
		{"a small source", finding(a, "c.md", 0.029, "sand."), all, 4, 4, 0, 25, 0, 1},
		{"a copy of nobody asked", finding(a, "c.md", 0.3, "Lichens grow on northern bark."), map[string]bool{"c.md": true}, 25, 25, 0, 0, 1, 0},
		{"everything", finding(a, "b.txt", 1, a.text), all, 44, 15, 25, 25, 0, 0},
	} {
		row := &innocentRow{}
		row.judge(a, c.rep, c.partners)
		row.judgeSources(a, c.rep, c.partners)
		n := float64(len(a.letters))
		if math.Abs(row.over[0]*n-c.over) > 1e-6 || math.Abs(row.alien[0]*n-c.alien) > 1e-6 || row.found != c.found || row.copied != c.copied {
			t.Errorf("%s: over %v, alien %v, %d of %d copied, want %v, %v, %d of %d", c.name, row.over[0]*n, row.alien[0]*n,
				row.found, row.copied, c.over, c.alien, c.found, c.copied)
		}
		if row.false10 != c.false10 || row.missed != c.lost {
			t.Errorf("%s: %d innocent sources, %d missed, want %d, %d", c.name, row.false10, row.missed, c.false10, c.lost)
		}
	}
}

func TestInnocentSourcesTakenOutDoNotCount(t *testing.T) {
	a := smallCall(t).of("a.txt")
	rep := finding(a, "c.md", 0.5, a.text)
	rep.Sources[0].Excluded = concordat.ExcludedCommon
	row := &innocentRow{}
	row.judge(a, rep, nil)
	row.judgeSources(a, rep, nil)
	if row.over[0] != 0 || row.false10 != 0 {
		t.Errorf("over %v, %d innocent sources of what does not count", row.over[0], row.false10)
	}
}

func TestInnocentPairs(t *testing.T) {
	copies := []innocentCopy{{"a", "b", 0.4, 0.05}, {"d", "c", 0.09, 0.02}, {"a", "z", 0.9, 0.9}}
	compared := map[string]bool{"a": true, "b": true, "c": true, "d": true}
	row := &innocentRow{}
	row.judgePairs(map[[2]string]float64{pair("b", "a"): 0.4, pair("a", "c"): 0.1, pair("b", "c"): 0.3, pair("d", "c"): 0.5}, copies, compared)
	if row.false30 != 1 || row.false10 != 2 || row.missed != 0 || row.copies != 1 || row.strong != 1 {
		t.Errorf("got %+v", row)
	}
	row = &innocentRow{}
	row.judgePairs(nil, copies, compared)
	if row.false10 != 0 || row.missed != 1 || row.copies != 1 {
		t.Errorf("of nothing listed: got %+v", row)
	}
}

func TestBare(t *testing.T) {
	strange := strings.Repeat("alpha beta gamma ", 9) // 27 words
	for _, c := range []struct {
		here, there        string
		words, alone, long int
	}{
		{"", "anything", 0, 0, 0},
		{"The same words.", "the SAME words", 3, 0, 0},
		{"one of them", "a pair of shoes", 3, 3, 0}, // a single common word
		{"one lichen there", "lichen", 3, 2, 0},
		{"start here " + strange + "end here", "start here and end here", 31, 27, 27},
		{strings.Repeat("天", 40) + "地", "地", 41, 41, 41}, // a single particle
		{strings.Repeat("天", 30) + "河流", "河流", 32, 30, 0},
	} {
		words, alone, long := bare(c.here, c.there)
		if words != c.words || alone != c.alone || long != c.long {
			t.Errorf("%.20q: got %d, %d, %d, want %d, %d, %d", c.here, words, alone, long, c.words, c.alone, c.long)
		}
	}
}

// TestInnocentTruthOfCorpus judges the truth itself, as if reports covered exactly the copied text. No document is accused, and every
// letter is found.
func TestInnocentTruthOfCorpus(t *testing.T) {
	dir := os.Getenv("CONCORDAT_CORPORA")
	if dir == "" {
		t.Skip("CONCORDAT_CORPORA names no folder: evaluation text is not here")
	}
	scenarios, err := corpusDir(dir).innocent([]string{"05-articles", "09-ring"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		row := &innocentRow{}
		all := s.names()
		listed := map[[2]string]float64{}
		for _, d := range s.docs {
			rep := &report.Report{Submission: concordat.Document{Text: d.text}}
			for other, spans := range d.copied {
				source := report.RankedSource{Held: spans, Share: 1}
				source.Document = concordat.DocumentID(other)
				rep.Sources = append(rep.Sources, source)
				listed[pair(d.name, other)] = 1
			}
			row.judge(d, rep, all)
			row.judgeSources(d, rep, all)
		}
		row.judgePairs(listed, s.copies, all)
		if row.recall() != 1 || worst(row.over) != 0 || worst(row.alien) != 0 || row.false30 != 0 || row.false10 != 0 || row.missed != 0 {
			t.Errorf("%s: recall %v, over %v, alien %v, false %d and %d, missed %d", s.name, row.recall(), worst(row.over), worst(row.alien),
				row.false30, row.false10, row.missed)
		}
		sharing := slices.DeleteFunc(slices.Clone(s.docs), func(d *innocentDoc) bool { return len(d.legit) == 0 })
		if row.copied < 1000 || len(sharing) < len(s.docs)/2 {
			t.Errorf("%s: %d letters copied; few documents with shared wording", s.name, row.copied)
		}
	}
}

func TestCoverageDiffers(t *testing.T) {
	a := smallCall(t).of("a.txt")
	one := coverage{"a.txt": {{Start: 0, End: 9}}} // "Describe" and the space after it
	for _, c := range []struct {
		other coverage
		want  int
	}{{one, 0}, {coverage{"a.txt": {{Start: 4, End: 8}, {Start: 0, End: 4}}}, 0}, {nil, 8}, {coverage{"a.txt": {{Start: 2, End: 13}}}, 6}} {
		if got := one.differs(a, c.other); got != c.want {
			t.Errorf("%v: got %d, want %d", c.other, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	table := Table{Title: "t", Columns: []string{"of", "n", "gone", "share"}, Rows: [][]any{{"first", 3, 0.5, 12.345}, {"b", 10, 1, nil}}}
	table.drop("gone")
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	if want := "  of      n  share\n  first   3   12.3\n  b      10      -\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
