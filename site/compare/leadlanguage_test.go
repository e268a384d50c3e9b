package compare_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/meaning"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/site/compare"
)

const (
	glassFrench = `La guilde des verriers transféra ses fourneaux sur l'île de Lissa en 1411, car les magistrats craignaient un incendie. ` +
		`Chaque apprenti jurait devant le gardien de ne jamais emporter la recette du verre rouge au-delà de la lagune. ` +
		`Qui rompait ce serment perdait son atelier, et ses parents restaient aux arrêts jusqu'à ce qu'il revienne. ` +
		`Malgré ces mesures, deux maîtres s'installèrent en Lorraine et vendirent des gobelets rubis à la cour en moins de dix ans.`
	glassFrenchAgain = `L'année 1411 vit partir les fourneaux vers une île appelée Lissa, la guilde obéissant aux magistrats qui redoutaient l'incendie. ` +
		`De la recette du verre rouge, rien ne devait franchir la lagune : c'est ce que tout apprenti promettait au gardien. ` +
		`Un serment rompu coûtait l'atelier, et les parents du fuyard attendaient aux arrêts son retour. ` +
		`Dix ans plus tard la cour achetait pourtant des gobelets rubis en Lorraine, où deux maîtres vivaient désormais.`
	glassRussian = `Гильдия стеклодувов перевела свои печи на остров Лисса в 1411 году, так как магистраты боялись пожара. ` +
		`Каждый ученик клялся перед смотрителем никогда не вывозить рецепт красного стекла за лагуну. ` +
		`Кто нарушал клятву, терял мастерскую, а его родственников держали под арестом, пока он не возвращался.`
)

// TestLeadOfOwnWork: findings have what a report needs to propose the source of a lead as its author's own earlier work, and not to propose
// a later document.
func TestLeadOfOwnWork(t *testing.T) {
	s := sitetest.NewSite(t, "lib")
	s.Add(t, "lib", site.Incoming{ID: "en", Text: sitetest.Glass, Author: "Roe, Jane", Dated: "2019", DatedBy: concordat.DateGiven},
		site.Incoming{ID: "rail", Text: sitetest.Railway})
	for date, own := range map[concordat.Date]bool{"2020": true, "2018": false} {
		f, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: sitetest.GlassThird, Dated: date, DatedBy: concordat.DateGiven,
			Authors: concordat.ParseCreators("Jane Roe")},
			site.CheckOptions{Leads: true})
		if err != nil {
			t.Fatal(err)
		}
		if leads := report.Build(f, report.Rules{}).Leads; len(leads) != 1 || (leads[0].Own != nil) != own {
			t.Errorf("text of %s: leads %+v", date, leads)
		}
	}
}

// TestLanguageOfLeads: English was measured, so a lead in English has a likelihood. A lead in French has none, and the report says that
// the language was not measured. For a text in a script unknown to the table, the report says that no leads can be found.
func TestLanguageOfLeads(t *testing.T) {
	s := sitetest.NewSite(t, "lib")
	s.Add(t, "lib", site.Incoming{ID: "en", Text: sitetest.Glass}, site.Incoming{ID: "fr", Text: glassFrench},
		site.Incoming{ID: "ru", Text: glassRussian}, site.Incoming{ID: "rail", Text: sitetest.Railway})
	for name, c := range map[string]struct {
		text, source, flag string
		leads              int
		likely             bool
	}{
		"English": {sitetest.GlassThird, "en", "", 1, true},
		"French":  {glassFrenchAgain, "fr", compare.FlagLeadLanguage, 1, false},
		"Russian": {glassRussian, "", compare.FlagLeadScript, 0, false},
	} {
		f, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: c.text}, site.CheckOptions{Leads: true})
		if err != nil {
			t.Fatal(err)
		}
		flag := ""
		for _, x := range f.Flags {
			flag += x.Code
		}
		var out struct {
			Leads []struct {
				Likelihood *float64
				Source     struct{ Document string }
			}
		}
		b, err := json.Marshal(report.Build(f, report.Rules{}))
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		if err != nil || flag != c.flag || len(out.Leads) != c.leads {
			t.Errorf("%s: flag %q, %d leads, %v", name, flag, len(out.Leads), err)
		}
		for _, l := range out.Leads {
			if l.Source.Document != c.source || (l.Likelihood != nil) != c.likely {
				t.Errorf("%s: lead %+v", name, l)
			}
		}
		if f, err = s.Check(t.Context(), site.Submission{ID: "sub", Text: c.text}, site.CheckOptions{}); err != nil || len(f.Flags) > 0 {
			t.Errorf("%s, nobody asks for leads: %+v, %v", name, f.Flags, err)
		}
	}
}

// TestLeadsOfLongSources: if a document has more sentences than are compared, the report says so, whether a lead is found among the first
// sentences or the match lies beyond them. A shorter document is compared in full, without a remark.
func TestLeadsOfLongSources(t *testing.T) {
	s := sitetest.NewSite(t, "lib")
	for _, c := range []struct {
		name, text   string
		leads, flags int
	}{
		{"behind", sitetest.Fillers(t, meaning.MaxSentences) + sitetest.Glass, 0, 1},
		{"before", sitetest.Glass + " " + sitetest.Fillers(t, meaning.MaxSentences), 1, 1},
		{"as long as may be", sitetest.Fillers(t, meaning.MaxSentences-len(meaning.Sentences(sitetest.Glass))) + sitetest.Glass, 1, 0},
	} {
		s.Add(t, "lib", site.Incoming{ID: "long", Text: c.text})
		f, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: sitetest.GlassThird}, site.CheckOptions{Leads: true})
		if err != nil {
			t.Fatal(err)
		}
		r := report.Build(f, report.Rules{})
		if len(r.Leads) != c.leads || len(r.Flags) != c.flags {
			t.Errorf("%s: %d leads, flags %+v", c.name, len(r.Leads), r.Flags)
		}
		for _, l := range []report.Language{report.English, "de", "zh-Hans"} {
			r.Language = l
			var page, text bytes.Buffer
			if err := errors.Join(html.Write(&page, r), report.WriteText(&text, r)); err != nil {
				t.Fatal(err)
			}
			words := l.FlagDetail(concordat.Flag{Code: compare.FlagLongSources,
				Detail: "1 of the documents compared for leads are so long that only their first 4000 sentences were compared by meaning"})
			told := strings.Contains(page.String(), words) && strings.Contains(unwrapped(text.String()), unwrapped(words))
			if told != (c.flags > 0) || l != report.English && strings.HasPrefix(words, "1 of") {
				t.Errorf("%s: %s says %q: %v", c.name, l, words, told)
			}
		}
	}
}

// unwrapped returns a text without white space.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), "") }
