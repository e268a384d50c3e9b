package answer

import (
	"bytes"
	"context"
	"slices"
	"time"

	"concordat"
	"concordat/profile"
	"concordat/site/compare"
	"concordat/store"
)

// A partner that may ask for as many fingerprints as it likes, each a little different, finds out the fingerprint of a
// sentence that it nearly has: each answer tells whether the change led nearer. So sentences of one ask that are variants
// of each other are answered once, and of each sentence of ours only so many different questions are answered in a year.

const (
	// maxVariants is the most different questions that are answered of one sentence, of one partner in a year. Each tells
	// at most two bits of its fingerprint: same, near, far, or beyond the gate.
	maxVariants = 12
	// variantBits is the distance within which two sentences of one ask are variants.
	variantBits = profile.MaxGate
	// approachHashes and approachBits are how far beyond the gate a question counts.
	approachHashes, approachBits = 2, 4
)

// query returns the question to the index: matches within the gate, and those a little beyond.
func (q *question) query(g *grant) *concordat.Query {
	query := &concordat.Query{Scheme: q.ask.Scheme, Libraries: []concordat.LibraryID{g.library.ID}, Probe: q.ask.Probe,
		MaxDistance: profile.MaxGate + approachBits, Limit: compare.MatchLimit}
	if n := q.set.Profiler.MaxHashes(); n > 0 {
		query.MaxHashes = n + approachHashes
	}
	for _, x := range q.ask.Sentences {
		query.Fingerprints = append(query.Fingerprints, x.Fingerprint)
	}
	return query
}

// within returns how close a match is, and whether it may be told: whether it lies within the gates of the sentence and of
// the rule.
func (q *question) within(g *grant, m concordat.Match) (concordat.Closeness, bool) {
	c, ok := q.set.Profiler.Closeness(concordat.Sentence{Gate: q.ask.Sentences[m.Sentence].Gate}, m)
	return c, ok && (g.rule.Closeness == 0 || m.Distance <= g.rule.Closeness)
}

// variant is an asked fingerprint with the sentences of the library that it came near.
type variant struct {
	fingerprint concordat.Fingerprint
	question    store.Question
	sentences   []int // of the ask
}

// once returns the matches of the questions that may be answered, and counts these. A question is answered whole or not
// at all: with some of its documents left out, wording would seem rarer than it is.
func (s *Answerer) once(ctx context.Context, q *question, g *grant, matches []concordat.Match) ([]concordat.Match, error) {
	if len(matches) == 0 {
		return nil, nil
	}
	all := q.variants(g, matches)
	answered := singles(all)
	questions := make([]store.Question, len(answered))
	for i, v := range answered {
		questions[i] = v.question
	}
	withheld, err := s.o.Store.CountQuestions(ctx, store.Asking{Partner: q.from, Epoch: q.set.Epoch, Library: g.library.ID, Job: q.ask.Job},
		s.o.Now().Add(-year), maxVariants, questions)
	if err != nil {
		return nil, err
	}
	told := map[int]bool{}
	refused := 0
	for i, v := range answered {
		if withheld[i] {
			refused++
			q.withheld[g.library.ID] += len(v.sentences)
			continue
		}
		for _, n := range v.sentences {
			told[n] = true
		}
	}
	if err := s.probing(ctx, g, refused); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(matches, func(m concordat.Match) bool { return !told[m.Sentence] }), nil
}

// dailyVariants is the number of questions of a partner that a library may leave unanswered in a day before an
// alarm.
const dailyVariants = 50

// probing counts questions that were left unanswered because too many like them were asked, and raises an alarm.
func (s *Answerer) probing(ctx context.Context, g *grant, refused int) error {
	if refused == 0 {
		return nil
	}
	_, over, err := s.spend(ctx, g.spending(spendVariants, refused, store.Window{Within: Day, Most: dailyVariants}))
	if err != nil || over == nil {
		return err
	}
	raised, err := s.o.Store.RaiseAlarm(ctx, store.PartnerAlarm{Partner: g.from, Kind: store.AlarmProbing, Library: g.library.ID})
	if err != nil || !raised {
		return err
	}
	s.o.Logger.Warn("a partner asks more variants of sentences than anybody needs", "site", g.from, "library", g.library.ID)
	return s.audit(ctx, g.from, "probing", auditProbing{g.library.ID})
}

// maxJobsOfOne is the number of jobs of a partner that may see one document within jobLife before an alarm: it is a much
// used source, or somebody reads it out in pieces, which bounds on single sentences do not notice.
const maxJobsOfOne = 200

// lookAtJobs raises an alarm about partners whose jobs come to one document again and again, where it was not looked for an
// hour.
func (s *Answerer) lookAtJobs(ctx context.Context, now time.Time) error {
	if now.Sub(s.epochs.looked) < time.Hour {
		return nil
	}
	s.epochs.looked = now
	often, err := s.o.Store.OftenAnswered(ctx, maxJobsOfOne)
	if err != nil {
		return err
	}
	for _, a := range often {
		raised, err := s.o.Store.RaiseAlarm(ctx, a)
		if err != nil {
			return err
		}
		if !raised {
			continue
		}
		s.o.Logger.Warn("a partner's checks come to one document again and again", "site", a.Partner, "library", a.Library)
		if err := s.audit(ctx, a.Partner, "one document", auditProbing{a.Library}); err != nil {
			return err
		}
	}
	return nil
}

// variants returns the asked fingerprints that came near some sentence, in an order that the asker cannot know.
func (q *question) variants(g *grant, matches []concordat.Match) []*variant {
	by := map[concordat.Fingerprint]*variant{}
	var out []*variant
	for _, m := range matches {
		f := q.ask.Sentences[m.Sentence].Fingerprint
		v := by[f]
		if v == nil {
			b, _ := f.AppendBinary(nil) // never fails
			id := keyedID(q.set.HandleKey, "concordat/question/1", []byte(q.from), b)
			v = &variant{fingerprint: f}
			copy(v.question.Name[:], id[:])
			by[f] = v
			out = append(out, v)
		}
		if !slices.Contains(v.sentences, m.Sentence) {
			v.sentences = append(v.sentences, m.Sentence)
		}
		if m.Sentence != v.sentences[0] {
			continue // the same fingerprint has the same matches
		}
		_, within := q.within(g, m)
		v.question.Near = append(v.question.Near, store.NearSentence{Document: m.Source.Document, Ordinal: m.Ordinal, Within: within})
	}
	slices.SortFunc(out, func(a, b *variant) int {
		return bytes.Compare(a.question.Name[:], b.question.Name[:])
	})
	return out
}

// singles returns those that are no variants of an earlier one that came near the same sentence. Which of the variants is
// answered depends on nothing but their names: the nearest would tell more than its step.
func singles(all []*variant) []*variant {
	var out []*variant
	for _, v := range all {
		if !slices.ContainsFunc(out, v.variantOf) {
			out = append(out, v)
		}
	}
	return out
}

// variantOf reports whether the two are alike and came near one sentence.
func (v *variant) variantOf(x *variant) bool {
	return v.fingerprint.Distance(x.fingerprint) <= variantBits && slices.ContainsFunc(v.question.Near, func(a store.NearSentence) bool {
		return slices.ContainsFunc(x.question.Near, func(b store.NearSentence) bool {
			return a.Document == b.Document && a.Ordinal == b.Ordinal
		})
	})
}
