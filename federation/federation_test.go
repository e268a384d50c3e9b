package federation_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// sortedAnswer returns t with its documents sorted by handle, so that answers can be compared.
func sortedAnswer(t *concordat.SiteAnswer) *concordat.SiteAnswer {
	v := *t
	place := make([]int, len(t.Documents))
	for i := range place {
		place[i] = i
	}
	slices.SortFunc(place, func(a, b int) int { return bytes.Compare(t.Documents[a].Handle[:], t.Documents[b].Handle[:]) })
	v.Documents, v.Hits = nil, slices.Clone(t.Hits)
	moved := map[int]int{}
	for to, from := range place {
		moved[from] = to
		v.Documents = append(v.Documents, t.Documents[from])
	}
	for i := range v.Hits {
		v.Hits[i].Document = moved[v.Hits[i].Document]
	}
	slices.SortFunc(v.Hits, func(a, b concordat.Hit) int {
		return cmp.Or(a.Sentence-b.Sentence, int(b.Closeness)-int(a.Closeness), a.Document-b.Document, a.Ordinal-b.Ordinal)
	})
	return &v
}

var ignoreStatements = cmpopts.IgnoreTypes(concordat.Statement{})

// TestAskEqualsDirect: the answer over the wire, in the caller's numbering, equals the answerer's answer to the question before padding
// and shuffling.
func TestAskEqualsDirect(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 6, 40)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	for _, n := range []int{1, 63, 64, 65, 200, 513} {
		a := submission(r, answers, n)
		want, err := (&scan{documents: answers.documents, title: answers.title, level: answers.level}).Answer(t.Context(), f.ID(0), a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Partner(0, 1).Ask(t.Context(), a)
		if err != nil {
			t.Fatalf("%d sentences: %v", n, err)
		}
		if diff := gocmp.Diff(sortedAnswer(want), sortedAnswer(got), ignoreStatements, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d sentences (-direct +over the wire):\n%s", n, diff)
		}
	}
	if got := answers.from[0]; got != f.ID(0) {
		t.Errorf("answered %s, want %s", got, f.ID(0))
	}
	for i, want := range []int{64, 64, 64, 80, 224, 640} {
		if got := len(answers.asks[i].Sentences); got != want {
			t.Errorf("the partner saw %d sentences, want %d", got, want)
		}
	}
}

// TestRounds: each method of a Partner reaches its counterpart and returns its result, with a statement that anyone with the partner's
// card can verify.
func TestRounds(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 3, 10)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	p, ctx := f.Partner(0, 1), t.Context()
	card := f.Sites[1].Member(federation.StateActive).Card
	types := map[string]crypto.MessageType{"catalogue": crypto.TypeCatalogue, "tell": crypto.TypeQuery, "outlines": crypto.TypeOutline,
		"edges": crypto.TypeEdges, "revealed": crypto.TypeReveal, "shipment": crypto.TypeShip, "leads": crypto.TypeLeads}
	job := concordat.JobID{1}
	check := func(name, kind string, s concordat.Statement, err error, read func([]byte) error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if s.Kind != kind || s.Site != f.ID(1) {
			t.Errorf("%s: statement of %s by %s, want %s by %s", name, s.Kind, s.Site, kind, f.ID(1))
		}
		if sum := sha256.Sum256(s.Asked); !bytes.Equal(sum[:], s.Request) {
			t.Errorf("%s: the statement is about another request", name)
		}
		signed := federation.AnswerTo(types[kind], s.Asked)
		asker, _ := f.Sites[0].Roster.Self()
		signed.Asker, signed.At, signed.Payload = asker.Site(), s.At, s.Payload
		if err := card.VerifyAnswer(s.KeyEpoch, &signed, s.Signature); err != nil {
			t.Errorf("%s: statement: %v", name, err)
		}
		if inJob := kind != "catalogue" && kind != "shipment"; s.Asker != f.ID(0) || inJob != (len(s.Job) > 0) ||
			(kind == "tell" || kind == "leads") != (len(s.Commitment) > 0) {
			t.Errorf("%s: the statement names asker %s, job %x, commitment %x", name, s.Asker, s.Job, s.Commitment)
		}
		if err := read(s.Payload); err != nil {
			t.Errorf("%s: payload: %v", name, err)
		}
		for what, change := range map[string]func(*crypto.Answer){
			"payload":    func(a *crypto.Answer) { a.Payload = append(bytes.Clone(a.Payload), 1) },
			"asker":      func(a *crypto.Answer) { a.Asker[0] ^= 1 },
			"job":        func(a *crypto.Answer) { a.Job[0] ^= 1 },
			"commitment": func(a *crypto.Answer) { a.Commitment[0] ^= 1 },
		} {
			changed := signed
			change(&changed)
			if err := card.VerifyAnswer(s.KeyEpoch, &changed, s.Signature); !errors.Is(err, crypto.ErrSignature) {
				t.Errorf("%s: a statement with another %s: error %v, want ErrSignature", name, what, err)
			}
		}
	}

	c, err := p.Catalogue(ctx)
	check("catalogue", "catalogue", c.Statement, err, func(b []byte) error { _, err := wire.ParseCatalogue(b); return err })
	if want, _ := answers.OpenTo(ctx, ""); !gocmp.Equal(c, want, ignoreStatements) {
		t.Errorf("catalogue: got %+v, want %+v", c, want)
	}
	tell, err := p.Ask(ctx, submission(r, answers, 20))
	check("ask", "tell", tell.Statement, err, func(b []byte) error { _, err := wire.ParseAnswer(b); return err })
	o, err := p.Outline(ctx, &concordat.OutlineAsk{Job: job, Epoch: fedtest.Epoch,
		Documents: []concordat.OutlineOf{{Handle: handleOf(1), Ordinals: []int{3, 4}}, {Handle: handleOf(2)}}})
	check("outline", "outlines", o.Statement, err, func(b []byte) error { _, err := wire.ParseOutlines(b); return err })
	if len(o.Documents) != 2 || len(o.Documents[0].Units) != 2 || o.Documents[1].Refusal == nil ||
		o.Documents[1].Refusal.Reason != concordat.ReasonBudget {
		t.Errorf("outlines: got %+v", o)
	}
	span := concordat.Span{Start: 3, End: 77}
	e, err := p.Edges(ctx, &concordat.EdgesAsk{Job: job, Epoch: fedtest.Epoch,
		Passages: []concordat.EdgePassage{{Span: span, Words: []byte{7, 8, 9}}}})
	check("edges", "edges", e.Statement, err, func(b []byte) error { _, err := wire.ParseEdges(b); return err })
	if len(e.Passages) != 1 || e.Passages[0][0] != (concordat.EdgeCopy{From: 0, To: 3, Span: span}) {
		t.Errorf("edges: got %+v", e)
	}
	v, err := p.Reveal(ctx, &concordat.RevealAsk{Job: job, Epoch: fedtest.Epoch, Level: concordat.ShowOverlap,
		Passages: []concordat.RevealPassage{{Span: span, Text: "Words of the asker"}}})
	check("reveal", "revealed", v.Statement, err, func(b []byte) error { _, err := wire.ParseRevealed(b); return err })
	if len(v.Passages) != 1 || v.Passages[0].Shared[0] != (concordat.Span{Start: 0, End: 4}) ||
		answers.reveals[0].Passages[0].Text != "Words of the asker" {
		t.Errorf("reveal: got %+v", v)
	}
	leads, err := p.Leads(ctx, &concordat.LeadAsk{Job: job, Epoch: fedtest.Epoch, Table: "0123456789abcdef",
		Libraries: []concordat.LibraryID{"theses"}, Commitment: [32]byte{1}, Cells: make([]concordat.AskedCells, 64)})
	check("leads", "leads", leads.Statement, err, func(b []byte) error { _, err := wire.ParseLeadAnswer(b); return err })
	if len(leads.Documents) != 1 || len(leads.Hits) != 2 || leads.Hits[1] != (concordat.LeadHit{Cells: 2, Step: concordat.LeadVeryNear}) {
		t.Errorf("leads: got %+v", leads)
	}
	s, err := p.Ship(ctx, &concordat.ShipAsk{Epoch: fedtest.Epoch, Library: "theses"})
	check("ship", "shipment", s.Statement, err, func(b []byte) error { _, err := wire.ParseShipment(b); return err })
	if !s.More || len(s.Documents) != 3 || s.Documents[2].Sentences[9].Fingerprint != answers.documents[2][9] {
		t.Errorf("ship: got %d documents, more %v", len(s.Documents), s.More)
	}
	if err := p.Notify(ctx, &concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "theses", Words: "closed"}); err != nil {
		t.Errorf("notify: %v", err)
	}
	if len(answers.notices) != 1 || answers.notices[0].Library != "theses" {
		t.Errorf("notices: got %+v", answers.notices)
	}
	if _, err := p.Head(ctx); err != nil {
		t.Errorf("head: %v", err)
	}
}

// TestV5AnswerOfAnother: an answer to one member is not valid for another member that presents it as its own.
func TestV5AnswerOfAnother(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.Join(t, scheme, answers, &scan{}, &scan{})
	tell, err := f.Partner(1, 0).Ask(t.Context(), submission(r, answers, 5))
	if err != nil {
		t.Fatal(err)
	}
	_, card := f.Sites[0].Roster.Self()
	for i := 1; i <= 2; i++ {
		shows, _ := f.Sites[i].Roster.Self()
		a := federation.AnswerTo(crypto.TypeQuery, tell.Statement.Asked)
		a.Asker, a.At, a.Payload = shows.Site(), tell.Statement.At, tell.Statement.Payload
		if err := card.VerifyAnswer(tell.Statement.KeyEpoch, &a, tell.Statement.Signature); (i == 1) != (err == nil) {
			t.Errorf("shown by site %d: %v", i, err)
		}
	}
}

// TestRefusals: a refusal arrives unchanged, and any other error arrives without its text.
func TestRefusals(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	for _, test := range []struct {
		err    error
		reason concordat.Reason
		words  string
		is     error
	}{
		{&concordat.Refusal{Reason: concordat.ReasonBudget, Words: "come tomorrow"}, concordat.ReasonBudget, "come tomorrow",
			concordat.ErrRefused},
		{errors.New("secret detail"), concordat.ReasonFault, "", concordat.ErrUnavailable},
		{concordat.ErrScheme, concordat.ReasonScheme, "", concordat.ErrScheme},
	} {
		answers.setBefore(func(context.Context) error { return test.err })
		_, err := f.Partner(0, 1).Ask(t.Context(), submission(r, answers, 5))
		var refusal *concordat.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != test.reason || refusal.Words != test.words || !errors.Is(err, test.is) {
			t.Errorf("answerer fails with %v: got %v, want reason %s, words %q", test.err, err, test.reason, test.words)
		}
	}
	answers.setBefore(func(context.Context) error { panic("broken") })
	if _, err := f.Partner(0, 1).Ask(t.Context(), submission(r, answers, 5)); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("answerer panics: error %v, want ErrUnavailable", err)
	}
	answers.setBefore(nil)
	if _, err := f.Partner(0, 1).Ask(t.Context(), submission(r, answers, 5)); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// crowd is an answerer that treats every sentence as common wording.
type crowd struct{ scan }

const crowded = 64 // hits per sentence

func (c *crowd) Answer(_ context.Context, _ concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	t := &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{
		Library: a.Libraries[0], Level: concordat.ShowMetadata, Ready: 1, Exists: true,
		Documents: crowded, Sentences: len(a.Sentences)}}}
	for d := range crowded {
		t.Documents = append(t.Documents, concordat.DocumentAnswer{Handle: handleOf(d), Matches: len(a.Sentences)})
	}
	for i := range a.Sentences {
		for d := range crowded {
			t.Hits = append(t.Hits, concordat.Hit{Sentence: i, Document: d, Documents: crowded})
		}
	}
	return t, nil
}

// TestLongAnswer: an answer too long for one message keeps the nearest hits of each sentence and reports that some were omitted; a
// shorter answer is complete.
func TestLongAnswer(t *testing.T) {
	r := newRand(t)
	f := fedtest.Join(t, scheme, &scan{}, &crowd{})
	for _, test := range []struct{ sentences, each int }{{1024, crowded}, {8192, crowded / 4}} {
		a := submission(r, library(r, "", 1, 5), test.sentences)
		tell, err := f.Partner(0, 1).Ask(t.Context(), a)
		if err != nil {
			t.Fatalf("%d sentences: %v", test.sentences, err)
		}
		if got, want := len(tell.Hits), test.sentences*test.each; got != want {
			t.Fatalf("%d sentences: %d hits, want %d", test.sentences, got, want)
		}
		for i, h := range tell.Hits {
			if h.Sentence != i/test.each || h.Document != i%test.each {
				t.Fatalf("%d sentences: hit %d is %+v", test.sentences, i, h)
			}
		}
		capped := 0
		if test.each < crowded {
			capped = 1
		}
		if got := tell.Libraries[0].Capped; got != capped {
			t.Errorf("%d sentences: %d capped, want %d", test.sentences, got, capped)
		}
	}
}
