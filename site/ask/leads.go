package ask

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/meaning"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// If a partner opens a library to questions about leads, it is asked which documents might say the same as the sentences that matched
// nothing. It receives the cells of their meaning. Its answer is only a nomination, and is presented as such until the text is disclosed
// and compared.

// forgetVersion is how long to wait before asking a partner again if its version does not support the question.
const forgetVersion = 12 * time.Hour

// versions remembers partners whose versions do not support questions about cells. It is safe for concurrent use.
type versions struct {
	mu  sync.Mutex // protects old
	old map[concordat.SiteID]time.Time
}

func (v *versions) isOld(id concordat.SiteID, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.old[id]
	return ok && now.Sub(at) < forgetVersion
}

func (v *versions) setOld(id concordat.SiteID, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.old == nil {
		v.old = map[concordat.SiteID]time.Time{}
	}
	v.old[id] = now
}

// leads asks the partner for leads if the check requests them. A failure affects only this part of the answer; the result for each
// library records the outcome.
func (r *round) leads(ctx context.Context) {
	switch {
	case !r.fw.o.Leads:
		return
	case !r.fw.o.PartnerLeads:
		r.saidOfLeads(concordat.LeadsHere)
		return
	case r.fw.s.old.isOld(r.answer.site, r.fw.s.o.Now()):
		r.saidOfLeads(concordat.LeadsVersion)
		return
	}
	err := r.askLeads(ctx)
	var refusal *concordat.Refusal
	switch {
	case err == nil || r.fault != nil:
	case errors.As(err, &refusal):
		r.saidOfLeads(refusedLeads(refusal.Reason))
	default:
		r.fw.s.lied(ctx, r.answer.site, err)
		r.fw.s.o.Logger.Warn("partner did not answer the request for leads", "site", r.answer.site, "err", err)
		r.saidOfLeads(concordat.LeadsFailed)
	}
}

// saidOfLeads records the outcome for the libraries without one.
func (r *round) saidOfLeads(what string) {
	for i := range r.answer.consulted {
		if c := &r.answer.consulted[i]; c.Leads == "" {
			c.Leads = what
		}
	}
}

func refusedLeads(why concordat.Reason) string {
	switch why {
	case concordat.ReasonLevel, concordat.ReasonLibrary, concordat.ReasonPurpose:
		return concordat.LeadsClosed
	case concordat.ReasonScheme:
		return concordat.LeadsTable
	}
	return concordat.LeadsRefused
}

// askLeads first asks, without cells, which libraries answer, and then queries them.
func (r *round) askLeads(ctx context.Context) error {
	cells, err := meaning.DefaultCells()
	if err != nil {
		return err
	}
	read, stretches, err := r.unsaid(cells)
	if err != nil {
		return err
	}
	if len(stretches) == 0 {
		r.saidOfLeads(r.noneLeft())
		return nil
	}
	a := &concordat.LeadAsk{Epoch: r.p.Epoch, Table: concordat.KeyedTable(cells.Digest()), Libraries: r.p.Libraries, Purpose: r.p.Purpose}
	rand.Read(a.Job[:]) // this never fails
	offer, err := r.p.Partner.Leads(ctx, a)
	if errors.Is(err, errors.ErrUnsupported) {
		r.fw.s.old.setOld(r.answer.site, r.fw.s.o.Now())
		r.saidOfLeads(concordat.LeadsVersion)
		return nil
	}
	if err == nil {
		err = validLeads(a, offer)
	}
	if err != nil {
		return err
	}
	a.Libraries = nil
	for i, l := range offer.Libraries {
		if l.Refusal == nil {
			a.Libraries = append(a.Libraries, l.Library)
		} else {
			r.answer.consulted[i].Leads = refusedLeads(l.Refusal.Reason)
		}
	}
	if len(a.Libraries) == 0 {
		return nil
	}
	places, err := r.pad(a, stretches)
	if err != nil {
		return err
	}
	if err := keyCells(a, r.p.CellKey); err != nil {
		return err
	}
	var salt []byte
	salt, a.Commitment = r.fw.commit()
	if err := r.noteLeads(ctx, a, salt, places, read); err != nil {
		return err
	}
	t, err := r.p.Partner.Leads(ctx, a)
	if err == nil {
		err = validLeads(a, t)
	}
	if err != nil {
		return err
	}
	r.takeLeads(a, t, salt, places, read.Spans)
	return nil
}

// keyCells replaces the cells of a with their keyed forms under the epoch's key.
func keyCells(a *concordat.LeadAsk, key []byte) error {
	keyed, err := crypto.NewCellCipher(key, a.Job)
	if err != nil {
		return err
	}
	for i := range a.Cells {
		for band, cell := range a.Cells[i].Cells {
			a.Cells[i].Cells[band] = keyed.Seal(i, band, cell)
		}
	}
	return nil
}

// noneLeft returns the reason why no sentences remain to ask about.
func (r *round) noneLeft() string {
	if len(r.withheld) > 0 {
		return concordat.LeadsWithheld
	}
	return concordat.LeadsNone
}

// unsaid returns the sentences of the submission and, by stretch, the cells of the sentences that matched nothing at this site or the
// partner and are not withheld from the partner.
func (r *round) unsaid(cells *meaning.Cells) (*meaning.Text, [][]meaning.Asked, error) {
	table, err := meaning.Default()
	if err != nil {
		return nil, nil, err
	}
	text := r.fw.sub.Text
	taken := slices.Concat(r.fw.shared.Walls, report.References(text), r.withheld)
	for _, p := range slices.Concat(r.fw.covered, r.answer.passages) {
		taken = append(taken, p.Span)
	}
	read := table.Read(text, profile.LanguageOf(text))
	read.Leave(taken)
	return read, read.Asked(cells), nil
}

// pad fills in the cells of a with the stretches and dummies, in an order that reveals nothing. It returns the origin of each cell, which
// is nil for a dummy.
func (r *round) pad(a *concordat.LeadAsk, stretches [][]meaning.Asked) ([]*meaning.Asked, error) {
	n, chinese := 0, 0
	for _, s := range stretches {
		n += len(s)
		for _, x := range s {
			if x.Chinese {
				chinese++
			}
		}
	}
	cells, err := meaning.DefaultCells()
	if err != nil {
		return nil, err
	}
	dummies, err := cells.Dummies(concordat.Padded(n)-n, 2*chinese > n, below)
	if err != nil {
		return nil, err
	}
	all := slices.AppendSeq(slices.Clone(stretches), slices.Chunk(dummies, maxOfStretch))
	order, err := shuffled(len(all))
	if err != nil {
		return nil, err
	}
	var out []*meaning.Asked
	for stretch, k := range order {
		within, err := shuffled(len(all[k]))
		if err != nil {
			return nil, err
		}
		for _, i := range within {
			x := &all[k][i]
			a.Cells = append(a.Cells, concordat.AskedCells{Stretch: stretch, Chinese: x.Chinese, Cells: x.Cells})
			if x.End == 0 {
				x = nil
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// maxOfStretch is the number of cells for a stretch of eight sentences: one per sentence, and one per pair of neighbours.
const maxOfStretch = 15

// One question can hold all cells of a text.
const _ = uint(concordat.MaxLeadCells - meaning.MaxSentences/8*maxOfStretch)

// shuffled returns 0 to n-1 in an unpredictable order.
func shuffled(n int) ([]int, error) {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out, shuffle(out)
}

// noteLeads records, before anything is sent, that cells are disclosed to the partner, and the data needed to interpret its later
// decisions.
func (r *round) noteLeads(ctx context.Context, a *concordat.LeadAsk, salt []byte, places []*meaning.Asked, read *meaning.Text) error {
	asked := sentencesOf(places, read.Spans)
	err := r.fw.s.o.Store.Asks.Show(ctx, store.Showing{Partner: r.answer.site, Hash: store.TextHash(r.fw.sub.Text), Form: store.FormCells,
		Epoch: r.p.Epoch, Sentences: len(asked)})
	if err == nil {
		err = r.putAsk(ctx, a.Job, salt, asked)
	}
	if err != nil {
		r.fault = fmt.Errorf("record disclosure to site %s: %w", r.answer.site, err)
		return r.fault
	}
	for i := range r.answer.consulted {
		if c := &r.answer.consulted[i]; slices.Contains(a.Libraries, c.Library) {
			c.Exposed.Cells, c.LeadsUnasked = len(asked), read.Rest
		}
	}
	return nil
}

// sentencesOf returns the sentences of the places, in order.
func sentencesOf(places []*meaning.Asked, spans []concordat.Span) []concordat.Span {
	is := make([]bool, len(spans))
	for _, x := range places {
		if x == nil {
			continue
		}
		for i := x.First; i < x.End; i++ {
			is[i] = true
		}
	}
	var out []concordat.Span
	for i, s := range spans {
		if is[i] {
			out = append(out, s)
		}
	}
	return out
}

// validLeads returns errGarbage for an answer that does not fit question a.
func validLeads(a *concordat.LeadAsk, t *concordat.LeadAnswer) error {
	bad := func(what string) error { return fmt.Errorf("%w: lead answer: %s", errGarbage, what) }
	if t == nil || len(t.Libraries) != len(a.Libraries) {
		return bad("wrong number of libraries")
	}
	for i, l := range t.Libraries {
		if l.Library != a.Libraries[i] || l.Missing < 0 {
			return bad("invalid answer for library " + string(a.Libraries[i]))
		}
	}
	if len(a.Cells) == 0 && len(t.Documents) > 0 {
		return bad("unexpected documents for an empty question")
	}
	told := map[concordat.Handle]bool{}
	for _, d := range t.Documents {
		if told[d.Handle] {
			return bad("duplicate document")
		}
		told[d.Handle] = true
		end := 0
		if d.Library < 0 || d.Library >= len(t.Libraries) || len(d.Places) == 0 {
			return bad("invalid document")
		}
		for _, p := range d.Places {
			if p.Start < end || p.Len() <= 0 || p.End > math.MaxInt32 {
				return bad("invalid place in a document")
			}
			end = p.End
		}
	}
	for _, h := range t.Hits {
		if h.Cells < 0 || h.Cells >= len(a.Cells) || h.Document < 0 || h.Document >= len(t.Documents) || h.Place < 0 ||
			h.Place >= len(t.Documents[h.Document].Places) || h.Step > concordat.LeadVeryNear {
			return bad("invalid match")
		}
	}
	return nil
}

// takeLeads adds the documents named by the partner. It drops documents that came close only to dummies.
func (r *round) takeLeads(a *concordat.LeadAsk, t *concordat.LeadAnswer, salt []byte, places []*meaning.Asked, spans []concordat.Span) {
	t.Statement.Salt = salt
	if len(t.Statement.Payload) > 0 {
		r.answer.statements = append(r.answer.statements, t.Statement)
	}
	hits := make([][]concordat.LeadHit, len(t.Documents))
	for _, h := range t.Hits {
		if places[h.Cells] != nil {
			hits[h.Document] = append(hits[h.Document], h)
		}
	}
	for d, told := range t.Documents {
		var of, near []*meaning.Asked
		place := map[int]bool{}
		for _, h := range hits[d] {
			of = append(of, places[h.Cells])
			place[h.Place] = true
			if h.Step >= concordat.LeadNear {
				near = append(near, places[h.Cells])
			}
		}
		if len(of) == 0 {
			continue
		}
		l := report.PartnerLead{Title: plain(told.Title, maxName), Author: plain(told.Author, maxName), Contact: plain(told.Contact, maxName),
			Date: told.Date, Job: hex.EncodeToString(a.Job[:]), Epoch: a.Epoch, Spans: sentencesOf(of, spans), Near: len(sentencesOf(near, spans)),
			Source: concordat.Ref{Site: r.answer.site, Library: a.Libraries[told.Library], Document: HandleName(told.Handle)}}
		for i, p := range told.Places {
			if place[i] {
				l.Places = append(l.Places, p)
			}
		}
		r.answer.leads = append(r.answer.leads, l)
	}
	for i := range r.answer.consulted {
		c := &r.answer.consulted[i]
		c.Shown.Leads = 0
		for _, l := range r.answer.leads {
			if l.Source.Library == c.Library {
				c.Shown.Leads++
			}
		}
	}
	for i, l := range t.Libraries {
		c := &r.answer.consulted[slices.Index(r.p.Libraries, a.Libraries[i])]
		c.Leads, c.LeadsMissing = concordat.LeadsAsked, l.Missing
		if l.Refusal != nil { // its budget was exhausted in the meantime
			c.Leads = refusedLeads(l.Refusal.Reason)
		}
	}
}

// RevealLead asks the partner to disclose the places of the numbered documents that might say the same, subject to a person's decision
// there. It sends no part of the submission. Once disclosed, the places are compared, and become leads or are dropped. It returns the
// same errors as Reveal.
func (s *Asker) RevealLead(ctx context.Context, task concordat.TaskID, o RevealRequest, numbers ...string) ([]report.Disclosure, error) {
	if o.Partner == nil {
		return nil, fmt.Errorf("reveal lead: %w: no partner specified", concordat.ErrInvalid)
	}
	defer s.site.HoldFindings()()
	f, err := s.site.KeptFindings(ctx, task)
	if err != nil {
		return nil, err
	}
	if f.Withheld != nil {
		return nil, fmt.Errorf("reveal lead: %w: the text of the submission was not kept", concordat.ErrInvalid)
	}
	var made []int
	for _, number := range numbers {
		i := slices.IndexFunc(f.PartnerLeads, func(l report.PartnerLead) bool { return l.Number == number })
		if i < 0 || f.PartnerLeads[i].Source.Site != o.Partner.Site() {
			return nil, fmt.Errorf("lead %s: %w: the lead does not refer to a document of site %s", number, concordat.ErrInvalid, o.Partner.Site())
		}
		l := &f.PartnerLeads[i]
		if l.Outcome != "" || slices.ContainsFunc(f.Disclosures, func(d report.Disclosure) bool {
			return d.Lead && d.Source == l.Source && d.State == concordat.DisclosurePending
		}) {
			continue
		}
		now := s.o.Now()
		d := report.Disclosure{Source: l.Source, Level: concordat.ShowPassage, State: concordat.DisclosurePending, Lead: true,
			Reason: o.Reason, Contact: o.Contact, Asked: now, Changed: now}
		for _, p := range l.Places[:min(len(l.Places), concordat.MaxRevealed)] {
			d.Passages = append(d.Passages, concordat.SpanPair{Span: l.Span(), Source: p})
		}
		f.Disclosures = append(f.Disclosures, d)
		made = append(made, len(f.Disclosures)-1)
	}
	return s.askReveals(ctx, task, f, made, func(concordat.SiteID) Discloser { return o.Partner })
}

// partnerLead returns the partner's document named by ref, or nil if the findings have none.
func partnerLead(f *report.Findings, ref concordat.Ref) *report.PartnerLead {
	i := slices.IndexFunc(f.PartnerLeads, func(l report.PartnerLead) bool { return l.Source == ref })
	if i < 0 {
		return nil
	}
	return &f.PartnerLeads[i]
}

// leadRequest returns the request for disclosing a lead.
func leadRequest(f *report.Findings, d *report.Disclosure) (*concordat.RevealAsk, error) {
	l := partnerLead(f, d.Source)
	if l == nil {
		return nil, fmt.Errorf("lead of %s: %w", d.Source, concordat.ErrNotFound)
	}
	a := &concordat.RevealAsk{Epoch: l.Epoch, Level: d.Level, Reason: d.Reason, Contact: d.Contact}
	var err error
	if a.Job, err = jobOf(l.Job); err != nil {
		return nil, err
	}
	if a.Handle, err = handleOf(d.Source.Document); err != nil {
		return nil, err
	}
	for _, p := range d.Passages {
		a.Passages = append(a.Passages, concordat.RevealPassage{Span: p.Source})
	}
	return a, nil
}

// verifyLead compares the places disclosed by a partner with the submission.
func (s *Asker) verifyLead(ctx context.Context, f *report.Findings, d *report.Disclosure,
	got []concordat.RevealedPassage) ([]report.Lead, error) {
	shown := site.ShownPlaces{Ref: d.Source}
	if l := partnerLead(f, d.Source); l != nil {
		shown.Title = l.Title
	}
	for k, p := range got {
		shown.Places = append(shown.Places, d.Passages[k].Source)
		shown.Texts = append(shown.Texts, p.Text)
	}
	return s.site.CompareShown(ctx, f, shown)
}
