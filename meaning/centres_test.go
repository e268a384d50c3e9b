package meaning

import (
	"slices"
	"testing"

	"concordat"
)

// TestCentresOfLanguages: the centres belong to the embedded table. A centre removes the direction that sentences on different subjects
// share because of their language. The common centre of all alphabets, which is near English, leaves much of it.
func TestCentresOfLanguages(t *testing.T) {
	c := languageCentres()
	if c.Table != table(t).Digest() || c.Notice == "" || len(c.Centres) < 15 {
		t.Errorf("%d centres for table %s, %q: run concordat-lab centres", len(c.Centres), c.Table, c.Notice)
	}
	e := NewEncoder(table(t))
	common := func(texts []string, language string) float32 {
		var sum Vector
		for _, text := range texts {
			mean := e.mean(text)
			v := defaultCells(t).Direction(&mean, Wide(text), language)
			if n := Dot(&v, &v); n < 0.999 || n > 1.001 {
				t.Errorf("length %v: %s", n, text)
			}
			for k, x := range v {
				sum[k] += x / float32(len(texts))
			}
		}
		return sqrt(Dot(&sum, &sum))
	}
	texts := map[string][]string{"es": {
		"El puerto estuvo cerrado tres semanas porque el hielo bloqueaba el canal.",
		"Los niños que leen cada noche aprenden palabras nuevas más deprisa.",
		"La comisión rechazó el presupuesto, pues el coste del puente se había duplicado.",
		"Los lobos volvieron al valle después de más de un siglo de ausencia.",
		"La mayoría de los pacientes se sintió mejor a los dos días de tomar el medicamento.",
		"El pintor destruyó sus primeras obras porque se avergonzaba de ellas.",
		"Los suelos arcillosos retienen el agua y las raíces se pudren en invierno.",
		"El motor se paró porque el polvo había obstruido el filtro de aire.",
	}}
	for _, s := range sampleSet {
		texts[s.Language] = append(texts[s.Language], s.Text)
	}
	for language, of := range texts {
		byScript, byLanguage := common(of, ""), common(of, language)
		switch {
		case language == "zh" && byScript != byLanguage:
			t.Errorf("Chinese has a centre: %v, by script %v", byLanguage, byScript)
		case language != "zh" && language != "en" && byLanguage > 0.8*byScript, byLanguage > byScript:
			t.Errorf("%s: sentences have %v in common, and %v if centred by script", language, byLanguage, byScript)
		}
	}
}

// TestMeanOfWords: each word counts by its frequency, and no words have no mean.
func TestMeanOfWords(t *testing.T) {
	words := func(list ...any) Vector {
		return table(t).MeanOfWords(func(yield func(string, float64) bool) {
			for i := 0; i < len(list); i += 2 {
				if !yield(list[i].(string), list[i+1].(float64)) {
					return
				}
			}
		})
	}
	near := func(a, b Vector) bool {
		for k := range a {
			if d := a[k] - b[k]; d > 1e-4 || d < -1e-4 {
				return false
			}
		}
		return true
	}
	three := NewEncoder(table(t)).mean("harbour ice ice ice")
	if got := words("harbour", 0.1, "ice", 0.3); !near(got, three) || near(got, words("harbour", 0.3, "ice", 0.1)) {
		t.Errorf("mean %v, want %v", got[:4], three[:4])
	}
	if words() != (Vector{}) {
		t.Error("no words have a mean")
	}
}

// TestDirectionsBetweenLanguages: sentences in German stand out more at the one that says the same in English if the languages of both
// texts are known. The cells of a text and the questions about it follow its language, too.
func TestDirectionsBetweenLanguages(t *testing.T) {
	c, e := defaultCells(t), NewEncoder(table(t))
	var english, german []string
	for _, s := range sampleSet {
		switch {
		case s.Language == "en" && len(english) == len(german): // the first of two on a subject
			english = append(english, s.Text)
		case s.Language == "de":
			german = append(german, s.Text)
		}
	}
	standOut := func(here, there string) (sum float32) {
		for i, text := range german {
			asked, own, other := e.Read(text, here), float32(-1), float32(-1)
			for k := range english {
				x, _ := e.Directions(english[k], there, c).Nearest(c, asked, 0)
				if k == i {
					own = x
				} else {
					other = max(other, x)
				}
			}
			sum += own - other
		}
		return sum / float32(len(german))
	}
	if known, unknown := standOut("de", "en"), standOut("", ""); known <= unknown || known < 0.1 {
		t.Errorf("German sentences stand out by %.3f at their translations, and by %.3f if languages are unknown", known, unknown)
	}
	cells := e.Cells(german[0], "de", c)
	if slices.Equal(cells, e.Cells(german[0], "", c)) {
		t.Error("the cells of a German sentence do not depend on its language")
	}
	for _, x := range e.Read(german[0], "de").Questions(c)[0].Cells(false) {
		if i, ok := slices.BinarySearch(cells, concordat.Cell(x.Term)); ok {
			cells = slices.Delete(cells, i, i+1)
		}
	}
	if len(cells) > 0 {
		t.Errorf("the question about a sentence does not ask for its own cells %05x", cells)
	}
}
