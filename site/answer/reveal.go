package answer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/align"
	"concordat/site/compare"
	"concordat/store"
)

// Limits on a reveal.
const (
	maxPassageText = 64 << 10 // bytes of the asker's text for each passage
	maxReason      = 4 << 10
	maxPending     = 100 // a partner's requests awaiting a person's decision
	// sentenceLetters is the number of letters that count as one opened sentence.
	sentenceLetters = 150
	// leastShared is the share of the asker's own words, by letters, that a passage must contain before any are disclosed, so the asker
	// must already have nearly all of the passage.
	leastShared = 0.5
)

// AnswerReveal discloses more of the passages of a document named in the job's answer. Each passage must contain a closely matching
// sentence.
//
// At level overlap, it returns the runs of the asker's own words that occur in each passage in the same order, and in particular no word
// that the asker did not send. At level passage, a person decides first; repeating the question returns the state of the request, and the
// passages once it is granted. Every question is charged before the document is read, whether it is then granted or refused, and counts
// towards the document's yearly limit; all refusals give the same reason.
func (s *Answerer) AnswerReveal(ctx context.Context, from concordat.SiteID, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	line := auditDocument{Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch.String(), Handle: hex.EncodeToString(a.Handle[:])}
	r, err := s.reveal(ctx, from, a, &line)
	line.Refused = reasonOf(err)
	if r != nil {
		line.State = r.State
	}
	if err2 := s.audit(ctx, from, "reveal", line); err2 != nil {
		return nil, err2
	}
	return r, err
}

func (s *Answerer) reveal(ctx context.Context, from concordat.SiteID, a *concordat.RevealAsk,
	line *auditDocument) (*concordat.Revealed, error) {
	if a.Level != concordat.ShowOverlap && a.Level != concordat.ShowPassage {
		return nil, fmt.Errorf("reveal: %w: level %q", concordat.ErrInvalid, a.Level)
	}
	if err := checkReveal(a); err != nil {
		return nil, err
	}
	set, err := s.epochFor(from, a.Epoch)
	if err != nil {
		return nil, err
	}
	k, err := s.knownOrLead(ctx, from, set, a.Job, a.Handle)
	if err != nil {
		return nil, err
	}
	line.Library, line.Document = k.library.ID, k.row.ID
	if !atLeast(k.rule.Level, a.Level) || k.lead && (a.Level != concordat.ShowPassage || !k.rule.Leads) {
		return nil, refuse(concordat.ReasonLevel, "library %s allows level %s at most", k.library.ID, k.rule.Level)
	}
	if a.Level == concordat.ShowPassage {
		return s.passages(ctx, k, a, line)
	}
	line.Form = store.FormOverlap
	if err := s.look(ctx, k, a); err != nil {
		return nil, err
	}
	return s.open(ctx, k, a, &concordat.Revealed{State: concordat.DisclosureGranted}, false, line)
}

// checkReveal rejects requests that no document could satisfy.
func checkReveal(a *concordat.RevealAsk) error {
	if len(a.Passages) == 0 || len(a.Passages) > concordat.MaxRevealed || len(a.Reason) > maxReason || len(a.Contact) > maxReason {
		return fmt.Errorf("reveal %d passages: %w", len(a.Passages), concordat.ErrInvalid)
	}
	for i, p := range a.Passages {
		switch {
		case p.Span.Start < 0 || p.Span.End <= p.Span.Start || p.Span.End > math.MaxInt32:
			return fmt.Errorf("passage %d (bytes %d to %d): %w", i, p.Span.Start, p.Span.End, concordat.ErrInvalid)
		case len(p.Text) > maxPassageText || !utf8.ValidString(p.Text):
			return fmt.Errorf("passage %d: %w: its text (%d bytes) is too long or is not UTF-8", i, concordat.ErrInvalid, len(p.Text))
		}
	}
	return nil
}

// look charges for reading passages. It then refuses, without a reason, those that are not text of the document, are far from close
// matches, or are much shorter than the text sent for them, which would amount to many guesses at once.
func (s *Answerer) look(ctx context.Context, k *known, a *concordat.RevealAsk) error {
	n := openedSentences(a.Passages)
	if err := s.pay(ctx, k.disclosures(n), k.opened(k.row.ID, n, k.row.Sentences)); err != nil {
		return err
	}
	if err := s.read(ctx, k); err != nil {
		return err
	}
	if k.lead {
		return k.places(a.Passages)
	}
	near, err := k.near(align.Prepare(k.text), revealAround)
	if err != nil {
		return err
	}
	for i, p := range a.Passages {
		sp := p.Span
		close := slices.ContainsFunc(k.hits, func(h store.AnswerHit) bool { return h.Distance <= openGate && h.Span.Overlaps(sp) })
		if !close || !slices.Equal(clip(sp, near), []concordat.Span{sp}) || !compare.StartsRune(k.text, sp.Start) ||
			!compare.StartsRune(k.text, sp.End) || len(p.Text) > sp.Len()*3/2+sentenceLetters {
			return refuse(concordat.ReasonGate, "passage %d is not shown: no sentence in it is a close match, it is not part of the text, "+
				"or it is much shorter than the text sent", i)
		}
	}
	return nil
}

// openedSentences returns the number of sentences that passages count as.
func openedSentences(ps []concordat.RevealPassage) int {
	n := 0
	for _, p := range ps {
		n += (p.Span.Len() + sentenceLetters - 1) / sentenceLetters
	}
	return n
}

// open charges for the characters of the passages read, and discloses their overlap, or all of them if text is set.
func (s *Answerer) open(ctx context.Context, k *known, a *concordat.RevealAsk, out *concordat.Revealed, text bool,
	line *auditDocument) (*concordat.Revealed, error) {
	n, chars := openedSentences(a.Passages), 0
	for _, p := range a.Passages {
		if text {
			chars += p.Span.Len()
		} else {
			chars += len(p.Text)
		}
	}
	if err := s.pay(ctx, k.characters(spendCharacters, chars)); err != nil {
		return nil, err
	}
	form := store.FormOverlap
	if text {
		form = store.FormPassage
	}
	if err := s.show(ctx, k, form, n, chars); err != nil {
		return nil, err
	}
	line.Characters = chars
	for _, p := range a.Passages {
		r := concordat.RevealedPassage{Shared: overlap(p.Text, p.Span.In(k.text))}
		if text {
			r.Text = p.Span.In(k.text)
		}
		out.Passages = append(out.Passages, r)
	}
	return out, nil
}

// overlap returns the runs of words in text that occur in passage in the same order, or nil if they make up less than leastShared of
// text.
func overlap(text, passage string) []concordat.Span {
	var out []concordat.Span
	shared := 0
	for _, p := range align.Diff(text, passage) {
		out = append(out, p.Span)
		shared += letters(p.Span.In(text))
	}
	if float64(shared) < leastShared*float64(letters(text)) {
		return nil
	}
	return out
}

// letters returns the number of characters other than white space.
func letters(s string) int {
	n := 0
	for _, f := range strings.Fields(s) {
		n += utf8.RuneCountInString(f)
	}
	return n
}

// passages answers a request for full passages, depending on its state.
func (s *Answerer) passages(ctx context.Context, k *known, a *concordat.RevealAsk, line *auditDocument) (*concordat.Revealed, error) {
	line.Form = store.FormPassage
	spans := make([]concordat.Span, len(a.Passages))
	for i, p := range a.Passages {
		spans[i] = p.Span
	}
	d, err := s.request(ctx, k, a, spans)
	if err != nil {
		return nil, err
	}
	out := &concordat.Revealed{State: d.State, Words: d.Words, Until: d.Until}
	if d.State != concordat.DisclosureGranted {
		return out, nil
	}
	if err := s.read(ctx, k); err != nil {
		return nil, err
	}
	return s.open(ctx, k, a, out, true, line)
}

// request returns the partner's request for these passages, creating it if there is none or if it expired undecided.
func (s *Answerer) request(ctx context.Context, k *known, a *concordat.RevealAsk, spans []concordat.Span) (store.Disclosure, error) {
	all, err := s.o.Store.Answers.DisclosuresOf(ctx, store.DisclosureIn, k.from, a.Job, a.Handle)
	if err != nil {
		return store.Disclosure{}, err
	}
	for _, d := range slices.Backward(all) {
		if !slices.Equal(d.Spans, spans) || d.Hash != k.row.Hash {
			continue
		}
		if d, err = s.Requests.expire(ctx, d); err != nil {
			return d, err
		}
		if d.State == concordat.DisclosureExpired && d.Actor == "" {
			break
		}
		return d, nil
	}
	pending, err := s.o.Store.Answers.PendingDisclosures(ctx, k.from)
	if err != nil {
		return store.Disclosure{}, err
	}
	if pending >= maxPending {
		return store.Disclosure{}, refuse(concordat.ReasonBusy, "%d of your requests are still waiting for a decision", pending)
	}
	if err := s.look(ctx, k, a); err != nil {
		return store.Disclosure{}, err
	}
	d := store.Disclosure{ID: strings.ToLower(rand.Text()[:12]), Direction: store.DisclosureIn, Partner: k.from, Job: a.Job, Handle: a.Handle,
		Library: k.library.ID, Document: k.row.ID, Hash: k.row.Hash, Spans: spans, Reason: a.Reason, Contact: a.Contact,
		State: concordat.DisclosurePending, Until: s.o.Now().Add(k.rule.Approval)}
	return d, s.o.Store.Answers.PutDisclosure(ctx, d)
}

// expire marks a request as expired if its time is up.
func (s *Requests) expire(ctx context.Context, d store.Disclosure) (store.Disclosure, error) {
	open := d.State == concordat.DisclosurePending || d.State == concordat.DisclosureGranted
	if !open || d.Until.IsZero() || s.o.Now().Before(d.Until) {
		return d, nil
	}
	err := s.o.Store.Answers.SetDisclosure(ctx, d.ID, d.State, concordat.DisclosureExpired, d.Actor, d.Words, d.Until)
	if isNotFound(err) { // it was just decided
		return s.o.Store.Answers.Disclosure(ctx, d.ID)
	}
	d.State = concordat.DisclosureExpired
	return d, err
}

// Disclosures returns up to limit requests for passages, latest first, in the given state, or in any state if it is empty.
func (s *Requests) Disclosures(ctx context.Context, state string, limit int) ([]store.Disclosure, error) {
	out, _, err := s.DisclosuresAfter(ctx, state, "", limit)
	return out, err
}

// DisclosuresAfter is like Disclosures, starting after the request with the given ID. next is the ID to continue from, or empty if there
// are no more requests. With a state, there can be more requests even if fewer than limit are returned.
func (s *Requests) DisclosuresAfter(ctx context.Context, state, id string, limit int) (out []store.Disclosure, next string, err error) {
	all, err := s.o.Store.Answers.DisclosuresAfter(ctx, id, limit)
	if err != nil {
		return nil, "", err
	}
	if limit > 0 && len(all) >= limit {
		next = all[len(all)-1].ID
	}
	for _, d := range all {
		if d.Direction == store.DisclosureIn {
			if d, err = s.expire(ctx, d); err != nil {
				return nil, "", err
			}
		}
		if state == "" || d.State == state {
			out = append(out, d)
		}
	}
	return out, next, nil
}

// MaxWords is the maximum length in bytes of the message to a partner about a decision.
const MaxWords = 10_000

// Errors about the message to a partner.
var (
	ErrNoWords   = concordat.Invalidf("a reason is required and will be sent to the partner")
	ErrLongWords = concordat.Invalidf("the reason sent to the partner must not exceed %d bytes", MaxWords)
)

// Decide grants or refuses a pending request, and sends the partner the decision with a message, which is mandatory for a refusal
// (ErrNoWords, ErrLongWords). The passages of a granted request remain readable for as long as the library's rule allows.
func (s *Requests) Decide(ctx context.Context, id, actor string, granted bool, words string) (store.Disclosure, error) {
	to := concordat.DisclosureRefused
	if granted {
		to = concordat.DisclosureGranted
	}
	return s.decide(ctx, id, concordat.DisclosurePending, to, actor, words)
}

// Withdraw revokes a grant and sends the partner the reason, which is subject to the same limits as a refusal in Decide. The partner
// keeps what it has already read.
func (s *Requests) Withdraw(ctx context.Context, id, actor, words string) (store.Disclosure, error) {
	return s.decide(ctx, id, concordat.DisclosureGranted, concordat.DisclosureWithdrawn, actor, words)
}

func (s *Requests) decide(ctx context.Context, id, from, to, actor, words string) (store.Disclosure, error) {
	switch words = strings.TrimSpace(words); {
	case len(words) > MaxWords:
		return store.Disclosure{}, ErrLongWords
	case words == "" && to != concordat.DisclosureGranted:
		return store.Disclosure{}, ErrNoWords
	}
	d, err := s.o.Store.Answers.Disclosure(ctx, id)
	if err != nil {
		return d, err
	}
	if d.Direction != store.DisclosureIn {
		return d, fmt.Errorf("disclosure %s: %w: only the partner can decide this request", id, concordat.ErrInvalid)
	}
	if d, err = s.expire(ctx, d); err != nil {
		return d, err
	}
	if d.State != from {
		return d, fmt.Errorf("disclosure %s: %w: the request is %s", id, concordat.ErrInvalid, d.State)
	}
	until := time.Time{}
	if to == concordat.DisclosureGranted {
		lasts, err := s.approval(ctx, d)
		if err != nil {
			return d, err
		}
		until = s.o.Now().Add(lasts)
	}
	n := concordat.Notice{Kind: concordat.NoticeDisclosure, Job: d.Job, Words: words, At: s.o.Now()}
	err = s.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.Queue(ctx, d.Partner, n); err != nil {
			return err
		}
		if err := tx.Answers.SetDisclosure(ctx, id, from, to, actor, words, until); err != nil {
			return err
		}
		if err := s.note(ctx, tx, "", "disclosure", auditDecision{Disclosure: id, Partner: d.Partner, State: to}); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, actor, "request_decided", map[string]any{"request": id, "site": d.Partner, "state": to})
	})
	if err != nil {
		return d, err
	}
	return s.o.Store.Answers.Disclosure(ctx, id)
}

// approval returns how long a grant lasts. If the library is no longer open to the partner, it is the default.
func (s *Requests) approval(ctx context.Context, d store.Disclosure) (time.Duration, error) {
	x, err := s.o.Store.Answers.Share(ctx, d.Library, d.Partner)
	if isNotFound(err) {
		return store.DefaultApproval, nil
	}
	if err != nil {
		return 0, err
	}
	return x.Rule.Filled().Approval, nil
}

// Asked returns a partner's request with its passages, for the person who has to decide. It fails with concordat.ErrNotFound if the
// document has changed or is gone.
func (s *Requests) Asked(ctx context.Context, id string) (store.Disclosure, []string, error) {
	d, err := s.o.Store.Answers.Disclosure(ctx, id)
	if err != nil {
		return d, nil, err
	}
	if d.Direction != store.DisclosureIn {
		return d, nil, fmt.Errorf("disclosure %s: %w: only site %s has the text", id, concordat.ErrInvalid, d.Partner)
	}
	if d, err = s.expire(ctx, d); err != nil {
		return d, nil, err
	}
	doc, err := s.document(ctx, d.Library, d.Document)
	if err != nil {
		return d, nil, err
	}
	if doc == nil || store.TextHash(doc.Text) != d.Hash {
		return d, nil, fmt.Errorf("document of disclosure %s: %w", id, concordat.ErrNotFound)
	}
	var out []string
	for _, sp := range d.Spans {
		out = append(out, sp.In(doc.Text))
	}
	return d, out, nil
}
