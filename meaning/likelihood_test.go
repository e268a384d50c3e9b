package meaning_test

import (
	"testing"

	"concordat/meaning"
)

// TestCalibrated: likelihoods were measured with the embedded table, and increase with scores and lengths.
func TestCalibrated(t *testing.T) {
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := meaning.Calibrated()
	if c.Table != table.Digest() {
		t.Errorf("measured with table %s, embedded is %s: run concordat-lab likelihood", c.Table, table.Digest())
	}
	for name, curve := range map[string]meaning.Curve{"within": c.Within, "across": c.Across} {
		if curve.WorthReading <= 1 || c.Most <= curve.WorthReading {
			t.Errorf("%s: shown from %v, at most %v", name, curve.WorthReading, c.Most)
		}
		if curve.Passages < 20 || curve.Documents < 100 {
			t.Errorf("%s: measured on %d passages, %d documents", name, curve.Passages, curve.Documents)
		}
		if a, b, c := curve.At(0.1, 2), curve.At(0.2, 2), curve.At(0.2, 3); !(0 < a && a < b && b < c) {
			t.Errorf("%s: %v, %v, %v do not rise", name, a, b, c)
		}
	}
}

// TestWorthReading: anything that stands out enough to be shown is reported as likely, and never as more likely than measured.
func TestWorthReading(t *testing.T) {
	texts := read(t, reworded, source, other)
	l := meaning.Compare(texts[0], texts[1:]).Leads()[0][0]
	if c := meaning.Calibrated(); !l.WorthReading() || l.Likelihood() < c.Within.WorthReading || l.Likelihood() > c.Most {
		t.Errorf("likelihood %v, shown %v", l.Likelihood(), l.WorthReading())
	}
	l.Score = 0
	if l.WorthReading() || l.Likelihood() <= 0 {
		t.Errorf("that does not stand out: likelihood %v, shown %v", l.Likelihood(), l.WorthReading())
	}
	if none := (meaning.Lead{Score: 9, Sentences: 9}); none.WorthReading() || none.Likelihood() != 0 {
		t.Error("a lead of no measure is worth reading")
	}
}

// TestMeasuredModel: only the measured model is recognised, by the names that servers use for it.
func TestMeasuredModel(t *testing.T) {
	e := meaning.Calibrated().Encoder
	if c := e.Curve; c.Passages < 20 || c.Documents < 100 || !(c.At(0.1, 2) < c.At(0.2, 2) && c.At(0.2, 2) < c.At(0.2, 3)) {
		t.Errorf("%+v", c)
	}
	for model, want := range map[string]bool{"e5-query": true, "intfloat/multilingual-e5-small": true, "multilingual-e5-large": false,
		"multilingual-e5-small/other": false, "": false} {
		if e.Measured(model) != want {
			t.Errorf("%q: measured %v", model, !want)
		}
	}
}
