// Package review contains people's decisions about checks: what counts in a report, comments, verdicts and sign-offs, who reviews a
// check, and which library keeps its submission. Pages and the API share it. Start with Reviews.
package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages/deletions"
)

// Reports provides the reports that people decide about. It is safe for concurrent use.
type Reports interface {
	// Report returns the complete report of a check under the given rules, in English.
	Report(ctx context.Context, id concordat.TaskID, rules report.Rules) (*report.Report, error)
	// Rescore computes the score of a check under new rules.
	Rescore(ctx context.Context, id concordat.TaskID, rules report.Rules)
	// HasText reports whether the text of an ended check is still kept.
	HasText(ctx context.Context, id concordat.TaskID) (bool, error)
}

// Options configures the reviews. All fields are required.
type Options struct {
	Store     *store.DB
	Site      *site.Site
	Queue     *site.Queue
	Reports   Reports
	Deletions deletions.Deletions
	Current   Current // settings in force
	Now       func() time.Time
	See       See  // what submitters see of their own reports
	From      From // when they begin to see it
}

// Current returns the settings of reviews that can change while the site is served.
type Current interface {
	Rules() report.Rules // of new reports
	Adding() Adding      // when and to which library submissions are added
}

// Reviews reads and makes decisions about checks. It is safe for concurrent use.
type Reviews struct{ o Options }

// New returns the reviews of a site.
func New(o Options) *Reviews { return &Reviews{o} }

// Verdicts lists the verdicts that officers can give.
var Verdicts = []string{"clear", "discuss", "suspected"}

// Review contains people's decisions about a check.
type Review struct {
	Notes   []store.Review // comments, verdicts and sign-offs, oldest first
	Rules   report.Rules   // current rules
	Changes int            // number of rule changes
	Latest  int            // number of the latest note or change; 0 if there are none
	Log     []Change       // rule changes, oldest first
	// Verdict is the latest verdict, if any. Signed contains its sign-offs.
	Verdict *store.Review
	Signed  []report.SignedOff
	// Assigned is the reviewer, and Due is the day when the decision is due; each is empty if not set.
	Assigned, Due string
	// Touched reports whether someone at the site has made a decision about the check.
	Touched bool
	// Edited contains the times of changes to comments, by comment number.
	Edited map[int]time.Time
	// Handling lists the changes of reviewer, due date, library and comments, oldest first.
	Handling []store.Review
	// Added is the library to which the submission was added; it is zero if the submission is in none.
	Added addedCase
	// Stale reports whether the rules have changed since the verdict.
	Stale bool
}

// Change is a change of the rules.
type Change struct {
	Seq           int // number of the note that stores it
	At            time.Time
	By            string
	Action        string // for example exclude-source
	Subject       string // what it changed; can be empty
	Undone        bool
	Mine          bool // made by the reader
	Before, After report.Rules
}

// OfTask reads the decisions about the task with this ID.
func (w *Reviews) OfTask(ctx context.Context, id concordat.TaskID) (*Review, error) {
	t, err := w.o.Store.Checks.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	return w.Of(ctx, t)
}

// Of reads the decisions about a task.
func (w *Reviews) Of(ctx context.Context, t store.Task) (*Review, error) {
	id := t.ID
	all, err := w.o.Store.Checks.Reviews(ctx, id)
	if err != nil {
		return nil, err
	}
	first, err := w.firstRules(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &Review{Rules: first, Edited: map[int]time.Time{}}
	var then report.Rules // the rules at the time of the verdict
	for i := range all {
		r := &all[i]
		out.Latest = r.Seq
		switch r.Kind {
		case store.ReviewRules:
			action, subject, _ := strings.Cut(r.Text, " ")
			out.Changes++
			var rules report.Rules
			if err := json.Unmarshal(r.Data, &rules); err != nil {
				return nil, fmt.Errorf("rules of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			one := Change{Seq: r.Seq, At: r.At, By: r.By, Action: action, Subject: subject, Before: out.Rules, After: rules}
			out.undo(one.Undoes())
			out.Touched = out.Touched || action != "lineage"
			out.Log, out.Rules = append(out.Log, one), rules
			continue
		case store.ReviewAssign, store.ReviewDue:
			field := &out.Assigned
			if r.Kind == store.ReviewDue {
				field = &out.Due
			}
			if err := json.Unmarshal(r.Data, field); err != nil {
				return nil, fmt.Errorf("%s of %s: %w: %v", r.Kind, id, concordat.ErrCorrupt, err)
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewLibrary:
			out.Added = addedCase{}
			if err := json.Unmarshal(r.Data, &out.Added); err != nil {
				return nil, fmt.Errorf("library of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewEdited, store.ReviewRemoved:
			var number int
			if err := json.Unmarshal(r.Data, &number); err != nil {
				return nil, fmt.Errorf("comment of %s: %w: %v", id, concordat.ErrCorrupt, err)
			}
			if r.Kind == store.ReviewEdited {
				out.Edited[number] = r.At
			}
			out.Touched, out.Handling = true, append(out.Handling, *r)
			continue
		case store.ReviewVerdict:
			out.Verdict, out.Signed, then = r, nil, out.Rules
		case store.ReviewSignOff:
			// Two people may write at the same time, so a sign-off counts only if it is by someone else and for this verdict.
			if out.Verdict != nil && r.By != out.Verdict.By && signs(r.Data, out.Verdict.Seq) {
				out.Signed = append(out.Signed, report.SignedOff{By: r.By, At: r.At})
			}
		}
		out.Notes, out.Touched = append(out.Notes, *r), true
	}
	if out.Verdict != nil {
		now := out.Rules
		then.NotOwnWork, now.NotOwnWork = nil, nil // these rules do not affect any figure
		a, err := json.Marshal(then)
		b, err2 := json.Marshal(now)
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("rules of %s: %w", id, err)
		}
		out.Stale = !bytes.Equal(a, b)
	}
	return out, nil
}

// undo marks a change as undone.
func (r *Review) undo(seq int) {
	for i := range r.Log {
		if seq > 0 && r.Log[i].Seq == seq {
			r.Log[i].Undone = true
		}
	}
}

// Mark marks the reader's own changes.
func (r *Review) Mark(me string) {
	for i := range r.Log {
		r.Log[i].Mine = r.Log[i].By == me
	}
}

// MayUndo reports whether the reader has a change to undo.
func (r *Review) MayUndo() bool {
	return slices.ContainsFunc(r.Log, func(c Change) bool { return c.Mine && c.MayUndo() })
}

// signs reports whether a sign-off is for the verdict with the given number. Sign-offs by early versions contain no number and apply to
// the latest verdict.
func signs(data json.RawMessage, verdict int) bool {
	var n *int
	return json.Unmarshal(data, &n) != nil || n == nil || *n == verdict
}

// Code returns the latest verdict, or "" if there is none.
func (r *Review) Code() string {
	var v string
	if r.Verdict == nil || json.Unmarshal(r.Verdict.Data, &v) != nil || !slices.Contains(Verdicts, v) {
		return ""
	}
	return v
}

// Stage returns the review state of a check with a report.
func (r *Review) Stage() store.CaseStage {
	switch {
	case r.Verdict != nil && len(r.Signed) > 0:
		return store.StageSigned
	case r.Verdict != nil:
		return store.StageDecided
	case r.Touched:
		return store.StageReview
	}
	return store.StageNew
}

// InReport returns the part of the review included in a report, or nil if there is no verdict.
func (r *Review) InReport() *report.Review {
	if r.Verdict == nil {
		return nil
	}
	return &report.Review{Verdict: r.Code(), Reason: r.Verdict.Text, By: r.Verdict.By, At: r.Verdict.At, Signed: r.Signed, Stale: r.Stale}
}

// MaySign reports whether a person may sign off the latest verdict.
func (r *Review) MaySign(name string) bool {
	return r.Verdict != nil && r.Verdict.By != name && !slices.ContainsFunc(r.Signed, func(s report.SignedOff) bool { return s.By == name })
}

// HasExcludedTemplates reports whether these rules contain template wording.
func (r *Review) HasExcludedTemplates() bool { return len(r.Rules.ExcludeTemplate) > 0 }

// VerdictKey returns the message key for the latest verdict.
func (r *Review) VerdictKey() string {
	if v := r.Code(); v != "" {
		return "verdict." + v
	}
	return "verdict.none"
}

// firstRules returns the initial rules of a task's report: the rules chosen at submission, or otherwise its batch's or the site's.
func (w *Reviews) firstRules(ctx context.Context, t store.Task) (report.Rules, error) {
	return site.FirstRules(ctx, w.o.Store, t, w.o.Current.Rules())
}
