package requests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/review"
)

// askTime is the time limit for a partner's answer while a visitor waits.
const askTime = time.Minute

// Source is a partner's document among the sources of a passage, with the requests for it.
type Source struct {
	Site   concordat.SiteID
	Title  string
	CanAsk bool // its location is known and it is not in a mirror
	Mirror bool
	Asks   []report.Disclosure // requests for this passage, oldest first, in their current state
}

// SourcesOf returns the partners' documents that match text within a span of the submission.
func SourcesOf(r *report.Report, at concordat.Span, now time.Time) []Source {
	var out []Source
	for _, e := range r.Evidence {
		if e.Span != at {
			continue
		}
		for _, s := range e.Sources {
			p, ok := r.Partner(s.Ref)
			if !ok {
				continue
			}
			one := Source{Site: s.Site, Title: s.Title, Mirror: p.Job == ""}
			for _, part := range s.Parts {
				one.CanAsk = one.CanAsk || !one.Mirror && part.SourceSpan.Len() > 0
			}
			for _, d := range r.Disclosures {
				if d.Source != s.Ref || !slices.ContainsFunc(d.Passages, func(p concordat.SpanPair) bool { return p.Span.Overlaps(at) }) {
					continue
				}
				if d.State == concordat.DisclosurePending && !d.Until.IsZero() && !now.Before(d.Until) {
					d.State = concordat.DisclosureExpired
				}
				one.Asks = append(one.Asks, d)
			}
			out = append(out, one)
		}
	}
	return out
}

// Waits reports whether a request is still undecided.
func (a Source) Waits() bool {
	return slices.ContainsFunc(a.Asks, func(d report.Disclosure) bool { return d.State == concordat.DisclosurePending })
}

// ask asks the partners that have the sources of a passage to show more of it, or requests the state of earlier requests.
func (s Requests) ask(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := s.o.Tasks.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	var at concordat.Span
	f := r.PostForm
	if err == nil && f.Get("lead") == "" {
		at, err = review.SpanOf(f)
	}
	if err == nil {
		_, err = s.Ask(r.Context(), v, t, Passages{At: at, Lead: f.Get("lead"),
			Partner: concordat.SiteID(f.Get("site")), Level: concordat.Show(f.Get("level")),
			Reason: f.Get("reason"), Contact: f.Get("contact"), Refresh: f.Get("action") == "refresh"})
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	to := "/checks/" + string(t.ID)
	if n := review.PassageNumber(f); n != "" {
		to += "/passages/" + n
	} else if f.Get("lead") != "" {
		to += "#leads"
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// Passages identifies the passages to request from partners.
type Passages struct {
	At              concordat.Span   // span of the submission
	Lead            string           // number of a partner's possible lead whose passages are requested; empty to request passages at At
	Partner         concordat.SiteID // empty for all partners with sources
	Level           concordat.Show   // ShowOverlap or ShowPassage
	Reason, Contact string           // required for ShowPassage, which needs a person's decision
	Refresh         bool             // only update the state of pending requests
}

// Ask sends the requests and returns their states.
func (s Requests) Ask(ctx context.Context, v *pages.Visitor, t store.Task, a Passages) ([]report.Disclosure, error) {
	a.Reason, a.Contact = strings.TrimSpace(a.Reason), strings.TrimSpace(a.Contact)
	switch {
	case s.o.Partners == nil:
		return nil, fmt.Errorf("ask partners: %w", concordat.ErrUnavailable)
	case !pages.HasReport(t):
		return nil, fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	case a.Refresh:
	case a.Level != concordat.ShowOverlap && a.Level != concordat.ShowPassage:
		return nil, message.Invalid("wrong.action", a.Level)
	case a.Level == concordat.ShowPassage && (a.Reason == "" || a.Contact == ""):
		return nil, message.Invalid("wrong.ask")
	case len(a.Reason) > 4<<10 || len(a.Contact) > 4<<10: // the bounds enforced by partners
		return nil, message.Invalid("wrong.ask")
	}
	f, err := s.o.Site.Findings(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if a.Refresh {
		return s.refresh(ctx, v, t, f)
	}
	if a.Lead != "" {
		i := slices.IndexFunc(f.PartnerLeads, func(l report.PartnerLead) bool { return l.Number == a.Lead })
		switch {
		case i < 0:
			return nil, message.Absent("wrong.lead")
		case a.Level != concordat.ShowPassage:
			return nil, message.Invalid("wrong.lead.level")
		}
		return s.askOne(ctx, v, t, f.PartnerLeads[i].Source.Site, a, nil)
	}
	can := s.o.Asks.Revealable(f, a.At, a.Level).Passages
	var out []report.Disclosure
	var errs []error
	for _, partner := range slices.Sorted(maps.Keys(can)) {
		if a.Partner != "" && partner != a.Partner {
			continue
		}
		ds, err := s.askOne(ctx, v, t, partner, a, can[partner])
		out, errs = append(out, ds...), append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (s Requests) askOne(ctx context.Context, v *pages.Visitor, t store.Task, partner concordat.SiteID, a Passages,
	passages []int) ([]report.Disclosure, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	// The audit entry is written first because the partner keeps the request.
	err := s.o.Store.Audit.Note(ctx, v.Name, "passages_asked", map[string]any{"task": t.ID, "site": partner, "level": a.Level,
		"passages": len(passages)})
	if err != nil {
		return nil, err
	}
	p, done, err := s.o.Partners.Connect(ctx, partner)
	if err != nil {
		return nil, err
	}
	defer done()
	request := ask.RevealRequest{Partner: p, Level: a.Level, Reason: a.Reason, Contact: a.Contact}
	if a.Lead != "" {
		return s.o.Asks.RevealLead(ctx, t.ID, request, a.Lead)
	}
	return s.o.Asks.Reveal(ctx, t.ID, request, passages...)
}

// refresh updates the state of pending requests.
func (s Requests) refresh(ctx context.Context, v *pages.Visitor, t store.Task, f *report.Findings) ([]report.Disclosure, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	partners := map[concordat.SiteID]ask.Discloser{}
	for _, d := range f.Disclosures {
		if d.State != concordat.DisclosurePending || partners[d.Source.Site] != nil {
			continue
		}
		p, done, err := s.o.Partners.Connect(ctx, d.Source.Site)
		if err != nil {
			return nil, err
		}
		defer done()
		partners[d.Source.Site] = p
	}
	if err := s.o.Store.Audit.Note(ctx, v.Name, "passages_refreshed", map[string]any{"task": t.ID, "sites": len(partners)}); err != nil {
		return nil, err
	}
	return s.o.Asks.RefreshDisclosures(ctx, t.ID, slices.Collect(maps.Values(partners))...)
}
