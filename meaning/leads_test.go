package meaning_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/meaning"
)

const (
	source = `The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. ` +
		`Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. ` +
		`Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home. ` +
		`Despite these measures two masters settled in Lorraine and sold ruby goblets to the court within ten years.`
	reworded = `Because the magistrates were afraid of fire, glass furnaces had to be moved to the island of Lissa by the guild of blowers in 1411. ` +
		`An oath, sworn by each apprentice to the warden, forbade taking the recipe for red glass over the lagoon. ` +
		`If a master broke that oath, the workshop was forfeit and relatives stayed under arrest until he was home again. ` +
		`Even so, ten years later two masters from there were selling ruby goblets to the court, having settled in Lorraine.`
	other = `The railway reached the valley late, and for a generation the mill had to send its cloth by mule over two passes. ` +
		`When the line opened, wages in the weaving sheds rose by a third, while the price of bread hardly moved at all. ` +
		`Farmers planted sugar beet beside the track, for which the new factory at the junction paid in cash each autumn. ` +
		`By the turn of the century the valley held three banks, a school for girls and a quarrel about the price of coal.`
)

func read(t *testing.T, texts ...string) (out []*meaning.Text) {
	t.Helper()
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range texts {
		out = append(out, meaning.NewEncoder(table).Read(x, ""))
	}
	return out
}

// TestReworded: a reworded passage leads only to its source, sentence by sentence.
func TestReworded(t *testing.T) {
	texts := read(t, reworded, source, other)
	leads := meaning.Compare(texts[0], texts[1:]).Leads()
	if len(leads[0]) != 1 || len(leads[1]) != 0 {
		t.Fatalf("leads %+v", leads)
	}
	l := leads[0][0]
	if l.Score < 0.5 || len(l.Pairs) < 3 || l.Span.End > len(reworded) || l.Source.End > len(source) {
		t.Errorf("lead %+v", l)
	}
	for i, p := range l.Pairs {
		if i > 0 && p.Span.Start <= l.Pairs[i-1].Span.Start || p.Similarity <= 0 || p.Similarity > 1 {
			t.Errorf("pair %d: %+v", i, p)
		}
	}
}

// TestTranslated: a translation leads to its source, and stands out more if the centre of its language is known.
func TestTranslated(t *testing.T) {
	const translated = `El gremio de los sopladores de vidrio trasladó sus hornos a la isla de Lissa en 1411, ` +
		`pues los magistrados temían el fuego. ` +
		`Cada aprendiz juraba ante el guardián que nunca llevaría la receta del vidrio rojo al otro lado de la laguna. ` +
		`Quien rompía el juramento perdía su taller, y sus parientes permanecían detenidos hasta que volvía a casa. ` +
		`A pesar de estas medidas, dos maestros se establecieron en Lorena y en diez años vendieron copas de color rubí a la corte.`
	score := map[string]float64{}
	for _, language := range []string{"es", "eu"} { // Basque has no centre
		texts := read(t, source, translated, other)
		texts[0].Language, texts[1].Language, texts[2].Language = "en", language, "en"
		leads := meaning.Compare(texts[0], texts[1:]).Leads()
		for _, l := range leads[0] {
			score[language] += l.Score
			if language == "es" && (!l.Across || !l.WorthReading()) {
				t.Errorf("lead %+v", l)
			}
		}
	}
	// Its weak pairs count too: with margins from 0.04 alone, of which 0.06 is subtracted, the score is 0.40.
	if score["es"] < 1.2*score["eu"] || score["es"] < 0.45 {
		t.Errorf("scores %v", score)
	}
}

// TestManySay: a statement in three sources leads to none of them.
func TestManySay(t *testing.T) {
	texts := read(t, reworded, source, "It is told so. "+source, source+" So it is told here.", other)
	many := 0
	for d, ls := range meaning.Compare(texts[0], texts[1:]).Leads() {
		for _, l := range ls {
			if l.WorthReading() || l.StandsOut() && !l.Many {
				t.Errorf("source %d: %+v", d, l)
			}
			if l.Many && l.StandsOut() {
				many++
			}
		}
	}
	if many == 0 {
		t.Error("nothing says that many say it")
	}
}

// TestWithout: removing spans from a text does not change the original.
func TestWithout(t *testing.T) {
	texts := read(t, reworded, source)
	if ls := meaning.Compare(texts[0].Without([]concordat.Span{{End: len(reworded)}}), texts[1:]).Leads(); len(ls[0]) > 0 {
		t.Errorf("leads %+v", ls)
	}
	if ls := meaning.Compare(texts[0], texts[1:]).Leads(); len(ls[0]) != 1 {
		t.Errorf("the text has lost its sentences: %+v", ls)
	}
}

// TestLeave: text that is already evidence has no leads.
func TestLeave(t *testing.T) {
	texts := read(t, reworded, source)
	texts[0].Leave([]concordat.Span{{Start: 0, End: len(reworded)}})
	if ls := meaning.Compare(texts[0], texts[1:]).Leads(); len(ls[0]) > 0 {
		t.Errorf("leads %+v", ls)
	}
}

// TestNotProse: lists of links, numbers and names have no leads.
func TestNotProse(t *testing.T) {
	list := strings.Repeat("Berg, M. (2011) 12-40; Harrow, B. (1994) 101-126; Quist, A. (2015) 7-19; Ndiaye, O. (2007) 3-5.\n", 4)
	texts := read(t, list, list)
	if ls := meaning.Compare(texts[0], texts[1:]).Leads(); len(ls[0]) > 0 {
		t.Errorf("leads %+v", ls)
	}
}

// TestBackground: the index of pieces yields the same result as comparing every sentence with every other.
func TestBackground(t *testing.T) {
	texts := read(t, reworded, source, other, source+" "+other, "It is told so. "+reworded)
	above := 0
	for d, text := range texts[1:] {
		for j := range text.Spans {
			got, want := meaning.Background(texts[0], texts[1:], d, j)
			if got != want {
				t.Errorf("source %d, sentence %d: %v, want %v", d, j, got, want)
			}
			if want > 0.2 {
				above++
			}
		}
	}
	if above < 8 {
		t.Errorf("%d sentences are near others: the texts test nothing", above)
	}
}

// TestBackgroundBetweenLanguages: two texts that are similar throughout, and slightly more so sentence by sentence, are a
// translation if their languages differ, and two answers to one question if they do not.
func TestBackgroundBetweenLanguages(t *testing.T) {
	const all, alike = 0.672, 0.753 // similarity of any two sentences, and of corresponding sentences
	sentence := func(k int, there bool) []float32 {
		v := make([]float32, 9)
		v[8] = float32(math.Sqrt(all))
		own := math.Sqrt(1 - all)
		if cos := (alike - all) / (1 - all); there {
			v[k], v[4+k] = float32(own*cos), float32(own*math.Sqrt(1-cos*cos))
		} else {
			v[k] = float32(own)
		}
		return v
	}
	var v meaning.Vectors
	v.There = make([][][]float32, 1)
	for k := range 4 {
		v.Here, v.There[0] = append(v.Here, sentence(k, false)), append(v.There[0], sentence(k, true))
	}
	for range meaning.Samples() {
		v.Samples = append(v.Samples, make([]float32, 9))
	}
	every := []int{0, 1, 2, 3}
	for language, want := range map[string]int{"de": 1, "en": 0} {
		texts := read(t, reworded, source)
		texts[0].Language, texts[1].Language = "en", language
		leads := meaning.Compare(texts[0], texts[1:]).Verified(meaning.Places{Here: every, There: [][]int{every}}, v)[0]
		if len(leads) != want || want == 1 && (!leads[0].WorthReading() || leads[0].Sentences != 4) {
			t.Errorf("English and %s: leads %+v, want %d", language, leads, want)
		}
	}
}

// TestBackgroundOfRareLanguage: the only source in a language does not stand out if sources in other languages are as near. It does if
// they are not, or if enough sources in its own language are not.
func TestBackgroundOfRareLanguage(t *testing.T) {
	const sentences, dimensions = 4, 40
	vectors := func(source int, alike float64) (out [][]float32) {
		for k := range sentences {
			v := make([]float32, dimensions)
			v[k], v[sentences+source] = float32(alike), float32(math.Sqrt(1-alike*alike))
			out = append(out, v)
		}
		return out
	}
	every := []int{0, 1, 2, 3}
	for _, x := range []struct {
		name   string
		french int     // other sources in French, unrelated
		german float64 // similarity of the sources in German
		leads  int
	}{{"others as near", 0, 0.22, 0}, {"others unrelated", 0, 0, 1}, {"own language unrelated", 5, 0.22, 1}} {
		sources := []string{source}
		p, v := meaning.Places{Here: every, There: [][]int{every}}, meaning.Vectors{Here: vectors(0, 1), There: [][][]float32{vectors(0, 0.22)}}
		add := func(alike float64) {
			p.There, v.There = append(p.There, every), append(v.There, vectors(len(sources), alike))
			sources = append(sources, source)
		}
		for range 4 {
			add(x.german)
		}
		for range x.french {
			add(0)
		}
		for range meaning.Samples() {
			v.Samples = append(v.Samples, make([]float32, dimensions))
		}
		texts := read(t, append([]string{reworded}, sources...)...)
		for i, text := range texts {
			switch {
			case i == 0:
				text.Language = "en"
			case i == 1 || i > 5:
				text.Language = "fr"
			default:
				text.Language = "de"
			}
		}
		if leads := meaning.Compare(texts[0], texts[1:]).Verified(p, v)[0]; len(leads) != x.leads {
			t.Errorf("%s: leads %+v, want %d", x.name, leads, x.leads)
		}
	}
}

// TestPlacesInAnotherLanguage: an encoder examines the translation of most sentences, which share few words with it.
func TestPlacesInAnotherLanguage(t *testing.T) {
	var english []string
	german := []string{"", "", "", "", ""}
	for _, s := range meaning.Samples() {
		switch {
		case s.Language == "en" && len(english) == s.Subject:
			english = append(english, s.Text)
		case s.Language == "de":
			german[s.Subject%len(german)] += s.Text + " "
		}
	}
	sources := read(t, german...)
	for _, text := range sources {
		text.Language = "de"
	}
	right := 0
	for subject, sentence := range english {
		submission := read(t, sentence)[0]
		submission.Language = "en"
		p := meaning.Compare(submission, sources).Places(nil, nil)
		if slices.Contains(p.There[subject%len(german)], subject/len(german)) {
			right++
		}
	}
	if 4*right < 3*len(english) {
		t.Errorf("places for %d of %d translations", right, len(english))
	}
}
