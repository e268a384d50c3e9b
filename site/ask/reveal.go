package ask

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// Discloser is a partner that shows more of a match when asked. Its methods fail like those of site.Partner.
type Discloser interface {
	Site() concordat.SiteID
	Reveal(ctx context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error)
}

// RevealRequest asks a partner to disclose passages of a report.
type RevealRequest struct {
	Partner Discloser // the partner that has the passages
	// Level is ShowOverlap, the default, for words that the submission shares with the source, or ShowPassage for the source's own words,
	// after approval by a person there.
	Level   concordat.Show
	Reason  string // shown to that person
	Contact string // contact for that person
}

// Reveal sends the submission's wording of passages to the partner that has their sources, and adds the partner's disclosures to the
// findings. passages are indices into Findings.Passages. A request for whole passages is pending until a person decides; see
// [Asker.RefreshDisclosures]. Granted passages are not requested again. It returns the requested disclosures; a refusal is one of their
// states. It fails with ErrNotFound, with ErrInvalid for passages that are not the partner's or have no known position in the source, and
// with the partner's error if it does not answer. In the last case, the partner may still have read the wording, and the findings say so.
func (s *Asker) Reveal(ctx context.Context, task concordat.TaskID, o RevealRequest, passages ...int) ([]report.Disclosure, error) {
	if o.Level == "" {
		o.Level = concordat.ShowOverlap
	}
	if o.Partner == nil || o.Level != concordat.ShowOverlap && o.Level != concordat.ShowPassage {
		return nil, fmt.Errorf("reveal: unknown level %q: %w", o.Level, concordat.ErrInvalid)
	}
	defer s.site.HoldFindings()()
	f, err := s.site.KeptFindings(ctx, task)
	if err != nil {
		return nil, err
	}
	if f.Withheld != nil {
		return nil, fmt.Errorf("reveal: %w: the text of the submission was not kept", concordat.ErrInvalid)
	}
	by := map[concordat.Ref][]concordat.SpanPair{}
	for _, i := range passages {
		if i < 0 || i >= len(f.Passages) {
			return nil, fmt.Errorf("passage %d of %d: %w", i, len(f.Passages), concordat.ErrInvalid)
		}
		p := &f.Passages[i]
		if p.Source.Site != o.Partner.Site() || p.SourceSpan.Len() <= 0 {
			return nil, fmt.Errorf("passage %d: %w: the passage has no known position in a document of site %s", i, concordat.ErrInvalid, o.Partner.Site())
		}
		if o.Level == concordat.ShowOverlap && p.Shared != nil || p.Text != "" {
			continue
		}
		by[p.Source] = append(by[p.Source], concordat.SpanPair{Span: p.Span, Source: p.SourceSpan})
	}
	var made []int
	for _, ref := range sortedRefs(by) {
		for some := range slices.Chunk(by[ref], concordat.MaxRevealed) {
			now := s.o.Now()
			f.Disclosures = append(f.Disclosures, report.Disclosure{Source: ref, Level: o.Level, State: concordat.DisclosurePending,
				Reason: o.Reason, Contact: o.Contact, Asked: now, Changed: now, Passages: some})
			made = append(made, len(f.Disclosures)-1)
		}
	}
	return s.askReveals(ctx, task, f, made, func(concordat.SiteID) Discloser { return o.Partner })
}

// RefreshDisclosures asks the given partners again about the task's pending requests, and returns those disclosures.
func (s *Asker) RefreshDisclosures(ctx context.Context, task concordat.TaskID, partners ...Discloser) ([]report.Disclosure, error) {
	defer s.site.HoldFindings()()
	f, err := s.site.KeptFindings(ctx, task)
	if err != nil {
		return nil, err
	}
	of := func(site concordat.SiteID) Discloser {
		i := slices.IndexFunc(partners, func(p Discloser) bool { return p.Site() == site })
		if i < 0 {
			return nil
		}
		return partners[i]
	}
	var again []int
	for i, d := range f.Disclosures {
		if d.State == concordat.DisclosurePending && of(d.Source.Site) != nil {
			again = append(again, i)
		}
	}
	return s.askReveals(ctx, task, f, again, of)
}

// askReveals requests disclosures of f and stores the answers.
func (s *Asker) askReveals(ctx context.Context, task concordat.TaskID, f *report.Findings, which []int,
	of func(concordat.SiteID) Discloser) ([]report.Disclosure, error) {
	var errs []error
	var answers []answered
	for _, i := range which {
		d := f.Disclosures[i]
		first := d.Asked.Equal(d.Changed) && d.Words == ""
		a, err := s.revealOne(ctx, f, d, of(d.Source.Site), first)
		if err != nil {
			errs = append(errs, fmt.Errorf("reveal of %s: %w", d.Source, err))
			a.disclosure.Words = "the request was not delivered; ask again"
		}
		answers = append(answers, a)
	}
	if len(which) == 0 {
		return nil, nil
	}
	// What was disclosed to the partner is recorded even if the caller is gone.
	err := s.site.ChangeFindings(context.WithoutCancel(ctx), task, func(f *report.Findings) {
		for i := range answers {
			answers[i].apply(f)
		}
	})
	var out []report.Disclosure
	for _, a := range answers {
		out = append(out, a.disclosure)
	}
	return out, errors.Join(append(errs, err)...)
}

// answered is the outcome of one request, with all its changes to the findings in a form that can be applied even if another process has
// changed the findings in the meantime.
type answered struct {
	disclosure report.Disclosure
	sent       concordat.Exposed // sent to the partner by this call
	statement  concordat.Statement
	passages   []concordat.RevealedPassage // granted passages, as in disclosure.Passages
	leads      []report.Lead               // found in the disclosed places of a lead
}

// apply adds an answer to the findings. If another process learned more from the same request, its findings are kept.
func (a *answered) apply(f *report.Findings) {
	line := consultedOf(f, a.disclosure.Source)
	if line != nil {
		line.Exposed.Passages += a.sent.Passages
		line.Exposed.Letters += a.sent.Letters
	}
	i := slices.IndexFunc(f.Disclosures, a.same)
	switch {
	case i < 0:
		f.Disclosures = append(f.Disclosures, a.disclosure)
	case f.Disclosures[i].State == concordat.DisclosureGranted:
		a.disclosure = f.Disclosures[i]
		return // both processes received the same
	case a.disclosure.State == concordat.DisclosurePending && f.Disclosures[i].State != concordat.DisclosurePending:
		a.disclosure = f.Disclosures[i]
	default:
		f.Disclosures[i] = a.disclosure
	}
	if len(a.statement.Payload) > 0 {
		f.Statements = append(f.Statements, a.statement)
	}
	if a.disclosure.State != concordat.DisclosureGranted {
		return
	}
	if a.disclosure.Lead {
		a.applyLead(f, line)
		return
	}
	for k, p := range a.passages {
		if opened(f, &a.disclosure, a.disclosure.Passages[k], p) && line != nil {
			if a.disclosure.Level == concordat.ShowPassage {
				line.Shown.Passages++
			} else {
				line.Shown.Overlaps++
			}
		}
	}
}

// applyLead adds the leads in a document's disclosed places to the findings.
func (a *answered) applyLead(f *report.Findings, line *concordat.Consulted) {
	l := partnerLead(f, a.disclosure.Source)
	if l == nil || l.Outcome != "" {
		return
	}
	l.Outcome = report.PartnerLeadNone
	if len(a.leads) > 0 {
		l.Outcome = report.PartnerLeadFound
		f.Leads = append(f.Leads, a.leads...)
	}
	if line != nil {
		line.Shown.Passages += len(a.passages)
	}
}

// same reports whether d is the answered disclosure.
func (a *answered) same(d report.Disclosure) bool {
	return d.Source == a.disclosure.Source && d.Level == a.disclosure.Level && d.Asked.Equal(a.disclosure.Asked) &&
		slices.Equal(d.Passages, a.disclosure.Passages)
}

// revealOne requests one disclosure of f without modifying f. first means that the wording was not sent before.
func (s *Asker) revealOne(ctx context.Context, f *report.Findings, d report.Disclosure, partner Discloser,
	first bool) (answered, error) {
	out := answered{disclosure: d}
	a, err := requestOf(f, &d)
	if err != nil {
		return out, err
	}
	if first && !d.Lead {
		count := report.NewCounter(f.Submission.Text)
		for _, p := range d.Passages {
			out.sent.Passages++
			out.sent.Letters += count.Characters(p.Span)
		}
	}
	got, err := partner.Reveal(ctx, a)
	var no *concordat.Refusal
	switch {
	case errors.As(err, &no) && !errors.Is(err, concordat.ErrUnavailable):
		_, words := failure(no, 0)
		out.disclosure.State, out.disclosure.Words, out.disclosure.Changed = concordat.DisclosureRefused, words, s.o.Now()
		return out, nil
	case err != nil:
		return out, err
	case got == nil || !knownState(got.State) || got.State == concordat.DisclosureGranted && len(got.Passages) != len(a.Passages):
		return out, errGarbage
	}
	out.statement = got.Statement
	if d.State != got.State {
		out.disclosure.Changed = s.o.Now()
	}
	out.disclosure.State, out.disclosure.Words, out.disclosure.Until = got.State, plain(got.Words, maxName), got.Until
	if got.State == concordat.DisclosureGranted {
		out.passages = got.Passages
		if d.Lead {
			if out.leads, err = s.verifyLead(ctx, f, &d, got.Passages); err != nil {
				return answered{disclosure: d}, err
			}
		}
	}
	if d.Level == concordat.ShowPassage {
		// another process has just recorded it
		if err := s.Requested(ctx, d.Source.Site, a, got); err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return out, err
		}
	}
	return out, nil
}

// requestOf returns the request to the partner for a disclosure.
func requestOf(f *report.Findings, d *report.Disclosure) (*concordat.RevealAsk, error) {
	if d.Lead {
		return leadRequest(f, d)
	}
	i := slices.IndexFunc(f.Partners, func(p report.PartnerSource) bool { return p.Ref == d.Source })
	if i < 0 || f.Partners[i].Job == "" {
		return nil, fmt.Errorf("%w: the document was found in a mirror, not by asking the partner", concordat.ErrInvalid)
	}
	src := f.Partners[i]
	a := &concordat.RevealAsk{Epoch: src.Epoch, Level: d.Level, Reason: d.Reason, Contact: d.Contact}
	var err error
	if a.Job, err = jobOf(src.Job); err != nil {
		return nil, err
	}
	if a.Handle, err = handleOf(src.Document); err != nil {
		return nil, err
	}
	for _, p := range d.Passages {
		a.Passages = append(a.Passages, concordat.RevealPassage{Span: p.Source, Text: p.Span.In(f.Submission.Text)})
	}
	return a, nil
}

// opened adds the disclosed part of one passage to the findings, and reports whether there was any.
func opened(f *report.Findings, d *report.Disclosure, at concordat.SpanPair, got concordat.RevealedPassage) bool {
	any := false
	for i := range f.Passages {
		p := &f.Passages[i]
		if p.Source != d.Source || p.Span != at.Span || p.SourceSpan != at.Source {
			continue
		}
		if shared := sharedSpans(f.Submission.Text, p.Span, got.Shared); shared != nil {
			p.Shared, any = shared, true
		}
		if d.Level == concordat.ShowPassage && got.Text != "" {
			p.Text, any = strings.ToValidUTF8(got.Text, "\uFFFD"), true
		}
	}
	return any
}

// sharedSpans converts the runs of shared words in a passage from spans of the passage to spans of the text, or nil if there are none.
func sharedSpans(text string, within concordat.Span, runs []concordat.Span) []concordat.Span {
	var out []concordat.Span
	end := 0
	for _, r := range runs {
		if r.Start < end || r.End <= r.Start || r.End > within.Len() {
			return nil
		}
		end = r.End
		s := concordat.Span{Start: within.Start + r.Start, End: within.Start + r.End}
		if !utf8.ValidString(s.In(text)) {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// consultedOf returns the entry for a document's library.
func consultedOf(f *report.Findings, ref concordat.Ref) *concordat.Consulted {
	i := slices.IndexFunc(f.Consulted, func(c concordat.Consulted) bool {
		return c.Site == ref.Site && c.Library == ref.Library && c.Mirror.IsZero()
	})
	if i < 0 {
		return nil
	}
	return &f.Consulted[i]
}

func knownState(s string) bool {
	switch s {
	case concordat.DisclosureGranted, concordat.DisclosurePending, concordat.DisclosureRefused, concordat.DisclosureExpired,
		concordat.DisclosureWithdrawn:
		return true
	}
	return false
}

// jobOf parses the job in a PartnerSource.
func jobOf(s string) (concordat.JobID, error) {
	h, err := handleOf(concordat.DocumentID(s))
	return concordat.JobID(h), err
}

func sortedRefs[T any](m map[concordat.Ref]T) []concordat.Ref {
	out := make([]concordat.Ref, 0, len(m))
	for r := range m {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b concordat.Ref) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// Requested stores a request for passages sent to a partner, with its state there, so that people see it among the site's disclosures.
// Calling it again with a later answer updates it.
func (s *Asker) Requested(ctx context.Context, partner concordat.SiteID, a *concordat.RevealAsk, r *concordat.Revealed) error {
	spans := make([]concordat.Span, len(a.Passages))
	for i, p := range a.Passages {
		spans[i] = p.Span
	}
	all, err := s.o.Store.Answers.DisclosuresOf(ctx, store.DisclosureOut, partner, a.Job, a.Handle)
	if err != nil {
		return err
	}
	for _, d := range all {
		if slices.Equal(d.Spans, spans) {
			if d.State == r.State {
				return nil
			}
			return s.o.Store.Answers.SetDisclosure(ctx, d.ID, d.State, r.State, string(partner), r.Words, r.Until)
		}
	}
	return s.o.Store.Answers.PutDisclosure(ctx, store.Disclosure{ID: strings.ToLower(rand.Text()[:12]), Direction: store.DisclosureOut,
		Partner: partner,
		Job:     a.Job, Handle: a.Handle, Spans: spans, Reason: a.Reason, Contact: a.Contact, State: r.State, Words: r.Words, Until: r.Until})
}
