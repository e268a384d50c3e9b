package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// maxPartners is the maximum number of partners asked at once.
const maxPartners = 32

// forwarding is the process of sending one submission to partners.
type forwarding struct {
	s        *Asker
	o        *site.CheckOptions
	task     concordat.TaskID
	sub      site.Submission
	profiles map[*profile.Profiler]*concordat.Profile
	covered  []concordat.Passage // found at this site
	count    *report.Counter
	own      ownText
	shared   *compare.SharedWording  // parts of the submission known, before any partner is asked, to be shared wording
	heldHere func() []concordat.Span // parts of it that other documents of this site contain
	// matchesOnly skips the second round.
	matchesOnly bool
}

// partnerAnswer is the answer of one partner or mirror.
type partnerAnswer struct {
	site       concordat.SiteID
	name       string               // display name; can be empty
	questions  []concordat.Sentence // sentences of the submission under the partner's scheme
	matches    []concordat.Match    // Sentence is an index into questions; each is within its sentence's gate
	consulted  []concordat.Consulted
	candidates []*compare.Candidate
	passages   []concordat.Passage
	sources    []report.PartnerSource
	lengths    map[concordat.Ref]int // lengths in bytes of texts whose outline was disclosed
	statements []concordat.Statement
	flags      []concordat.Flag
	leads      []report.PartnerLead
	wording    []report.Wording // shared wording in the partner's documents, in text order
	failed     bool
	silent     bool // whether it failed because no answer came
}

// outcome describes how a finished partner answered. If no library answered, the outcome is refused, silent or failed. The reason is the
// first one given for a library without an answer.
func (t *partnerAnswer) outcome() (site.PartnerState, concordat.Reason) {
	var why concordat.Reason
	whole := 0
	for _, c := range t.consulted {
		if c.Err == "" && c.Reason == "" {
			whole++
		} else if why == "" {
			why = c.Reason
		}
	}
	switch {
	case t.silent && t.failed:
		return site.PartnerSilent, why
	case t.failed && why == concordat.ReasonFault:
		return site.PartnerFailed, why
	case whole == 0 && len(t.consulted) > 0:
		return site.PartnerRefused, why
	}
	return site.PartnerDone, why
}

// newForwarding returns a forwarding with keyed profiles of the submission, one per key.
func (s *Asker) newForwarding(sub site.Submission, o *site.CheckOptions, task concordat.TaskID,
	shared *compare.SharedWording) (*forwarding, error) {
	fw := &forwarding{s: s, o: o, task: task, sub: sub, profiles: map[*profile.Profiler]*concordat.Profile{},
		count: report.NewCounter(sub.Text), shared: shared}
	fw.own.text = sub.Text
	fw.heldHere = sync.OnceValue(func() []concordat.Span {
		var spans []concordat.Span
		for _, x := range shared.Held.In(shared.Words) {
			spans = append(spans, x.Span)
		}
		return spans
	})
	add := func(p *profile.Profiler) error {
		if fw.profiles[p] != nil {
			return nil
		}
		q, err := p.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text}, o.Template)
		fw.profiles[p] = q
		return err
	}
	for i := range o.Mirrors {
		if err := add(o.Mirrors[i].Profiler); err != nil {
			return nil, err
		}
	}
	if o.Forwarded() == site.ForwardNone {
		return fw, nil
	}
	for i := range o.Partners {
		if err := add(o.Partners[i].Profiler); err != nil {
			return nil, err
		}
	}
	return fw, nil
}

// all asks every partner concurrently and returns the answers in the order of the options. It calls each after every partner's answer,
// one call at a time. It fails only if ctx ends or the store fails.
func (fw *forwarding) all(ctx context.Context, progress func(site.Progress), each func(*partnerAnswer) error) ([]*partnerAnswer, error) {
	if fw.o.Forwarded() == site.ForwardNone {
		return nil, nil
	}
	out := make([]*partnerAnswer, len(fw.o.Partners))
	var mu sync.Mutex // protects done, and serialises calls to each
	done := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxPartners)
	for i := range fw.o.Partners {
		compare.Go(g, func() error {
			p := &fw.o.Partners[i]
			tell := func(state site.PartnerState, why concordat.Reason) {
				mu.Lock()
				defer mu.Unlock()
				if state.Ended() {
					done++
				}
				progress(site.Progress{Stage: "partner", Done: done, Total: len(out), Partner: p.Partner.Site(), State: state, Reason: why})
			}
			t, err := fw.one(ctx, p, func(state site.PartnerState) { tell(state, "") })
			if err != nil {
				return err
			}
			out[i] = t
			if tell(t.outcome()); each == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			return each(t)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// one exchanges messages with one partner, within that partner's deadline. A failure of the partner is not an error.
func (fw *forwarding) one(ctx context.Context, p *site.PartnerLibraries, say func(site.PartnerState)) (*partnerAnswer, error) {
	r := newRound(fw, p)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if len(r.chosen) == 0 && fw.o.Leads {
		r.saidOfLeads(r.noneLeft())
	}
	if len(r.chosen) > 0 {
		say(site.PartnerAsked)
		within, cancel := context.WithTimeout(ctx, cmp.Or(p.Deadline, site.DefaultDeadline))
		defer cancel()
		err := r.ask(within)
		if err == nil && !fw.matchesOnly {
			say(site.PartnerAnswered)
			err = r.compare(within)
		}
		if err == nil && !fw.matchesOnly {
			r.leads(within)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if r.fault != nil {
			return nil, r.fault
		}
		if fault := (*compare.Fault)(nil); errors.As(err, &fault) {
			return nil, err // a failure of this program rather than of the partner
		}
		r.blame(ctx, err)
	}
	if fw.o.Leads && !fw.matchesOnly {
		r.saidOfLeads(concordat.LeadsFailed)
	}
	r.finish()
	return r.answer, nil
}

// unmatched reports whether less than half of a sentence lies in the passages found at this site.
func (fw *forwarding) unmatched(span concordat.Span) bool {
	all, held := fw.count.Characters(span), 0
	if all == 0 {
		return false
	}
	end := span.Start
	for _, p := range fw.covered { // in order of Start
		if p.Span.Start >= span.End {
			break
		}
		from, to := max(p.Span.Start, end), min(p.Span.End, span.End)
		if from < to {
			held += fw.count.Characters(concordat.Span{Start: from, End: to})
			end = to
		}
	}
	return 2*held < all
}

// failure explains in plain words why a partner did not answer, including the protocol's reason if the partner sent one.
func failure(err error, deadline time.Duration) (concordat.Reason, string) {
	var r *concordat.Refusal
	switch {
	case errors.As(err, &r):
		words := reasonWords(r.Reason)
		if r.Words != "" {
			words += ": " + plain(r.Words, 200)
		}
		return r.Reason, words
	case errors.Is(err, context.DeadlineExceeded):
		return concordat.ReasonBusy, fmt.Sprintf("no answer within %s", deadline)
	case errors.Is(err, errGarbage), errors.Is(err, concordat.ErrInvalid):
		return concordat.ReasonFault, "the partner's answer could not be read"
	case errors.Is(err, concordat.ErrScheme):
		return concordat.ReasonScheme, reasonWords(concordat.ReasonScheme)
	case errors.Is(err, concordat.ErrRefused):
		return concordat.ReasonFault, "refused"
	case errors.Is(err, concordat.ErrUnavailable):
		return concordat.ReasonBusy, "the partner cannot be reached"
	}
	return concordat.ReasonFault, "the exchange with the partner failed"
}

// reasonWords explains a protocol reason in plain words.
func reasonWords(r concordat.Reason) string {
	switch r {
	case concordat.ReasonLibrary:
		return "the library is not open to this site"
	case concordat.ReasonPurpose:
		return "not open for this purpose"
	case concordat.ReasonLevel:
		return "the partner does not show as much as requested"
	case concordat.ReasonBudget:
		return "this site has used up its budget at the partner"
	case concordat.ReasonEmbargo:
		return "the library is under embargo"
	case concordat.ReasonExpired:
		return "the library has expired"
	case concordat.ReasonEpoch:
		return "the partner has no fingerprints for this key period"
	case concordat.ReasonScheme:
		return "the partner uses a different fingerprint scheme"
	case concordat.ReasonGate:
		return "too few matches to show"
	case concordat.ReasonUnknown:
		return "the partner no longer has a record of the question"
	case concordat.ReasonApproval:
		return "a person at the partner declined"
	case concordat.ReasonBusy:
		return "busy"
	}
	return "an error occurred at the partner"
}

// plain returns s on one line, without control characters, truncated to n characters.
func plain(s string, n int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
