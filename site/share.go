package site

import (
	"context"

	"concordat"
	"concordat/report"
)

// Shares returns how much of a text counts as found in each document of libraries that holds some of it: the share of the
// source that a check of the text gives by the same rules. It asks no partners and keeps nothing. Documents of o.Exclude, for
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
	f.Works = nil // a share for each text of a work
	for _, x := range report.Build(f, rules).Sources {
		if x.Excluded == "" {
			out[x.Ref] = x.Share
		}
	}
	return out, nil
}
