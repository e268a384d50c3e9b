package eval

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// innocentMode is one way for a user to compare a scenario's documents.
type innocentMode struct {
	name     string
	first    int  // number of documents that are not part of a copy; 0 means all documents
	template bool // whether the user supplies the wording that was handed out
	exclude  bool // whether quotations and lists of references are excluded
	library  bool // whether some documents are checked against a library of the others; otherwise, all are compared in a batch
}

// innocentModes lists all modes, in the order of the table.
var innocentModes = []innocentMode{
	{name: "all"}, {name: "tmpl", template: true}, {name: "excl", exclude: true},
	{name: "n2", first: 2}, {name: "n5", first: 5}, {name: "n10", first: 10},
	{name: "t2", first: 2, template: true}, {name: "t5", first: 5, template: true}, {name: "t10", first: 10, template: true},
	{name: "lib", library: true},
}

// innocentChecks is the number of documents checked against a library of the others.
const innocentChecks = 8

// innocentKey returns the fingerprint key of site n.
func innocentKey(n int) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "key %d of the evaluation with innocent documents", n))
	return key[:]
}

// innocentSite is a site that compares a scenario's documents like a user's site.
type innocentSite struct {
	*Bench
	dir string
	s   *innocentScenario
}

func newInnocentSite(ctx context.Context, dir string, s *innocentScenario, key []byte) (*innocentSite, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b, err := newBench(ctx, dir, profile.Options{Key: key})
	if err != nil {
		return nil, err
	}
	return &innocentSite{b, dir, s}, nil
}

// close closes the site and removes its folder.
func (i *innocentSite) close() error { return errors.Join(i.Bench.Close(), os.RemoveAll(i.dir)) }

// run compares the documents in a mode.
func (i *innocentSite) run(ctx context.Context, m innocentMode) (*innocentRow, error) {
	row := &innocentRow{scenario: i.s.name, mode: m.name}
	if m.library {
		return row, i.runLibrary(ctx, m, row)
	}
	docs := i.s.docs
	if m.first > 0 {
		docs = i.s.free(m.first)
	}
	return row, i.runBatch(ctx, m, docs, row)
}

// rules returns the rules for a mode's reports.
func (m innocentMode) rules() report.Rules {
	return report.Rules{ExcludeQuotes: m.exclude, ExcludeBibliography: m.exclude}
}

// templates returns the wordings supplied with a mode's batch or checks.
func (i *innocentSite) templates(m innocentMode) []report.Template {
	if !m.template {
		return nil
	}
	return []report.Template{{Name: "template.txt", Text: i.s.template}}
}

// batchThreshold is the minimum proportion for a pair to be listed.
const batchThreshold = 0.1

// batch compares documents with each other and returns the user's view of the batch.
func (i *innocentSite) batch(ctx context.Context, m innocentMode, docs []*innocentDoc) (*batch.View, error) {
	rules := m.rules()
	var items []site.Item
	for _, d := range docs {
		items = append(items, d.item)
	}
	return i.compareAll(ctx, i.dir, items, batch.Job{Threshold: batchThreshold, Rules: &rules},
		site.CheckOptions{Templates: i.templates(m), Threshold: batchThreshold})
}

// report returns the report of a batch member.
func (i *innocentSite) report(ctx context.Context, m innocentMode, member store.BatchMember) (*report.Report, error) {
	if !member.Cause.IsZero() {
		return nil, fmt.Errorf("%s: %w: %s", member.Name, concordat.ErrInvalid, member.Cause)
	}
	f, err := i.Site.Findings(ctx, member.Task)
	if err != nil {
		return nil, err
	}
	rules, err := site.RulesInForce(ctx, i.Store, member.Task, m.rules())
	if err != nil {
		return nil, err
	}
	return report.Build(f, rules), nil
}

func (i *innocentSite) runBatch(ctx context.Context, m innocentMode, docs []*innocentDoc, row *innocentRow) error {
	v, err := i.batch(ctx, m, docs)
	if err != nil {
		return err
	}
	compared := map[string]bool{}
	for _, d := range docs {
		compared[d.name] = true
	}
	listed := map[[2]string]float64{}
	for _, p := range v.PairLines() {
		if p.Counted {
			listed[pair(p.A, p.B)] = p.Share
		}
	}
	row.documents, row.pairs = len(docs), len(docs)*(len(docs)-1)/2
	row.judgePairs(listed, i.s.copies, compared)
	for _, member := range v.Members {
		rep, err := i.report(ctx, m, member)
		if err != nil {
			return err
		}
		row.judge(i.s.of(member.Name), rep, compared)
	}
	return nil
}

// checked returns the documents to check against a library of the others: up to four that took something, and an even selection of
// documents that are not part of a copy.
func (s *innocentScenario) checked() []*innocentDoc {
	var out []*innocentDoc
	for _, c := range s.copies {
		if d := s.of(c.B); len(out) < innocentChecks/2 && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	free := s.free(len(s.docs))
	wanted := innocentChecks - len(out)
	step := max(1, len(free)/wanted)
	for n := 0; n < len(free) && wanted > 0; n += step {
		out = append(out, free[n])
		wanted--
	}
	return out
}

func (i *innocentSite) runLibrary(ctx context.Context, m innocentMode, row *innocentRow) error {
	checks := i.s.checked()
	compared := map[string]bool{}
	var docs []Doc
	for _, d := range i.s.docs {
		if !slices.Contains(checks, d) {
			compared[d.name] = true
			docs = append(docs, Doc{d.name, d.text})
		}
	}
	if err := i.Add(ctx, docs); err != nil {
		return err
	}
	row.documents, row.pairs = len(checks), len(checks)*len(docs)
	for _, d := range checks {
		f, err := i.Site.Check(ctx, d.item.Submission, site.CheckOptions{Templates: i.templates(m)})
		if err != nil {
			return err
		}
		rep := report.Build(f, m.rules())
		row.judgeSources(d, rep, compared)
		row.judge(d, rep, compared)
	}
	return nil
}
