package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// RulesInForce returns the current rules of a report. They are the rules set by the latest review of its task, or else the result of
// [FirstRules]. It fails with concordat.ErrNotFound if there is no such task.
func RulesInForce(ctx context.Context, db *store.DB, id concordat.TaskID, base report.Rules) (report.Rules, error) {
	t, err := db.Checks.Task(ctx, id)
	if err != nil {
		return base, err
	}
	first, err := FirstRules(ctx, db, t, base)
	if err != nil {
		return base, err
	}
	rules, _, err := ReviewedRules(ctx, db, id, first)
	return rules, err
}

// FirstRules returns the initial rules of a task's report. They are the rules chosen on submission, or else the batch's rules, or else
// base, the configured rules.
func FirstRules(ctx context.Context, db *store.DB, t store.Task, base report.Rules) (report.Rules, error) {
	var j Job
	if len(t.Request) > 0 && json.Unmarshal(t.Request, &j) == nil && j.Rules != nil {
		return *j.Rules, nil
	}
	if t.Batch == "" {
		return base, nil
	}
	b, err := db.Batches.Batch(ctx, t.Batch)
	if errors.Is(err, concordat.ErrNotFound) {
		return base, nil // separate checks that were submitted together
	}
	if err != nil {
		return base, err
	}
	return BatchRules(b, base)
}

// BatchRules returns the rules stored with a batch, or else base.
func BatchRules(b store.Batch, base report.Rules) (report.Rules, error) {
	var j struct {
		Rules *report.Rules `json:"rules"`
	}
	if err := json.Unmarshal(b.Request, &j); err != nil {
		return base, fmt.Errorf("rules of batch %s: %w: %v", b.ID, concordat.ErrCorrupt, err)
	}
	if j.Rules == nil {
		return base, nil
	}
	return *j.Rules, nil
}

// ReviewedRules returns the rules set by the latest review of a task and true, or first and false if there is no such review.
func ReviewedRules(ctx context.Context, db *store.DB, id concordat.TaskID,
	first report.Rules) (rules report.Rules, decided bool, err error) {
	all, err := db.Checks.Reviews(ctx, id)
	rules = first
	for _, r := range all {
		if r.Kind != store.ReviewRules {
			continue
		}
		var set report.Rules
		if err := json.Unmarshal(r.Data, &set); err != nil {
			return rules, false, fmt.Errorf("rules of %s: %w: %v", id, concordat.ErrCorrupt, err)
		}
		rules, decided = set, true
	}
	return rules, decided, err
}

// WithoutLibrary returns rules without exclusions of individual documents in a library.
func WithoutLibrary(rules report.Rules, library concordat.LibraryID) report.Rules {
	rules.ExcludeSources = slices.DeleteFunc(slices.Clone(rules.ExcludeSources),
		func(r concordat.Ref) bool { return r.Library == library && r.Document != "" })
	return rules
}
