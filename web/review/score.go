package review

import (
	"context"
	"errors"
	"slices"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages"
)

// scoreTime bounds how long one list recomputes scores after rules change, for example the site's. The list then reloads to get the
// remaining scores.
const scoreTime = 200 * time.Millisecond

// ShownScore is the score of a report in a list.
type ShownScore struct {
	Share    *float64 // share that counts; if nil, the fields below state why it is missing
	Unasked  bool     // it is missing because nothing was compared
	Withheld bool     // the policy hides the share from the visitor
	Later    bool     // the share has not been computed yet
	Flags    int      // kinds of flags that may indicate concealment; 0 if none, or not shown to the visitor
	Leads    int      // leads in the report; 0 if none, not searched for, or not shown to the visitor
	Verdict  string   // message key of the latest verdict; empty if none, or not shown to the visitor
	// Stage is the review state, Assigned is the reviewer, and Due is the due date; each is empty if not set or not shown to the visitor.
	Stage         store.CaseStage
	Assigned, Due string
	Late          bool // the due date has passed without a verdict
}

// Scores returns the scores of the checks that have a report.
func (w *Reviews) Scores(ctx context.Context, v *pages.Visitor, tasks []store.Task) (map[concordat.TaskID]ShownScore, error) {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t store.Task) bool { return !pages.HasReport(t) })
	ids := make([]concordat.TaskID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	known, err := w.o.Store.Checks.Scores(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := map[concordat.TaskID]ShownScore{}
	began := time.Now() // only bounds the work, and is never shown
	for _, t := range tasks {
		id := t.ID
		now, err := w.Of(ctx, t)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		see := w.Sees(v, now)
		if see == SeeNothing {
			out[id] = ShownScore{Withheld: true}
			continue
		}
		one := ShownScore{}
		if v.SeesAll() {
			one.Stage, one.Assigned, one.Due = now.Stage(), now.Assigned, now.Due
			one.Late = now.Due != "" && now.Verdict == nil && now.Due < w.o.Now().Local().Format(time.DateOnly)
		}
		if see == SeeEverything && now.Verdict != nil {
			one.Verdict = now.VerdictKey()
		}
		rules, err := site.RulesDigest(now.Rules)
		if err != nil {
			return nil, err
		}
		s, ok := known[id]
		if !ok || s.Rules != rules {
			if one.Later = time.Since(began) > scoreTime; !one.Later {
				s, err = w.score(ctx, id, now.Rules, rules)
			}
		}
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		if one.Unasked = !one.Later && !s.Measured; !one.Later && s.Measured {
			one.Share = &s.Covered
		}
		if see.Shows(SeeReport) {
			one.Flags, one.Leads = s.Flags, s.Leads
		}
		out[id] = one
	}
	return out, nil
}

// score computes the score of a check and stores it for the next list.
func (w *Reviews) score(ctx context.Context, id concordat.TaskID, rules report.Rules, digest string) (store.Score, error) {
	f, revision, err := w.o.Site.FindingsAt(ctx, id)
	if err != nil {
		return store.Score{}, err
	}
	s := site.ScoreOf(report.Build(f, rules), revision, digest)
	return s, w.o.Store.Checks.PutScore(ctx, id, s)
}
