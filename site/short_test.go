package site_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/profile"
	"concordat/report"
	"concordat/screen"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// checkShort runs a check with short texts and returns its findings.
func checkShort(t *testing.T, s *sitetest.Parts, sub site.Submission, threshold float64) *report.Findings {
	t.Helper()
	f, err := s.Check(t.Context(), sub, site.CheckOptions{Short: true, ShortThreshold: threshold})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func ingest(t *testing.T, s *sitetest.Parts, lib concordat.LibraryID, ds ...site.Incoming) {
	t.Helper()
	if err := s.Ingest(t.Context(), lib, sitetest.Docs(ds...), func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestShortAgainstAllPairs: exactly the pairs of short texts at or above the threshold are found, as if all pairs had been measured.
func TestShortAgainstAllPairs(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		strings.Fields("water shared border wells treaty mine governance aquifers rights data of the on and a study"),
		strings.Fields("数据 共享 平台 研究 机构 信任 机制 索引 方法 隐私 保护 关键 技术 的 与 分布式"),
	} {
		for seed := range uint64(2) {
			rnd := rand.New(rand.NewPCG(seed, 9))
			s := sitetest.NewSite(t, "a")
			heading := func() string {
				var b []string
				for range 1 + rnd.IntN(4) {
					b = append(b, words[rnd.IntN(len(words))])
				}
				return strings.Join(b, map[bool]string{true: " ", false: ""}[words[0] == "water"])
			}
			all := map[string][]string{} // maps letters to documents
			var incoming []site.Incoming
			for i := range 60 {
				text := []string{heading(), heading(), heading()}
				id := fmt.Sprint(i)
				incoming = append(incoming, site.Incoming{ID: concordat.DocumentID(id), Text: strings.Join(text, "\n\n")})
			}
			ingest(t, s, "a", incoming...)
			for _, d := range incoming {
				for _, l := range lettersOf(t, p, d.Text) {
					all[l] = append(all[l], string(d.ID))
				}
			}
			asked := heading() + "\n\n" + heading()
			for _, threshold := range []float64{0.3, 0.5, 0.6, 0.8, 1} {
				var want []string
				for i, l := range lettersOf(t, p, asked) {
					for m, ids := range all {
						if v := screen.GramsOf(l).Jaccard(screen.GramsOf(m)); v >= threshold {
							for _, id := range ids {
								want = append(want, fmt.Sprintf("%d %s %.6f", i, id, v))
							}
						}
					}
				}
				var got []string
				f := checkShort(t, s, site.Submission{ID: "s", Text: asked}, threshold)
				for _, m := range f.Short.Matches {
					got = append(got, fmt.Sprintf("%d %s %.6f", m.Piece, m.Source.Document, m.Similarity))
				}
				most := map[string]int{} // a check shows at most 50 for each piece
				for _, g := range got {
					most[g[:1]]++
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) && most["0"] < 50 && most["1"] < 50 {
					t.Fatalf("seed %d, threshold %v: found %d, want %d\n%v\n%v", seed, threshold, len(got), len(want), got, want)
				}
			}
		}
	}
}

// lettersOf returns the folded letters of the short pieces of a text.
func lettersOf(t *testing.T, p *profile.Profiler, text string) []string {
	t.Helper()
	prof, err := p.Profile(concordat.Document{Text: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, piece := range prof.Short {
		out = append(out, piece.Letters)
	}
	return out
}

func TestShortTextsOfTitlesAndHeadings(t *testing.T) {
	s := sitetest.NewSite(t, "a", "b")
	prose := "A paragraph of some length stands here so that the document has something that can be fingerprinted as well."
	ingest(t, s, "a", site.Incoming{ID: "1", Title: "Governance of Shared Wells", Text: "3. Results: Water\n\n" + prose},
		site.Incoming{ID: "2", Title: "其他", Text: "地下水共享的信任机制\n\n" + prose + "\n\n2019\n\n12-34"})
	ingest(t, s, "b", site.Incoming{ID: "3", Text: "地下水共享的信任机制"})
	sub := site.Submission{ID: "s", Title: "Governance of shared wells", Text: "地下水共享信任机制\n\nresults water\n\n2019\n\n" +
		strings.Repeat("Own words about something else entirely. ", 3)}
	f := checkShort(t, s, sub, 0)
	found := map[string]int{}
	for _, m := range f.Short.Matches {
		found[fmt.Sprint(f.Short.Pieces[m.Piece].Text, " ", m.Source.Library, "/", m.Source.Document)] = m.Documents
	}
	for _, want := range []string{"Governance of shared wells a/1", "地下水共享信任机制 a/2", "地下水共享信任机制 b/3"} {
		if _, ok := found[want]; !ok {
			t.Errorf("not found: %s in %v", want, found)
		}
	}
	if found["地下水共享信任机制 a/2"] != 2 {
		t.Errorf("%d documents hold the heading, want 2", found["地下水共享信任机制 a/2"])
	}
	if n := len(f.Short.Pieces); n != 3 {
		t.Errorf("%d pieces asked, want title and two headings: %+v", n, f.Short.Pieces)
	}
	r := report.Build(f, report.Rules{})
	if r.Scores.Found != 0 || r.Short.Found < 2 {
		t.Errorf("found %v of the text and %d short texts, want short texts apart", r.Scores.Found, r.Short.Found)
	}
	// Only the libraries in the options are searched, without excluded documents.
	g, err := s.Check(t.Context(), sub, site.CheckOptions{Short: true, Libraries: []concordat.LibraryID{"b"},
		Exclude: []concordat.Ref{{Site: "here", Library: "b", Document: "3"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Short.Matches) != 0 {
		t.Errorf("excluded document found: %+v", g.Short.Matches)
	}
	if f, err := s.Check(t.Context(), sub, site.CheckOptions{}); err != nil || f.Short != nil {
		t.Errorf("short texts were asked without being asked for: %v", err)
	}
}

// own is text found in no other document, long enough to separate the texts before and after it.
var own = strings.Join([]string{
	"Bicycles in kitchens take more room than their owners care to admit during a long winter.",
	"A chain that hangs from the lamp drips on the bread, and nobody minds until the guests arrive.",
	"Last year I measured how far a wheel can turn between the oven and the door without harm.",
	"The answer was two full turns, after which the cat moved out and did not return before spring.",
	"My neighbour keeps three tandems in her bath and swears that porcelain never rusts at all.",
	"None of this has been printed before, and it is hoped that none of it will be printed again.",
}, " ")

// TestCommonWordingFoundByWords: wording nominated only by words also counts for the rule on common wording.
func TestCommonWordingFoundByWords(t *testing.T) {
	s := sitetest.NewSite(t, "a")
	common := "The applicant hereby confirms that all persons named in this proposal have consented to its submission and storage."
	var ds []site.Incoming
	for i := range 30 {
		ds = append(ds, site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)),
			Text: fmt.Sprintf("Proposal %d deals with matter number %d of the catalogue of wells and of springs.\n\n%s", i, i*i, common)})
	}
	ingest(t, s, "a", ds...)
	sub := site.Submission{ID: "s", Text: "My own text begins with something about bicycles in kitchens during winter.\n\n" + common}
	for _, channel := range []compare.Channel{compare.ChannelText, compare.ChannelBoth} {
		f, err := s.Check(t.Context(), sub, site.CheckOptions{Channel: channel})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Passages) == 0 {
			continue // words found in every document nominate nothing
		}
		for _, p := range f.Passages {
			if p.Documents != 30 {
				t.Errorf("channel %q: a passage of %s is in %d documents, want 30", channel, p.Source.Document, p.Documents)
			}
		}
		if r := report.Build(f, report.Rules{}); r.Scores.Covered != 0 || r.Scores.Common == 0 {
			t.Errorf("channel %q: covered %v, common %v", channel, r.Scores.Covered, r.Scores.Common)
		}
	}
	// Another document is nominated only by its rare words.
	ingest(t, s, "a", site.Incoming{ID: "rare", Text: "Quixotic zeugmas perplex xylophonists nightly.\n\n" +
		strings.Repeat("Granite quarries near the estuary closed when the last ship left its moorings for good. ", 6) + "\n\n" + common})
	f, err := s.Check(t.Context(), site.Submission{ID: "s2", Text: "Xylophonists perplex zeugmas: quixotic, nightly.\n\n" + own + "\n\n" +
		common}, site.CheckOptions{Channel: compare.ChannelText})
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, p := range f.Passages {
		if strings.HasPrefix(p.Text, "The applicant hereby") {
			seen = true
			if p.Documents != 31 {
				t.Errorf("passage of %s is in %d documents, want 31", p.Source.Document, p.Documents)
			}
		}
	}
	if !seen {
		t.Fatal("the passage was not found by words: the test tests nothing")
	}
}

// TestWordingOfALibrary: long wording in four of ten documents is left undecided until the library's keeper decides for every check,
// either way.
func TestWordingOfALibrary(t *testing.T) {
	s := sitetest.NewSite(t, "a")
	shared := "The harbour of this town was dredged three times, first by convicts who were lent by the garrison, then by a company of " +
		"shareholders from the hill farms, and last by the ministry, which sent two steam dredgers and a surveyor who drank. None of " +
		"the three left drawings. What we know of the bottom comes from the lead lines of pilots, who wrote depths on the doors of " +
		"their sheds, and from the insurers, who paid for eleven keels that broke on a shelf which no chart of the time admits."
	for i := range 10 {
		var text string
		for j := range 60 {
			text += fmt.Sprintf("Word%d%c of its own%d. ", 100*i+j, 'a'+i, 100*i+j)
		}
		if i < 4 {
			text += "\n\n" + shared
		}
		ingest(t, s, "a", site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: text})
	}
	check := func() *report.Report {
		t.Helper()
		f, err := s.Check(t.Context(), site.Submission{ID: "s", Text: own + "\n\n" + shared}, site.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return report.Build(f, report.Rules{})
	}
	put := func(counts bool) {
		t.Helper()
		one := store.Template{Library: "a", Name: "harbour", Text: shared, Counts: counts}
		if err := s.Store.Catalogue.PutTemplate(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	open := check()
	if open.Scores.Undecided == 0 || open.Scores.Covered != 0 {
		t.Fatalf("at first: undecided %v, covered %v", open.Scores.Undecided, open.Scores.Covered)
	}
	put(true)
	r := check()
	if r.Scores.Undecided != 0 || r.Scores.Covered != open.Scores.IfCounted || len(r.Counting) != 1 ||
		r.Counting[0].Name != "harbour" || len(r.Templates) != 0 {
		t.Errorf("counts: undecided %v, covered %v, by %+v", r.Scores.Undecided, r.Scores.Covered, r.Counting)
	}
	var text strings.Builder
	if err := report.WriteText(&text, r); err != nil || !strings.Contains(text.String(), "“harbour”: counted, by decision of library") {
		t.Errorf("%v; the report does not say who decided:\n%s", err, &text)
	}
	put(false)
	if r := check(); r.Scores.Undecided != 0 || r.Scores.Covered != 0 || r.Scores.Template == 0 {
		t.Errorf("never counts: undecided %v, covered %v, template %v", r.Scores.Undecided, r.Scores.Covered, r.Scores.Template)
	}
}

func TestTemplatesAndDatesOfACheck(t *testing.T) {
	s := sitetest.NewSite(t, "a")
	copied := "Every well that is dug on one side of the border lowers the water on the other side, and nobody agrees on who may dig."
	form := "I declare that I have written this work myself and have used no other sources than those that are named."
	ingest(t, s, "a", site.Incoming{ID: "new", Text: copied + "\n\n" + form, Dated: "2019-05", DatedBy: concordat.DateOfFile},
		site.Incoming{ID: "old", Text: copied + "\n\n" + form + "\n\nIn the old days", Dated: "2001", DatedBy: concordat.DateGiven},
		site.Incoming{ID: "unknown", Text: copied + "\n\n" + form + "\n\nNobody knows when"})
	if err := s.Store.Catalogue.PutTemplate(t.Context(), store.Template{Library: "a", Name: "declaration", Text: form}); err != nil {
		t.Fatal(err)
	}
	f, err := s.Check(t.Context(), site.Submission{ID: "s", Text: copied + "\n\n" + own + "\n\n" + form, Dated: "2010"}, site.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Build(f, report.Rules{})
	if len(r.Evidence) != 2 || r.Evidence[1].Kind != concordat.KindTemplate || r.Evidence[1].Excluded != concordat.ExcludedTemplate ||
		r.Scores.Template == 0 {
		t.Fatalf("evidence %+v, want a copy and a template", r.Evidence)
	}
	oldest := map[concordat.DocumentID]concordat.Age{}
	for _, x := range r.Evidence[0].Sources {
		oldest[x.Document] = x.Age
		if x.Age.Added.IsZero() {
			t.Errorf("%s: not said when it was added", x.Document)
		}
	}
	if !oldest["old"].Oldest || oldest["new"].Oldest || oldest["unknown"].Oldest || oldest["unknown"].Date != "" || !oldest["new"].Later ||
		oldest["old"].Later {
		t.Errorf("ages %+v", oldest)
	}
	if all := report.Build(f, report.Rules{CountTemplates: true}); all.Scores.Covered <= r.Scores.Covered || all.Evidence[1].Excluded != "" {
		t.Errorf("with templates counted: covered %v, without %v", all.Scores.Covered, r.Scores.Covered)
	}
	// Adding the same text again without a date preserves the date; a new date replaces it.
	outcome := func(d site.Incoming) (o site.Outcome) {
		if err := s.Ingest(t.Context(), "a", sitetest.Docs(d), func(i site.Ingested) error { o = i.Outcome; return nil }); err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := outcome(site.Incoming{ID: "old", Text: copied + "\n\n" + form + "\n\nIn the old days"}); o != site.Unchanged {
		t.Errorf("without a date: %s", o)
	}
	if o := outcome(site.Incoming{ID: "old", Text: copied + "\n\n" + form + "\n\nIn the old days", Dated: "2002",
		DatedBy: concordat.DateGiven}); o != site.Replaced {
		t.Errorf("with another date: %s", o)
	}
	if row, err := s.Store.Catalogue.DocumentRow(t.Context(), "a", "old"); err != nil || row.Dated != "2002" {
		t.Errorf("row %+v, %v", row, err)
	}
}

func TestBoilerplate(t *testing.T) {
	s := sitetest.NewSite(t, "a")
	common := "The applicant hereby confirms that all persons named in this proposal have consented to its submission and storage."
	rarer := "Three copies of this proposal are to be handed in at the office of the foundation before the end of the month."
	var ds []site.Incoming
	for i := range 12 {
		text := fmt.Sprintf("Proposal %d deals with matter number %d of the catalogue of wells, and with nothing else whatever.\n\n%s\n\n%s",
			i, i*i, common, common)
		if i%3 == 0 {
			text += "\n\n" + rarer
		}
		ds = append(ds, site.Incoming{ID: concordat.DocumentID(fmt.Sprintf("d%02d", i)), Text: text})
	}
	ingest(t, s, "a", ds...)
	got, err := s.Boilerplate(t.Context(), "a", site.BoilerplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []site.Boilerplate{{Documents: 12, Text: common, Example: "d00"}, {Documents: 4, Text: rarer, Example: "d00"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, err := s.Boilerplate(t.Context(), "a", site.BoilerplateOptions{Least: 5, Most: 1}); err != nil || len(got) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := s.Boilerplate(t.Context(), "nowhere", site.BoilerplateOptions{}); err == nil {
		t.Error("a library that is not there has boilerplate")
	}
}
