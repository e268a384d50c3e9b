package answer_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
)

// TestAnswerBounds: each round is answered up to the limits in doc/format-federation.md and refused as invalid beyond any of them, even
// if its envelope permits more.
func TestAnswerBounds(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: text})
	o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
	a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
	invalid := func(name string, err error) {
		t.Helper()
		if !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
	libraries := make([]concordat.LibraryID, 257)
	for i := range libraries {
		libraries[i] = concordat.LibraryID(strings.Repeat("x", i+1))
	}
	for name, change := range map[string]func(*concordat.Ask){
		"no job":                    func(a *concordat.Ask) { a.Job = concordat.JobID{} },
		"no sentences":              func(a *concordat.Ask) { a.Sentences = nil },
		"too many sentences":        func(a *concordat.Ask) { a.Sentences = make([]concordat.AskedSentence, concordat.MaxAsked+1) },
		"no libraries":              func(a *concordat.Ask) { a.Libraries = nil },
		"too many libraries":        func(a *concordat.Ask) { a.Libraries = libraries },
		"a library twice":           func(a *concordat.Ask) { a.Libraries = []concordat.LibraryID{"theses", "theses"} },
		"too many authors":          func(a *concordat.Ask) { a.Authors = make([][16]byte, 65) },
		"a long purpose":            func(a *concordat.Ask) { a.Purpose = strings.Repeat("x", 129) },
		"a purpose of two lines":    func(a *concordat.Ask) { a.Purpose = "thesis\nrefused" },
		"the level nothing":         func(a *concordat.Ask) { a.Level = concordat.ShowNothing },
		"no level":                  func(a *concordat.Ask) { a.Level = "" },
		"an unknown level":          func(a *concordat.Ask) { a.Level = "everything" },
		"an unknown probe":          func(a *concordat.Ask) { a.Probe = concordat.ProbeOne + 1 },
		"a gate that no scheme has": func(a *concordat.Ask) { a.Sentences = []concordat.AskedSentence{{Gate: 99}} },
	} {
		bad := *o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses")
		change(&bad)
		_, err := o.Answer(t.Context(), "north", &bad)
		invalid(name, err)
	}
	most := *o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses")
	most.Libraries, most.Authors, most.Purpose = append(libraries[:255:255], "theses"), make([][16]byte, 64), strings.Repeat("x", 128)
	if _, err := o.Answer(t.Context(), "north", &most); err != nil {
		t.Errorf("an ask at its bounds: %v", err)
	}

	of := concordat.OutlineOf{Handle: d.Handle, Ordinals: ordinals}
	for name, documents := range map[string][]concordat.OutlineOf{
		"outlines of no documents": nil, "outlines of too many": make([]concordat.OutlineOf, 201),
		"too many sentences": {{Handle: d.Handle, Ordinals: make([]int, concordat.MaxAsked+1)}},
	} {
		_, err := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch, Documents: documents})
		invalid(name, err)
	}
	if got := o.Outline(t, "north", a, of); got[0].Refusal != nil {
		t.Errorf("the outline that was told: %v", got[0].Refusal)
	}

	edge := func(start, end int, words int) concordat.EdgePassage {
		return concordat.EdgePassage{Span: concordat.Span{Start: start, End: end}, Words: make([]byte, words)}
	}
	many := make([]concordat.EdgePassage, 257)
	for i := range many {
		many[i] = edge(0, 1, 1)
	}
	for name, passages := range map[string][]concordat.EdgePassage{
		"edges of nothing": nil, "edges of too many": many, "edges before the text": {edge(-1, 5, 1)}, "edges of no length": {edge(5, 5, 1)},
		"edges that end before they start": {edge(5, 4, 1)}, "edges without words": {edge(0, 5, 0)},
		"edges of too many words": {edge(0, 5, 1<<17+1)},
		"edges of too much text":  {edge(0, 3<<20, 1), edge(0, 1<<20+1, 1)},
	} {
		_, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle, Passages: passages})
		invalid(name, err)
	}

	for name, change := range map[string]func(*concordat.RevealAsk){
		"a level that reveals nothing":       func(q *concordat.RevealAsk) { q.Level = concordat.ShowMetadata },
		"a reveal of nothing":                func(q *concordat.RevealAsk) { q.Passages = nil },
		"a reveal of too much":               func(q *concordat.RevealAsk) { q.Passages = make([]concordat.RevealPassage, concordat.MaxRevealed+1) },
		"a long reason":                      func(q *concordat.RevealAsk) { q.Reason = strings.Repeat("x", 4<<10+1) },
		"a long contact":                     func(q *concordat.RevealAsk) { q.Contact = strings.Repeat("x", 4<<10+1) },
		"a passage before the text":          func(q *concordat.RevealAsk) { q.Passages[0].Span.Start = -1 },
		"a passage of no length":             func(q *concordat.RevealAsk) { q.Passages[0].Span.End = q.Passages[0].Span.Start },
		"a passage beyond any text":          func(q *concordat.RevealAsk) { q.Passages[0].Span.End = math.MaxInt32 + 1 },
		"a passage of too much of one's own": func(q *concordat.RevealAsk) { q.Passages[0].Text = strings.Repeat("x", 64<<10+1) },
		"a passage that is no UTF-8":         func(q *concordat.RevealAsk) { q.Passages[0].Text = "\xff" },
	} {
		q := o.RevealAsk(a, d, concordat.ShowOverlap, text, sitetest.River+sitetest.Winter, sitetest.River+sitetest.Winter)
		change(q)
		_, err := o.AnswerReveal(t.Context(), "north", q)
		invalid(name, err)
	}
}
