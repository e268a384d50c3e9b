package eval

import (
	"fmt"
	"strings"
	"testing"

	"concordat"
)

// TestJoinedByPassages: a batch's lead is right if it joins a passage with its original, from either side, or two passages with the same
// original.
func TestJoinedByPassages(t *testing.T) {
	at := func(start, end int) concordat.Span { return concordat.Span{Start: start, End: end} }
	cases := []marked{{susp: "d", source: "a", span: at(10, 20), sourceSpan: at(100, 200)},
		{susp: "e", source: "a", span: at(0, 5), sourceSpan: at(150, 250)}, {susp: "f", source: "a", span: at(0, 5), sourceSpan: at(200, 300)}}
	for _, c := range []struct {
		a, b     string
		inA, inB concordat.Span
		want     bool
	}{
		{"d", "a", at(15, 30), at(90, 101), true}, {"a", "d", at(90, 101), at(15, 30), true},
		{"d", "a", at(20, 30), at(90, 101), false}, {"d", "a", at(15, 30), at(90, 100), false}, {"d", "b", at(15, 30), at(90, 101), false},
		{"d", "e", at(12, 13), at(0, 1), true}, {"d", "f", at(12, 13), at(0, 1), false}, {"a", "b", at(100, 200), at(100, 200), false},
	} {
		if got := joinedByPassages(cases, c.a, c.b, c.inA, c.inB); got != c.want {
			t.Errorf("%s %v, %s %v: %v", c.a, c.inA, c.b, c.inB, got)
		}
	}
}

// TestWordingOfLeads: a lead counts as shared wording if half of its letters are shared wording.
func TestWordingOfLeads(t *testing.T) {
	a := smallCall(t).of("a.txt")
	for text, want := range map[string]bool{"Describe your project in 200 words.": true, "Rivers carry sand.": false,
		"200 words.\n\nLichens": true, "words.\n\nLichens grow": false} {
		i := strings.Index(a.text, text)
		if got := a.isWording(concordat.Span{Start: i, End: i + len(text)}); i < 0 || got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// guildTexts returns a text about bees, one about glass, and a rewording of the latter.
func guildTexts() []Doc {
	return []Doc{{"bees", "A swarm of bees hangs from a branch for a day or two while its scouts inspect hollow trees in every direction. " +
		"Returning scouts dance on the surface of the cluster, longer and livelier the better the cavity that they have seen."},
		{"first", "The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. " +
			"Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. " +
			"Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home."},
		{"second", "The year was 1411 when furnaces were no longer wanted in town, and so the guild went to an island called Lissa for fear of fire. " +
			"Each new apprentice promised on oath, with the warden as witness, that no recipe for glass in red would be taken past the lagoon. " +
			"Those who left all the same had their workshop taken away, and arrest awaited whatever relatives they had at home."}}
}

// TestScenarioLeads: between innocent documents, a lead counts once for each document that has one, and separately if the texts
// that it joins are known to be shared wording; a lead between a copy and its original does not count.
func TestScenarioLeads(t *testing.T) {
	bees, first, second := guildTexts()[0], guildTexts()[1], guildTexts()[2]
	files := map[string]string{"docs/a.txt": first.Text, "docs/b.txt": second.Text, "docs/c.txt": bees.Text, "docs/d.txt": bees.Text + " "}
	all := fmt.Sprintf("[[0, %d]]", len(second.Text))
	for _, c := range []struct {
		truth string
		want  innocentCount
	}{
		{"", innocentCount{2, 2, 0}},
		{`{"type": "legitimate", "kind": "quotation", "id": "q0", "places": {"b.txt": ` + all + `}}`, innocentCount{2, 2, 2}},
		{`{"type": "copy", "a": "a.txt", "b": "b.txt", "spans_a": [[0, 9]], "spans_b": [[0, 9]]}`, innocentCount{}},
	} {
		files["truth.jsonl"] = c.truth
		s, err := newInnocentScenario("guild", files)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{ctx: t.Context(), dir: t.TempDir()}
		read := leadsToRead("a test")
		got, err := r.scenarioLeads(s, nil, read)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want || len(read.Rows) != c.want.leads {
			t.Errorf("%s: %+v, of which %d to be read; want %+v", c.truth, got, len(read.Rows), c.want)
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLeadsOfBatch: the measurement finds the batch's lead, and none if leads were not requested.
func TestLeadsOfBatch(t *testing.T) {
	docs := guildTexts()
	for _, want := range []bool{false, true} {
		r := &run{ctx: t.Context(), dir: t.TempDir()}
		b, err := r.leadsOfBatch(itemsOf(docs), want, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(b.leads.Leads); got != one(want) {
			t.Fatalf("leads wanted %v: %d", want, got)
		}
		if want {
			read := leadsToRead("a test")
			b.read(read, "", &b.leads.Leads[0], textsIn(docs))
			row := read.Rows[0]
			if a, z := b.names(&b.leads.Leads[0]); a != "first" || z != "second" || !strings.Contains(row[3].(string), "guild of glass blowers") ||
				!strings.Contains(row[4].(string), "The year was 1411") {
				t.Errorf("%s, %s: %v", a, z, row)
			}
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJoinedDocs: documents are joined until they have the wanted number of words, and a shorter remainder is omitted.
func TestJoinedDocs(t *testing.T) {
	got := joinedDocs([]Doc{{"a", "one two"}, {"b", "three"}, {"c", "four five six"}, {"d", "seven"}}, 3)
	if len(got) != 2 || got[0] != (Doc{"joined-001", "one two\n\nthree\n\n"}) || got[1].Text != "four five six\n\n" {
		t.Errorf("%q", got)
	}
}
