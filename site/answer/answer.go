package answer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/profile"
	"concordat/store"
)

var _ concordat.Answerer = (*Answerer)(nil)

// Limits on one ask.
const (
	maxAskedLibraries = 256
	maxAuthors        = 64
	maxPurpose        = 128 // in bytes
	// maxTold is the maximum number of documents of one library in a SiteAnswer.
	maxTold = 1000
)

// limited returns a group that runs at most n goroutines at once.
func limited(ctx context.Context, n int) (*errgroup.Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	return g, ctx
}

// Answer answers the first round. It returns the sentences in the libraries open to the asker that are close to the asked ones, as far as
// each library's rule allows. It charges the asker. If the whole ask cannot be answered, it fails with a *concordat.Refusal; a library
// that cannot be asked is refused in its own LibraryAnswer. Every call leaves an audit entry.
func (s *Answerer) Answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	t, withheld, err := s.answer(ctx, from, a)
	line := auditAnswer{Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch.String(), Purpose: cut(a.Purpose), Level: a.Level,
		Sentences: concordat.Padded(len(a.Sentences)), Commitment: hex.EncodeToString(a.Commitment[:])}
	line.take(a, t, withheld, err)
	if err := s.audit(ctx, from, "answer", line); err != nil {
		return nil, err // nothing is answered unless it can be audited
	}
	return t, err
}

// answer returns the answer and, for each library, the number of sentences left unanswered.
func (s *Answerer) answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (t *concordat.SiteAnswer,
	withheld map[concordat.LibraryID]int, err error) {
	set, err := s.checkAsk(from, a)
	if err != nil {
		return nil, nil, err
	}
	q := newQuestion(from, a, set)
	t = &concordat.SiteAnswer{Libraries: make([]concordat.LibraryAnswer, len(a.Libraries))}
	grants, err := s.grants(ctx, q, t)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(grants, func(g *grant) bool { return g != nil }) {
		return t, q.withheld, nil
	}
	job, err := s.o.Store.Answers.UseAnswerJob(ctx, store.AnswerJob{Partner: from, Job: a.Job, Epoch: a.Epoch, Purpose: a.Purpose,
		Commitment: a.Commitment, Sentences: concordat.Padded(len(a.Sentences))})
	if err != nil {
		return nil, nil, refusedJob(err)
	}
	q.first = job.Asks == 1
	for i, g := range grants {
		if g == nil {
			continue
		}
		if err := s.answerLibrary(ctx, q, g, i, t); err != nil {
			return nil, nil, err
		}
	}
	order(t)
	countHolders(t)
	return t, q.withheld, nil
}

// checkAsk returns the set from which an ask is answered, or an error if the ask cannot be answered.
func (s *Answerer) checkAsk(from concordat.SiteID, a *concordat.Ask) (*epochSet, error) {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("ask: %w: %s", concordat.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if err := checkFrame(a.Job, a.Libraries, a.Purpose); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	switch {
	case len(a.Sentences) == 0 || len(a.Sentences) > concordat.MaxAsked:
		return nil, invalid("the number of sentences (%d) is outside the permitted range", len(a.Sentences))
	case len(a.Authors) > maxAuthors:
		return nil, invalid("too many authors: %d", len(a.Authors))
	case rank(a.Level) < 1:
		return nil, invalid("unknown level %q", a.Level)
	case a.Probe != concordat.ProbeExact && a.Probe != concordat.ProbeOne:
		return nil, invalid("unknown probe %d", a.Probe)
	}
	for i, x := range a.Sentences {
		if !profile.Gated(x.Gate) {
			return nil, invalid("sentence %d has an invalid gate: %d", i, x.Gate)
		}
	}
	set := s.epoch(a.Epoch)
	switch {
	case set == nil || !set.member(from):
		return nil, refuse(concordat.ReasonEpoch, "this site does not answer questions for epoch %s", a.Epoch)
	case a.Scheme != set.Profiler.Scheme():
		return nil, refuse(concordat.ReasonScheme, "for epoch %s, this site uses fingerprint scheme %s", a.Epoch, set.Profiler.Scheme())
	}
	return set, nil
}

// checkFrame rejects anything that a question of the first round must not contain.
func checkFrame(job concordat.JobID, libraries []concordat.LibraryID, purpose string) error {
	switch {
	case job == concordat.JobID{}:
		return fmt.Errorf("%w: missing job ID", concordat.ErrInvalid)
	case len(libraries) == 0 || len(libraries) > maxAskedLibraries:
		return fmt.Errorf("%w: the number of libraries (%d) is outside the permitted range", concordat.ErrInvalid, len(libraries))
	case len(purpose) > maxPurpose || strings.IndexFunc(purpose, unicode.IsControl) >= 0:
		return fmt.Errorf("%w: the purpose (%d bytes) is too long or contains control characters", concordat.ErrInvalid, len(purpose))
	}
	for i, l := range libraries {
		if slices.Contains(libraries[:i], l) {
			return fmt.Errorf("%w: library %s appears twice", concordat.ErrInvalid, l)
		}
	}
	return nil
}

// refusedJob returns the error for an unusable job.
func refusedJob(err error) error {
	if errors.Is(err, concordat.ErrInvalid) {
		return refuse(concordat.ReasonUnknown, "this job ID belongs to a different submission")
	}
	return err
}

// grants decides on each requested library and charges its budget; refused libraries have nil grants.
func (s *Answerer) grants(ctx context.Context, q *question, t *concordat.SiteAnswer) ([]*grant, error) {
	out := make([]*grant, len(q.ask.Libraries))
	for i, lib := range q.ask.Libraries {
		l := &t.Libraries[i]
		*l = concordat.LibraryAnswer{Library: lib, Level: concordat.ShowNothing, LeftSentences: -1, LeftDisclosures: -1}
		g, refusal, err := s.grant(ctx, q.from, lib, q.ask.Purpose)
		if err != nil {
			return nil, err
		}
		if refusal == nil {
			var left []int
			if left, refusal, err = s.spend(ctx, g.sentences(concordat.Padded(len(q.ask.Sentences))), g.disclosures(0)); err != nil {
				return nil, err
			}
			if refusal == nil {
				l.LeftSentences, l.LeftDisclosures = left[0], left[1]
			} else if refusal.Reason == concordat.ReasonBudget {
				l.LeftSentences = 0
			}
		}
		if refusal != nil {
			l.Refusal = refusal
			continue
		}
		l.Level = lower(q.ask.Level, g.rule.Level)
		out[i] = g
	}
	return out, nil
}

// answerLibrary searches one library and discloses what its rule allows.
func (s *Answerer) answerLibrary(ctx context.Context, q *question, g *grant, i int, t *concordat.SiteAnswer) error {
	l := &t.Libraries[i]
	ready, err := s.Sets.readyOf(ctx, q.set, g.library.ID)
	if err != nil {
		return err
	}
	l.Ready = ready.share()
	// This must precede the search, so that a document added in the meantime is either found here or raises an alert; see fillBatch.
	if l.Standing, err = s.Sets.keepStanding(ctx, q, g); err != nil {
		return err
	}
	a, err := q.set.Index.Match(ctx, q.query(g))
	if err != nil {
		return fmt.Errorf("find matches for site %s in library %s: %w", q.from, g.library.ID, err)
	}
	l.Missing, l.Capped = len(a.Missing), min(a.Capped, 1)
	given, err := s.askedTemplates(ctx, q, g)
	if err != nil {
		return err
	}
	matches := slices.DeleteFunc(a.Matches, func(m concordat.Match) bool { return given[m.Sentence] })
	docs, err := s.gather(ctx, q, g, matches)
	if err != nil {
		return err
	}
	if docs, err = s.once(ctx, q, g, matches, docs); err != nil {
		return err
	}
	keep, err := s.tell(ctx, q, g, docs, i, t)
	if err != nil {
		return err
	}
	return keep()
}

// gather returns the documents that match within the gate, with all their hits, ordered by id. It includes only documents with their
// current text in the set, and skips those by the asker's own authors if the rule says so.
func (s *Answerer) gather(ctx context.Context, q *question, g *grant, matches []concordat.Match) ([]*found, error) {
	by := map[concordat.DocumentID]*found{}
	for _, m := range matches {
		closeness, within := q.within(g, m)
		if !within {
			continue
		}
		f := by[m.Source.Document]
		if f == nil {
			f = &found{}
			by[m.Source.Document] = f
		}
		f.add(m, closeness)
	}
	held, err := s.o.Store.Answers.HeldDocuments(ctx, q.set.Epoch, g.library.ID, slices.Sorted(maps.Keys(by)))
	if err != nil {
		return nil, err
	}
	var out []*found
	for _, id := range slices.Sorted(maps.Keys(held)) {
		row, f := held[id], by[id]
		if !q.leftOut(g, row.Author) {
			f.row, f.handle = row, q.set.handle(q.from, g.library.ID, id)
			out = append(out, f)
		}
	}
	return out, nil
}

func (f *found) add(m concordat.Match, c concordat.Closeness) {
	f.hits = append(f.hits, hit{Hit: concordat.Hit{Sentence: m.Sentence, Ordinal: m.Ordinal, Closeness: c, Documents: m.Documents}, match: m})
}

// leftOut reports whether a document is by one of the asker's own authors.
func (q *question) leftOut(g *grant, author string) bool {
	if !g.rule.ExcludeAuthors || len(q.excluded) == 0 {
		return false
	}
	return slices.ContainsFunc(AuthorHashes(q.set.SketchKey, author), func(h [16]byte) bool { return q.excluded[h] })
}

// tell adds to t the data about the matching documents that the rule allows, and returns a function that records it with the job. It also
// records hits in documents that are not named because too few sentences match; these hits count once more sentences match.
func (s *Answerer) tell(ctx context.Context, q *question, g *grant, all []*found, i int,
	t *concordat.SiteAnswer) (keep func() error, err error) {
	l := &t.Libraries[i]
	var docs, below []*found
	for _, f := range all {
		if q.tellable(f, g.rule) {
			docs = append(docs, f)
		} else {
			below = append(below, f)
		}
	}
	slices.SortStableFunc(docs, func(a, b *found) int {
		return cmp.Or(cmp.Compare(b.sentences(), a.sentences()), bytes.Compare(a.handle[:], b.handle[:]))
	})
	docs, paged := q.fewPaged(docs, g.rule)
	below = append(below, paged...)
	l.Exists = len(docs) > 0
	if !atLeast(l.Level, concordat.ShowCounts) {
		return func() error { return s.keep(ctx, q, docs, 0, concordat.ShowExists, below) }, nil
	}
	sentences := map[int]bool{}
	for _, f := range docs {
		for _, h := range f.hits {
			sentences[h.Sentence] = true
		}
	}
	l.Documents, l.Sentences = len(docs), len(sentences)
	metadata := 0
	if atLeast(l.Level, concordat.ShowMetadata) {
		if metadata, err = s.disclose(ctx, q, g, docs[:min(len(docs), maxTold)], l); err != nil {
			return nil, err
		}
	} else {
		l.Documents, l.Sentences = atLeastFew(l.Documents), atLeastFew(l.Sentences)
	}
	for n, f := range docs[:min(len(docs), maxTold)] {
		t.Documents = append(t.Documents, g.documentTell(f, i, n < metadata))
		if n >= metadata {
			continue
		}
		for _, h := range f.hits {
			h.Document = len(t.Documents) - 1
			t.Hits = append(t.Hits, h.Hit)
		}
	}
	return func() error { return s.keep(ctx, q, docs, metadata, concordat.ShowCounts, below) }, nil
}

// atLeastFew returns n, or few if n is 1, so that 1 and 2 look the same.
func atLeastFew(n int) int {
	if n == 1 {
		return few
	}
	return n
}

// sentences returns the number of matching asked sentences.
func (f *found) sentences() int {
	n, last := 0, -1
	for _, h := range f.hits { // in sentence order, as matches are
		if h.Sentence != last {
			n, last = n+1, h.Sentence
		}
	}
	return n
}

func (g *grant) documentTell(f *found, library int, metadata bool) concordat.DocumentAnswer {
	if !metadata {
		return concordat.DocumentAnswer{Handle: f.handle, Library: library, Matches: atLeastFew(f.sentences())}
	}
	return concordat.DocumentAnswer{Handle: f.handle, Library: library, Matches: f.sentences(), Title: f.row.Title,
		Author: f.row.Author, Contact: g.rule.Contact, Date: f.row.Added, Outline: g.rule.Outline}
}

// disclose charges for documents and hits disclosed for the first time. It returns how many documents, starting with the first, the
// budget allows it to disclose with metadata.
func (s *Answerer) disclose(ctx context.Context, q *question, g *grant, docs []*found, l *concordat.LibraryAnswer) (int, error) {
	var all, each []store.Spending
	documents, hits := 0, 0
	for _, f := range docs {
		d, h := q.fresh(f)
		documents, hits = documents+d, hits+h
		each = append(each, g.documents(spendDocuments, d), g.disclosures(h))
	}
	all = append(all, g.documents(spendDocuments, documents), g.disclosures(hits))
	left, refusal, err := s.spend(ctx, all...)
	if err != nil {
		return 0, err
	}
	if refusal == nil {
		l.LeftDisclosures = left[1]
		return len(docs), nil
	}
	for n := range docs {
		left, refusal, err = s.spend(ctx, each[2*n:2*n+2]...)
		if err != nil {
			return 0, err
		}
		if refusal != nil {
			return n, nil
		}
		l.LeftDisclosures = left[1]
	}
	return len(docs), nil
}

// fresh reports how many documents (0 or 1) and hits of f this job has not disclosed yet.
func (q *question) fresh(f *found) (documents, hits int) {
	told := map[store.AnswerHit]bool{}
	documents = 1
	for _, h := range f.before {
		if h.Told {
			documents = 0
			told[store.AnswerHit{Sentence: h.Sentence, Ordinal: h.Ordinal}] = true
		}
	}
	for _, h := range f.hits {
		if !told[store.AnswerHit{Sentence: q.name(h.Sentence), Ordinal: h.Ordinal}] {
			hits++
		}
	}
	return documents, hits
}

// tidy deletes records that no further question needs.
func (s *Answerer) tidy(ctx context.Context, now time.Time) error {
	return errors.Join(s.o.Store.Answers.ForgetAnswerJobs(ctx, now.Add(-jobLife)), s.o.Store.Answers.ForgetSpent(ctx, now.Add(-year-Day)),
		s.o.Store.Answers.ForgetQuestions(ctx, now.Add(-year)), s.o.Store.Asks.ForgetOutlined(ctx, now.Add(-year)),
		s.o.Store.Alerts.ForgetAlerts(ctx, now.Add(-year)),
		s.o.Store.Partners.DropStandingAsks(ctx, "", concordat.JobID{}))
}

// jobLife is how long after its last ask a job's documents can still be queried.
const jobLife = 30 * Day
