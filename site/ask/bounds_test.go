package ask

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/align/wording"
	"concordat/internal/indextest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// TestValidLeads: each number in a partner's answer by meaning is accepted from its lowest to its highest valid value and not beyond,
// because findings use it as an index.
func TestValidLeads(t *testing.T) {
	ask := &concordat.LeadAsk{Libraries: []concordat.LibraryID{"a", "b"}, Cells: make([]concordat.AskedCells, 3)}
	span := func(from, to int) concordat.Span { return concordat.Span{Start: from, End: to} }
	whole := func() *concordat.LeadAnswer {
		return &concordat.LeadAnswer{Libraries: []concordat.LeadLibraryAnswer{{Library: "a"}, {Library: "b", Missing: 1}},
			Documents: []concordat.LeadDocument{{Handle: concordat.Handle{1}, Library: 1, Places: []concordat.Span{span(0, 9), span(9, 20)}},
				{Handle: concordat.Handle{2}, Places: []concordat.Span{span(5, 9)}}},
			Hits: []concordat.LeadHit{{Cells: 2, Document: 0, Place: 1, Step: concordat.LeadNear}}}
	}
	for name, c := range map[string]struct {
		edit func(x *concordat.LeadAnswer)
		good bool
	}{
		"as it is":                  {func(*concordat.LeadAnswer) {}, true},
		"another library":           {func(x *concordat.LeadAnswer) { x.Libraries[0].Library = "b" }, false},
		"a library less":            {func(x *concordat.LeadAnswer) { x.Libraries = x.Libraries[:1] }, false},
		"missing below 0":           {func(x *concordat.LeadAnswer) { x.Libraries[0].Missing = -1 }, false},
		"document before all":       {func(x *concordat.LeadAnswer) { x.Documents[0].Library = -1 }, false},
		"document of no library":    {func(x *concordat.LeadAnswer) { x.Documents[0].Library = 2 }, false},
		"a document twice":          {func(x *concordat.LeadAnswer) { x.Documents[1].Handle = concordat.Handle{1} }, false},
		"no place":                  {func(x *concordat.LeadAnswer) { x.Documents[1].Places = nil }, false},
		"place before the text":     {func(x *concordat.LeadAnswer) { x.Documents[0].Places[0].Start = -1 }, false},
		"places that overlap":       {func(x *concordat.LeadAnswer) { x.Documents[0].Places[1].Start = 8 }, false},
		"empty place":               {func(x *concordat.LeadAnswer) { x.Documents[0].Places[1].End = 9 }, false},
		"place to the last byte":    {func(x *concordat.LeadAnswer) { x.Documents[0].Places[1].End = math.MaxInt32 }, true},
		"place beyond it":           {func(x *concordat.LeadAnswer) { x.Documents[0].Places[1].End = math.MaxInt32 + 1 }, false},
		"the first cells":           {func(x *concordat.LeadAnswer) { x.Hits[0].Cells = 0 }, true},
		"cells before all":          {func(x *concordat.LeadAnswer) { x.Hits[0].Cells = -1 }, false},
		"cells behind all":          {func(x *concordat.LeadAnswer) { x.Hits[0].Cells = 3 }, false},
		"hit before all documents":  {func(x *concordat.LeadAnswer) { x.Hits[0].Document = -1 }, false},
		"hit in the last":           {func(x *concordat.LeadAnswer) { x.Hits[0].Document, x.Hits[0].Place = 1, 0 }, true},
		"hit behind all":            {func(x *concordat.LeadAnswer) { x.Hits[0].Document = 2 }, false},
		"the first place":           {func(x *concordat.LeadAnswer) { x.Hits[0].Place = 0 }, true},
		"hit before all places":     {func(x *concordat.LeadAnswer) { x.Hits[0].Place = -1 }, false},
		"hit behind all places":     {func(x *concordat.LeadAnswer) { x.Hits[0].Place = 2 }, false},
		"the surest step":           {func(x *concordat.LeadAnswer) { x.Hits[0].Step = concordat.LeadVeryNear }, true},
		"surer than the surest":     {func(x *concordat.LeadAnswer) { x.Hits[0].Step = concordat.LeadVeryNear + 1 }, false},
		"documents without a match": {func(x *concordat.LeadAnswer) { x.Hits = nil }, true},
	} {
		x := whole()
		c.edit(x)
		if err := validLeads(ask, x); (err == nil) != c.good || err != nil && !errors.Is(err, errGarbage) {
			t.Errorf("%s: error %v, is to be taken: %v", name, err, c.good)
		}
	}
	if err := validLeads(ask, nil); !errors.Is(err, errGarbage) {
		t.Errorf("nothing: error %v", err)
	}
	none := &concordat.LeadAsk{Libraries: ask.Libraries}
	if x := whole(); !errors.Is(validLeads(none, x), errGarbage) {
		t.Error("documents for a question without cells are taken")
	}
}

// edger is a partner that reports the same edges for every question.
type edger struct {
	site.Partner
	says *concordat.Edges
}

func (e *edger) Edges(context.Context, *concordat.EdgesAsk) (*concordat.Edges, error) {
	return e.says, nil
}

// TestEdgesBounds: edges are accepted within the words and the place in the question, and refused beyond them.
func TestEdgesBounds(t *testing.T) {
	text := "The harbour master recorded every vessel that left the estuary, its cargo of wool and the names of the sailors aboard."
	full := align.Prepare(text)
	literal := []align.Passage{{A: concordat.Span{End: len(text)}, B: concordat.Span{Start: 300, End: 420}}}
	key := []byte("a sketch key of an epoch, 32 byte")
	own, err := full.Order(key, literal[0].A)
	if err != nil || len(own.Words) < 10 {
		t.Fatalf("%d words, %v", len(own.Words), err)
	}
	last := len(own.Spans)
	span := func(from, to int) concordat.Span { return concordat.Span{Start: from, End: to} }
	for name, c := range map[string]struct {
		copies []concordat.EdgeCopy
		want   int // number of copies; -1 if refused
	}{
		"none":                   {nil, 0},
		"all":                    {[]concordat.EdgeCopy{{From: 0, To: last, Span: literal[0].B}}, 1},
		"two":                    {[]concordat.EdgeCopy{{From: 0, To: 3, Span: span(300, 320)}, {From: 5, To: 9, Span: span(330, 420)}}, 2},
		"before the first word":  {[]concordat.EdgeCopy{{From: -1, To: 3, Span: literal[0].B}}, -1},
		"no word":                {[]concordat.EdgeCopy{{From: 3, To: 3, Span: literal[0].B}}, -1},
		"behind the last word":   {[]concordat.EdgeCopy{{From: 0, To: last + 1, Span: literal[0].B}}, -1},
		"before the place":       {[]concordat.EdgeCopy{{From: 0, To: last, Span: span(299, 420)}}, -1},
		"behind the place":       {[]concordat.EdgeCopy{{From: 0, To: last, Span: span(300, 421)}}, -1},
		"nothing of the place":   {[]concordat.EdgeCopy{{From: 0, To: last, Span: span(310, 310)}}, -1},
		"backwards in the place": {[]concordat.EdgeCopy{{From: 0, To: last, Span: span(320, 310)}}, -1},
	} {
		r := &round{answer: &partnerAnswer{site: "north"},
			fw: &forwarding{s: &Asker{o: Options{Store: storetest.SQLite(t)}}, sub: site.Submission{Text: text}},
			p:  &site.PartnerLibraries{SketchKey: key, Partner: &edger{says: &concordat.Edges{Passages: [][]concordat.EdgeCopy{c.copies}}}}}
		got, words, _, err := r.edges(t.Context(), concordat.JobID{}, &nominated{}, full, literal)
		if words != len(own.Words) || (err != nil) != (c.want < 0) || err != nil && !errors.Is(err, errGarbage) || len(got) != max(c.want, 0) {
			t.Errorf("%s: %d copies, %d words shown, error %v; want %d", name, len(got), words, err, c.want)
		}
	}
}

// TestEnough: if the text of a document is not available, one very close sentence is evidence. So are two fairly close ones at different
// places, or two that are neighbours on both sides if one of them is near.
func TestEnough(t *testing.T) {
	hit := func(start, ordinal, distance int) compare.Hit {
		return compare.Hit{Span: concordat.Span{Start: start, End: start + 100}, Ordinal: ordinal, Distance: distance}
	}
	const fair = compare.FairDistance
	for name, c := range map[string]struct {
		hits []compare.Hit
		want bool
	}{
		"none":                            {nil, false},
		"one, very close":                 {[]compare.Hit{hit(0, 1, closeDistance)}, true},
		"one, a bit farther":              {[]compare.Hit{hit(0, 1, closeDistance+1)}, false},
		"two fair ones":                   {[]compare.Hit{hit(0, 1, fair), hit(9000, 90, fair)}, true},
		"two fair ones of one place":      {[]compare.Hit{hit(0, 1, fair), hit(50, 90, fair)}, false},
		"two fair ones of one sentence":   {[]compare.Hit{hit(0, 1, fair), hit(9000, 1, fair)}, false},
		"neighbours, one near":            {[]compare.Hit{hit(0, 1, nearDistance), hit(100+nearSpans, 1+nearOrdinals, farDistance)}, true},
		"neighbours, none near":           {[]compare.Hit{hit(0, 1, farDistance), hit(100, 2, farDistance)}, false},
		"one near, farther apart here":    {[]compare.Hit{hit(0, 1, nearDistance), hit(101+nearSpans, 2, farDistance)}, false},
		"one near, farther apart there":   {[]compare.Hit{hit(0, 1, nearDistance), hit(100, 2+nearOrdinals, farDistance)}, false},
		"one near, in the other order":    {[]compare.Hit{hit(100, 2, farDistance), hit(0, 3, nearDistance)}, true},
		"two near ones that are far away": {[]compare.Hit{hit(0, 1, nearDistance), hit(9000, 90, nearDistance)}, false},
	} {
		if got := enough(&compare.Candidate{Hits: c.hits}); got != c.want {
			t.Errorf("%s: evidence %v, want %v", name, got, c.want)
		}
	}
}

// TestRevealablePlaces: for each partner, everything that overlaps a place and can be requested is listed. Passages that were already
// shown, or come only from a mirror, are listed as existing. Passages without a place in their source are not listed.
func TestRevealablePlaces(t *testing.T) {
	db := storetest.SQLite(t)
	s := &Asker{site: site.New(site.Options{ID: "here", Store: db}), o: Options{Store: db}}
	north, mirrored := concordat.Ref{Site: "north", Library: "a", Document: "1"}, concordat.Ref{Site: "south", Library: "b", Document: "2"}
	place := concordat.Span{Start: 500, End: 600}
	at := concordat.Span{Start: 10, End: 20}
	partners := []report.PartnerSource{{Ref: north, Job: "01"}, {Ref: mirrored}}
	for name, c := range map[string]struct {
		p      concordat.Passage
		asked  int
		placed bool
		mirror bool
	}{
		"to be asked for":    {concordat.Passage{Source: north, Span: at, SourceSpan: place}, 1, true, false},
		"shown":              {concordat.Passage{Source: north, Span: at, SourceSpan: place, Text: "It froze."}, 0, true, false},
		"without a place":    {concordat.Passage{Source: north, Span: at}, 0, false, false},
		"of a mirror":        {concordat.Passage{Source: mirrored, Span: at, SourceSpan: place}, 0, false, true},
		"of this site":       {concordat.Passage{Source: concordat.Ref{Site: "here"}, Span: at, SourceSpan: place}, 0, false, false},
		"at another place":   {concordat.Passage{Source: north, Span: concordat.Span{Start: 20, End: 30}, SourceSpan: place}, 0, false, false},
		"by one byte within": {concordat.Passage{Source: north, Span: concordat.Span{Start: 19, End: 30}, SourceSpan: place}, 1, true, false},
	} {
		got := s.Revealable(&report.Findings{Passages: []concordat.Passage{c.p}, Partners: partners}, at, concordat.ShowPassage)
		if len(got.Passages["north"]) != c.asked || got.Placed != c.placed || got.Mirrored != c.mirror {
			t.Errorf("%s: %+v, want %+v", name, got, c)
		}
	}
}

// TestRecount: the count for a passage covers the documents of all sites, including this one, that contain exactly its sentence, and each
// site's documents count once. If sentences are not exactly the same, it is unknown whether two sites have the same one.
func TestRecount(t *testing.T) {
	span := concordat.Span{Start: 0, End: 100}
	candidate := func(of concordat.SiteID, distance, documents int) *compare.Candidate {
		return &compare.Candidate{Ref: concordat.Ref{Site: of, Document: "d"},
			Hits: []compare.Hit{{Span: span, Distance: distance, Documents: documents}}}
	}
	for name, c := range map[string]struct{ distance, want int }{"the same": {0, 12}, "nearly": {3, 7}} {
		f := &report.Findings{}
		for _, of := range []concordat.SiteID{"here", "north", "south"} {
			f.Passages = append(f.Passages, concordat.Passage{Span: span, Source: concordat.Ref{Site: of, Document: "d"}, Documents: 1})
		}
		recount("here", f, []*compare.Candidate{candidate("here", 0, 3)}, []*partnerAnswer{
			{site: "north", candidates: []*compare.Candidate{candidate("north", c.distance, 7), {Ref: concordat.Ref{Site: "north", Document: "e"},
				Hits: []compare.Hit{{Span: span, Distance: c.distance, Documents: 7}}}}},
			{site: "south", candidates: []*compare.Candidate{candidate("south", 0, 2)}}})
		if got := f.Passages[1].Documents; got != c.want {
			t.Errorf("%s: held by %d documents of all sites, want %d", name, got, c.want)
		}
	}
}

// TestMirrorsMustBeRead: if the contents of a mirror are unknown, a check fails instead of reporting no matches there.
func TestMirrorsMustBeRead(t *testing.T) {
	db := storetest.SQLite(t)
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is broken")
	unmirrored, script := storetest.Scripted(db)
	script.On("Mirror", func() error { return broken })
	s := &Asker{site: site.New(site.Options{ID: "here", Store: db, Profiler: p}), o: Options{Store: unmirrored}}
	const text = "The harbour master recorded every vessel that left the estuary."
	err = s.Ask(t.Context(), &site.Asking{Submission: site.Submission{Text: text}, Findings: &report.Findings{},
		Shared: compare.Shareable(text, nil, nil), Options: &site.CheckOptions{Forward: site.ForwardNone,
			Mirrors: []site.MirroredLibrary{{Site: "north", Library: "a", Profiler: p}}}})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want that it could not be read", err)
	}
}

// TestCommonRuns: if a fifth of all documents contain a long run of words, it is left for a person to decide, as on this site; the same
// sentences in isolation are common.
func TestCommonRuns(t *testing.T) {
	const of = 60 // a fifth of them is 13
	apart := " " + strings.Repeat("word ", 20)
	for name, c := range map[string]struct {
		gap     string
		holders int
		want    concordat.Kind
	}{
		"in a row, a fifth": {" ", 14, concordat.KindUndecided}, "in a row, a third": {" ", 21, concordat.KindUndecided},
		"in a row, fewer": {" ", 11, ""}, "apart, a fifth": {apart, 14, concordat.KindCommon}, "apart, fewer": {apart, 11, ""},
	} {
		var text strings.Builder
		var questions []concordat.Sentence
		var matches []concordat.Match
		for i := range 30 {
			start := text.Len()
			fmt.Fprintf(&text, "Sentence number %d has ten words about the old quay.", i)
			questions = append(questions, concordat.Sentence{Span: concordat.Span{Start: start, End: text.Len()}})
			text.WriteString(c.gap)
			for d := range c.holders {
				matches = append(matches, concordat.Match{Sentence: i, Source: concordat.Ref{Document: concordat.DocumentID(fmt.Sprint(d))}})
			}
		}
		shared := compare.Shareable(text.String(), nil, nil)
		fw := &forwarding{sub: site.Submission{Text: text.String()}, count: report.NewCounter(text.String()), shared: shared,
			heldHere: func() []concordat.Span { return nil }}
		if n := shared.Words.Count(questions[0].Span); 30*n < wording.LongWords || n >= wording.LongWords {
			t.Fatalf("%d words are no long stretch", 30*n)
		}
		got := fw.commonAt(questions, matches, of, byStep).common
		if c.want == "" && len(got) > 0 || c.want != "" && len(got) != len(questions) {
			t.Errorf("%s: %d stretches are classed, want all: %v", name, len(got), c.want != "")
		}
		for _, x := range got {
			if x.Kind != c.want {
				t.Errorf("%s: %+v, want %s", name, x, c.want)
			}
		}
	}
}

// TestApart: matches outside shared wording are evidence, matches within common wording are shown as common, and matches within other
// legitimately shared wording are neither.
func TestApart(t *testing.T) {
	text := strings.Repeat("one more sentence that says nothing. ", 20)
	span := func(from, to int) concordat.Span { return concordat.Span{Start: from, End: to} }
	w := &partWording{fw: &forwarding{count: report.NewCounter(text)}, walls: []concordat.Span{span(0, 100), span(300, 400)},
		common: []report.Wording{{Span: span(0, 100)}}}
	evidence, common := w.apart([]concordat.Sentence{{Span: span(10, 90)}, {Span: span(310, 390)}, {Span: span(500, 580)}},
		[]concordat.Match{{Sentence: 0}, {Sentence: 1}, {Sentence: 2}})
	if len(evidence) != 1 || evidence[0].Sentence != 2 || len(common) != 1 || common[0].Sentence != 0 {
		t.Errorf("evidence %+v, common wording %+v", evidence, common)
	}
}

// TestSortedRefs: partners are asked about documents in order of their names.
func TestSortedRefs(t *testing.T) {
	m := map[concordat.Ref]bool{}
	for i := range 30 {
		m[concordat.Ref{Site: "north", Library: "a", Document: concordat.DocumentID(fmt.Sprint(i))}] = true
	}
	got := sortedRefs(m)
	if len(got) != 30 || !slices.IsSortedFunc(got, func(a, b concordat.Ref) int { return strings.Compare(a.String(), b.String()) }) {
		t.Errorf("got %v", got)
	}
}

// TestMatchesOfNobody: a text is compared with this site's libraries and with mirrored ones even if no partner is asked.
func TestMatchesOfNobody(t *testing.T) {
	db := storetest.SQLite(t)
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := &indextest.Oracle{Site: "here", Scheme: p.Scheme()}
	s := New(site.New(site.Options{ID: "here", Store: db, Profiler: p, Index: index}), Options{Store: db})
	sub := site.Submission{ID: "s", Text: "The harbour master recorded every vessel that left the estuary and all of its cargo of wool."}
	if got, err := s.Matches(t.Context(), sub, site.CheckOptions{}); err != nil || got == nil || len(got.Sentences["here"]) == 0 {
		t.Errorf("matches %+v, %v", got, err)
	}
	if got, err := s.PartnerMatches(t.Context(), sub, site.CheckOptions{}, report.Rules{}); err != nil || got == nil {
		t.Errorf("matches of partners %+v, %v", got, err)
	}
}
