package ask

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"concordat"
	"concordat/profile"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// errGarbage means that a partner's answer violates the protocol.
var errGarbage = errors.New("the answer violates the protocol")

// round handles one submission at one partner.
type round struct {
	fw     *forwarding
	p      *site.PartnerLibraries
	answer *partnerAnswer
	began  time.Time
	chosen []int // questions to ask, in an order that reveals nothing
	// withheld lists sentences that are not sent in any form, because the partner has them in another form.
	withheld []concordat.Span
	// sent and answered are the numbers of sentences sent and answered before any failure.
	sent, answered int
	documents      map[concordat.Handle]*nominated
	order          []*nominated // in the partner's order
	fault          error        // fault of this site rather than the partner
	wording        *partWording
}

// nominated is a matching document at the partner.
type nominated struct {
	concordat.DocumentAnswer
	ref   concordat.Ref
	level concordat.Show
	job   concordat.JobID // job in which most of its sentences match
	most  int             // number of matches in that job
	jobs  map[concordat.JobID][]int
}

func newRound(fw *forwarding, p *site.PartnerLibraries) *round {
	r := &round{fw: fw, p: p, began: time.Now(), documents: map[concordat.Handle]*nominated{}}
	r.answer = &partnerAnswer{site: p.Partner.Site(), name: p.Name, questions: fw.profiles[p.Profiler].Questions(),
		lengths: map[concordat.Ref]int{}}
	for _, l := range p.Libraries {
		r.answer.consulted = append(r.answer.consulted, concordat.Consulted{Site: r.answer.site, Library: l, Epoch: p.Epoch.String(),
			Level: concordat.ShowNothing, Missing: []concordat.ShardID{}})
	}
	return r
}

// prepare chooses the questions and records that the partner will see them. It leaves out sentences that the partner has in another form,
// since two forms together reveal far more than one.
func (r *round) prepare(ctx context.Context) error {
	walls := r.fw.shared.Unasked()
	for i, q := range r.answer.questions {
		if r.fw.share(q.Span, walls) >= compare.MostlyShared {
			continue // no match for it would be evidence
		}
		if r.fw.o.Forwarded() == site.ForwardAll || r.fw.unmatched(q.Span) {
			r.chosen = append(r.chosen, i)
		}
	}
	if len(r.chosen) == 0 {
		return nil
	}
	if err := shuffle(r.chosen); err != nil {
		return err
	}
	digests := make([]store.Digest, len(r.chosen))
	for i, q := range r.chosen {
		digests[i] = store.SentenceDigest(r.answer.questions[q].Span.In(r.fw.sub.Text))
	}
	if r.fw.task == "" { // nothing about this check is stored, yet the partner will learn of it
		r.fw.s.o.Logger.Debug("sentences are shown to a partner outside a check", "site", r.answer.site)
	}
	// Nothing of a text is sent if it is a document of this site and the partner has its word sets.
	err := r.fw.s.o.Store.Asks.Show(ctx, store.Showing{Partner: r.answer.site, Hash: store.TextHash(r.fw.sub.Text),
		Form:  store.FormFingerprints,
		Epoch: r.p.Epoch, Sentences: len(r.chosen)})
	if errors.Is(err, concordat.ErrRefused) {
		r.withhold(r.chosen)
		r.chosen = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("record disclosure to site %s: %w", r.answer.site, err)
	}
	withheld, err := r.fw.s.o.Store.Asks.Expose(ctx, r.answer.site, store.FingerprintsForm(r.p.Epoch, r.p.Profiler.Scheme()), digests)
	if err != nil {
		return fmt.Errorf("record disclosure to site %s: %w", r.answer.site, err)
	}
	var kept, left []int
	for i, q := range r.chosen {
		if withheld[i] {
			left = append(left, q)
		} else {
			kept = append(kept, q)
		}
	}
	r.withhold(left)
	r.chosen = kept
	return nil
}

// withhold records questions that are not sent.
func (r *round) withhold(questions []int) {
	for _, q := range questions {
		r.withheld = append(r.withheld, r.answer.questions[q].Span)
	}
	for i := range r.answer.consulted {
		r.answer.consulted[i].Withheld = len(questions)
	}
}

// shuffle puts xs in an unpredictable order.
func shuffle(xs []int) error {
	for i := len(xs) - 1; i > 0; i-- {
		j, err := below(i + 1)
		if err != nil {
			return err
		}
		xs[i], xs[j] = xs[j], xs[i]
	}
	return nil
}

// below returns a random number from 0 to n-1.
func below(n int) (int, error) {
	x, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0, err
	}
	return int(x.Int64()), nil
}

// ask asks about the chosen sentences, splitting them into several asks if there are many. Answers received before a failure are kept.
func (r *round) ask(ctx context.Context) error {
	most := r.p.MaxAsked
	if most <= 0 || most > concordat.MaxAsked {
		most = concordat.MaxAsked
	}
	for part := range slices.Chunk(r.chosen, most) {
		if err := r.askPart(ctx, part); err != nil {
			return err
		}
		r.answered += len(part)
	}
	return nil
}

// askPart asks about some of the sentences under a separate job.
func (r *round) askPart(ctx context.Context, part []int) error {
	a := &concordat.Ask{
		Epoch: r.p.Epoch, Scheme: r.p.Profiler.Scheme(), Libraries: r.p.Libraries, Probe: concordat.ProbeOne,
		Level: r.p.Level, Purpose: r.p.Purpose, Standing: r.fw.o.Standing, Authors: r.p.Authors,
	}
	if a.Level == "" {
		a.Level = concordat.ShowMetadata
	}
	if r.fw.o.Exact {
		a.Probe = concordat.ProbeExact
	}
	rand.Read(a.Job[:]) // this never fails
	var salt []byte
	salt, a.Commitment = r.fw.commit()
	spans := make([]concordat.Span, len(part))
	for i, q := range part {
		s := r.answer.questions[q]
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: s.Fingerprint, Gate: s.Gate})
		spans[i] = s.Span
	}
	if err := r.putAsk(ctx, a.Job, salt, spans); err != nil {
		r.fault = err
		return err
	}
	r.sent += len(part)
	t, err := r.p.Partner.Ask(ctx, a)
	if err == nil {
		err = validAnswer(a, t)
	}
	if err != nil {
		return err
	}
	t.Statement.Salt = salt
	return r.take(ctx, a, t, part)
}

// commit returns a commitment to the submission's text with a fresh salt.
func (fw *forwarding) commit() (salt []byte, commitment [sha256.Size]byte) {
	salt = make([]byte, 32)
	rand.Read(salt) // this never fails
	return salt, concordat.Commit(salt, sha256.Sum256([]byte(fw.sub.Text)))
}

// putAsk stores the data needed to interpret the partner's later decisions about a job, provided the check stores anything.
func (r *round) putAsk(ctx context.Context, job concordat.JobID, salt []byte, spans []concordat.Span) error {
	if r.fw.task == "" {
		return nil
	}
	return r.fw.s.o.Store.Asks.PutAsk(ctx, store.Ask{Job: job, Task: r.fw.task, Site: r.answer.site, Epoch: r.p.Epoch,
		Made: r.fw.s.o.Now(), Salt: salt, Spans: spans})
}

// maxName is the maximum length of a partner's strings, in characters.
const maxName = 512

// validAnswer returns errGarbage for a SiteAnswer that does not fit a.
func validAnswer(a *concordat.Ask, t *concordat.SiteAnswer) error {
	bad := func(what string) error { return fmt.Errorf("%w: %s", errGarbage, what) }
	if t == nil || len(t.Libraries) != len(a.Libraries) {
		return bad("wrong number of libraries")
	}
	for i, l := range t.Libraries {
		known := slices.Contains(concordat.Levels(), l.Level)
		if l.Library != a.Libraries[i] || !known && l.Refusal == nil || math.IsNaN(l.Ready) || l.Ready < 0 || l.Ready > 1 ||
			min(l.Documents, l.Sentences, l.Missing, l.Capped) < 0 {
			return bad("invalid answer for library " + string(a.Libraries[i]))
		}
	}
	for _, d := range t.Documents {
		if d.Library < 0 || d.Library >= len(t.Libraries) || d.Matches < 0 {
			return bad("invalid document")
		}
	}
	for _, h := range t.Hits {
		if h.Sentence < 0 || h.Sentence >= len(a.Sentences) || h.Document < 0 || h.Document >= len(t.Documents) ||
			h.Ordinal < 0 || h.Ordinal > math.MaxInt32 || h.Closeness > concordat.CloseSame || h.Documents < 0 {
			return bad("invalid match")
		}
	}
	return nil
}

// take adds a partner's answers about some of the sentences.
func (r *round) take(ctx context.Context, a *concordat.Ask, t *concordat.SiteAnswer, part []int) error {
	standing := false
	for i, l := range t.Libraries {
		r.takeLibrary(&r.answer.consulted[i], &l, len(part))
		standing = standing || l.Standing && l.Refusal == nil
	}
	if standing && r.fw.task != "" {
		if err := r.fw.s.o.Store.Asks.SetAskStanding(ctx, a.Job, true); err != nil {
			r.fault = err
			return err
		}
	}
	docs := make([]*nominated, len(t.Documents))
	for i, d := range t.Documents {
		docs[i] = r.document(d, a.Job, t.Libraries[d.Library].Level)
	}
	for _, h := range t.Hits {
		q := part[h.Sentence]
		d := docs[h.Document]
		d.jobs[a.Job] = append(d.jobs[a.Job], h.Ordinal)
		r.answer.matches = append(r.answer.matches, concordat.Match{Sentence: q, Source: d.ref, Title: d.Title, Ordinal: h.Ordinal,
			Distance: stepDistance[h.Closeness], Documents: h.Documents})
	}
	if len(t.Statement.Payload) > 0 {
		r.answer.statements = append(r.answer.statements, t.Statement)
	}
	return nil
}

// takeLibrary adds the answer about one library to its result.
func (r *round) takeLibrary(c *concordat.Consulted, l *concordat.LibraryAnswer, n int) {
	c.Unready = 1 - l.Ready
	if l.Refusal != nil {
		c.Reason, c.Err = failure(l.Refusal, 0)
		return
	}
	c.Level = l.Level
	c.Answered += n
	c.Capped += l.Capped
	c.Standing = c.Standing || l.Standing
	for k := range l.Missing {
		if name := concordat.ShardID(fmt.Sprintf("part %d", k+1)); !slices.Contains(c.Missing, name) {
			c.Missing = append(c.Missing, name)
		}
	}
	c.Shown.Exists = c.Shown.Exists || l.Exists || l.Documents > 0
	c.Shown.Documents = max(c.Shown.Documents, l.Documents)
	c.Shown.Sentences += l.Sentences
}

// document returns the document described by d, either known from an earlier part or new.
func (r *round) document(d concordat.DocumentAnswer, job concordat.JobID, level concordat.Show) *nominated {
	n := r.documents[d.Handle]
	if n == nil {
		d.Title, d.Author, d.Contact = plain(d.Title, maxName), plain(d.Author, maxName), plain(d.Contact, maxName)
		n = &nominated{DocumentAnswer: d, level: level, jobs: map[concordat.JobID][]int{}}
		n.Matches = 0
		n.ref = concordat.Ref{Site: r.answer.site, Library: r.p.Libraries[d.Library], Document: HandleName(d.Handle)}
		r.documents[d.Handle] = n
		r.order = append(r.order, n)
	}
	n.Matches += d.Matches
	if d.Matches > n.most || n.most == 0 {
		n.most, n.job = d.Matches, job
	}
	return n
}

// HandleName returns this site's name for a partner's document, which is its handle in hexadecimal.
func HandleName(h concordat.Handle) concordat.DocumentID {
	return concordat.DocumentID(hex.EncodeToString(h[:]))
}

// handleOf is the inverse of HandleName.
func handleOf(id concordat.DocumentID) (h concordat.Handle, err error) {
	b, err := hex.DecodeString(string(id))
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("document %s does not belong to a partner: %w", id, concordat.ErrInvalid)
	}
	return concordat.Handle(b), nil
}

// blame records a failure of the partner in the results of the affected libraries.
func (r *round) blame(ctx context.Context, err error) {
	if err == nil {
		return
	}
	r.fw.s.lied(ctx, r.answer.site, err)
	r.fw.s.o.Logger.Warn("partner answered only in part", "site", r.answer.site, "err", err)
	r.answer.failed = r.answered == 0
	deadline := r.p.Deadline
	if deadline == 0 {
		deadline = site.DefaultDeadline
	}
	reason, words := failure(err, deadline)
	var refused *concordat.Refusal
	r.answer.silent = reason == concordat.ReasonBusy && !errors.As(err, &refused)
	for i := range r.answer.consulted {
		if c := &r.answer.consulted[i]; c.Err == "" {
			c.Reason, c.Err = reason, words
		}
	}
}

// finish completes the results and sorts the matches.
func (r *round) finish() {
	for i := range r.answer.consulted {
		c := &r.answer.consulted[i]
		c.Asked = len(r.chosen)
		c.Exposed.Sentences = r.sent
		c.Took = time.Since(r.began)
		if len(c.Missing) > 0 {
			c.Answered = 0
		}
	}
	slices.SortFunc(r.answer.matches, byMatch)
	r.answer.matches = slices.CompactFunc(r.answer.matches, func(a, b concordat.Match) bool { return byMatch(a, b) == 0 })
}

// query returns the query to a mirror.
func (fw *forwarding) query(p *concordat.Profile) *concordat.Query {
	q := &concordat.Query{Scheme: p.Scheme, MaxDistance: profile.MaxGate, Limit: compare.MatchLimit, Probe: concordat.ProbeOne}
	if fw.o.Exact {
		q.Probe = concordat.ProbeExact
	}
	for _, s := range p.Questions() {
		q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
	}
	return q
}
