package site

import (
	"context"

	"concordat"
	"concordat/report"
)

// Shares returns, for each library document that contains part of a text, the share of the text that counts as found in it. This equals
// the source's share in a check under the same rules. Shares does not ask partners and stores nothing. Documents in o.Exclude, for
// example the text itself, are not compared.
func (s *Site) Shares(ctx context.Context, sub Submission, o CheckOptions, rules report.Rules) (map[concordat.Ref]float64, error) {
	o.Partners, o.Mirrors, o.Leads, o.Short, o.Standing, o.NoStore, o.Progress = nil, nil, false, false, false, true, nil
	libraries, err := s.Libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	f, err := s.CompareAll(ctx, "", sub, o, libraries, nil)
	if err != nil {
		return nil, err
	}
	out := map[concordat.Ref]float64{}
	f.Works = nil // give each text of a work a separate share
	for _, x := range report.Build(f, rules).Sources {
		if x.Excluded == "" {
			out[x.Ref] = x.Share
		}
	}
	return out, nil
}
