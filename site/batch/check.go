package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// check compares each member with the libraries, mirrors and partners, and stores its findings under a separate task.
func (r *batchRun) check(ctx context.Context) error {
	members, err := r.readable(ctx)
	if err != nil {
		return err
	}
	fresh := func(m *store.BatchMember) bool { return m.Round >= r.b.Round }
	if !slices.ContainsFunc(members, func(m store.BatchMember) bool { return !fresh(&m) }) {
		return r.tell(ctx, StageCheck, len(members), len(members))
	}
	if err := r.learn(ctx, members); err != nil {
		return err
	}
	o, done, err := r.o.Options(ctx, r.job)
	if err != nil {
		return err
	}
	if done != nil {
		defer done()
	}
	o.Threshold, o.Progress, o.Leads = r.job.PairThreshold(), nil, r.job.Leads
	if o.Template == nil && len(o.Templates) == 0 {
		if o.Headings, err = r.commonHeadings(ctx, members); err != nil {
			return err
		}
	}
	var libraries []store.Library
	if !r.job.NoLibraries {
		if libraries, err = r.s.Libraries(ctx, o.Libraries); err != nil {
			return err
		}
	}
	by := numbered(members)
	return r.each(ctx, StageCheck, members, fresh, func(ctx context.Context, m *store.BatchMember) error {
		if err := r.checkOne(ctx, m, by, o, libraries); err != nil {
			return fmt.Errorf("check %s: %w", m.Name, err)
		}
		return nil
	})
}

func numbered(members []store.BatchMember) map[int]*store.BatchMember {
	by := make(map[int]*store.BatchMember, len(members))
	for i := range members {
		by[members[i].Number] = &members[i]
	}
	return by
}

// TaskOf returns the ID of a member's task in a round of a batch. number is the member's number, from 0. The ID is the same after a round
// resumes.
func TaskOf(id string, number, round int) concordat.TaskID {
	if round <= 1 {
		return concordat.TaskID(fmt.Sprintf("%s-%d", id, number+1))
	}
	return concordat.TaskID(fmt.Sprintf("%s-%d-r%d", id, number+1, round))
}

func (r *batchRun) checkOne(ctx context.Context, m *store.BatchMember, by map[int]*store.BatchMember, o site.CheckOptions,
	libraries []store.Library) error {
	pairs, err := r.o.Store.Batches.PairsOfMember(ctx, r.id, m.Number)
	if err != nil {
		return err
	}
	id := TaskOf(r.id, m.Number, r.b.Round)
	f, err := r.findings(ctx, id, m, pairs, by, o, libraries)
	if err != nil {
		return err
	}
	if err := r.keepReported(ctx, f, m, by); err != nil {
		return err
	}
	rules, err := r.rules(ctx, id, m, pairs, by)
	if err == nil {
		_, err = r.s.Score(ctx, id, f) // excluding sources ruled out by its lineage
	}
	if err != nil {
		return err
	}
	now := *m
	now.Round, now.Task, now.Fresh = r.b.Round, id, json.RawMessage("[]")
	if m.Task != "" && m.Task != id {
		before, err := r.s.Findings(ctx, m.Task)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		if err == nil {
			if now.Fresh, err = json.Marshal(FreshSources(before, f)); err != nil {
				return err
			}
		}
	}
	shares := measure(&now, f, rules, r.library, by)
	return r.o.Store.Batches.PutChecked(ctx, r.id, now, shares)
}

// findings returns the findings of a task, either stored by an earlier run or from a new check.
func (r *batchRun) findings(ctx context.Context, id concordat.TaskID, m *store.BatchMember, pairs []store.BatchPair,
	by map[int]*store.BatchMember, o site.CheckOptions, libraries []store.Library) (*report.Findings, error) {
	old, err := r.o.Store.Checks.Task(ctx, id)
	switch {
	case errors.Is(err, concordat.ErrNotFound):
	case err != nil:
		return nil, err
	case old.State == concordat.TaskDone || old.State == concordat.TaskPartial:
		return r.s.Findings(ctx, id)
	default: // from a run that ended during the check
		if err := r.o.Store.Checks.DeleteTask(ctx, id); err != nil {
			return nil, err
		}
	}
	made := r.s.Options().Now()
	task, err := r.o.Store.Checks.StartTask(ctx, store.Task{Task: concordat.Task{ID: id, Title: m.Title, Made: made}, Owner: r.b.Owner,
		Batch: r.id}, "batch-"+r.id, site.Lease)
	if err != nil {
		return nil, fmt.Errorf("start task: %w", err)
	}
	f, err := r.checkText(ctx, id, m, pairs, by, o, libraries)
	if err == nil {
		f.Task, f.Made = id, made
		err = r.s.Keep(ctx, task, f)
	}
	if err != nil {
		// Without findings, the task is useless; the check starts over when the batch resumes.
		return nil, errors.Join(err, r.o.Store.Checks.DeleteTask(context.WithoutCancel(ctx), id))
	}
	return f, nil
}

// checkText compares the text of a member with everything.
func (r *batchRun) checkText(ctx context.Context, id concordat.TaskID, m *store.BatchMember, pairs []store.BatchPair,
	by map[int]*store.BatchMember, o site.CheckOptions, libraries []store.Library) (*report.Findings, error) {
	d, err := r.text(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	sub := site.Submission{ID: concordat.DocumentID(m.Name), Title: m.Title, Text: d.Text, Flags: m.Flags, Dated: m.Dated, DatedBy: m.DatedBy,
		Authors: concordat.ParseCreators(m.Author)}
	own, err := r.s.CaseDocuments(ctx, TaskOf(r.id, m.Number, 1), libraries)
	if err != nil {
		return nil, err
	}
	o.Exclude = slices.Concat(o.Exclude, own)
	f, err := r.s.CompareAll(ctx, id, sub, o, libraries, r.wording.shared(m.Name, d.Text).Found)
	if err != nil {
		return nil, err
	}
	f.WordingOf = max(f.WordingOf, r.wording.scope.Of)
	if err := r.addOthers(ctx, f, m, pairs, by); err != nil {
		return nil, err
	}
	return f, r.addLeads(ctx, f, m, pairs, by)
}

// addOthers adds the text that a member shares with other members to its findings.
func (r *batchRun) addOthers(ctx context.Context, f *report.Findings, m *store.BatchMember, pairs []store.BatchPair,
	by map[int]*store.BatchMember) error {
	asked := 0
	for _, c := range f.Consulted {
		asked = max(asked, c.Asked)
	}
	if asked == 0 { // if no library was queried, use the number of questions
		p, err := r.s.Options().Profiler.Profile(concordat.Document{Text: f.Submission.Text}, nil)
		if err != nil {
			return err
		}
		asked = len(p.Questions())
	}
	f.Consulted = append(f.Consulted, concordat.Consulted{Site: r.s.Options().ID, Library: r.library, Asked: asked, Answered: asked})
	if err := r.addWorks(ctx, f, m, by); err != nil {
		return err
	}
	for _, p := range pairs {
		other := by[p.A+p.B-m.Number]
		if other == nil {
			continue
		}
		source, err := r.text(ctx, other.Name)
		if err != nil {
			return err
		}
		passages, err := passagesOf(p.Passages, p.A == m.Number, r.ref(other.Name), other.Title, source.Text)
		if err != nil {
			return err
		}
		f.Passages = append(f.Passages, passages...)
		if other.Dated != "" {
			f.Dates = append(f.Dates, report.SourceDate{Source: r.ref(other.Name), Date: other.Dated, By: other.DatedBy})
		}
	}
	r.wording.shared(m.Name, f.Submission.Text).Settle(f.Passages)
	return f.Validate()
}

// rules returns the rules for a member's report. Sources ruled out by lineage are excluded by a review, as if by hand, so that the
// exclusion is recorded, visible and reversible.
func (r *batchRun) rules(ctx context.Context, id concordat.TaskID, m *store.BatchMember, pairs []store.BatchPair,
	by map[int]*store.BatchMember) (report.Rules, error) {
	rules, decided, err := site.ReviewedRules(ctx, r.o.Store, id, r.o.Rules)
	if err != nil || decided {
		return rules, err
	}
	excused := false
	for _, p := range pairs {
		other := by[p.A+p.B-m.Number]
		if other != nil && !counts(r.lineage, p, m, other) {
			rules.ExcludeSources = append(slices.Clone(rules.ExcludeSources), r.ref(other.Name))
			excused = true
		}
	}
	if !excused {
		return rules, nil
	}
	return rules, putRules(ctx, r.o.Store, id, rules, store.Review{At: r.s.Options().Now(), By: lineageActor})
}

// lineageActor signs reviews made by the lineage rules.
const lineageActor = "lineage"

// counts reports whether a pair counts.
func counts(l LineageRules, p store.BatchPair, a, b *store.BatchMember) bool {
	switch p.Verdict {
	case store.VerdictCount:
		return true
	case store.VerdictDiscount:
		return false
	}
	return l.Lineage(a, b) == ""
}

func putRules(ctx context.Context, db *store.DB, id concordat.TaskID, rules report.Rules, by store.Review) error {
	data, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	by.Kind, by.Data, by.Text = store.ReviewRules, data, lineageActor
	_, err = db.Checks.AppendReview(ctx, id, by)
	return err
}

// measure sets a member's shares from its report, and returns how much of the member counts as found in each other member. The lineage
// rules do not affect these shares, since they apply to pairs.
func measure(m *store.BatchMember, f *report.Findings, rules report.Rules, library concordat.LibraryID,
	by map[int]*store.BatchMember) map[int]store.PairShare {
	ready := report.Prepare(f)
	rep := ready.Build(rules)
	m.Share, m.Largest, m.Incomplete = rep.Scores.Covered, rep.Scores.Largest, false
	for _, c := range f.Consulted {
		m.Incomplete = m.Incomplete || c.Answered < c.Asked || c.Err != ""
	}
	number := make(map[string]int, len(by))
	for n, other := range by {
		number[other.Name] = n
	}
	if all := site.WithoutLibrary(rules, library); len(all.ExcludeSources) < len(rules.ExcludeSources) {
		rep = ready.Build(all)
	}
	shares := map[int]store.PairShare{}
	for _, s := range rep.Sources {
		n, ok := number[string(s.Document)]
		switch {
		case !ok || s.Library != library:
		case s.Excluded != "":
			shares[n] = store.PairShare{} // excluded here, although the report shows its share
		default:
			shares[n] = store.PairShare{Share: s.Share, Sections: sectionShares(rep, &s)}
		}
	}
	return shares
}

// FreshSource is a source that a later check found for the first time.
type FreshSource struct {
	concordat.Ref
	Title string  `json:"title"`
	Share float64 `json:"share"` // 0 to 1, relative to the compared text
}

// FreshSources returns the sources in after but not in before, largest share first, before any rule is applied. A source that was in
// before and now contains more is not included.
func FreshSources(before, after *report.Findings) []FreshSource {
	known := map[concordat.Ref]bool{}
	for _, p := range before.Passages {
		known[p.Source] = true
	}
	out := []FreshSource{}
	all := *after
	all.Works = nil // report every additional text of a work
	for _, s := range report.Build(&all, report.Rules{CommonAbove: -1}).Sources {
		if !known[s.Ref] {
			out = append(out, FreshSource{s.Ref, s.Title, s.Share})
		}
	}
	return out
}
