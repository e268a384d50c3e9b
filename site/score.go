package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// Score stores how much of a submission counts under the current rules, for use in lists of checks, and returns the report as well. f
// must be the findings stored for the task.
func (s *Site) Score(ctx context.Context, task concordat.TaskID, f *report.Findings) (*report.Report, error) {
	var base report.Rules
	if s.o.Rules != nil {
		base = s.o.Rules()
	}
	rules, err := RulesInForce(ctx, s.o.Store, task, base)
	if err != nil {
		return nil, err
	}
	digest, err := RulesDigest(rules)
	if err != nil {
		return nil, err
	}
	revision, err := s.o.Store.Checks.FindingsRevision(ctx, task)
	if err != nil {
		return nil, err
	}
	rep := report.Build(f, rules)
	return rep, s.o.Store.Checks.PutScore(ctx, task, ScoreOf(rep, revision, digest))
}

// ScoreOf returns the score of a report, with the revision of its findings and the digest of its rules.
func ScoreOf(rep *report.Report, revision int64, rules string) store.Score {
	s := store.Score{Revision: revision, Rules: rules, Measured: rep.Scores.Measured(), Covered: rep.Scores.Covered,
		Flags: report.Disguises(rep.Flags)}
	if n := rep.LeadCount(); n != nil {
		s.Leads = n.All
	}
	return s
}

// RulesDigest returns a short text that is the same for two sets of rules only if they are equal.
func RulesDigest(rules report.Rules) (string, error) {
	b, err := json.Marshal(rules)
	if err != nil {
		return "", fmt.Errorf("rules: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}
