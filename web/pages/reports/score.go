package reports

import (
	"context"
	"errors"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/web/review"
)

// Rescore computes the score of a check under newly set rules, from the report that its page shows next. A list would otherwise compute
// the score, so a failure is only logged.
func (s *Cache) Rescore(ctx context.Context, id concordat.TaskID, rules report.Rules) {
	revision, err := s.Store.Checks.FindingsRevision(ctx, id)
	var digest string
	if err == nil {
		digest, err = site.RulesDigest(rules)
	}
	var got *Reading
	if err == nil {
		got, err = s.Reading(ctx, id, rules, report.English, review.SeeEverything)
	}
	if err == nil {
		err = s.Store.Checks.PutScore(ctx, id, site.ScoreOf(got.Report, revision, digest))
	}
	if err != nil && !errors.Is(err, concordat.ErrNotFound) { // deleted in the meantime, or without findings
		s.Logger.Error("score", "task", id, "error", err)
	}
}

// Report implements review.Reports.
func (s *Cache) Report(ctx context.Context, id concordat.TaskID, rules report.Rules) (*report.Report, error) {
	got, err := s.Reading(ctx, id, rules, report.English, review.SeeEverything)
	if err != nil {
		return nil, err
	}
	return got.Report, nil
}
