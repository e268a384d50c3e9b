package eval

import (
	"context"
	"errors"

	"concordat"
)

// coverage is what the reports of documents cover, by document.
type coverage map[string][]concordat.Span

// differs returns the number of letters of a document that one of two covers and the other does not.
func (c coverage) differs(d *innocentDoc, other coverage) int {
	a, b := d.within(c[d.name]), d.within(other[d.name])
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// batchCoverage compares the documents of a scenario in a mode and returns what the reports cover.
func batchCoverage(ctx context.Context, dir string, s *innocentScenario, m innocentMode, key []byte) (_ coverage, err error) {
	i, err := newInnocentSite(ctx, dir, s, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	v, err := i.batch(ctx, m, s.docs)
	if err != nil {
		return nil, err
	}
	out := coverage{}
	for _, member := range v.Members {
		rep, err := i.report(ctx, m, member)
		if err != nil {
			return nil, err
		}
		out[member.Name] = counted(rep)
	}
	return out, nil
}
