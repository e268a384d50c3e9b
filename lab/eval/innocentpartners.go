package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// partnerMode is a way for a site to ask a partner that has half of the documents.
type partnerMode struct {
	name     string
	outline  string // what the partner shows in the second round
	forward  string
	template bool // whether the check includes the wording that was handed out
}

var partnerModes = []partnerMode{
	{"words", concordat.OutlineWords, site.ForwardAll, false},
	{"words+tmpl", concordat.OutlineWords, site.ForwardAll, true},
	{"prints", concordat.OutlineFingerprints, site.ForwardAll, false},
	{"prints+tmpl", concordat.OutlineFingerprints, site.ForwardAll, true},
	{"rest", concordat.OutlineWords, site.ForwardUnmatched, false},
}

// innocentPartners measures false accusations without the text of the sources: half of each scenario's documents are at a partner, and
// each document is checked at its own site. Pairs and covered text include only sources at the other site.
func innocentPartners(r *run) error {
	want, modes := r.o.Scenarios, r.o.Modes
	if r.short {
		want, modes = innocentShort.scenarios, []string{"words+tmpl"}
	}
	scenarios, err := r.corpora.innocent(want)
	if err != nil {
		return err
	}
	type job struct {
		s *innocentScenario
		m partnerMode
	}
	var jobs []job
	for _, s := range scenarios {
		for _, m := range partnerModes {
			if (len(modes) == 0 || slices.Contains(modes, m.name)) && (!m.template || s.template != "") {
				jobs = append(jobs, job{s, m})
			}
		}
	}
	rows := make([]*innocentRow, len(jobs))
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n, j := range jobs {
		g.Go(func() (err error) {
			if rows[n], err = spread(ctx, filepath.Join(r.dir, fmt.Sprint("partners", n)), j.s, j.m); err != nil {
				return fmt.Errorf("%s, %s: %w", j.s.name, j.m.name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t := innocentTable("innocent documents at two sites: what comes from the other site", rows)
	t.drop("bare", "long") // a partner's words are not available here
	r.tables = append(r.tables, t)
	for _, m := range partnerModes {
		all := innocentRow{mode: m.name}
		for _, row := range rows {
			if row.mode == m.name {
				all.add(row)
			}
		}
		if all.pairs > 0 {
			r.innocentFigures(&all)
		}
	}
	return nil
}

// innocentFigures adds the figures of a mode. The figures for all scenarios together have bounds.
func (r *run) innocentFigures(all *innocentRow) {
	of := "mode " + all.mode
	r.count(of, "pairs that are no copies, listed at 0.3", all.false30, all.pairs).most(0, none)
	r.count(of, "the same at 0.1", all.false10, all.pairs).most(math.Floor(maxFalse10*float64(all.pairs)), none)
	r.figure(of, "covered and not copied: median document", median(all.over)).most(maxOver, none)
	r.figure(of, "the same, worst document", worst(all.over)).most(worstOver, none)
	r.figure(of, "covered, and nobody else has it: worst document", worst(all.alien))
	missed := r.count(of, "real copies that are not listed", all.missed, all.copies)
	r.count(of, "real copies that are listed at 0.3", all.strong, all.copies)
	found := r.figure(of, "copied letters that are covered", all.recall())
	if all.mode != "rest" { // the mode rest does not ask about what this site has found
		missed.most(0, none)
		found.least(leastFromPartners, none)
	}
}

// leastFromPartners is the minimum proportion of copied letters found at a partner. Reworded sentences between a form's sentences are not
// found, since each is isolated.
const leastFromPartners = 0.9

// spread divides a scenario's documents between two sites by the hash of their names, and checks each document at its own site. Each site
// asks a separate pair of sites. A site that shows its documents' word sets does not also ask about their sentences, since it would then
// disclose two forms of one text.
func spread(ctx context.Context, dir string, s *innocentScenario, m partnerMode) (*innocentRow, error) {
	row := &innocentRow{scenario: s.name, mode: m.name, documents: len(s.docs)}
	listed := map[[2]string]float64{}
	for asking := range 2 {
		if err := checkAll(ctx, filepath.Join(dir, fmt.Sprint(asking)), asking, s, m, row, listed); err != nil {
			return nil, err
		}
	}
	var across []innocentCopy
	for _, c := range s.copies {
		if home(c.A, 2) != home(c.B, 2) {
			across = append(across, c)
		}
	}
	row.judgePairs(listed, across, s.names())
	return row, nil
}

// checkAll checks the documents of one of two sites, and adds to the row and to the larger proportions of pairs.
func checkAll(ctx context.Context, dir string, asking int, s *innocentScenario, m partnerMode, row *innocentRow,
	listed map[[2]string]float64) (err error) {
	f, err := NewFedSites(ctx, dir, 2, innocentKey(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.RemoveAll(dir)) }()
	var at [2][]*innocentDoc
	for _, d := range s.docs {
		n := home(d.name, len(at))
		at[n] = append(at[n], d)
	}
	for n, one := range f.Sites {
		err := one.Add(ctx, func(yield func(Doc) bool) {
			for _, d := range at[n] {
				if !yield(Doc{d.name, d.text}) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
	}
	err = f.Share(ctx, store.ShareRule{Level: concordat.ShowMetadata, Outline: m.outline, Matches: 1, Closeness: concordat.Bits,
		Limits: noLimits()})
	if err != nil {
		return err
	}
	abroad := map[string]bool{}
	for _, d := range at[1-asking] {
		abroad[d.name] = true
	}
	row.pairs = len(at[0]) * len(at[1])
	for _, d := range at[asking] {
		rep, err := checkAbroad(ctx, f, asking, len(abroad), s, d, m)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		for _, x := range rep.Sources {
			if x.Excluded == "" {
				p := pair(d.name, string(x.Document))
				listed[p] = max(listed[p], x.Share)
			}
		}
		row.judge(d, rep, abroad)
	}
	return nil
}

func noLimits() store.Limits {
	return store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1, Units: -1}
}

// checkAbroad checks a document at its site and returns the part of the report that comes from the other
// site. Sources get the names of the documents at the other site, which has the given number of documents.
func checkAbroad(ctx context.Context, f *FedSites, here, there int, s *innocentScenario, d *innocentDoc,
	m partnerMode) (*report.Report, error) {
	home := f.Sites[here]
	partners := f.Partners(here)
	for i := range partners {
		partners[i].Documents = there
	}
	o := site.CheckOptions{Forward: m.forward, Partners: partners,
		Exclude: []concordat.Ref{{Site: home.id, Library: fedLibrary, Document: concordat.DocumentID(d.name)}}}
	if m.template {
		o.Templates = []report.Template{{Name: "template.txt", Text: s.template}}
	}
	found, err := home.Check(ctx, d.item.Submission, o)
	if err == nil {
		err = answered(found.Consulted)
	}
	if err != nil {
		return nil, err
	}
	rep := report.Build(found, report.Rules{})
	rep.Sources = slices.DeleteFunc(rep.Sources, func(x report.RankedSource) bool { return x.Site == home.id })
	for i := range rep.Sources {
		rep.Sources[i].Document = concordat.DocumentID(rep.Sources[i].Title)
	}
	rep.Evidence = nil // its words are not available here
	return rep, nil
}
