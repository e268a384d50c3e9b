package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"concordat"
	"concordat/meaning"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// foundLead is a lead from one member to another, found by comparing the former. It is stored as JSON, without text.
type foundLead struct {
	Other  int            `json:"other"` // number of the other member
	Span   concordat.Span `json:"span"`
	Source concordat.Span `json:"source"`
	Score  float64        `json:"score"`
	Likely float64        `json:"likelihood"`
	Many   bool           `json:"many,omitempty"`
	By     string         `json:"by"`
	Pairs  []meaning.Pair `json:"pairs"`
}

// lead searches each member for passages that restate others in other words, once all shared wording is known.
func (r *batchRun) lead(ctx context.Context) error {
	if !r.job.Leads {
		return nil
	}
	members, err := r.readable(ctx)
	if err != nil {
		return err
	}
	rows, err := r.o.Store.Batches.BatchLeads(ctx, r.id)
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, row := range rows {
		known[row.Member] = true
	}
	isKnown := func(m *store.BatchMember) bool { return known[m.Number] }
	if slices.ContainsFunc(members, func(m store.BatchMember) bool { return !isKnown(&m) }) {
		if err := r.learn(ctx, members); err != nil {
			return err
		}
	}
	table, err := meaning.Default()
	if err != nil {
		return err
	}
	x := &leading{r: r, members: numbered(members), by: map[concordat.DocumentID]int{}, read: compare.ReadMeaning(table)}
	for _, m := range members {
		x.by[concordat.DocumentID(m.Name)] = m.Number
	}
	err = r.each(ctx, StageLeads, members, isKnown, func(ctx context.Context, m *store.BatchMember) error {
		found, err := x.from(ctx, m)
		if err != nil {
			return fmt.Errorf("leads of %s: %w", m.Name, err)
		}
		data, err := json.Marshal(found)
		if err != nil {
			return err
		}
		return r.o.Store.Batches.PutBatchLeads(ctx, r.id, m.Number, data)
	})
	if err == nil {
		r.leads, err = r.joinLeads(ctx, members)
	}
	return err
}

// leading searches for leads between members. It is safe for concurrent use.
type leading struct {
	r       *batchRun
	members map[int]*store.BatchMember
	by      map[concordat.DocumentID]int
	read    compare.ReadText

	mu        sync.Mutex // protects the fields below
	texts     map[concordat.DocumentID]*meaning.Text
	sentences int // in texts
}

// maxSentencesRead is the maximum number of sentences cached for later comparisons, at about 1 KB each.
const maxSentencesRead = 64_000

// sentencesOf returns the sentences of a member. If there is no space, it evicts entries in no particular order.
func (x *leading) sentencesOf(d *concordat.Document) *meaning.Text {
	x.mu.Lock()
	t := x.texts[d.ID]
	x.mu.Unlock()
	if t != nil {
		return t
	}
	t = x.read(d)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.texts[d.ID] != nil || len(t.Spans) > maxSentencesRead {
		return t
	}
	for other, o := range x.texts {
		if x.sentences+len(t.Spans) <= maxSentencesRead {
			break
		}
		delete(x.texts, other)
		x.sentences -= len(o.Spans)
	}
	if x.texts == nil {
		x.texts = map[concordat.DocumentID]*meaning.Text{}
	}
	x.texts[d.ID] = t
	x.sentences += len(t.Spans)
	return t
}

// from returns the leads from a member to others, outside their common wording.
func (x *leading) from(ctx context.Context, m *store.BatchMember) ([]foundLead, error) {
	r := x.r
	d, err := r.text(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	taken, err := r.takenOf(ctx, m, x.members, d.Text)
	if err != nil {
		return nil, err
	}
	p, err := r.s.Options().Profiler.Profile(concordat.Document{ID: d.ID, Title: d.Title, Text: d.Text}, nil)
	if err != nil {
		return nil, err
	}
	o := compare.Options{Channel: compare.ChannelText, Inside: true, Exclude: []concordat.Ref{r.ref(m.Name)}}
	q := r.inner.Query(p, o, []concordat.LibraryID{r.library})
	near, err := r.inner.Find(ctx, p, q, o, compare.NoProgress)
	if err != nil {
		return nil, err
	}
	leads, err := r.inner.SourceLeads(ctx, d, x.sentencesOf, q, taken, near.Candidates)
	if err != nil {
		return nil, err
	}
	out := []foundLead{}
	for _, l := range leads {
		if n, ok := x.by[l.Source.Document]; ok {
			out = append(out, foundLead{n, l.Span, l.Of, l.Score, l.Likelihood, l.Many, l.By, l.Pairs})
		}
	}
	return out, nil
}

// takenOf returns the parts of a member's text shared, legitimately or not, with members other than its drafts. Leads never include these
// parts.
func (r *batchRun) takenOf(ctx context.Context, m *store.BatchMember, by map[int]*store.BatchMember,
	text string) ([]concordat.Span, error) {
	pairs, err := r.o.Store.Batches.PairsOfMember(ctx, r.id, m.Number)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(r.wording.shared(m.Name, text).Walls)
	for _, p := range pairs {
		if other := by[p.A+p.B-m.Number]; other == nil || !counts(r.lineage, p, m, other) {
			continue
		}
		var kept []Passage
		if err := json.Unmarshal(p.Passages, &kept); err != nil {
			return nil, fmt.Errorf("passages of %s: %w: %v", m.Name, concordat.ErrCorrupt, err)
		}
		for _, k := range kept {
			if p.A == m.Number {
				out = append(out, k.A)
			} else {
				out = append(out, k.B)
			}
		}
	}
	return out, nil
}

// joinedLead is a lead between two members, in either direction.
type joinedLead struct {
	compare.SourceLead // as seen from member a, whose name sorts before b's
	a, b               int
}

// joinLeads returns the leads between all members without duplicates, ordered by first member, second member and place.
func (r *batchRun) joinLeads(ctx context.Context, members []store.BatchMember) ([]joinedLead, error) {
	rows, err := r.o.Store.Batches.BatchLeads(ctx, r.id)
	if err != nil {
		return nil, err
	}
	by := numbered(members)
	var all []joinedLead
	for _, row := range rows {
		var found []foundLead
		if err := json.Unmarshal(row.Found, &found); err != nil {
			return nil, fmt.Errorf("leads of %d: %w: %v", row.Member, concordat.ErrCorrupt, err)
		}
		m := by[row.Member]
		for _, f := range found {
			other := by[f.Other]
			if m == nil || other == nil {
				continue // deleted in the meantime
			}
			l := joinedLead{compare.SourceLead{Source: r.ref(other.Name), Span: f.Span, Of: f.Source, Score: f.Score, Likelihood: f.Likely,
				Many: f.Many, By: f.By, Pairs: f.Pairs}, m.Number, other.Number}
			if other.Name < m.Name {
				l.SourceLead, l.a, l.b = l.Turned(r.ref(m.Name)), l.b, l.a
			}
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(x, y joinedLead) int {
		return cmp.Or(cmp.Compare(by[x.a].Name, by[y.a].Name), cmp.Compare(by[x.b].Name, by[y.b].Name), cmp.Compare(y.Score, x.Score),
			cmp.Compare(x.Span.Start, y.Span.Start), cmp.Compare(x.Of.Start, y.Of.Start))
	})
	var out []joinedLead
	first := 0 // index in out of the first lead between the current two members
	for _, l := range all {
		if n := len(out); n > 0 && (out[n-1].a != l.a || out[n-1].b != l.b) {
			first = n
		}
		if !slices.ContainsFunc(out[first:], func(o joinedLead) bool { return o.Span.Overlaps(l.Span) && o.Of.Overlaps(l.Of) }) {
			out = append(out, l)
		}
	}
	r.markMany(out, by)
	return out, nil
}

// manySay is the minimum number of members that make a statement too widespread to be a lead.
const manySay = 3

// saying is a sentence of a member.
type saying struct{ member, start int }

// markMany marks leads in which most sentences restate what many members say. Members whose pair does not count because of lineage, for
// example a draft and the final version, count as one.
func (r *batchRun) markMany(leads []joinedLead, by map[int]*store.BatchMember) {
	others := map[saying][]int{}
	add := func(s saying, other int) {
		if !slices.Contains(others[s], other) {
			others[s] = append(others[s], other)
		}
	}
	for _, l := range leads {
		for _, p := range l.Pairs {
			add(saying{l.a, p.Span.Start}, l.b)
			add(saying{l.b, p.Source.Start}, l.a)
		}
	}
	many := func(s saying) bool {
		of := []int{s.member}
		for _, n := range others[s] {
			if !slices.ContainsFunc(of, func(o int) bool { return r.lineage.Lineage(by[n], by[o]) != "" }) {
				of = append(of, n)
			}
		}
		return len(of) >= manySay
	}
	for i := range leads {
		l, common := &leads[i], 0
		for _, p := range l.Pairs {
			if many(saying{l.a, p.Span.Start}) || many(saying{l.b, p.Source.Start}) {
				common++
			}
		}
		l.Many = l.Many || 2*common > len(l.Pairs)
	}
}

// addLeads adds the leads to and from other members to a member's findings, outside wording that it shares with any of them.
func (r *batchRun) addLeads(ctx context.Context, f *report.Findings, m *store.BatchMember, pairs []store.BatchPair,
	by map[int]*store.BatchMember) error {
	if !r.job.Leads {
		return nil
	}
	if f.Leads == nil {
		f.Leads = []report.Lead{}
	}
	text := f.Submission.Text
	walls := r.wording.shared(m.Name, text).Walls
	excused := map[concordat.Ref]bool{}
	for _, p := range pairs {
		if other := by[p.A+p.B-m.Number]; other != nil && !counts(r.lineage, p, m, other) {
			excused[r.ref(other.Name)] = true
		}
	}
	for _, l := range r.leads {
		if l.Many || l.a != m.Number && l.b != m.Number {
			continue
		}
		one, n := l.SourceLead, l.b
		if l.b == m.Number {
			one, n = l.Turned(r.ref(by[l.a].Name)), l.a
		}
		sentences := len(one.Pairs)
		one.Pairs = slices.DeleteFunc(slices.Clone(one.Pairs), func(p meaning.Pair) bool {
			return 2*covered(p.Span, walls) >= p.Span.Len() ||
				slices.ContainsFunc(f.Passages, func(x concordat.Passage) bool { return !excused[x.Source] && x.Span.Overlaps(p.Span) })
		})
		if 2*len(one.Pairs) < sentences {
			continue // the others do not stand out
		}
		source, err := r.text(ctx, by[n].Name)
		if err != nil {
			return err
		}
		lead := one.Told(text, source)
		lead.Title = by[n].Title
		f.Leads = append(f.Leads, lead)
	}
	return f.Validate()
}

// covered returns the length of the part of a span covered by disjoint spans.
func covered(s concordat.Span, by []concordat.Span) int {
	n := 0
	for _, x := range by {
		n += max(0, min(s.End, x.End)-max(s.Start, x.Start))
	}
	return n
}

// reportedLeads are the leads to other members in a member's report. They are stored as JSON, without text.
type reportedLeads struct {
	Leads []leadTo `json:"leads"`
	Many  []leadTo `json:"many,omitempty"` // many say the same, so these are not leads; stored only with the member whose name sorts first
}

// leadTo is a lead to another member.
type leadTo struct {
	Other int `json:"other"` // number of the other member
	ReportedLead
}

// ReportedLead is a lead from one member to another.
type ReportedLead struct {
	Span         concordat.Span  `json:"span"`           // in bytes
	Points       concordat.Span  `json:"points"`         // in code points
	Source       concordat.Span  `json:"source"`         // in the other, in bytes
	SourcePoints concordat.Span  `json:"source_points"`  // in code points
	Kind         report.LeadKind `json:"kind,omitempty"` // relative to the member
	Languages    [2]string       `json:"languages"`      // language codes of the member and the other; empty if unknown
	Encoder      string          `json:"by"`             // the comparer
	Likelihood   float64         `json:"likelihood"`     // see report.Lead; 0 if not measured
	Pairs        []LeadPair      `json:"pairs"`          // ordered by place in the member
}

// keepReported stores the leads to other members in a member's findings with the batch.
func (r *batchRun) keepReported(ctx context.Context, f *report.Findings, m *store.BatchMember, by map[int]*store.BatchMember) error {
	if !r.job.Leads {
		return nil
	}
	number := map[string]int{}
	for n, other := range by {
		number[other.Name] = n
	}
	out := reportedLeads{Leads: []leadTo{}}
	points := report.NewCounter(f.Submission.Text)
	for _, l := range f.Leads {
		n, ok := number[string(l.Source.Document)]
		if !ok || l.Source.Library != r.library {
			continue
		}
		one := leadTo{n, ReportedLead{Span: l.Span, Points: points.Points(l.Span), Source: l.SourceSpan, SourcePoints: l.SourcePoints,
			Kind: l.Kind, Languages: l.Languages, Encoder: l.Encoder, Likelihood: l.Likelihood}}
		for _, p := range l.Pairs {
			one.Pairs = append(one.Pairs, LeadPair{points.Points(p.Span), p.SourcePoints, p.Similarity})
		}
		out.Leads = append(out.Leads, one)
	}
	for _, l := range r.leads {
		if !l.Many || l.a != m.Number {
			continue
		}
		source, err := r.text(ctx, by[l.b].Name)
		if err != nil {
			return err
		}
		out.Many = append(out.Many, leadTo{l.b, ReportedLead{Span: l.Span, Points: points.Points(l.Span), Source: l.Of,
			SourcePoints: report.NewCounter(source.Text).Points(l.Of), Encoder: l.By}})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return r.o.Store.Batches.PutReportedLeads(ctx, r.id, m.Number, data)
}
