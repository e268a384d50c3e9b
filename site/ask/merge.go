package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// byMatch compares two matches by their order in an Answer.
func byMatch(a, b concordat.Match) int {
	return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Distance, b.Distance),
		cmp.Compare(a.Source.Site, b.Source.Site), cmp.Compare(a.Source.Library, b.Source.Library),
		cmp.Compare(a.Source.Document, b.Source.Document), cmp.Compare(a.Ordinal, b.Ordinal))
}

// add adds the answers of partners and mirrors to the findings.
func add(f *report.Findings, all []*partnerAnswer) {
	for _, t := range all {
		f.Passages = append(f.Passages, t.passages...)
		f.Consulted = append(f.Consulted, t.consulted...)
		f.Partners = append(f.Partners, t.sources...)
		f.PartnerLeads = append(f.PartnerLeads, t.leads...)
		f.Statements = append(f.Statements, t.statements...)
		f.Flags = append(f.Flags, t.flags...)
		addWording(f, t.wording)
		if t.name != "" {
			if f.Sites == nil {
				f.Sites = map[concordat.SiteID]string{}
			}
			f.Sites[t.site] = t.name
		}
		for _, c := range t.consulted {
			if c.Shown.Exists && (c.Level == concordat.ShowExists || c.Level == concordat.ShowCounts) {
				f.Flags = append(f.Flags, concordat.Flag{Code: "matches_not_shown", Count: c.Shown.Sentences,
					Detail: fmt.Sprintf("library %s of site %s contains matching text but does not show it; the library's contact may be able to say more",
						c.Library, c.Site)})
			}
		}
	}
	report.NumberPartnerLeads(f.PartnerLeads)
	slices.SortStableFunc(f.Partners, func(a, b report.PartnerSource) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Document, b.Document))
	})
}

// tally counts, for each sentence of a submission, the documents of each site that contain exactly this sentence. Only matches at
// distance 0 can be totalled; at other distances, two sites may have different wording.
type tally map[concordat.Span]map[concordat.SiteID]int

func (t tally) add(site concordat.SiteID, hits []compare.Hit) {
	for _, h := range hits {
		if h.Distance != 0 {
			continue
		}
		if t[h.Span] == nil {
			t[h.Span] = map[concordat.SiteID]int{}
		}
		t[h.Span][site] = max(t[h.Span][site], h.Documents)
	}
}

// documents returns the number of documents, at all sites, that contain the sentence of h.
func (t tally) documents(h compare.Hit) int {
	if h.Distance != 0 {
		return h.Documents
	}
	n := 0
	for _, d := range t[h.Span] {
		n += d
	}
	return max(n, h.Documents)
}

// recount recounts the documents that contain each passage, across all sites, because wording is common if it is common in the
// federation.
func recount(own concordat.SiteID, f *report.Findings, local []*compare.Candidate, all []*partnerAnswer) {
	t := tally{}
	by := map[concordat.Ref]*compare.Candidate{}
	enter := func(site concordat.SiteID, cs []*compare.Candidate) {
		for _, c := range cs {
			t.add(site, c.Hits)
			by[c.Ref] = c
		}
	}
	enter(own, local)
	for _, x := range all {
		enter(x.site, x.candidates)
	}
	for _, c := range by {
		for i := range c.Hits {
			c.Hits[i].Documents = t.documents(c.Hits[i])
		}
	}
	for i := range f.Passages {
		p := &f.Passages[i]
		if c := by[p.Source]; c != nil {
			p.Documents = cmp.Or(c.Documents(p.Span), p.Documents)
		}
	}
}

// Ask asks partners and mirrors and merges their answers. Results are stored as they arrive.
func (s *Asker) Ask(ctx context.Context, a *site.Asking) error {
	f, o := a.Findings, a.Options
	f.Forward = o.Forwarded()
	if len(o.Partners) == 0 && len(o.Mirrors) == 0 {
		return nil
	}
	fw, err := s.newForwarding(a.Submission, o, a.Task, a.Shared)
	if err != nil {
		return err
	}
	fw.cover(f.Passages)
	all, err := fw.mirrors(ctx)
	if err != nil {
		return err
	}
	add(f, all)
	k := &soFar{s: s, task: a.Task, f: f, o: o}
	stop := k.start(ctx)
	asked, err := fw.all(ctx, a.Progress, k.tell)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	add(f, asked)
	recount(s.site.ID(), f, a.Candidates, append(all, asked...))
	return nil
}

// cover records which parts of the submission this site covers.
func (fw *forwarding) cover(passages []concordat.Passage) {
	fw.covered = slices.Clone(passages)
	slices.SortFunc(fw.covered, func(a, b concordat.Passage) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
}

// keepEvery is the interval at which a running check stores new findings. If all partners answer at once, the check stores them only at
// the end.
const keepEvery = 300 * time.Millisecond

// soFar stores the findings of a check that is waiting for partners, so that people can already read them.
type soFar struct {
	s    *Asker
	task concordat.TaskID
	f    *report.Findings // findings of this site and mirrors; never modified
	o    *site.CheckOptions

	mu      sync.Mutex // protects the following fields
	answers []*partnerAnswer
	dirty   bool
}

// tell adds a partner's answer.
func (k *soFar) tell(t *partnerAnswer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers, k.dirty = append(k.answers, t), true
	return nil
}

// start stores the current findings periodically until stop is called. stop returns any error.
func (k *soFar) start(ctx context.Context) (stop func() error) {
	if k.task == "" || k.o.Forwarded() == site.ForwardNone {
		return func() error { return nil }
	}
	k.dirty = true
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- compare.Guard(func() error { return k.keepOn(ctx) })
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// keepOn stores the current findings periodically until ctx ends.
func (k *soFar) keepOn(ctx context.Context) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		k.mu.Lock()
		so, dirty := slices.Clone(k.answers), k.dirty
		k.dirty = false
		k.mu.Unlock()
		if !dirty {
			continue
		}
		if err := k.keep(ctx, so); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// keep stores the current findings. A partner that has not answered yet appears in them as one without an answer.
func (k *soFar) keep(ctx context.Context, so []*partnerAnswer) error {
	f, o := k.f, k.o
	g := *f
	g.Task = k.task
	g.PartnerLeads = slices.Clone(f.PartnerLeads)
	g.Passages, g.Consulted, g.Partners, g.Statements, g.Flags, g.Wording = slices.Clone(f.Passages), slices.Clone(f.Consulted),
		slices.Clone(f.Partners), slices.Clone(f.Statements), slices.Clone(f.Flags), slices.Clone(f.Wording)
	add(&g, so)
	for _, p := range o.Partners {
		if slices.ContainsFunc(so, func(t *partnerAnswer) bool { return t.site == p.Partner.Site() }) {
			continue
		}
		for _, l := range p.Libraries {
			g.Consulted = append(g.Consulted, concordat.Consulted{Site: p.Partner.Site(), Library: l, Missing: []concordat.ShardID{},
				Level: concordat.ShowNothing, Epoch: p.Epoch.String(), Err: "has not answered yet"})
		}
	}
	data, err := json.Marshal(&g)
	if err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	if err := k.s.o.Store.Checks.PutFindings(ctx, k.task, data); err != nil {
		return fmt.Errorf("keep findings: %w", err)
	}
	return nil
}
