package eval

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"concordat/meaning"
)

func observedLeads(t *testing.T) []ObservedDocument {
	t.Helper()
	var all []ObservedDocument
	for _, name := range []string{"testdata/leads.jsonl", "testdata/leads-e5.jsonl"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		of, err := ReadObserved(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		all = append(all, of...)
	}
	return all
}

// TestLikelihoods: the embedded likelihoods follow from the observations, and predict other books better than a guess.
func TestLikelihoods(t *testing.T) {
	all := observedLeads(t)
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	made, err := json.MarshalIndent(Likelihoods(all, table.Digest()), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../meaning/data/likelihood.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(made)+"\n" != string(want) {
		t.Errorf("made %s\nembedded %s\nrun concordat-lab likelihood", made, want)
	}
	byTable, byEncoder := observedBy(all)
	if len(byTable)+len(byEncoder) != len(all) || len(byEncoder) == 0 {
		t.Errorf("%d documents by the table, %d by the encoder, of %d", len(byTable), len(byEncoder), len(all))
	}
	for _, x := range []struct {
		of    []ObservedDocument
		pairs languagePairs
	}{{byTable, withinLanguage}, {byTable, acrossLanguages}, {byEncoder, allLanguages}} {
		if r := CrossValidated(x.of, x.pairs); r.Brier >= r.Guess || len(r.Rows) < 3 {
			t.Errorf("pairs of languages %v: %+v", x.pairs, r)
		}
	}
	// Reversed scores must predict worse.
	wrong := slices.Clone(byTable)
	for i := range wrong {
		wrong[i].Leads = slices.Clone(wrong[i].Leads)
		for k := range wrong[i].Leads {
			wrong[i].Leads[k].Score = 1 / (1 + 9*wrong[i].Leads[k].Score)
		}
	}
	if r := CrossValidated(wrong, withinLanguage); r.Brier < CrossValidated(byTable, withinLanguage).Brier {
		t.Errorf("scores turned round predict as well: %+v", r)
	}
}

// TestFitCurve: fitting leads drawn from a curve recovers the curve.
func TestFitCurve(t *testing.T) {
	want := meaning.Curve{Base: -2, Score: 12, Sentences: 1.5}
	var of []exampleLead
	for i := range 60 {
		for n := range 5 {
			l := ObservedLead{Score: float64(i) / 150, Sentences: n + 1}
			x := want.At(l.Score, l.Sentences)
			of = append(of, exampleLead{l, true, 10 * x / (1 + x)}, exampleLead{l, false, 10 / (1 + x)})
		}
	}
	got := fitCurve(of)
	for _, x := range [][2]float64{{got.Base, want.Base}, {got.Score, want.Score}, {got.Sentences, want.Sentences}} {
		if math.Abs(x[0]-x[1]) > 0.05*math.Abs(x[1])+0.05 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestReadObserved: a line that is not an observation is refused with its number.
func TestReadObserved(t *testing.T) {
	in := strings.NewReader(`{"texts":"reworded","document":"a"}` + "\nnonsense")
	if _, err := ReadObserved(in); err == nil || !strings.Contains(err.Error(), "observation 2") {
		t.Errorf("error %v", err)
	}
}
