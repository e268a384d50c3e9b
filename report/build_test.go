package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/cputime"
)

// randomText makes paragraphs of English and Chinese with quotations.
func randomText(rnd *rand.Rand, n int) string {
	pieces := []string{"the committee ", "of seven ", "met. ", "数据共享", "，", "“quoted words” ", "\n\n", "árvíz ", "平台。", "\U0001F4D6 ", "12 "}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

// randomFindings makes findings with many overlapping passages, some of which are misplaced.
func randomFindings(rnd *rand.Rand) *Findings {
	f := &Findings{Version: Version, Submission: concordat.Document{ID: "s", Text: randomText(rnd, 200+rnd.IntN(3000))}}
	n := len(f.Submission.Text)
	span := func(most int) concordat.Span {
		a := rnd.IntN(n)
		return concordat.Span{Start: a, End: a + rnd.IntN(most)}
	}
	kinds := []concordat.Kind{concordat.KindVerbatim, concordat.KindNear, concordat.KindParaphrase, concordat.KindSummary,
		concordat.KindCommon}
	for range rnd.IntN(40) {
		s := span(400)
		src := rnd.IntN(5000)
		f.Passages = append(f.Passages, concordat.Passage{
			Span: s,
			Source: concordat.Ref{Site: "a", Library: concordat.LibraryID(fmt.Sprint("l", rnd.IntN(2))),
				Document: concordat.DocumentID(fmt.Sprint("d", rnd.IntN(4)))},
			Title: fmt.Sprint("T", rnd.IntN(9)), SourceSpan: concordat.Span{Start: src, End: src + s.Len()},
			Kind: kinds[rnd.IntN(len(kinds))], Similarity: rnd.Float64(), Documents: rnd.IntN(40),
			Text: strings.Repeat("x", s.Len()),
		})
	}
	for range rnd.IntN(4) {
		f.Skipped = append(f.Skipped, concordat.Skipped{Span: span(100), Reason: concordat.SkipShort})
	}
	if rnd.IntN(2) == 0 {
		f.Checked = []concordat.Span{}
		for range rnd.IntN(5) {
			f.Checked = append(f.Checked, span(900))
		}
	}
	f.Sections = []concordat.Section{{Name: "one", Span: concordat.Span{End: n / 2}},
		{Name: "two", Span: concordat.Span{Start: n / 2, End: n}}}
	return f
}

func randomRules(rnd *rand.Rand, f *Findings) Rules {
	r := Rules{ExcludeQuotes: rnd.IntN(2) == 0, ExcludeBibliography: rnd.IntN(2) == 0}
	if rnd.IntN(2) == 0 {
		r.MinCharacters = rnd.IntN(80)
	}
	if rnd.IntN(3) == 0 {
		r.MinSourceShare = rnd.Float64() / 4
	}
	if rnd.IntN(3) == 0 {
		r.ExcludeSections = []string{"one"}
	}
	if rnd.IntN(3) == 0 {
		r.ExcludeKinds = []concordat.Kind{concordat.KindSummary}
	}
	if rnd.IntN(3) == 0 {
		r.ExcludeTemplate = []string{"of seven met. the committee of seven met."}
	}
	if rnd.IntN(3) == 0 {
		a := rnd.IntN(len(f.Submission.Text))
		r.ExcludePassages = []ExcludedPassage{{Span: concordat.Span{Start: a, End: a + 200}, Comment: "agreed"}}
	}
	return r
}

// eachRandom runs f on many random findings and reports the seed of a failure.
func eachRandom(t *testing.T, times int, f func(t *testing.T, rnd *rand.Rand)) {
	t.Helper()
	for seed := range uint64(times) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		if !t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { f(t, rnd) }) {
			return
		}
	}
}

// checkReport requires what Build guarantees for every report.
func checkReport(t *testing.T, rep *Report) {
	t.Helper()
	text := rep.Submission.Text
	end := 0
	for i, e := range rep.Evidence {
		if e.Span.Start < end || e.Span.End > len(text) || e.Span.Len() <= 0 {
			t.Errorf("evidence %d at %v: not disjoint, in order and within %d bytes", i, e.Span, len(text))
		}
		end = e.Span.End
		if !utf8.ValidString(e.Span.In(text)) {
			t.Errorf("evidence %d at %v cuts a rune", i, e.Span)
		}
		if len(e.Sources) == 0 {
			t.Errorf("evidence %d has no source", i)
		}
		if (e.Excluded == "") != (e.Characters > 0) {
			t.Errorf("evidence %d: excluded %q with %d characters", i, e.Excluded, e.Characters)
		}
		for _, s := range e.Sources {
			if s.Here.Start < e.Span.Start || s.Here.End > e.Span.End || s.Here.Len() <= 0 {
				t.Errorf("evidence %d at %v: source at %v", i, e.Span, s.Here)
			}
			if len(s.Parts) == 0 || s.Similarity < 0 || s.Similarity > 1 {
				t.Errorf("evidence %d: source with %d parts, similarity %v", i, len(s.Parts), s.Similarity)
			}
		}
	}
	checkScores(t, rep)
}

func checkScores(t *testing.T, rep *Report) {
	t.Helper()
	s := rep.Scores
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Float64 {
			if x := v.Field(i).Float(); !(x >= 0 && x <= 1+1e-9) {
				t.Errorf("score %s is %v", v.Type().Field(i).Name, x)
			}
		}
	}
	if d := s.Found - s.Whole - s.Common - s.Excluded; math.Abs(d) > 1e-9 {
		t.Errorf("found %v is not whole %v + common %v + excluded %v", s.Found, s.Whole, s.Common, s.Excluded)
	}
	if s.Countable > s.Checked || s.Whole > s.Covered+1e-9 {
		t.Errorf("%d of %d characters could count; %v of all, %v of those", s.Countable, s.Checked, s.Whole, s.Covered)
	}
	if d := s.Covered - s.Verbatim - s.Changed; math.Abs(d) > 1e-9 {
		t.Errorf("covered %v is not verbatim %v + changed %v", s.Covered, s.Verbatim, s.Changed)
	}
	if s.Largest > s.Covered+1e-9 {
		t.Errorf("largest source %v above covered %v", s.Largest, s.Covered)
	}
	n := 0
	for _, e := range rep.Evidence {
		n += e.Characters
	}
	if s.Checked > 0 && math.Abs(float64(n)/float64(s.Checked)-s.Whole) > 1e-9 {
		t.Errorf("evidence holds %d of %d characters, whole %v", n, s.Checked, s.Whole)
	}
	for _, r := range rep.Sources {
		if r.Share < 0 || r.Share > 1 || r.Alone > r.Share+1e-9 || r.Verbatim > r.Share+1e-9 {
			t.Errorf("source %v: share %v, alone %v, verbatim %v", r.Ref, r.Share, r.Alone, r.Verbatim)
		}
	}
	for _, x := range rep.Sections {
		if x.Share < 0 || x.Share > 1 {
			t.Errorf("section %s: share %v", x.Name, x.Share)
		}
	}
}

func TestBuildKeepsItsPromises(t *testing.T) {
	eachRandom(t, 300, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		rep := Build(f, randomRules(rnd, f))
		checkReport(t, rep)
		for i, e := range rep.Evidence { // if its whole text is known, a joined part has the stated length
			for _, s := range e.Sources {
				for _, p := range s.Parts {
					if len(p.Text) != p.SourceSpan.Len() {
						t.Errorf("evidence %d: part of %d bytes at source %v", i, len(p.Text), p.SourceSpan)
					}
				}
			}
		}
	})
}

func TestBuildIgnoresTheOrderOfPassages(t *testing.T) {
	eachRandom(t, 100, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		r := randomRules(rnd, f)
		want := Build(f, r)
		rnd.Shuffle(len(f.Passages), func(i, j int) { f.Passages[i], f.Passages[j] = f.Passages[j], f.Passages[i] })
		if d := cmp.Diff(want, Build(f, r)); d != "" {
			t.Errorf("another order gives another report:\n%s", d)
		}
	})
}

func TestBuildChangesNeitherArgument(t *testing.T) {
	eachRandom(t, 50, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		r := randomRules(rnd, f)
		before, err := json.Marshal([]any{f, r})
		if err != nil {
			t.Fatal(err)
		}
		Build(f, r)
		after, err := json.Marshal([]any{f, r})
		if err != nil {
			t.Fatal(err)
		}
		if string(before) != string(after) {
			t.Error("findings or rules changed")
		}
	})
}

// TestExclusionsNeverRaiseAShare: no exclusion raises a share of the text.
func TestExclusionsNeverRaiseAShare(t *testing.T) {
	eachRandom(t, 200, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		if len(f.Passages) == 0 {
			return
		}
		r := randomRules(rnd, f)
		before := Build(f, r)
		stricter := map[string]func(*Rules){
			"source":       func(r *Rules) { r.ExcludeSources = []concordat.Ref{f.Passages[0].Source} },
			"library":      func(r *Rules) { r.ExcludeSources = []concordat.Ref{{Site: "a", Library: "l0"}} },
			"quotes":       func(r *Rules) { r.ExcludeQuotes = true },
			"bibliography": func(r *Rules) { r.ExcludeBibliography = true },
			"characters":   func(r *Rules) { r.MinCharacters += 30 },
			"share":        func(r *Rules) { r.MinSourceShare += 0.1 },
			"kind":         func(r *Rules) { r.ExcludeKinds = append(slices.Clone(r.ExcludeKinds), concordat.KindNear) },
			"section":      func(r *Rules) { r.ExcludeSections = []string{"one", "two"} },
			"common":       func(r *Rules) { r.CommonAbove = 3 },
			"passage": func(r *Rules) {
				r.ExcludePassages = append(slices.Clone(r.ExcludePassages), ExcludedPassage{Span: f.Passages[0].Span})
			},
		}
		for name, change := range stricter {
			s := r
			change(&s)
			after := Build(f, s)
			checkReport(t, after)
			for _, x := range []struct {
				score         string
				before, after float64
			}{
				// Shares of the countable characters can rise when an exclusion removes some of these.
				{"whole", before.Scores.Whole, after.Scores.Whole},
				{"verbatim", before.characters(before.Scores.Verbatim), after.characters(after.Scores.Verbatim)},
				{"largest", before.characters(before.Scores.Largest), after.characters(after.Scores.Largest)},
			} {
				if x.after > x.before+1e-9 {
					t.Errorf("excluding by %s raised %s from %v to %v", name, x.score, x.before, x.after)
				}
			}
			if after.Scores.Found != before.Scores.Found || after.Scores.Checked != before.Scores.Checked {
				t.Errorf("excluding by %s changed what was found", name)
			}
		}
	})
}

// characters converts a share of the countable characters into a number of characters.
func (r *Report) characters(share float64) float64 { return share * float64(r.Scores.Countable) }

// TestCoveredAgainstBytes compares the count of covered characters with a naive one that has a flag for each byte.
func TestCoveredAgainstBytes(t *testing.T) {
	eachRandom(t, 100, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		rep := Build(f, Rules{CommonAbove: -1})
		text := f.Submission.Text
		held, exact := make([]bool, len(text)), make([]bool, len(text))
		for _, p := range f.Passages {
			x := clip(text, p.Span)
			for i := x.Start; i < x.End && p.Kind != concordat.KindCommon; i++ {
				held[i] = true
				exact[i] = exact[i] || p.Kind == concordat.KindVerbatim
			}
		}
		for _, s := range headings(text) {
			clear(held[s.Start:s.End])
		}
		covered, verbatim := 0, 0
		for i, r := range text {
			if counts(r) && held[i] {
				covered++
				if exact[i] {
					verbatim++
				}
			}
		}
		if s := rep.Scores; s.Checked > 0 {
			if got := int(math.Round(s.Covered * float64(s.Countable))); got != covered {
				t.Errorf("covered %d characters, want %d", got, covered)
			}
			if got := int(math.Round(s.Verbatim * float64(s.Countable))); got != verbatim {
				t.Errorf("verbatim %d characters, want %d", got, verbatim)
			}
		}
	})
}

// TestDrawnIsCounted: for all findings and rules, the passages that count contain exactly the letters that add to the score. All passages
// are disjoint and in order, and each source that a passage counts for contains all of it.
func TestDrawnIsCounted(t *testing.T) {
	counted, left := 0, 0
	eachRandom(t, 150, func(t *testing.T, rnd *rand.Rand) {
		f := randomFindings(rnd)
		kinds := []concordat.Kind{"", "", "", concordat.KindForm, concordat.KindCommon, concordat.KindUndecided, concordat.KindSentence}
		for i := range f.Passages {
			f.Passages[i].Wording = kinds[rnd.IntN(len(kinds))]
			if k := f.Passages[i].Wording; k != "" && rnd.IntN(3) > 0 {
				f.Wording = append(f.Wording, Wording{Span: f.Passages[i].Span, Kind: k, Documents: 3, Of: 9})
			}
		}
		slices.SortFunc(f.Wording, func(x, y Wording) int { return bySpan(x.Span, y.Span) })
		for name, rules := range map[string]Rules{"no rules": {}, "all counts": {CountForms: true, CountSentences: true, CommonAbove: -1},
			"some rules": randomRules(rnd, f)} {
			rep := Build(f, rules)
			count := NewCounter(f.Submission.Text)
			var drawn []concordat.Span
			end := 0
			for _, e := range rep.Evidence {
				if e.Span.Start < end || e.Span.Len() == 0 {
					t.Fatalf("%s: passage %v begins before %d", name, e.Span, end)
				}
				end = e.Span.End
				if e.Excluded != "" {
					left++
					continue
				}
				counted++
				drawn = append(drawn, e.Span)
				var held []concordat.Span
				for _, s := range e.Sources {
					if s.Excluded == "" {
						held = append(held, s.Here)
					}
				}
				if n := count.Characters(e.Span); n != e.Characters || n != count.sum(union(held)) {
					t.Errorf("%s: %d letters are drawn, %d count, %d are in sources that count", name, n, e.Characters, count.sum(union(held)))
				}
				if !slices.ContainsFunc(e.Sources, func(s concordat.Source) bool {
					return s.Excluded == "" && (s.Kind == e.Kind || e.Kind == concordat.KindQuotation)
				}) {
					t.Errorf("%s: the passage is %s, and no source that counts is", name, e.Kind)
				}
			}
			var covered []concordat.Span
			for _, s := range rep.Covered {
				covered = append(covered, s.Span)
			}
			if d, c := count.sum(union(drawn)), count.sum(union(covered)); d != c || d != count.sum(union(drawn).and(union(covered))) {
				t.Errorf("%s: %d letters are drawn, %d count", name, d, c)
			}
		}
	})
	if counted < 500 || left < 100 {
		t.Errorf("%d passages that count and %d that do not: the test shows little", counted, left)
	}
}

func TestCounterAgainstScan(t *testing.T) {
	eachRandom(t, 50, func(t *testing.T, rnd *rand.Rand) {
		text := randomText(rnd, rnd.IntN(2000))
		c := NewCounter(text)
		for range 50 {
			a := rnd.IntN(len(text) + 1)
			s := clip(text, concordat.Span{Start: a, End: a + rnd.IntN(700)})
			want := concordat.Span{Start: utf8.RuneCountInString(text[:s.Start]), End: utf8.RuneCountInString(text[:s.End])}
			if got := c.Points(s); got != want {
				t.Fatalf("code points of %v: got %v, want %v", s, got, want)
			}
			if got := c.Bytes(want); got != s {
				t.Fatalf("bytes of code points %v: got %v, want %v", want, got, s)
			}
			n := 0
			for _, r := range s.In(text) {
				if counts(r) {
					n++
				}
			}
			if got := c.Characters(s); got != n {
				t.Fatalf("characters of %v: got %d, want %d", s, got, n)
			}
		}
	})
}

func TestSpansAgainstBytes(t *testing.T) {
	const size = 60
	set := func(s spans) (b [size]bool) {
		for i, x := range s {
			if x.Start >= x.End || i > 0 && x.Start <= s[i-1].End {
				t.Fatalf("%v is not in order, disjoint and apart", s)
			}
			for k := x.Start; k < x.End; k++ {
				b[k] = true
			}
		}
		return b
	}
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		random := func() spans {
			var s []concordat.Span
			for range rnd.IntN(8) {
				a := rnd.IntN(size)
				s = append(s, concordat.Span{Start: a, End: min(a+rnd.IntN(12), size)})
			}
			return union(s)
		}
		s, u := random(), random()
		x, y := set(s), set(u)
		both, rest := set(s.and(u)), set(s.without(u))
		for i := range size {
			if both[i] != (x[i] && y[i]) || rest[i] != (x[i] && !y[i]) {
				t.Fatalf("seed %d: %v and %v give and %v, without %v", seed, s, u, s.and(u), s.without(u))
			}
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte(`{"version":1,"submission":{"text":"some words here"},"passages":[{"span":{"start":0,"end":9},"source":{"site":"a"},"similarity":1}]}`), []byte(`{"exclude_quotes":true}`))
	f.Add([]byte(`{"submission":{"text":"“参考文献”\n\n参考文献\n[1] 王. 数据[J]. 2020."},"passages":[{"span":{"start":-1,"end":99},"kind":"common"}],"checked":[{"start":5,"end":2}]}`), []byte(`{"exclude_template":["数据"],"min_source_share":2}`))
	f.Fuzz(func(t *testing.T, findings, rules []byte) {
		var x Findings
		var r Rules
		if json.Unmarshal(findings, &x) != nil || json.Unmarshal(rules, &r) != nil {
			return
		}
		x.Submission.Text = strings.ToValidUTF8(x.Submission.Text, "?")
		rep := Build(&x, r)
		checkReport(t, rep)
		for _, write := range []func(io.Writer, *Report) error{WriteJSON, WriteSummary, WriteText,
			func(w io.Writer, r *Report) error { return WriteCSV(w, r, CSVOptions{}) }} {
			if err := write(io.Discard, rep); err != nil && x.Made.Year() < 10000 {
				t.Error(err)
			}
		}
	})
}

// manyFindings returns findings like a thesis's, with each passage in several sources as overlapping blocks.
func manyFindings(size, passages, sources int) *Findings {
	rnd := rand.New(rand.NewPCG(7, 7))
	f := &Findings{Version: Version, Submission: concordat.Document{Text: randomText(rnd, size)}}
	for i := range passages {
		at := size / passages * i
		for k := range sources {
			f.Passages = append(f.Passages, concordat.Passage{
				Span:       concordat.Span{Start: at, End: at + 3*size/passages/2},
				Source:     concordat.Ref{Site: "a", Library: "l", Document: concordat.DocumentID(fmt.Sprint(k))},
				SourceSpan: concordat.Span{Start: at, End: at + 3*size/passages/2}, Text: strings.Repeat("x", 3*size/passages/2),
				Kind: concordat.KindNear, Similarity: rnd.Float64(),
			})
		}
	}
	return f
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{500, 2000, 8000} {
		f := manyFindings(300*n, n, 3)
		b.Run(fmt.Sprint("blocks=", n), func(b *testing.B) {
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				Build(f, Rules{ExcludeQuotes: true, ExcludeBibliography: true})
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
