package answer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/profile"
	"concordat/site/compare"
	"concordat/store"
)

// A partner that can ask about any number of slightly different fingerprints can discover the fingerprint of a sentence that it nearly
// has, because each answer shows whether a change brought it closer. Variants of a sentence within one ask are therefore answered only
// once. Only a limited number of different questions is answered about each of this site's sentences per year, and each answer reveals
// less than the one before. Misses count too if the partner can notice them.

const (
	// maxVariants is the maximum number of different questions about one sentence answered for one partner within a year. The answer to
	// the first is one of four steps: same, near, far, or beyond the gate. The answers to the next ones, up to steppedVariants, state
	// only whether they are very near; all others state only whether they are the same.
	maxVariants, steppedVariants = 4, 3
	// variantBits is the distance within which two sentences of an ask are variants of each other.
	variantBits = profile.MaxGate
	// approachHashes and approachBits are the distances beyond the gate within which a question still counts.
	approachHashes, approachBits = 2, 4
	// firstBlur and laterBlur are the maximum number of hashes by which step boundaries are shifted, differently for each question.
	// veryNear is the number of hashes by which a later question must be closer than near.
	firstBlur, laterBlur, veryNear = 2, 3, 3
)

// query returns the query to the index for matches within the gate or slightly beyond it.
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

// within returns how close a match is, and whether it can be disclosed because it is within the gates of both the sentence and the rule.
func (q *question) within(g *grant, m concordat.Match) (concordat.Closeness, bool) {
	c, ok := q.set.Profiler.Closeness(concordat.Sentence{Gate: q.ask.Sentences[m.Sentence].Gate}, m)
	return c, ok && (g.rule.Closeness == 0 || m.Distance <= g.rule.Closeness)
}

// variant is an asked fingerprint with the library sentences that it came close to.
type variant struct {
	fingerprint concordat.Fingerprint
	question    store.Question
	sentences   []int // sentences in the ask
}

// once counts the questions of an ask, and returns the documents with the hits that can be disclosed, which are the hits of answered
// questions, in the steps still available. A question asked in too many variants goes unanswered for every document, because leaving out
// only some would make wording seem rarer than it is.
func (s *Answerer) once(ctx context.Context, q *question, g *grant, matches []concordat.Match, docs []*found) ([]*found, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	if err := s.readJob(ctx, q, docs); err != nil {
		return nil, err
	}
	q.weigh(g, docs)
	seen := map[concordat.DocumentID]bool{}
	for _, f := range docs {
		seen[f.row.ID] = q.nearlyTold(f, g.rule)
	}
	missed, err := s.missed(ctx, q, g, matches, docs, seen)
	if err != nil {
		return nil, err
	}
	answered := singles(q.variants(g, matches, missed, seen))
	questions := make([]store.Question, len(answered))
	for i, v := range answered {
		questions[i] = v.question
	}
	counted, err := s.o.Store.Answers.CountQuestions(ctx, store.Asking{Partner: q.from, Library: g.library.ID, Job: q.ask.Job},
		s.o.Now().Add(-year), maxVariants, questions)
	if err != nil {
		return nil, err
	}
	places := map[concordat.Fingerprint]map[place]int{}
	refused := 0
	for i, v := range answered {
		if counted[i].Withheld {
			refused++
			q.withheld[g.library.ID] += len(v.sentences)
			continue
		}
		at := map[place]int{}
		for n, x := range v.question.Near {
			at[place{x.Document, x.Ordinal}] = counted[i].Places[n]
		}
		places[v.fingerprint] = at
	}
	if err := s.probing(ctx, g, refused); err != nil {
		return nil, err
	}
	for _, f := range docs {
		f.hits = slices.DeleteFunc(f.hits, func(h hit) bool { return places[q.ask.Sentences[h.Sentence].Fingerprint] == nil })
		for i := range f.hits {
			h := &f.hits[i]
			q.blur(h, f, places[q.ask.Sentences[h.Sentence].Fingerprint][place{f.row.ID, h.Ordinal}])
		}
		f.hits = slices.DeleteFunc(f.hits, func(h hit) bool { return h.Closeness == untold })
		q.weighFound(g, f)
	}
	return slices.DeleteFunc(docs, func(f *found) bool { return len(f.hits) == 0 }), nil
}

// missed returns the sentences in documents already seen that a question nearly reached but did not find, because no band is close. A
// miss reveals as much as a match. It fingerprints the texts of the documents to find them.
func (s *Answerer) missed(ctx context.Context, q *question, g *grant, matches []concordat.Match, docs []*found,
	seen map[concordat.DocumentID]bool) ([]concordat.Match, error) {
	type pair struct {
		place
		asked int
	}
	found := map[pair]bool{}
	for _, m := range matches {
		found[pair{place{m.Source.Document, m.Ordinal}, m.Sentence}] = true
	}
	reach := q.query(g)
	var out []concordat.Match
	read := 0
	for _, f := range docs {
		if !seen[f.row.ID] || read == maxMissed {
			continue
		}
		read++
		d, err := s.document(ctx, g.library.ID, f.row.ID)
		if err != nil {
			return nil, err
		}
		if d == nil || store.TextHash(d.Text) != f.row.Hash {
			continue // it is changing; nothing more is disclosed about it
		}
		p, err := q.set.Profiler.ForIndex(*d)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", f.row.ID, err)
		}
		for ordinal, x := range p.Indexed {
			for i, y := range q.ask.Sentences {
				m := concordat.Match{Sentence: i, Source: concordat.Ref{Document: f.row.ID}, Ordinal: ordinal,
					Hashes: x.Fingerprint.NibbleDistance(y.Fingerprint)}
				if reach.MaxHashes > 0 && m.Hashes > reach.MaxHashes || found[pair{place{f.row.ID, ordinal}, i}] {
					continue
				}
				if m.Distance = x.Fingerprint.Distance(y.Fingerprint); reach.MaxHashes > 0 || m.Distance <= reach.MaxDistance {
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// maxMissed is the maximum number of documents searched for misses per answer.
const maxMissed = 64

// place identifies a sentence in a library.
type place struct {
	document concordat.DocumentID
	ordinal  int
}

// untold is the closeness of an undisclosed hit.
const untold = concordat.CloseSame + 1

// blur reduces a hit to the detail that can be disclosed after some number of other questions about the sentence. The step boundaries
// differ between questions, by a key known only to this site. With a fixed boundary, a crafted question would halve the number of
// possible words.
func (q *question) blur(h *hit, f *found, before int) {
	if h.Closeness == concordat.CloseSame {
		return
	}
	most := firstBlur
	if before > 0 {
		most = laterBlur
	}
	asked := concordat.Sentence{Gate: q.ask.Sentences[h.Sentence].Gate}
	b, _ := q.ask.Sentences[h.Sentence].Fingerprint.AppendBinary(nil) // this never fails
	b = binary.BigEndian.AppendUint32(b, uint32(h.Ordinal))
	id := keyedID(q.set.HandleKey, "concordat/blur/1", []byte(q.from), []byte(f.row.Library), []byte(f.row.ID), b)
	margin, near := q.set.Profiler.Margin(asked, h.match)+int(id[0])%(2*most+1)-most, q.set.Profiler.NearMargin(asked)
	switch {
	case before == 0 && margin >= near:
		h.Closeness = concordat.CloseNear
	case before == 0 && margin >= 0:
		h.Closeness = concordat.CloseFar
	case before > 0 && before < steppedVariants && margin >= near+veryNear:
		h.Closeness, h.blurred = concordat.CloseNear, true
	default:
		h.Closeness = untold
	}
}

// dailyVariants is the number of a partner's questions that a library can leave unanswered in a day before raising an alarm.
const dailyVariants = 50

// probing counts questions left unanswered because too many similar ones were asked, and raises an alarm.
func (s *Answerer) probing(ctx context.Context, g *grant, refused int) error {
	if refused == 0 {
		return nil
	}
	_, over, err := s.spend(ctx, g.spending(spendVariants, refused, store.Window{Within: Day, Most: dailyVariants}))
	if err != nil || over == nil {
		return err
	}
	raised, err := s.o.Store.Partners.RaiseAlarm(ctx, store.PartnerAlarm{Partner: g.from, Kind: store.AlarmProbing, Library: g.library.ID})
	if err != nil || !raised {
		return err
	}
	s.o.Logger.Warn("a partner asks about suspiciously many variants of the same sentences", "site", g.from, "library", g.library.ID)
	return s.audit(ctx, g.from, "probing", auditProbing{g.library.ID})
}

// maxJobsOfOne is the number of a partner's jobs that can see one document within jobLife before an alarm. Either the source is popular,
// or someone is reading it piece by piece, which limits on individual sentences cannot detect.
const maxJobsOfOne = 200

// muchTold and muchOutlined are the shares of a library that can be disclosed to a partner, and outlined for it, in a year before an
// alarm.
var (
	muchTold     = store.Part{Of: 5, Least: 20}
	muchOutlined = store.Part{Of: 10, Least: 10}
)

// lookAtJobs raises alarms about partners whose jobs keep leading to one document, or that have seen much of a library. It runs at most
// once per hour.
func (s *Answerer) lookAtJobs(ctx context.Context, now time.Time) error {
	if now.Sub(s.epochs.looked) < time.Hour {
		return nil
	}
	s.epochs.looked = now
	often, err := s.o.Store.Answers.OftenAnswered(ctx, maxJobsOfOne)
	if err != nil {
		return err
	}
	much, err := s.o.Store.Asks.MuchShown(ctx, now.Add(-year), muchTold, muchOutlined)
	if err != nil {
		return err
	}
	for _, a := range append(often, much...) {
		raised, err := s.o.Store.Partners.RaiseAlarm(ctx, a)
		if err != nil {
			return err
		}
		if !raised {
			continue
		}
		action, words := "one document", "a partner's checks keep finding the same document"
		if a.Kind == store.AlarmLibrary {
			action, words = "much of a library", "a partner has been shown much of a library"
		}
		s.o.Logger.Warn(words, "site", a.Partner, "library", a.Library)
		if err := s.audit(ctx, a.Partner, action, auditProbing{a.Library}); err != nil {
			return err
		}
	}
	return nil
}

// variants returns the asked fingerprints that came close to any sentence, in an order unpredictable to the asker. Questions that come
// close to sentences of documents already seen count even if they miss.
func (q *question) variants(g *grant, matches, missed []concordat.Match, seen map[concordat.DocumentID]bool) []*variant {
	by := map[concordat.Fingerprint]*variant{}
	var out []*variant
	for n, m := range slices.Concat(matches, missed) {
		f := q.ask.Sentences[m.Sentence].Fingerprint
		v := by[f]
		if v == nil {
			b, _ := f.AppendBinary(nil) // this never fails
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
			continue // an identical fingerprint has identical matches
		}
		_, within := q.within(g, m)
		within = within && n < len(matches)
		v.question.Near = append(v.question.Near, store.NearSentence{Document: m.Source.Document, Ordinal: m.Ordinal,
			Within: within && seen[m.Source.Document], Counts: seen[m.Source.Document]})
	}
	slices.SortFunc(out, func(a, b *variant) int {
		return bytes.Compare(a.question.Name[:], b.question.Name[:])
	})
	return out
}

// singles returns the questions that are not variants of an earlier one near the same sentence. Which variant is answered depends only on
// their names, since answering the closest would reveal more than a step.
func singles(all []*variant) []*variant {
	var out []*variant
	for _, v := range all {
		if !slices.ContainsFunc(out, v.variantOf) {
			out = append(out, v)
		}
	}
	return out
}

// variantOf reports whether two questions are similar and came close to the same sentence.
func (v *variant) variantOf(x *variant) bool {
	return v.fingerprint.Distance(x.fingerprint) <= variantBits && slices.ContainsFunc(v.question.Near, func(a store.NearSentence) bool {
		return slices.ContainsFunc(x.question.Near, func(b store.NearSentence) bool {
			return a.Document == b.Document && a.Ordinal == b.Ordinal
		})
	})
}
