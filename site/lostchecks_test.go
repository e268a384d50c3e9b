package site_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
)

// steady is a partner whose own store works even if the asker's fails.
type steady struct{ concordat.Answerer }

func (s steady) Answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	return s.Answerer.Answer(context.WithoutCancel(ctx), from, a)
}

func (s steady) AnswerOutline(ctx context.Context, from concordat.SiteID, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	return s.Answerer.AnswerOutline(context.WithoutCancel(ctx), from, a)
}

func (s steady) AnswerEdges(ctx context.Context, from concordat.SiteID, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	return s.Answerer.AnswerEdges(context.WithoutCancel(ctx), from, a)
}

func (s steady) AnswerReveal(ctx context.Context, from concordat.SiteID, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	return s.Answerer.AnswerReveal(context.WithoutCancel(ctx), from, a)
}

func (s steady) AnswerShip(ctx context.Context, from concordat.SiteID, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	return s.Answerer.AnswerShip(context.WithoutCancel(ctx), from, a)
}

// TestSiteStatementsFail makes each statement of the store fail while a site works with its own documents and with partners, and requires
// that the caller gets an error. A check never returns an incomplete report unless the report names the missing library.
func TestSiteStatementsFail(t *testing.T) {
	a, b := sitetest.NewMember(t, "a", "papers"), sitetest.NewMember(t, "b", "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	add := func(ctx context.Context, m *sitetest.Member, lib concordat.LibraryID, id concordat.DocumentID, text string) error {
		return m.Ingest(ctx, lib, sitetest.Docs(site.Incoming{ID: id, Title: string(id), Text: text}), func(site.Ingested) error { return nil })
	}
	sitetest.Must(t, add(t.Context(), a, "papers", "own", sitetest.River+sitetest.Garden))
	sitetest.Must(t, add(t.Context(), b, "theses", "theirs", text))
	b.ShareAll(t, "a", sitetest.Sharing(true), "theses")
	partner := b.SeenBy("a", "theses")
	partner.Partner = sitetest.InProcess{From: "a", To: steady{b.Answerer}, ID: "b"}
	sub := site.Submission{ID: "sub", Title: "Essay", Text: sitetest.Passage + sitetest.Garden}
	n := 0
	again := func() concordat.DocumentID { n++; return concordat.DocumentID(fmt.Sprint("x", n)) }
	var whole, got *report.Findings
	check := func(o site.CheckOptions) func(context.Context) error {
		return func(ctx context.Context) (err error) { got, err = a.Check(ctx, sub, o); return err }
	}
	mirror := site.MirroredLibrary{Site: "b", Library: "theses", Epoch: sitetest.FederationEpoch, Profiler: a.Profiler,
		Index: &indextest.Oracle{Site: "a", Scheme: a.Profiler.Scheme()}}
	ref := concordat.Ref{Site: "a", Library: "papers", Document: "own"}
	for _, op := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"check", check(site.CheckOptions{})},
		{"check that stands", check(site.CheckOptions{Standing: true})},
		{"check with a partner", check(site.CheckOptions{Forward: "all", Partners: []site.PartnerLibraries{partner}})},
		{"mirror", func(ctx context.Context) error {
			_, err := a.SyncMirror(ctx, partner.Partner.(ask.Shipper), mirror, nil)
			return err
		}},
		{"check with a mirror", check(site.CheckOptions{Mirrors: []site.MirroredLibrary{mirror}})},
		{"end of a mirror", func(ctx context.Context) error { return a.DropMirror(ctx, mirror) }},
		{"add", func(ctx context.Context) error {
			return add(ctx, a, "papers", again(), sitetest.Harbour+sitetest.Bridge)
		}},
		{"add again", func(ctx context.Context) error { return add(ctx, a, "papers", "own", sitetest.River+sitetest.Garden) }},
		{"delete", func(ctx context.Context) error { return a.DeleteDocuments(ctx, "papers", "x1") }},
		{"local", func(ctx context.Context) error { _, err := a.Local(ctx, sub, site.CheckOptions{}); return err }},
		{"text", func(ctx context.Context) error { _, err := a.DocumentText(ctx, ref); return err }},
		{"boilerplate", func(ctx context.Context) error {
			_, err := a.Boilerplate(ctx, "papers", site.BoilerplateOptions{Least: 2})
			return err
		}},
		{"alerts", func(ctx context.Context) error { _, err := a.Alerts(ctx, 0, 10); return err }},
		{"settle", func(ctx context.Context) error { _, err := a.SettleBefore(ctx, time.Now()); return err }},
	} {
		t.Run(op.name, func(t *testing.T) {
			got = nil
			sitetest.Must(t, op.do(t.Context()))
			if whole = got; whole != nil && len(whole.Passages) == 0 {
				t.Fatal("the check finds nothing")
			}
			for n := 0; ; n++ {
				ctx := storetest.NewLosing(t.Context(), n)
				got = nil
				err := op.do(ctx)
				if !ctx.Lost() {
					sitetest.Must(t, err)
					if n == 0 {
						t.Error("nothing is read of the store")
					}
					return
				}
				if errors.Is(err, storetest.ErrLost) {
					continue
				}
				if err == nil && got != nil && (cmp.Equal(passages(whole), passages(got)) || unanswered(got)) {
					continue
				}
				t.Errorf("statement %d failed: error %v, want its own", n, err)
			}
		})
	}
}

// passages returns the places and sources of findings.
func passages(f *report.Findings) (out []string) {
	for _, p := range f.Passages {
		out = append(out, fmt.Sprint(p.Span, p.Source, p.Kind, p.SourceSpan))
	}
	return out
}

// unanswered reports whether findings say that a library did not answer.
func unanswered(f *report.Findings) bool {
	for _, c := range f.Consulted {
		if c.Answered < c.Asked {
			return true
		}
	}
	return false
}
