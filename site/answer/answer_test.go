package answer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/answer"
	"concordat/store"
)

// refused requires a refusal with the reason.
func refused(t testing.TB, err error, want concordat.Reason) {
	t.Helper()
	var r *concordat.Refusal
	if !errors.As(err, &r) || r.Reason != want {
		t.Fatalf("got %v, want a refusal: %s", err, want)
	}
}

// reason returns the library's reason for not answering.
func reason(t concordat.LibraryAnswer) concordat.Reason {
	if t.Refusal == nil {
		return ""
	}
	return t.Refusal.Reason
}

func TestAnswerLevels(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	in := []site.Incoming{{ID: "a", Title: "Rivers", Author: "Jane Doe",
		Text: sitetest.River + sitetest.Winter + sitetest.Garden + sitetest.Harbour},
		{ID: "b", Title: "Mills", Text: sitetest.Mill + sitetest.Bridge}}
	for i := range 20 {
		in = append(in, site.Incoming{ID: concordat.DocumentID(fmt.Sprint("x", i)),
			Text: fmt.Sprintf("Filler number %d about %s nothing in particular that anybody would ever want to quote.", i,
				strings.Repeat("quite ", i))})
	}
	o.AddDocuments(t, "theses", in...)
	for _, level := range concordat.Levels()[1:] {
		o.ShareWith(t, "theses", "north", store.ShareRule{Level: level, Contact: "library@here", Outline: concordat.OutlineWords})
		tell := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Winter+sitetest.Garden, concordat.ShowPassage, "theses"))
		l := tell.Libraries[0]
		if l.Refusal != nil || l.Level != level || !l.Exists || l.Ready != 1 {
			t.Errorf("%s: got %+v", level, l)
		}
		switch level {
		case concordat.ShowExists:
			if l.Documents != 0 || l.Sentences != 0 || tell.Documents != nil || tell.Hits != nil {
				t.Errorf("%s tells %+v", level, tell)
			}
		case concordat.ShowCounts:
			if l.Documents != 2 || l.Sentences != 3 || len(tell.Documents) != 1 || tell.Hits != nil {
				t.Errorf("%s tells %+v", level, tell)
			}
			if d := tell.Documents[0]; d.Title != "" || d.Author != "" || d.Contact != "" || d.Outline != "" || !d.Date.IsZero() || d.Matches != 3 {
				t.Errorf("%s tells of the document %+v", level, d)
			}
		default:
			if l.Documents != 1 || l.Sentences != 3 || len(tell.Documents) != 1 || len(tell.Hits) != 3 {
				t.Fatalf("%s tells %+v", level, tell)
			}
			if d := tell.Documents[0]; d.Title != "Rivers" || d.Author != "Jane Doe" || d.Contact != "library@here" ||
				d.Outline != concordat.OutlineWords || d.Matches != 3 {
				t.Errorf("%s tells of the document %+v", level, d)
			}
			for i, h := range tell.Hits {
				if h.Sentence != i || h.Ordinal != i || h.Closeness != concordat.CloseSame {
					t.Errorf("%s tells hit %+v", level, h)
				}
			}
		}
	}
	lower := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowExists, "theses"))
	if lower.Libraries[0].Level != concordat.ShowExists || lower.Hits != nil {
		t.Errorf("asked for less, got %+v", lower)
	}
}

// TestGates (P-gates): each condition of a rule causes a refusal by itself, and the refusal does not disclose what matches.
func TestGates(t *testing.T) {
	o := sitetest.NewOwner(t, "theses", "closed", "small")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter + sitetest.Garden})
	o.AddDocuments(t, "closed", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter + sitetest.Garden})
	o.AddDocuments(t, "small", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter + sitetest.Garden})
	all := store.ShareRule{Level: concordat.ShowMetadata}
	now := o.Clock.Now()
	one := func(rule store.ShareRule, a *concordat.Ask) (*concordat.SiteAnswer, concordat.LibraryAnswer) {
		t.Helper()
		o.ShareWith(t, "theses", "north", rule)
		tell := o.Told(t, "north", a)
		return tell, tell.Libraries[0]
	}
	both := sitetest.River + sitetest.Winter
	tell := o.Told(t, "north", o.Question(t, both, concordat.ShowMetadata, "theses", "closed", "none"))
	for i, l := range tell.Libraries {
		if reason(l) != concordat.ReasonLibrary || l.Exists || l.Level != concordat.ShowNothing {
			t.Errorf("default deny: library %d got %+v", i, l)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*store.ShareRule)
		text   string
		want   concordat.Reason
		hits   int
	}{
		{"open", func(*store.ShareRule) {}, both, "", 2},
		{"nothing", func(r *store.ShareRule) { r.Level = concordat.ShowNothing }, both, concordat.ReasonLibrary, 0},
		{"embargo", func(r *store.ShareRule) { r.Embargo = now.Add(time.Hour) }, both, concordat.ReasonEmbargo, 0},
		{"embargo over", func(r *store.ShareRule) { r.Embargo = now }, both, "", 2},
		{"expired", func(r *store.ShareRule) { r.Expires = now }, both, concordat.ReasonExpired, 0},
		{"expires", func(r *store.ShareRule) { r.Expires = now.Add(1) }, both, "", 2},
		{"purpose", func(r *store.ShareRule) { r.Purposes = []string{"grant"} }, both, concordat.ReasonPurpose, 0},
		{"purposes", func(r *store.ShareRule) { r.Purposes = []string{"grant", "thesis"} }, both, "", 2},
		{"one match", func(*store.ShareRule) {}, sitetest.River, "", 0},
		{"one is enough", func(r *store.ShareRule) { r.Matches = 1 }, sitetest.River, "", 1},
		{"three matches", func(r *store.ShareRule) { r.Matches = 3 }, both, "", 0},
		{"far", func(r *store.ShareRule) { r.Closeness = 1 }, strings.ReplaceAll(both, "council", "parliament"), "", 0},
		{"budget", func(r *store.ShareRule) { r.Limits.Sentences = 63 }, both, concordat.ReasonBudget, 0},
		{"burst", func(r *store.ShareRule) { r.Limits.Burst = 63 }, both, concordat.ReasonBudget, 0},
		{"disclosures", func(r *store.ShareRule) { r.Limits.Disclosures = 1 }, both, "", 0},
		{"too small", func(r *store.ShareRule) { r.Level = concordat.ShowCounts }, both, concordat.ReasonGate, 0},
	} {
		rule := all
		c.change(&rule)
		if c.name != "budget" && c.name != "burst" {
			rule.Limits.Sentences, rule.Limits.Burst = -1, -1
		}
		if c.name != "disclosures" {
			rule.Limits.Disclosures = -1
		}
		rule.Limits.Documents = -1
		tell, l := one(rule, o.Question(t, c.text, concordat.ShowMetadata, "theses"))
		if reason(l) != c.want || len(tell.Hits) != c.hits {
			t.Errorf("%s: got %q and %d hits, want %q and %d", c.name, reason(l), len(tell.Hits), c.want, c.hits)
		}
		if c.want != "" && (l.Exists || l.Documents+l.Sentences+len(tell.Documents) > 0 || l.Level != concordat.ShowNothing) {
			t.Errorf("%s: a refusal tells %+v", c.name, tell)
		}
	}
	for name, change := range map[string]func(*concordat.Ask){
		"other epoch":  func(a *concordat.Ask) { a.Epoch.Number = 9 },
		"other scheme": func(a *concordat.Ask) { a.Scheme = o.Scheme() },
	} {
		a := o.Question(t, both, concordat.ShowMetadata, "theses")
		change(a)
		if _, err := o.Answer(t.Context(), "north", a); !errors.Is(err, concordat.ErrScheme) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestGateCountsAJob: a job's matches add up over its asks; variants of one sentence count once, and a job for another submission is
// refused.
func TestGateCountsAJob(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter + sitetest.Garden})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	first := o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")
	if tell := o.Told(t, "north", first); tell.Libraries[0].Exists {
		t.Errorf("one sentence opens the gate: %+v", tell)
	}
	variant := o.Question(t, strings.Replace(sitetest.River, "frozen", "icy", 1), concordat.ShowMetadata, "theses")
	variant.Job, variant.Commitment = first.Job, first.Commitment
	if tell := o.Told(t, "north", variant); tell.Libraries[0].Exists {
		t.Errorf("two variants of one sentence open the gate: %+v", tell)
	}
	second := o.Question(t, sitetest.Winter, concordat.ShowMetadata, "theses")
	second.Job, second.Commitment = first.Job, first.Commitment
	if tell := o.Told(t, "north", second); len(tell.Hits) != 1 || tell.Hits[0].Ordinal != 1 {
		t.Errorf("the second sentence of the job: got %+v", tell)
	}
	other := o.Question(t, sitetest.Garden, concordat.ShowMetadata, "theses")
	other.Job = first.Job
	_, err := o.Answer(t.Context(), "north", other)
	refused(t, err, concordat.ReasonUnknown)
	if tell := o.Told(t, "south", first); reason(tell.Libraries[0]) != concordat.ReasonLibrary {
		t.Errorf("another partner got %+v", tell)
	}
}

func TestOwnAuthorsAreLeftOut(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Author: "Doe, Jané; Richard Roe", Text: sitetest.River + sitetest.Winter})
	sketch := sitetest.Key("sketch of " + sitetest.TestEpoch.String())
	for _, c := range []struct {
		rule    bool
		authors string
		want    bool
	}{{true, "Jane DOE", false}, {true, "Roe, Richard", false}, {true, "Jane Roe", true}, {false, "Jane Doe", true}} {
		o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, ExcludeAuthors: c.rule})
		a := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
		a.Authors = answer.AuthorHashes(sketch, c.authors)
		if got := o.Told(t, "north", a).Libraries[0].Exists; got != c.want {
			t.Errorf("%+v: exists %v", c, got)
		}
	}
}

// TestAnswersAreAudited: every call adds one audit entry, without text or fingerprints.
func TestAnswersAreAudited(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: sitetest.River + sitetest.Winter})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	a := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
	o.Told(t, "north", a)
	a.Epoch.Number = 7
	if _, err := o.Answer(t.Context(), "north", a); err == nil {
		t.Error("an epoch of the future is answered")
	}
	lines, err := o.Store.Audit.Audit(t.Context(), 0, 0)
	sitetest.Must(t, err)
	var answers []string
	for _, l := range lines {
		if l.Action == "answer" && l.Actor == "north" {
			answers = append(answers, string(l.Detail))
		}
		for _, x := range a.Sentences {
			if strings.Contains(string(l.Detail), x.Fingerprint.String()) {
				t.Errorf("line %d holds a fingerprint", l.Seq)
			}
		}
		if strings.Contains(string(l.Detail), "river") || strings.Contains(string(l.Detail), "Rivers") {
			t.Errorf("line %d holds text: %s", l.Seq, l.Detail)
		}
	}
	if len(answers) != 2 || !strings.Contains(answers[0], `"hits":2`) || !strings.Contains(answers[0], `"sentences":64`) ||
		!strings.Contains(answers[1], `"refused":"epoch"`) {
		t.Errorf("got lines %q", answers)
	}
}

// TestLongThesis: the default budgets allow a partner to ask about a thesis of 4,000 sentences, and about four such theses a day.
func TestLongThesis(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: asks 20,000 sentences")
	}
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.Long(sitetest.River+sitetest.Winter, 30)})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata})
	for thesis := range 5 {
		a := o.Question(t, sitetest.Long(sitetest.River, 10), concordat.ShowMetadata, "theses")
		a.Job[5] = byte(thesis)
		for len(a.Sentences) < 4000 {
			a.Sentences = append(a.Sentences, a.Sentences[0])
		}
		switch r := o.Told(t, "north", a).Libraries[0].Refusal; {
		case thesis < 4 && r != nil:
			t.Errorf("thesis %d: %v", thesis, r)
		case thesis == 4 && (r == nil || r.Reason != concordat.ReasonBudget):
			t.Errorf("a fifth: %v, want the end of the budget", r)
		}
		o.Clock.Move(time.Hour)
	}
}

// TestBudgets (A1): concurrent asks cannot exceed a budget.
func TestBudgets(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter})
	const most = 7
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: store.Limits{Sentences: most*64 + 10, Burst: -1}})
	var mu sync.Mutex
	answered := 0
	var wg sync.WaitGroup
	for range 20 {
		a := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
		wg.Go(func() {
			tell, err := o.Answer(context.Background(), "north", a)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch reason(tell.Libraries[0]) {
			case "":
				answered++
			case concordat.ReasonBudget:
				if tell.Libraries[0].Refusal.Retry.IsZero() {
					t.Error("a used-up budget names no time")
				}
			default:
				t.Errorf("got %+v", tell.Libraries[0])
			}
		})
	}
	wg.Wait()
	if answered != most {
		t.Errorf("%d asks were answered, the budget is for %d", answered, most)
	}
	o.Clock.Move(24*time.Hour + store.SpendSlot)
	if tell := o.Told(t, "north", o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata,
		"theses")); tell.Libraries[0].Refusal != nil ||
		tell.Libraries[0].LeftSentences != (most-1)*64+10 {
		t.Errorf("a day later got %+v", tell.Libraries[0])
	}
}

// TestDisclosureBudget: beyond the disclosure budget, documents are counted but not named; disclosing a document again in the same job
// costs nothing.
func TestDisclosureBudget(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: sitetest.River + sitetest.Winter},
		site.Incoming{ID: "b", Text: sitetest.Winter + sitetest.Garden + sitetest.River},
		site.Incoming{ID: "c", Text: sitetest.Garden + sitetest.River})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Limits: store.Limits{Disclosures: 5, Documents: 2}})
	a := o.Question(t, sitetest.River+sitetest.Winter+sitetest.Garden, concordat.ShowMetadata, "theses")
	for range 2 { // asked again in the same job
		tell := o.Told(t, "north", a)
		named := 0
		for _, d := range tell.Documents {
			if d.Contact+d.Title != "" || !d.Date.IsZero() {
				named++
			}
		}
		if l := tell.Libraries[0]; len(tell.Documents) != 3 || named != 2 || len(tell.Hits) != 5 || l.LeftDisclosures != 0 || l.Documents != 3 {
			t.Errorf("got %d documents, %d named, %d hits, %+v", len(tell.Documents), named, len(tell.Hits), l)
		}
	}
}
