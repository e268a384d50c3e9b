package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// ViewedLead is a lead between two documents of a batch, with the decision about it. Neither document is assumed to be earlier.
type ViewedLead struct {
	A, B         int    // indices into Members: A restates or summarises B
	ReportedLead        // from A to B
	Lineage      string // why the pair does not count; empty if it does
	State        report.LeadState
	Ruling       report.LeadRuling // zero if the lead is open
}

// Lead returns the lead in the form that reports use for wording.
func (l *ReportedLead) Lead() report.Lead {
	return report.Lead{Kind: l.Kind, Languages: l.Languages, Likelihood: l.Likelihood}
}

// LeadPair is a pair of sentences, one from each document, in code points.
type LeadPair struct {
	Span       concordat.Span `json:"span"`
	SourceSpan concordat.Span `json:"source_span"`
	Similarity float64        `json:"similarity"` // 0 to 1
}

// ManySay lists the places where three or more documents of a batch say the same, which is not a lead.
type ManySay struct {
	Places []ViewedPlace // by member, in text order
}

// Documents returns the members involved, as indices in order.
func (m ManySay) Documents() []int {
	var out []int
	for _, p := range m.Places {
		out = append(out, p.Member)
	}
	return slices.Compact(out)
}

// ViewedLeads holds the leads between the documents of a batch.
type ViewedLeads struct {
	Leads []ViewedLead // undecided leads of counting pairs first, by descending likelihood
	Many  []ManySay    // places with the most documents first
}

// States returns the states of the leads in order.
func (l *ViewedLeads) States() iter.Seq[report.LeadState] {
	return func(yield func(report.LeadState) bool) {
		for i := range l.Leads {
			if !yield(l.Leads[i].State) {
				return
			}
		}
	}
}

// Leads returns the leads, with decisions, between the documents that already have reports; if two reports disagree, rejection wins. base
// is as in [site.RulesInForce]. Without job.Leads, there are none.
func (v *View) Leads(ctx context.Context, db *store.DB, base report.Rules) (*ViewedLeads, error) {
	out := &ViewedLeads{}
	if !v.Job.Leads {
		return out, nil
	}
	reported, err := v.reported(ctx, db)
	if err != nil {
		return nil, err
	}
	index := map[int]int{}
	for i, m := range v.Members {
		index[m.Number] = i
	}
	rulings := rulingsOf{v: v, db: db, base: base, by: map[concordat.TaskID]report.Rules{}}
	for i := range v.Members {
		for _, l := range reported[v.Members[i].Number].Leads {
			j, ok := index[l.Other]
			if !ok {
				continue
			}
			back := l.in(reported[l.Other].Leads, v.Members[i].Number)
			if back == nil || !v.before(i, j, l, *back) {
				continue
			}
			one := ViewedLead{A: i, B: j, ReportedLead: l.ReportedLead, Lineage: v.Rules.Lineage(&v.Members[i], &v.Members[j])}
			if one.State, one.Ruling, err = rulings.of(ctx, &one); err != nil {
				return nil, err
			}
			out.Leads = append(out.Leads, one)
		}
	}
	slices.SortStableFunc(out.Leads, func(x, y ViewedLead) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(y.Likelihood, x.Likelihood), cmp.Compare(len(y.Pairs), len(x.Pairs)))
	})
	out.Many = manySayOf(reported, index)
	return out, nil
}

// reported returns the leads in the reports of members that still exist, by number.
func (v *View) reported(ctx context.Context, db *store.DB) (map[int]reportedLeads, error) {
	rows, err := db.Batches.BatchLeads(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	by := numbered(v.Members)
	out := map[int]reportedLeads{}
	for _, row := range rows {
		if m := by[row.Member]; m == nil || m.Task == "" || len(row.Reported) == 0 {
			continue
		}
		var t reportedLeads
		if err := json.Unmarshal(row.Reported, &t); err != nil {
			return nil, fmt.Errorf("read the leads of batch %s: %w: %v", v.ID, concordat.ErrCorrupt, err)
		}
		out[row.Member] = t
	}
	return out, nil
}

// in finds the lead in the other member's report, or returns nil if that report omits it because the passage is evidence there.
func (l leadTo) in(all []leadTo, number int) *leadTo {
	for i := range all {
		if x := &all[i]; x.Other == number && x.Span == l.Source && x.Source == l.Span {
			return x
		}
	}
	return nil
}

// before reports whether a lead is shown from i's side rather than j's. It is shown from the summarising side if there is one, or else
// from the side of the document whose name sorts first.
func (v *View) before(i, j int, l, back leadTo) bool {
	if a, b := l.Kind == report.LeadSummary, back.Kind == report.LeadSummary; a != b {
		return a
	}
	return i < j
}

// rank returns the sort rank of a lead. Leads awaiting a decision come first, and leads that need no reading come last.
func (l *ViewedLead) rank() int {
	switch {
	case l.State == report.LeadSetAside:
		return 3
	case l.Lineage != "":
		return 2
	case l.State == report.LeadCounted:
		return 1
	}
	return 0
}

// rulingsOf reads the rules of each report once.
type rulingsOf struct {
	v    *View
	db   *store.DB
	base report.Rules
	by   map[concordat.TaskID]report.Rules
}

// of returns the decisions about a lead in both documents' reports.
func (r *rulingsOf) of(ctx context.Context, l *ViewedLead) (report.LeadState, report.LeadRuling, error) {
	state, ruling := report.LeadOpen, report.LeadRuling{}
	for _, side := range l.sides() {
		task := r.v.Members[side.member].Task
		rules, ok := r.by[task]
		if !ok {
			var err error
			if rules, err = site.RulesInForce(ctx, r.db, task, r.base); err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted
				return state, ruling, err
			}
			r.by[task] = rules
		}
		if i := slices.IndexFunc(rules.SetAsideLeads, side.has); i >= 0 {
			return report.LeadSetAside, rules.SetAsideLeads[i], nil
		}
		if i := slices.IndexFunc(rules.CountLeads, side.has); i >= 0 {
			state, ruling = report.LeadCounted, rules.CountLeads[i]
		}
	}
	return state, ruling, nil
}

// leadSide is a lead as seen in one document's report.
type leadSide struct {
	member int // index of the member
	report.Lead
}

func (s leadSide) has(d report.LeadRuling) bool { return d.Of(s.Lead) }

func (l *ViewedLead) sides() [2]leadSide {
	return [2]leadSide{{l.A, report.Lead{Span: l.Span, SourcePoints: l.SourcePoints}},
		{l.B, report.Lead{Span: l.Source, SourcePoints: l.Points}}}
}

// manySayOf collects the places where several members say the same.
func manySayOf(reported map[int]reportedLeads, index map[int]int) []ManySay {
	var groups []ManySay
	for number, t := range reported {
		for _, l := range t.Many {
			i, ok := index[number]
			j, also := index[l.Other]
			if _, there := reported[l.Other]; !ok || !also || !there {
				continue
			}
			joined := ManySay{[]ViewedPlace{{i, l.Span}, {j, l.Source}}}
			rest := groups[:0:0]
			for _, g := range groups {
				if g.touches(joined.Places[:2]) {
					joined.Places = append(joined.Places, g.Places...)
				} else {
					rest = append(rest, g)
				}
			}
			groups = append(rest, joined)
		}
	}
	for i := range groups {
		groups[i].tidy()
	}
	groups = slices.DeleteFunc(groups, func(g ManySay) bool { return len(g.Documents()) < manySay }) // reports may have been deleted
	slices.SortFunc(groups, func(x, y ManySay) int {
		return cmp.Or(cmp.Compare(len(y.Places), len(x.Places)), cmp.Compare(x.Places[0].Member, y.Places[0].Member),
			cmp.Compare(x.Places[0].Start, y.Places[0].Start))
	})
	return groups
}

func (m ManySay) touches(places []ViewedPlace) bool {
	return slices.ContainsFunc(m.Places, func(p ViewedPlace) bool {
		return slices.ContainsFunc(places, func(q ViewedPlace) bool { return p.Member == q.Member && p.Span.Overlaps(q.Span) })
	})
}

// tidy sorts the places and joins those that overlap.
func (m *ManySay) tidy() {
	slices.SortFunc(m.Places, func(x, y ViewedPlace) int {
		return cmp.Or(cmp.Compare(x.Member, y.Member), cmp.Compare(x.Start, y.Start))
	})
	var out []ViewedPlace
	for _, p := range m.Places {
		if n := len(out); n > 0 && out[n-1].Member == p.Member && out[n-1].Span.Overlaps(p.Span) {
			out[n-1].End = max(out[n-1].End, p.End)
			continue
		}
		out = append(out, p)
	}
	m.Places = out
}

// DecideLead counts, rejects or reopens a lead between two documents, in the reports of both. The lead is identified by the members'
// numbers and its places in them, in code points. base is as in [site.RulesInForce]. If there is no such lead, it fails with
// concordat.ErrNotFound. The decision is recorded, and can be reversed by another call or in each report separately.
func DecideLead(ctx context.Context, s *site.Site, db *store.DB, id string, one LeadDecision, base report.Rules,
	notes ...store.AuditNote) error {
	v, err := Open(ctx, db, id)
	if err != nil {
		return err
	}
	leads, err := v.Leads(ctx, db, base)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(leads.Leads, func(l ViewedLead) bool {
		return v.Members[l.A].Number == one.A && v.Members[l.B].Number == one.B && l.Points == one.Span && l.SourcePoints == one.Source
	})
	if i < 0 {
		return fmt.Errorf("lead between documents %d and %d of batch %s: %w", one.A+1, one.B+1, id, concordat.ErrNotFound)
	}
	l, now := &leads.Leads[i], s.Options().Now()
	e := store.BatchEvent{At: now, By: one.By, Action: "lead_" + string(one.State), Text: v.Members[l.A].Name + " – " + v.Members[l.B].Name}
	if one.Why != "" {
		e.Text += ": " + one.Why
	}
	return noted(ctx, db, notes, func(db *store.DB) error {
		if err := db.Batches.AppendBatchEvent(ctx, id, e); err != nil {
			return err
		}
		for _, side := range l.sides() {
			if err := side.decide(ctx, db, v.Members[side.member].Task, one, base, store.Review{At: now, By: one.By}); err != nil {
				return err
			}
		}
		return nil
	})
}

// LeadDecision is a decision about a lead between the members with numbers A and B.
type LeadDecision struct {
	A, B         int
	Span, Source concordat.Span // place of the lead in A and in B, in code points
	State        report.LeadState
	By, Why      string
}

// leadActions maps states to their names in reviews.
var leadActions = map[report.LeadState]string{report.LeadOpen: "open-lead", report.LeadCounted: "count-lead",
	report.LeadSetAside: "set-aside-lead"}

// decide changes the rules of one report.
func (s leadSide) decide(ctx context.Context, db *store.DB, task concordat.TaskID, one LeadDecision, base report.Rules,
	as store.Review) error {
	rules, err := site.RulesInForce(ctx, db, task, base)
	if err != nil {
		return err
	}
	rules.CountLeads = slices.DeleteFunc(slices.Clone(rules.CountLeads), s.has)
	rules.SetAsideLeads = slices.DeleteFunc(slices.Clone(rules.SetAsideLeads), s.has)
	ruling := report.LeadRuling{Span: s.Span, Source: s.SourcePoints, Comment: one.Why, By: one.By, At: as.At}
	switch one.State {
	case report.LeadCounted:
		rules.CountLeads = append(rules.CountLeads, ruling)
	case report.LeadSetAside:
		rules.SetAsideLeads = append(rules.SetAsideLeads, ruling)
	}
	if as.Data, err = json.Marshal(rules); err != nil {
		return err
	}
	as.Kind = store.ReviewRules
	as.Text = fmt.Sprintf("%s %d–%d", leadActions[one.State], s.Span.Start, s.Span.End)
	if one.Why != "" {
		as.Text += ": " + one.Why
	}
	_, err = db.Checks.AppendReview(ctx, task, as)
	return err
}
