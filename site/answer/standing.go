package answer

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"concordat"
	"concordat/site/compare"
	"concordat/store"
)

// Standing questions.
const (
	standingLife = year
	// maxStanding is the maximum number of a partner's standing sentences in an epoch; each takes some 100 bytes of memory.
	maxStanding = 200_000
)

// keepStanding stores the ask so that later documents in the library can be reported, if both sides agree.
func (s *Sets) keepStanding(ctx context.Context, q *question, g *grant) (bool, error) {
	if !q.ask.Standing || !g.rule.Standing {
		return false, nil
	}
	expires := s.o.Now().Add(standingLife)
	if !g.rule.Expires.IsZero() && g.rule.Expires.Before(expires) {
		expires = g.rule.Expires
	}
	kept := *q.ask
	kept.Libraries = []concordat.LibraryID{g.library.ID}
	err := s.o.Store.Partners.AddStandingAsk(ctx, store.StandingAsk{Partner: q.from, Expires: expires, Ask: kept}, maxStanding)
	if errors.Is(err, concordat.ErrRefused) {
		return false, nil
	}
	q.set.forgetStanding()
	return err == nil, err
}

// standingTable indexes the sentences of an epoch's standing questions by band.
type standingTable struct {
	asks      []store.StandingAsk
	sentences []standingSentence
	bands     [concordat.Bands]map[uint32][]int32 // values index sentences
}

type standingSentence struct {
	ask, sentence int32
	fingerprint   concordat.Fingerprint
}

func newStandingTable(asks []store.StandingAsk) *standingTable {
	t := &standingTable{asks: asks}
	for band := range t.bands {
		t.bands[band] = map[uint32][]int32{}
	}
	for i := range asks {
		for j, x := range asks[i].Ask.Sentences {
			n := int32(len(t.sentences))
			t.sentences = append(t.sentences, standingSentence{int32(i), int32(j), x.Fingerprint})
			for band := range t.bands {
				v := x.Fingerprint.Band(band)
				t.bands[band][v] = append(t.bands[band][v], n)
			}
		}
	}
	return t
}

// near calls each once for every standing sentence whose probe reaches f. An index containing only f would return the same answer.
func (t *standingTable) near(f concordat.Fingerprint, each func(standingSentence)) {
	var places []int32
	for band := range t.bands {
		v := f.Band(band)
		places = append(places, t.bands[band][v]...)
		for shift := 0; shift < concordat.BandBits; shift += 4 {
			for x := uint32(1); x < 16; x++ {
				places = append(places, t.bands[band][v^x<<shift]...)
			}
		}
	}
	slices.Sort(places)
	for _, n := range slices.Compact(places) {
		x := t.sentences[n]
		if t.asks[x.ask].Ask.Probe == concordat.ProbeOne || sharesBand(f, x.fingerprint) {
			each(x)
		}
	}
}

func sharesBand(f, g concordat.Fingerprint) bool {
	for band := range concordat.Bands {
		if f.Band(band) == g.Band(band) {
			return true
		}
	}
	return false
}

// standing returns an epoch's table of standing questions.
func (s *Sets) standing(ctx context.Context, e *epochSet) (*standingTable, error) {
	e.mu.Lock()
	t := e.asks
	e.mu.Unlock()
	if t != nil {
		return t, nil
	}
	changes := e.standingChanges()
	asks, err := s.o.Store.Partners.StandingAsks(ctx, e.Epoch)
	if err != nil {
		return nil, err
	}
	t = newStandingTable(asks)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changes == changes { // no question arrived while reading
		e.asks = t
	}
	return t, nil
}

func (e *epochSet) standingChanges() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes
}

// forgetStanding makes the next call to standing read the questions again.
func (e *epochSet) forgetStanding() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asks = nil
	e.changes++
}

// alert finds standing questions matched by documents just added to the set, and puts the permitted answers in the outbox. It can be
// called again for the same documents, because no match is reported twice.
func (s *Sets) alert(ctx context.Context, e *epochSet, lib concordat.LibraryID, profiles []*concordat.Profile, hashes []string) error {
	t, err := s.standing(ctx, e)
	if err != nil || len(t.sentences) == 0 {
		return err
	}
	by := make([][]concordat.Match, len(t.asks))
	present := map[concordat.DocumentID]string{}
	for i, p := range profiles {
		present[p.Document.ID] = hashes[i]
		t.find(p, lib, by)
	}
	for ask, matches := range by {
		if len(matches) > 0 {
			if err := s.alertOne(ctx, e, lib, &t.asks[ask], matches, present); err != nil {
				return err
			}
		}
	}
	return nil
}

// find adds a document's matches with every question about its library.
func (t *standingTable) find(p *concordat.Profile, lib concordat.LibraryID, by [][]concordat.Match) {
	for ordinal, sentence := range p.Indexed {
		t.near(sentence.Fingerprint, func(x standingSentence) {
			if t.asks[x.ask].Ask.Libraries[0] != lib {
				return
			}
			by[x.ask] = append(by[x.ask], concordat.Match{Sentence: int(x.sentence), Ordinal: ordinal, Span: sentence.Span,
				Source: concordat.Ref{Library: lib, Document: p.Document.ID}, Distance: sentence.Fingerprint.Distance(x.fingerprint),
				Hashes: sentence.Fingerprint.NibbleDistance(x.fingerprint), Documents: 1})
		})
	}
}

// alertOne reports the documents that answer one standing question. present contains the hashes of their texts.
func (s *Sets) alertOne(ctx context.Context, e *epochSet, lib concordat.LibraryID, x *store.StandingAsk, matches []concordat.Match,
	present map[concordat.DocumentID]string) error {
	g, refusal, err := s.grant(ctx, x.Partner, lib, x.Ask.Purpose)
	if err != nil || refusal != nil || !g.rule.Standing || !e.member(x.Partner) {
		return err
	}
	q := newQuestion(x.Partner, &x.Ask, e)
	near := q.query(g)
	matches = slices.DeleteFunc(matches, func(m concordat.Match) bool {
		return near.MaxHashes > 0 && m.Hashes > near.MaxHashes || near.MaxHashes == 0 && m.Distance > near.MaxDistance
	})
	by := map[concordat.DocumentID]*found{}
	var left []*found
	for _, m := range matches {
		id := m.Source.Document
		if _, seen := by[id]; seen {
			continue
		}
		if by[id], err = s.news(ctx, q, g, lib, id, present[id]); err != nil {
			return err
		} else if by[id] != nil {
			left = append(left, by[id])
		}
	}
	matches = slices.DeleteFunc(matches, func(m concordat.Match) bool { return by[m.Source.Document] == nil })
	slices.SortStableFunc(matches, func(a, b concordat.Match) int {
		return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	for _, m := range matches {
		if closeness, within := q.within(g, m); within {
			by[m.Source.Document].add(m, closeness)
		}
	}
	if left, err = s.answers.once(ctx, q, g, matches, left); err != nil || len(left) == 0 {
		return err
	}
	t := &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: lib, Level: lower(x.Ask.Level, g.rule.Level), LeftSentences: -1,
		LeftDisclosures: -1, Standing: true}}}
	keep, err := s.answers.tell(ctx, q, g, left, 0, t)
	if err != nil {
		return err
	}
	if !t.Libraries[0].Exists {
		return keep()
	}
	order(t)
	countHolders(t)
	// The notice goes out before it is recorded, so that a crash in between repeats the notice rather than losing it.
	n := concordat.Notice{Kind: concordat.NoticeAlert, Job: x.Ask.Job, Library: lib, Answer: t, Asked: len(x.Ask.Sentences), At: s.o.Now()}
	if err := s.o.Store.Partners.Queue(ctx, x.Partner, n); err != nil {
		return err
	}
	if err := s.alertOwner(ctx, x, t, left); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	return s.audit(ctx, "", "alert", auditNotice{Kind: concordat.NoticeAlert, Job: hex.EncodeToString(x.Ask.Job[:]), Library: lib})
}

// alertOwner stores an alert about a notice to a partner, so that officers here see the pair of documents exactly as the partner does.
// Below level metadata, a document appears only under its pseudonym; below counts, no document is named.
func (s *Sets) alertOwner(ctx context.Context, x *store.StandingAsk, t *concordat.SiteAnswer, all []*found) error {
	l := &t.Libraries[0]
	a := store.Alert{Side: store.AlertTold, At: s.o.Now(), Partner: x.Partner, Job: hex.EncodeToString(x.Ask.Job[:]), Purpose: x.Ask.Purpose,
		Asked: x.Made, Level: l.Level, Source: s.ref(l.Library, "")}
	if len(t.Documents) == 0 {
		return s.openCase(ctx, x, a, concordat.Handle{})
	}
	by := map[concordat.Handle]*found{}
	for _, f := range all {
		by[f.handle] = f
	}
	for i, d := range t.Documents {
		one, f := a, by[d.Handle]
		for _, h := range t.Hits {
			if h.Document == i {
				one.Spans = append(one.Spans, f.span(h.Ordinal))
			}
		}
		one.Sentences, one.Spans = d.Matches, compare.Joined(one.Spans)
		if len(one.Spans) > 0 {
			one.Source.Document, one.Title, one.Author = f.row.ID, f.row.Title, f.row.Author
		} else { // reported without naming any document
			one.Source.Document = concordat.DocumentID(hex.EncodeToString(d.Handle[:]))
		}
		if err := s.openCase(ctx, x, one, d.Handle); err != nil {
			return err
		}
	}
	return nil
}

// openCase stores an alert for the owner, and opens the case about it that this site shares with the partner.
func (s *Sets) openCase(ctx context.Context, x *store.StandingAsk, a store.Alert, h concordat.Handle) error {
	if _, err := s.o.Store.Alerts.PutAlert(ctx, a); err != nil {
		return err
	}
	return s.o.Store.Cases.Open(ctx, store.SharedCase{ID: concordat.NewCaseID(x.Ask.Job, a.Source.Library, h),
		Side: store.AlertTold, Partner: x.Partner, Job: x.Ask.Job, Handle: h, Source: a.Source, Title: a.Title, Level: a.Level,
		Sentences: a.Sentences, Opened: a.At})
}

// span returns the span of a matching sentence.
func (f *found) span(ordinal int) concordat.Span {
	i := slices.IndexFunc(f.hits, func(h hit) bool { return h.Ordinal == ordinal })
	return f.hits[i].match.Span
}

// news returns a newly matching document, or nil if the partner already has it or is not allowed to learn of it.
func (s *Sets) news(ctx context.Context, q *question, g *grant, lib concordat.LibraryID, id concordat.DocumentID,
	hash string) (*found, error) {
	row, err := s.o.Store.Catalogue.DocumentRow(ctx, lib, id)
	if isNotFound(err) || err == nil && (row.Hash != hash || q.leftOut(g, row.Author)) {
		return nil, nil // it has changed again and will be reported later, or it is not disclosed
	}
	if err != nil {
		return nil, err
	}
	f := &found{row: row, handle: q.set.handle(q.from, lib, id)}
	told, err := s.o.Store.Answers.AnswerDocument(ctx, q.from, q.ask.Job, f.handle)
	if isNotFound(err) || err == nil && (told.Told == "" || told.Hash != hash) {
		return f, nil
	}
	return nil, err
}
