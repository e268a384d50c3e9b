package site

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
	"concordat/store"
)

// What partners are asked of a submission (CheckOptions.Forward). Sentences of which half or more is shared by right, as
// far as is known before partners are asked, are never asked: templates, lists of references, and what enough documents
// of this site or of a batch hold.
const (
	// ForwardUnmatched asks about the sentences of which less than half of the letters, marks and
	// digits stand in passages that were found at this site, before any rule of a report. What is found
	// in mirrors does not count. A sentence is one of the submission's questions under the partner's
	// scheme, [concordat.Profile.Questions]; one without letters is never asked.
	ForwardUnmatched = "unmatched"
	ForwardAll       = "all"  // every sentence
	ForwardNone      = "none" // nothing: partners are not spoken to
)

// PartnerLibraries is one partner of a check with what to ask it. Partner, Epoch, Profiler and
// Libraries are required.
type PartnerLibraries struct {
	Partner   concordat.Partner
	Epoch     concordat.Epoch
	Profiler  *profile.Profiler // keyed with the epoch's fingerprint key
	SketchKey []byte            // of the epoch: outlines and edges; nil: no second round by words
	Libraries []concordat.LibraryID
	Documents int            // of these libraries, as the partner tells; 0: not known
	Name      string         // of the partner, for people; may be empty
	Level     concordat.Show // the most that is wanted; empty: metadata
	// Deadline bounds all rounds with the partner together; 0: DefaultDeadline.
	Deadline time.Duration
	Purpose  string     // a word agreed in the federation, such as thesis
	Authors  [][16]byte // pseudonyms of the submission's authors
	// Limit is the most matches for one sentence, nearest first; 0: 64, negative: the partner's own.
	Limit int
	// MostAsked is the most sentences of one ask; 0, or more than it: concordat.MostAsked.
	MostAsked int
}

// DefaultDeadline is how long a partner may take for all rounds of a check.
const DefaultDeadline = 60 * time.Second

// mostPartners bounds how many partners are spoken to at a time.
const mostPartners = 32

// PartnerState is how far a partner is in a check.
type PartnerState string

// The states of a partner.
const (
	PartnerAsked    PartnerState = "asked"    // the first round is on its way
	PartnerAnswered PartnerState = "answered" // and has come back; documents are compared
	PartnerDone     PartnerState = "done"     // nothing more is to come
	PartnerFailed   PartnerState = "failed"   // nothing came that can be used; Consulted says why
	PartnerRefused  PartnerState = "refused"  // it does not answer this, and says why
	PartnerSilent   PartnerState = "silent"   // it is out of reach, or did not answer in time
)

// ended reports whether nothing more is to come.
func (s PartnerState) ended() bool { return s != PartnerAsked && s != PartnerAnswered }

// validate reports the first fault of p.
func (p *PartnerLibraries) validate() error {
	switch {
	case p.Partner == nil || p.Profiler == nil:
		return fmt.Errorf("a partner without client or profiler: %w", concordat.ErrInvalid)
	case len(p.Libraries) == 0:
		return fmt.Errorf("partner %s: no library: %w", p.Partner.Site(), concordat.ErrInvalid)
	case p.Documents < 0:
		return fmt.Errorf("partner %s: %d documents: %w", p.Partner.Site(), p.Documents, concordat.ErrInvalid)
	case p.Deadline < 0:
		return fmt.Errorf("partner %s: deadline %s: %w", p.Partner.Site(), p.Deadline, concordat.ErrInvalid)
	}
	return nil
}

// checkForward returns ErrInvalid for options of the federation that cannot be met.
func (o *CheckOptions) checkForward() error {
	switch o.Forward {
	case "", ForwardUnmatched, ForwardAll, ForwardNone:
	default:
		return fmt.Errorf("forward %q: %w: unmatched, all or none", o.Forward, concordat.ErrInvalid)
	}
	for i := range o.Partners {
		if err := o.Partners[i].validate(); err != nil {
			return err
		}
	}
	for i := range o.Mirrors {
		if err := o.Mirrors[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

// forwarded is the rule of o, filled in.
func (o *CheckOptions) forwarded() string {
	if len(o.Partners) == 0 {
		return ForwardNone
	}
	return cmp.Or(o.Forward, ForwardUnmatched)
}

// forwarding is one submission on its way to the partners.
type forwarding struct {
	s        *Site
	o        *CheckOptions
	task     concordat.TaskID
	sub      Submission
	profiles map[*profile.Profiler]*concordat.Profile
	covered  []concordat.Passage // found at this site
	count    *report.Counter
	own      ownText
	shared   *sharedWording          // what of the submission is shared by right, as known before partners are asked
	heldHere func() []concordat.Span // what of it other documents of this site hold
	// matchesOnly leaves the second round out.
	matchesOnly bool
	// everything compares common wording too.
	everything bool
}

// told is what one partner, or one mirror, told.
type told struct {
	site       concordat.SiteID
	name       string               // for people; may be empty
	questions  []concordat.Sentence // of the submission, under the partner's scheme
	matches    []concordat.Match    // Sentence indexes questions; within each sentence's gate
	consulted  []concordat.Consulted
	candidates []*candidate
	passages   []concordat.Passage
	sources    []report.PartnerSource
	lengths    map[concordat.Ref]int // bytes of the texts of which an outline was shown
	statements []concordat.Statement
	flags      []concordat.Flag
	wording    []report.Wording // what the documents of the partner share, in order of text
	failed     bool
	silent     bool // it failed by not answering
}

// outcome says how a partner that is done has answered: refused, silent or failed where none of its
// libraries did. The reason is the first that it gave for a library without an answer.
func (t *told) outcome() (PartnerState, concordat.Reason) {
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
		return PartnerSilent, why
	case t.failed && why == concordat.ReasonFault:
		return PartnerFailed, why
	case whole == 0 && len(t.consulted) > 0:
		return PartnerRefused, why
	}
	return PartnerDone, why
}

// newForwarding makes the keyed profiles of the submission, one for each key.
func (s *Site) newForwarding(sub Submission, o *CheckOptions, task concordat.TaskID, shared *sharedWording) (*forwarding, error) {
	fw := &forwarding{s: s, o: o, task: task, sub: sub, profiles: map[*profile.Profiler]*concordat.Profile{},
		count: report.NewCounter(sub.Text), shared: shared}
	fw.own.text = sub.Text
	fw.heldHere = sync.OnceValue(func() []concordat.Span {
		var spans []concordat.Span
		for _, x := range shared.held.In(shared.words) {
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
	if o.forwarded() == ForwardNone {
		return fw, nil
	}
	for i := range o.Partners {
		if err := add(o.Partners[i].Profiler); err != nil {
			return nil, err
		}
	}
	return fw, nil
}

// all asks every partner at once and returns what they told, in the order of the options. each is
// told of one that is done, one at a time. It fails only with the error of ctx, or of the store.
func (fw *forwarding) all(ctx context.Context, progress func(Progress), each func(*told) error) ([]*told, error) {
	if fw.o.forwarded() == ForwardNone {
		return nil, nil
	}
	out := make([]*told, len(fw.o.Partners))
	var mu sync.Mutex // guards done, and calls of each
	done := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mostPartners)
	for i := range fw.o.Partners {
		g.Go(func() error {
			p := &fw.o.Partners[i]
			tell := func(state PartnerState, why concordat.Reason) {
				mu.Lock()
				defer mu.Unlock()
				if state.ended() {
					done++
				}
				progress(Progress{Stage: "partner", Done: done, Total: len(out), Partner: p.Partner.Site(), State: state, Reason: why})
			}
			t, err := fw.one(ctx, p, func(state PartnerState) { tell(state, "") })
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

// one speaks to one partner within its deadline. A partner that fails is no error.
func (fw *forwarding) one(ctx context.Context, p *PartnerLibraries, say func(PartnerState)) (*told, error) {
	r := newRound(fw, p)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if len(r.chosen) > 0 {
		say(PartnerAsked)
		within, cancel := context.WithTimeout(ctx, cmp.Or(p.Deadline, DefaultDeadline))
		defer cancel()
		err := r.ask(within)
		if err == nil && !fw.matchesOnly {
			say(PartnerAnswered)
			err = r.compare(within)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if r.fault != nil {
			return nil, r.fault
		}
		r.blame(err)
	}
	r.finish()
	return r.told, nil
}

// unmatched reports whether less than half of a sentence stands in the passages found at this site.
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

// failure says in plain words why a partner did not answer, with the protocol's reason where it gave
// one.
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
		return concordat.ReasonFault, "its answer could not be read"
	case errors.Is(err, concordat.ErrScheme):
		return concordat.ReasonScheme, reasonWords(concordat.ReasonScheme)
	case errors.Is(err, concordat.ErrRefused):
		return concordat.ReasonFault, "refused"
	case errors.Is(err, concordat.ErrUnavailable):
		return concordat.ReasonBusy, "out of reach"
	}
	return concordat.ReasonFault, "something failed between the sites"
}

// reasonWords says a reason of the protocol in plain words.
func reasonWords(r concordat.Reason) string {
	switch r {
	case concordat.ReasonLibrary:
		return "the library is not open to this site"
	case concordat.ReasonPurpose:
		return "not open for this purpose"
	case concordat.ReasonLevel:
		return "less is shown than was asked for"
	case concordat.ReasonBudget:
		return "the budget of this site is used up"
	case concordat.ReasonEmbargo:
		return "the library is under embargo"
	case concordat.ReasonExpired:
		return "the library has expired"
	case concordat.ReasonEpoch:
		return "it has no fingerprints of this key period"
	case concordat.ReasonScheme:
		return "its fingerprints are made another way"
	case concordat.ReasonGate:
		return "too little matches to be shown"
	case concordat.ReasonUnknown:
		return "the question is no longer known there"
	case concordat.ReasonApproval:
		return "a person did not agree"
	case concordat.ReasonBusy:
		return "busy"
	}
	return "something failed there"
}

// plain returns s as one line of at most n characters without control characters.
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

// askingStore is what a site needs to remember of what it asked.
type askingStore interface {
	PutAsk(ctx context.Context, a store.Ask) error
	SetAskStanding(ctx context.Context, job concordat.JobID, standing bool) error
	Ask(ctx context.Context, job concordat.JobID) (store.Ask, error)
	Asks(ctx context.Context, task concordat.TaskID) ([]store.Ask, error)
	Expose(ctx context.Context, site concordat.SiteID, form string, digests []store.Digest) ([]bool, error)
	Show(ctx context.Context, xs ...store.Showing) error
	PutStanding(ctx context.Context, s store.Standing) error
	EndStanding(ctx context.Context, task concordat.TaskID) error
	StandingTasks(ctx context.Context) ([]concordat.TaskID, error)
	Standing(ctx context.Context, task concordat.TaskID) (store.Standing, error)
	PutAlert(ctx context.Context, a store.Alert) (int64, error)
	Alerts(ctx context.Context, after int64, limit int) ([]store.Alert, error)
	PutMirror(ctx context.Context, m store.Mirror, docs []store.MirrorDocument, removed []concordat.DocumentID) error
	Mirror(ctx context.Context, k store.MirrorKey) (store.Mirror, error)
	Mirrors(ctx context.Context) ([]store.Mirror, error)
	WithdrawMirrors(ctx context.Context, site concordat.SiteID, lib concordat.LibraryID, at time.Time) error
	DeleteMirror(ctx context.Context, k store.MirrorKey) error
	MirrorDocument(ctx context.Context, k store.MirrorKey, id concordat.DocumentID) (store.MirrorDocument, error)
	MirrorDocuments(ctx context.Context, k store.MirrorKey, after concordat.DocumentID, limit int) ([]store.MirrorDocument, error)
}
