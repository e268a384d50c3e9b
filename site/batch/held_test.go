package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/align/wording"
	"concordat/internal/indextest"
	"concordat/internal/storetest"
	"concordat/meaning"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

var errBroken = errors.New("the disk is broken")

// newKept returns a store with batch b of documents a and b, whose checks are t-a and t-b.
func newKept(t *testing.T) *store.DB {
	t.Helper()
	db := storetest.SQLite(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.Batches.CreateBatch(t.Context(), store.Batch{ID: "b", Request: json.RawMessage(`{"leads":true}`), Lineage: json.RawMessage(`{}`)},
		[]store.BatchInput{{Name: "essays.zip"}}))
	must(db.Batches.PutBatchMembers(t.Context(), "b", 0, []store.BatchMember{{Name: "a"}, {Name: "b"}}))
	for n, id := range []concordat.TaskID{"t-a", "t-b"} {
		must(db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: id}}))
		must(db.Batches.PutChecked(t.Context(), "b", store.BatchMember{Number: n, Task: id}, nil))
	}
	return db
}

// latestReview returns the latest review of a check, or zero if there is none.
func latestReview(t *testing.T, db *store.DB, id concordat.TaskID) (latest store.Review) {
	t.Helper()
	all, err := db.Checks.Reviews(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) > 0 {
		latest = all[len(all)-1]
	}
	return latest
}

// pages contains the pairs of a batch, by page.
type pages struct {
	left  [][]store.BatchPair
	after []*store.PairCursor
}

func (p *pages) BatchPairs(_ context.Context, _ string, _ float64, after *store.PairCursor, _ int) ([]store.BatchPair, error) {
	p.after = append(p.after, after)
	if len(p.left) == 0 {
		return nil, nil
	}
	page := p.left[0]
	p.left = p.left[1:]
	return page, nil
}

// TestEveryPair: all pairs of a batch are read, however many pages they fill in the store.
func TestEveryPair(t *testing.T) {
	full := make([]store.BatchPair, store.MaxPage)
	for i := range full {
		full[i] = store.BatchPair{A: 0, B: i + 1, ShareA: 0.5}
	}
	for name, c := range map[string]struct {
		pages [][]store.BatchPair
		pairs int
		asks  int
	}{
		"none": {nil, 0, 1}, "less than a page": {[][]store.BatchPair{full[1:]}, store.MaxPage - 1, 1},
		"a page": {[][]store.BatchPair{full}, store.MaxPage, 2}, "more": {[][]store.BatchPair{full, full, full[:3]}, 2*store.MaxPage + 3, 3},
	} {
		k, n := &pages{left: slices.Clone(c.pages)}, 0
		err := eachPair(t.Context(), k, "b", 0.1, func(store.BatchPair) { n++ })
		if err != nil || n != c.pairs || len(k.after) != c.asks {
			t.Errorf("%s: %d pairs in %d pages, %v; want %d in %d", name, n, len(k.after), err, c.pairs, c.asks)
		}
		for i, a := range k.after {
			if last := full[len(full)-1]; (a == nil) != (i == 0) || a != nil && (a.A != last.A || a.B != last.B) {
				t.Errorf("%s: page %d after %+v", name, i, a)
			}
		}
	}
}

// TestAwaitsTheEnd: the caller that cancels a batch can wait until no process works on it, and returns at once if none does.
func TestAwaitsTheEnd(t *testing.T) {
	q := NewQueue(nil, QueueOptions{})
	at := &batchAtWork{ended: make(chan struct{})}
	q.running["b"] = at
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := q.Await(gone, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("of one at work: %v, want that it is waited for", err)
	}
	if err := q.Await(t.Context(), "another"); err != nil {
		t.Errorf("of one that nobody works on: %v", err)
	}
	close(at.ended)
	if err := q.Await(t.Context(), "b"); err != nil {
		t.Errorf("of one that has ended: %v", err)
	}
}

// TestDeclare: a line of a manifest applies to the file with that full name, or else to the file whose name ends in it; empty fields keep
// the file's own values.
func TestDeclare(t *testing.T) {
	m := store.BatchMember{Name: "essay.txt", Dated: "2020-01-02", DatedBy: concordat.DateOfFile, Timed: "2020-01-02T10:00:00Z"}
	declare([]ManifestLine{{File: "essay.txt", Date: "2024"}}, &m)
	if m.Dated != "2024" || m.Timed != "" {
		t.Errorf("dated %s, %s: the file's time of day stayed with a date that was given", m.Dated, m.Timed)
	}
	part := ManifestLine{File: "a.txt", Author: "by the part", Date: "2024"}
	whole := ManifestLine{File: "essays.zip!/in/a.txt", Author: "by the whole"}
	for name, c := range map[string]struct {
		lines []ManifestLine
		want  string
	}{
		"the part":  {[]ManifestLine{{File: "b.txt", Author: "of another"}, part}, "by the part"},
		"the whole": {[]ManifestLine{whole}, "by the whole"},
		"both":      {[]ManifestLine{part, whole}, "by the whole"}, "both, in the other order": {[]ManifestLine{whole, part}, "by the whole"},
		"neither": {[]ManifestLine{{File: "b.txt", Author: "of another"}}, "as the file says"},
	} {
		m := &store.BatchMember{Name: "essays.zip!/in/a.txt", Author: "as the file says", Title: "Title"}
		declare(c.lines, m)
		if m.Author != c.want || m.Title != "Title" || (m.AuthorBy == store.AuthorDeclared) != (c.want != "as the file says") ||
			(m.Dated != "") != (c.want == "by the part") {
			t.Errorf("%s: %+v, want the author %q", name, m, c.want)
		}
	}
}

// TestTextOfPlace: a place is read from the text of its member, and is empty outside that text.
func TestTextOfPlace(t *testing.T) {
	const text = "The harbour froze."
	texts := &memberTexts{v: &View{}, of: map[int]string{3: text}}
	for span, want := range map[concordat.Span]string{{Start: 4, End: 11}: "harbour", {End: len(text)}: text, {End: len(text) + 1}: "",
		{Start: -1, End: 3}: "", {Start: 4, End: 4}: "", {Start: 5, End: 4}: "", {Start: len(text), End: len(text) + 2}: ""} {
		if got, err := texts.at(t.Context(), ViewedPlace{Member: 3, Span: span}, 100); got != want || err != nil {
			t.Errorf("%v: %q, %v; want %q", span, got, err, want)
		}
	}
}

// TestPassagesOfBothSides: a member has the passages of its own side, swapped if it is the second, and the ones that an earlier version
// stored for both sides; a summary seen from the longer text is not a summary.
func TestPassagesOfBothSides(t *testing.T) {
	source := strings.Repeat("The harbour froze. ", 20)
	span := func(from int) concordat.Span { return concordat.Span{Start: from, End: from + 10} }
	packed, err := json.Marshal([]Passage{{Side: sideA, A: span(10), B: span(200), Kind: concordat.KindVerbatim, LikeA: 0.9, LikeB: 0.8},
		{Side: sideB, A: span(30), B: span(220), Kind: concordat.KindSummary, LikeA: 0.7, LikeB: 0.6},
		{A: span(50), B: span(240), Kind: concordat.KindSummary, LikeA: 0.5, LikeB: 0.4},
		{A: span(70), B: span(260), Kind: concordat.KindNear, LikeA: 0.3, LikeB: 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		at, source int
		kind       concordat.Kind
		similarity float64
	}
	for isA, want := range map[bool][]seen{
		true:  {{10, 200, concordat.KindVerbatim, 0.9}, {50, 240, concordat.KindSummary, 0.5}, {70, 260, concordat.KindNear, 0.3}},
		false: {{220, 30, concordat.KindSummary, 0.6}, {240, 50, concordat.KindParaphrase, 0.4}, {260, 70, concordat.KindNear, 0.2}},
	} {
		ps, err := passagesOf(packed, isA, concordat.Ref{}, "", source)
		var got []seen
		for _, p := range ps {
			got = append(got, seen{p.Span.Start, p.SourceSpan.Start, p.Kind, p.Similarity})
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("as the first: %v: %v, %v; want %v", isA, got, err, want)
		}
	}
	if _, err := passagesOf(packed, true, concordat.Ref{}, "", source[:205]); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("beyond the text: %v", err)
	}
}

// TestManySay: a statement shared by three or more documents is not a lead between them, unless most of the lead is in only two; a draft
// and its final version count as one document.
func TestManySay(t *testing.T) {
	span := func(from int) concordat.Span { return concordat.Span{Start: from, End: from + 10} }
	lead := func(a, b int, starts ...int) joinedLead {
		l := joinedLead{a: a, b: b}
		for _, s := range starts {
			l.Pairs = append(l.Pairs, meaning.Pair{Span: span(s), Source: span(s)})
		}
		return l
	}
	members := map[int]*store.BatchMember{}
	for n, name := range []string{"a", "b", "c", "d"} {
		members[n] = &store.BatchMember{Number: n, Name: name}
	}
	members[3].DraftOf = "b"
	for name, c := range map[string]struct {
		leads []joinedLead
		want  []bool
	}{
		"two":               {[]joinedLead{lead(0, 1, 10)}, []bool{false}},
		"three":             {[]joinedLead{lead(0, 1, 10), lead(0, 2, 10)}, []bool{true, true}},
		"half of it":        {[]joinedLead{lead(0, 1, 10, 50), lead(0, 2, 10)}, []bool{false, true}},
		"most of it":        {[]joinedLead{lead(0, 1, 10, 30, 50), lead(0, 2, 10, 30)}, []bool{true, true}},
		"at another place":  {[]joinedLead{lead(0, 1, 10), lead(0, 2, 90)}, []bool{false, false}},
		"two and a draft":   {[]joinedLead{lead(0, 1, 10), lead(0, 3, 10)}, []bool{false, false}},
		"seen by the other": {[]joinedLead{lead(0, 1, 10), lead(1, 2, 10)}, []bool{true, true}},
	} {
		(&batchRun{lineage: DefaultLineage()}).markMany(c.leads, members)
		for i, l := range c.leads {
			if l.Many != c.want[i] {
				t.Errorf("%s: lead %d is said by many: %v, want %v", name, i, l.Many, c.want[i])
			}
		}
	}
}

// TestDecidedInBoth: a decision on a lead is in the reports of both documents, with any reason; if one of them could not be stored, the
// officer gets an error.
func TestDecidedInBoth(t *testing.T) {
	one := func(other, at, source int) []byte {
		b, err := json.Marshal(reportedLeads{Leads: []leadTo{{Other: other, ReportedLead: ReportedLead{
			Span: concordat.Span{Start: at, End: at + 9}, Points: concordat.Span{Start: at, End: at + 9},
			Source: concordat.Span{Start: source, End: source + 9}, SourcePoints: concordat.Span{Start: source, End: source + 9}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	newLead := func() *store.DB {
		db := newKept(t)
		for n, reported := range [][]byte{one(1, 10, 70), one(0, 70, 10)} {
			err := db.Batches.PutBatchLeads(t.Context(), "b", n, []byte(`{}`))
			if err == nil {
				err = db.Batches.PutReportedLeads(t.Context(), "b", n, reported)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return db
	}
	s := site.New(site.Options{ID: "here"})
	for why, want := range map[string][2]string{"": {"count-lead 10–19", "count-lead 70–79"},
		"read": {"count-lead 10–19: read", "count-lead 70–79: read"}} {
		db := newLead()
		decision := LeadDecision{A: 0, B: 1, Span: concordat.Span{Start: 10, End: 19}, Source: concordat.Span{Start: 70, End: 79},
			State: report.LeadCounted, By: "ada", Why: why}
		if err := DecideLead(t.Context(), s, db, "b", decision, report.Rules{}); err != nil {
			t.Fatal(err)
		}
		if a, b := latestReview(t, db, "t-a").Text, latestReview(t, db, "t-b").Text; a != want[0] || b != want[1] {
			t.Errorf("because of %q: %q and %q, want %q", why, a, b, want)
		}
		for of := range 2 {
			db, script := storetest.Scripted(newLead())
			n := 0
			script.On("AppendReview", func() error {
				if n++; n == of+1 {
					return errBroken
				}
				return nil
			})
			if err := DecideLead(t.Context(), s, db, "b", decision, report.Rules{}); !errors.Is(err, errBroken) {
				t.Errorf("not kept in report %d: %v", of, err)
			}
		}
		decision.Span.End++
		if err := DecideLead(t.Context(), s, db, "b", decision, report.Rules{}); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("of a lead that is not there: %v", err)
		}
	}
}

// TestTellsAtTimes: a batch reports the beginning and end of each stage, and in between only some time after the previous report.
func TestTellsAtTimes(t *testing.T) {
	for name, c := range map[string]struct {
		stage string
		told  time.Duration // time since the last report
		done  int
		want  bool
	}{
		"a new stage": {StageRead, time.Hour, 1, true}, "just told": {StageCompare, time.Hour, 1, false},
		"told long ago": {StageCompare, -time.Hour, 1, true}, "at its end": {StageCompare, time.Hour, 9, true},
	} {
		db, script := storetest.Scripted(newKept(t))
		r := &batchRun{o: Options{Store: db}, id: "b", stage: StageCompare, told: time.Now().Add(c.told)}
		if err := r.tell(t.Context(), c.stage, c.done, 9); err != nil || (len(script.Made()) == 1) != c.want {
			t.Errorf("%s: told %v, %v; want it told: %v", name, script.Made(), err, c.want)
		}
	}
}

// TestWorksNeedTheStore: if the list of compared documents or one of those documents cannot be read, a document's check fails instead of
// reporting no works in common.
func TestWorksNeedTheStore(t *testing.T) {
	for name, fault := range map[string]error{"unknown": errBroken, "unread": nil} {
		db, script := storetest.Scripted(newKept(t))
		if err := db.Batches.PutCompared(t.Context(), "b", 0, []store.BatchPair{{A: 0, B: 1, ShareA: 0.5}}); err != nil {
			t.Fatal(err)
		}
		script.On("Compared", func() error { return fault })
		r := &batchRun{s: site.New(site.Options{ID: "here"}), id: "b", o: Options{Store: db, Index: &indextest.Oracle{Site: "here"}}}
		r.works.by = map[string][]report.Work{"a": {{}}}
		by := map[int]*store.BatchMember{1: {Number: 1, Name: "b"}}
		want := cmp.Or(fault, concordat.ErrNotFound)
		if err := r.addWorks(t.Context(), &report.Findings{}, &store.BatchMember{Name: "a"}, by); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPanicOfBatchIsNoted: a program fault that ends a batch is counted even if the batch runs outside a queue.
func TestPanicOfBatchIsNoted(t *testing.T) {
	s, n := site.New(site.Options{ID: "here"}), 0
	s.TellPanics(compare.Panics{Logger: slog.New(slog.DiscardHandler), Counted: func() { n++ }})
	r := &batchRun{s: s, id: "b", o: Options{Store: newKept(t)}}
	if err := r.failed(t.Context(), compare.Guard(func() error { panic("a fault") })); err == nil || n != 1 {
		t.Errorf("counted %d, %v", n, err)
	}
	if err := r.failed(t.Context(), errBroken); !errors.Is(err, errBroken) || n != 1 {
		t.Errorf("of an error: counted %d, %v", n, err)
	}
}

// TestCountsAgain: the report of a document includes another document again once their pair counts, and omits it once the pair does not
// count.
func TestCountsAgain(t *testing.T) {
	b := concordat.Ref{Site: "here", Library: concordat.BatchLibrary("x"), Document: "b"}
	another := concordat.Ref{Site: "here", Library: "theses", Document: "b"}
	v := &View{Batch: store.Batch{ID: "x"}, Members: []store.BatchMember{{Number: 0, Name: "a", Task: "t-a"}, {Number: 1, Name: "b"}}}
	for name, c := range map[string]struct {
		verdict       string
		before, after []concordat.Ref
	}{
		"counts again":  {store.VerdictCount, []concordat.Ref{another, b}, []concordat.Ref{another}},
		"no longer":     {store.VerdictDiscount, []concordat.Ref{another}, []concordat.Ref{another, b}},
		"counts as did": {store.VerdictCount, []concordat.Ref{another}, nil},
	} {
		db := newKept(t)
		s := site.New(site.Options{ID: "here", Store: db})
		err := recountPairs(t.Context(), s, db, v, LineageRules{}, []store.BatchPair{{A: 0, B: 1, Verdict: c.verdict}}, "ada",
			report.Rules{ExcludeSources: c.before})
		var rules report.Rules
		if data := latestReview(t, db, "t-a").Data; data != nil {
			err = errors.Join(err, json.Unmarshal(data, &rules))
		}
		if err != nil || !slices.Equal(rules.ExcludeSources, c.after) {
			t.Errorf("%s: %v left out, %v; want %v", name, rules.ExcludeSources, err, c.after)
		}
	}
}

// TestRestsOfWording: if documents share wording beyond a template, the rest is reported if long enough.
func TestRestsOfWording(t *testing.T) {
	const template = "Please describe below in your own words what you have found out during the whole of your stay abroad"
	for rest, want := range map[string]bool{
		"the old quay had iron rings beside the customs house where boats were moored at night before the flood": true,
		"iron rings beside it": false,
	} {
		var texts []string
		counter := &wording.Counter{Parts: 1}
		w := &batchWording{numbers: map[string]int{}, names: []string{"a", "b", "c"}, templates: []string{template},
			ref: func(name string) concordat.Ref { return concordat.Ref{Document: concordat.DocumentID(name)} }}
		for i, own := range []string{"alpha", "beta", "gamma"} {
			text := strings.Repeat(own+" ", 30) + template + " " + rest + " " + strings.Repeat(own+own+" ", 30)
			texts = append(texts, text)
			w.numbers[w.names[i]] = i
			counter.Add(i, wording.Split(text))
		}
		w.scope = wording.Scope{Held: counter.Common(2), Of: 3}
		h := newHeldAlike(w)
		for i, text := range texts {
			h.add(i, wording.Split(text), w.shared(w.names[i], text).Classes)
		}
		if got := h.groups[""]; (got != nil && len(got.Held(LeastHeld, 9)) > 0) != want {
			t.Errorf("beside a template: %q is told: %+v, want %v", rest, got, want)
		}
	}
}
