package answer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"concordat"
	"concordat/crypto"
	"concordat/meaning"
	"concordat/profile"
	"concordat/site/compare"
	"concordat/store"
)

// A partner that asks about meaning cells learns which documents might say the same, where, and with what certainty in three steps,
// but never a vector, a number or a word. Cells are keyed with a secret shared by all members, so any member can ask about a sentence
// that it merely guesses. The level is therefore closed by default and has separate budgets.

const (
	// toldLead is the level of a document named only for its meaning. Its outlines, edges and overlap are unavailable.
	toldLead concordat.Show = "lead"
	// leadOrdinal is added to the sentence numbers of package meaning, because they differ from the fingerprints' sentence numbers.
	leadOrdinal = 1 << 30
	// maxLeadQuestions is the maximum number of different questions answered about one place for one partner within a year.
	maxLeadQuestions = 12
	// aroundLead is the number of sentences on either side of a disclosed one that are part of its place.
	aroundLead = 2
	// A document is named for places no more than leadGap sentences apart, with at least leastPlaces different sentences on both sides,
	// asked in one stretch, and with margins that total at least leastLead (doc/evaluation/meaning.md, Between sites).
	leadGap     = 4
	leastPlaces = 2
	leastLead   = 0.45
)

// leadMargins are the margins at which a sentence is far, near and very near.
var leadMargins = [...]float64{concordat.LeadFar: 0.04, concordat.LeadNear: 0.12, concordat.LeadVeryNear: 0.2}

// leadQuestion is a question about cells that is being answered.
type leadQuestion struct {
	from      concordat.SiteID
	ask       *concordat.LeadAsk
	set       *epochSet
	cells     *meaning.Cells
	asked     [][concordat.Bands]uint32 // cells of the ask, unkeyed
	points    []meaning.Point           // estimated from the cells
	stretch   []int                     // stretch of each point
	questions []meaning.Question        // questions of ask.Cells
	withheld  map[concordat.LibraryID]int
}

// AnswerLeads returns the documents in the libraries open to the asker that might have the meanings represented by the cells of an ask,
// and charges the asker. Without cells, it returns which libraries would answer. If the whole ask cannot be answered, it fails with a
// *concordat.Refusal. Every call leaves an audit entry.
func (s *Answerer) AnswerLeads(ctx context.Context, from concordat.SiteID, a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	t, withheld, err := (&leadAnswers{s.core}).leads(ctx, from, a)
	line := auditAnswer{Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch.String(), Purpose: cut(a.Purpose), Level: concordat.ShowMetadata,
		Sentences: len(a.Cells), Commitment: hex.EncodeToString(a.Commitment[:])}
	line.takeLeads(a, t, withheld, err)
	if err := s.audit(ctx, from, "leads", line); err != nil {
		return nil, err // nothing is answered unless it can be audited
	}
	return t, err
}

// leadAnswers finds documents that might say the same as the sentences of an ask.
type leadAnswers struct{ *core }

func (s *leadAnswers) leads(ctx context.Context, from concordat.SiteID, a *concordat.LeadAsk) (*concordat.LeadAnswer,
	map[concordat.LibraryID]int, error) {
	q, err := s.checkLeadAsk(from, a)
	if err != nil {
		return nil, nil, err
	}
	t := &concordat.LeadAnswer{Table: concordat.KeyedTable(q.cells.Digest()), Libraries: make([]concordat.LeadLibraryAnswer, len(a.Libraries))}
	grants, err := s.leadGrants(ctx, q, t)
	if err != nil || len(a.Cells) == 0 || !slices.ContainsFunc(grants, func(g *grant) bool { return g != nil }) {
		return t, q.withheld, err
	}
	if _, err := s.o.Store.Answers.UseAnswerJob(ctx, store.AnswerJob{Partner: from, Job: a.Job, Epoch: a.Epoch, Purpose: a.Purpose,
		Commitment: a.Commitment, Sentences: len(a.Cells)}); err != nil {
		return nil, nil, refusedJob(err)
	}
	if err := q.read(); err != nil {
		return nil, nil, err
	}
	for i, g := range grants {
		if g == nil {
			continue
		}
		if err := s.leadsIn(ctx, q, g, i, t); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(t.Hits, func(x, y concordat.LeadHit) int {
		return cmp.Or(x.Cells-y.Cells, x.Document-y.Document, x.Place-y.Place)
	})
	return t, q.withheld, nil
}

// checkLeadAsk returns the question of an ask, or an error if it cannot be answered.
func (s *leadAnswers) checkLeadAsk(from concordat.SiteID, a *concordat.LeadAsk) (*leadQuestion, error) {
	if err := checkFrame(a.Job, a.Libraries, a.Purpose); err != nil {
		return nil, fmt.Errorf("lead question: %w", err)
	}
	if n := len(a.Cells); n > concordat.MaxLeadCells || n > 0 && concordat.Padded(n) != n {
		return nil, fmt.Errorf("lead question: %w: the number of cells (%d) is too large or not padded", concordat.ErrInvalid, n)
	}
	set, err := s.epochFor(from, a.Epoch)
	if err != nil {
		return nil, err
	}
	q := &leadQuestion{from: from, ask: a, set: set, withheld: map[concordat.LibraryID]int{}}
	if q.cells, err = meaning.DefaultCells(); err != nil {
		return nil, err
	}
	switch want := concordat.KeyedTable(q.cells.Digest()); a.Table {
	case want:
	case q.cells.Digest():
		return nil, refuse(concordat.ReasonScheme,
			"this site accepts meaning codes only if they are keyed with the federation's key (%s); upgrade the asking site", want)
	default:
		return nil, refuse(concordat.ReasonScheme, "this site uses a different table of meaning codes: %s", want)
	}
	return q, nil
}

// read removes the key from the cells and converts them to points and stretches.
func (q *leadQuestion) read() error {
	keyed, err := crypto.NewCellCipher(q.set.CellKey, q.ask.Job)
	if err != nil {
		return err
	}
	from := 0
	for i, x := range q.ask.Cells {
		for band, cell := range x.Cells {
			x.Cells[band] = keyed.Open(i, band, cell)
		}
		q.asked = append(q.asked, x.Cells)
		q.points, q.stretch = append(q.points, q.cells.Estimate(x.Cells)), append(q.stretch, x.Stretch)
		if i+1 == len(q.ask.Cells) || q.ask.Cells[i+1].Stretch != x.Stretch {
			q.questions = append(q.questions, q.cells.QuestionOf(q.points[from:]))
			from = i + 1
		}
	}
	return nil
}

// leadGrants decides on each requested library and charges its budget; refused libraries have nil grants.
func (s *leadAnswers) leadGrants(ctx context.Context, q *leadQuestion, t *concordat.LeadAnswer) ([]*grant, error) {
	out := make([]*grant, len(q.ask.Libraries))
	for i, lib := range q.ask.Libraries {
		l := &t.Libraries[i]
		*l = concordat.LeadLibraryAnswer{Library: lib, LeftCells: -1, LeftNear: -1}
		g, refusal, err := s.grant(ctx, q.from, lib, q.ask.Purpose)
		if err != nil {
			return nil, err
		}
		switch {
		case refusal != nil:
		case !g.rule.Leads || !atLeast(g.rule.Level, concordat.ShowMetadata):
			refusal = refuse(concordat.ReasonLevel, "library %s does not allow searches by meaning", lib)
		case s.o.Meaning == nil || !s.o.Meaning():
			refusal = refuse(concordat.ReasonScheme, "this site's documents are not indexed by meaning")
		default:
			var left []int
			if left, refusal, err = s.spend(ctx, g.leads(spendCells, len(q.ask.Cells), g.rule.Limits.LeadCells),
				g.leads(spendLeads, 0, g.rule.Limits.LeadSentences)); err != nil {
				return nil, err
			}
			if refusal == nil {
				l.LeftCells, l.LeftNear = left[0], left[1]
				out[i] = g
			}
		}
		l.Refusal = refusal
	}
	return out, nil
}

// leads returns the spending for questions about meaning in one day.
func (g *grant) leads(kind string, n, most int) store.Spending {
	return g.spending(kind, n, store.Window{Within: Day, Most: most})
}

// leadDocument is a document that stands out for some asked cells.
type leadDocument struct {
	row    store.DocumentRow
	spans  []concordat.Span // spans of its sentences
	kept   []bool           // whether each sentence can be disclosed
	placed []meaning.Placed
	hits   []leadHit
}

// leadHit is a place that stands out.
type leadHit struct {
	asked   int // index into LeadAsk.Cells
	at      meaning.Placed
	ordinal int
	margin  float64
	step    concordat.LeadStep
}

// leadsIn searches one library and discloses documents that might say the same.
func (s *leadAnswers) leadsIn(ctx context.Context, q *leadQuestion, g *grant, i int, t *concordat.LeadAnswer) error {
	query := &concordat.Query{Libraries: []concordat.LibraryID{g.library.ID}}
	candidates, reached, err := compare.ByCells(ctx, s.o.Index, query, q.questions, compare.ForPartners)
	if err != nil {
		return fmt.Errorf("find leads for site %s in library %s: %w", q.from, g.library.ID, err)
	}
	t.Libraries[i].Missing = len(reached.Missing)
	documents, err := s.readLeads(ctx, q, g, candidates)
	if err != nil {
		return err
	}
	placed := make([][]meaning.Placed, len(documents))
	for k, d := range documents {
		placed[k] = d.placed
	}
	for k, near := range q.cells.NearIn(q.points, q.stretch, placed, leadMargins[concordat.LeadFar]) {
		documents[k].take(q, near)
	}
	if documents, err = s.leadsOnce(ctx, q, g, documents); err != nil {
		return err
	}
	return s.answerLeads(ctx, q, g, documents, i, t)
}

// readLeads reads the candidates with a current text that the partner is allowed to learn about.
func (s *leadAnswers) readLeads(ctx context.Context, q *leadQuestion, g *grant, candidates []*compare.Candidate) ([]*leadDocument, error) {
	ids := map[concordat.DocumentID]bool{}
	for _, c := range candidates {
		ids[c.Ref.Document] = true
	}
	held, err := s.o.Store.Answers.HeldDocuments(ctx, q.set.Epoch, g.library.ID, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return nil, err
	}
	order := slices.Sorted(maps.Keys(held))
	out := make([]*leadDocument, len(order))
	group, gctx := limited(ctx, s.o.Workers)
	for i, id := range order {
		compare.Go(group, func() error {
			d, err := s.document(gctx, g.library.ID, id)
			if err != nil || d == nil || store.TextHash(d.Text) != held[id].Hash {
				return err
			}
			out[i], err = s.readLead(gctx, q, held[id], d)
			return err
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(out, func(d *leadDocument) bool { return d == nil }), err
}

func (s *leadAnswers) readLead(ctx context.Context, q *leadQuestion, row store.DocumentRow, d *concordat.Document) (*leadDocument, error) {
	walls, err := s.answers.unshown(ctx, row.Library, d.Text)
	if err != nil {
		return nil, err
	}
	table, err := meaning.Default()
	if err != nil {
		return nil, err
	}
	text := table.Read(d.Text, profile.LanguageOf(d.Text))
	text.Leave(walls)
	out := &leadDocument{row: row, spans: text.Spans, kept: make([]bool, len(text.Spans)), placed: text.Placed(q.cells)}
	for _, p := range out.placed {
		if p.End == p.First+1 {
			out.kept[p.First] = true
		}
	}
	return out, nil
}

// take adds the places that stand out. Of the questions that come closest to a place, it answers only one, chosen by name, because they
// can be variants of one sentence, and choosing the closest would reveal more than a step.
func (d *leadDocument) take(q *leadQuestion, near []meaning.Near) {
	by := map[int]leadHit{}
	for _, n := range near {
		at := d.placed[n.Place]
		h := leadHit{asked: n.Asked, at: at, margin: n.Margin, ordinal: leadOrdinal + 2*at.First + at.End - at.First - 1}
		for step, least := range leadMargins {
			if n.Margin >= least {
				h.step = concordat.LeadStep(step)
			}
		}
		if was, ok := by[n.Place]; ok {
			a, b := q.name(was.asked), q.name(n.Asked)
			if bytes.Compare(a[:], b[:]) <= 0 {
				continue
			}
		}
		by[n.Place] = h
	}
	for _, place := range slices.Sorted(maps.Keys(by)) {
		d.hits = append(d.hits, by[place])
	}
}

// group keeps only the places for which the document is named, and reports whether any remain.
func (d *leadDocument) group(q *leadQuestion) bool {
	named := make([]bool, len(d.hits))
	for _, a := range d.hits {
		sum := 0.0
		var of []int
		asked, there := map[int]bool{}, map[int]bool{}
		for i, b := range d.hits {
			if q.stretch[b.asked] != q.stretch[a.asked] || b.at.First < a.at.First || b.at.First > a.at.First+leadGap {
				continue
			}
			sum += b.margin
			of, asked[b.asked], there[b.at.First] = append(of, i), true, true
		}
		if min(len(asked), len(there)) < leastPlaces || sum < leastLead {
			continue
		}
		for _, i := range of {
			named[i] = true
		}
	}
	var kept []leadHit
	for i, h := range d.hits {
		if named[i] {
			kept = append(kept, h)
		}
	}
	d.hits = kept
	return len(kept) > 0
}

// name returns a name that identifies asked cells for one partner, so that the cells need not be stored.
func (q *leadQuestion) name(asked int) (name [8]byte) {
	var b []byte
	for _, c := range q.asked[asked] {
		b = binary.BigEndian.AppendUint32(b, c)
	}
	id := keyedID(q.set.HandleKey, "concordat/asked-cells/1", []byte(q.from), b)
	copy(name[:], id[:])
	return name
}

// leadsOnce counts the questions, drops those that reach a sentence after too many others in the year, and returns the documents that can
// still be named, clearest first.
func (s *leadAnswers) leadsOnce(ctx context.Context, q *leadQuestion, g *grant, all []*leadDocument) ([]*leadDocument, error) {
	named := slices.DeleteFunc(all, func(d *leadDocument) bool { return !d.group(q) })
	by := map[int]*store.Question{}
	for _, d := range named {
		for _, h := range d.hits {
			if by[h.asked] == nil {
				by[h.asked] = &store.Question{Name: q.name(h.asked)}
			}
			by[h.asked].Near = append(by[h.asked].Near, store.NearSentence{Document: d.row.ID, Ordinal: h.ordinal, Within: true})
		}
	}
	asked := slices.Sorted(maps.Keys(by))
	if len(asked) == 0 {
		return nil, nil
	}
	questions := make([]store.Question, len(asked))
	for i, k := range asked {
		questions[i] = *by[k]
	}
	counted, err := s.o.Store.Answers.CountQuestions(ctx, store.Asking{Partner: q.from, Library: g.library.ID, Job: q.ask.Job},
		s.o.Now().Add(-year), maxLeadQuestions, questions)
	if err != nil {
		return nil, err
	}
	withheld := map[int]bool{}
	for i, k := range asked {
		if counted[i].Withheld {
			withheld[k] = true
		}
	}
	q.withheld[g.library.ID] = len(withheld)
	if err := s.answers.probing(ctx, g, len(withheld)); err != nil {
		return nil, err
	}
	for _, d := range named {
		d.hits = slices.DeleteFunc(d.hits, func(h leadHit) bool { return withheld[h.asked] })
	}
	named = slices.DeleteFunc(named, func(d *leadDocument) bool { return !d.group(q) })
	slices.SortStableFunc(named, func(a, b *leadDocument) int { return cmp.Compare(b.weight(), a.weight()) })
	return named, nil
}

// weight returns the sort weight of documents, based only on disclosed data.
func (d *leadDocument) weight() int {
	n := 0
	for _, h := range d.hits {
		n += 1 + int(h.step)
	}
	return n
}

// answerLeads adds documents to t as the budget allows, and records them with the job.
func (s *leadAnswers) answerLeads(ctx context.Context, q *leadQuestion, g *grant, documents []*leadDocument, i int,
	t *concordat.LeadAnswer) error {
	var rows []store.AnswerDocument
	var hits []store.AnswerHit
	var shown []store.Showing
	for _, d := range documents[:min(len(documents), maxTold)] {
		d.hits = d.hits[:min(len(d.hits), maxLeadHits)]
		left, refusal, err := s.spend(ctx, g.leads(spendLeadNames, 1, g.rule.Limits.LeadDocuments),
			g.leads(spendLeads, len(d.hits), g.rule.Limits.LeadSentences))
		if err != nil {
			return err
		}
		if refusal != nil {
			t.Libraries[i].LeftNear = 0
			break
		}
		t.Libraries[i].LeftNear = left[1]
		out := concordat.LeadDocument{Handle: q.set.handle(q.from, g.library.ID, d.row.ID), Library: i, Title: d.row.Title,
			Author: d.row.Author, Contact: g.rule.Contact, Date: d.row.Added, Places: d.places()}
		for _, h := range d.hits {
			place := slices.IndexFunc(out.Places, func(p concordat.Span) bool { return p.Overlaps(d.spans[h.at.First]) })
			t.Hits = append(t.Hits, concordat.LeadHit{Cells: h.asked, Document: len(t.Documents), Place: place, Step: h.step})
			hits = append(hits, store.AnswerHit{Handle: out.Handle, Sentence: q.name(h.asked), Ordinal: h.ordinal, Span: out.Places[place],
				Told: true})
		}
		t.Documents = append(t.Documents, out)
		rows = append(rows, store.AnswerDocument{Handle: out.Handle, Library: d.row.Library, Document: d.row.ID, Hash: d.row.Hash,
			Told: toldLead})
		shown = append(shown, store.Showing{Partner: q.from, Hash: d.row.Hash, Form: store.FormLeads, Library: d.row.Library,
			Document: d.row.ID, Epoch: q.ask.Epoch, Sentences: len(d.hits)})
	}
	if err := s.o.Store.Answers.AddAnswerHits(ctx, q.from, q.ask.Job, rows, hits); err != nil {
		return err
	}
	return s.o.Store.Asks.Show(ctx, shown...)
}

// maxLeadHits is the maximum number of places in one document; the protocol can number 255.
const maxLeadHits = 100

// places returns the places where a document stands out, including surrounding sentences that can be disclosed.
func (d *leadDocument) places() []concordat.Span {
	show := make([]bool, len(d.spans))
	for _, h := range d.hits {
		for _, step := range []int{-1, 1} {
			for j, n := h.at.First, 0; j >= 0 && j < len(d.spans) && n <= aroundLead+h.at.End-h.at.First-1 && d.kept[j]; j, n = j+step, n+1 {
				show[j] = true
			}
		}
	}
	var out []concordat.Span
	for j, sp := range d.spans {
		switch {
		case !show[j]:
		case j > 0 && show[j-1]:
			out[len(out)-1].End = sp.End
		default:
			out = append(out, sp)
		}
	}
	return out
}

// places rejects passages that were not disclosed as places of the document, or that contain text.
func (k *known) places(passages []concordat.RevealPassage) error {
	for i, p := range passages {
		if p.Text != "" || !slices.ContainsFunc(k.hits, func(h store.AnswerHit) bool { return h.Span == p.Span }) {
			return refuse(concordat.ReasonGate, "passage %d is not shown: the answer did not include its position", i)
		}
	}
	return nil
}
