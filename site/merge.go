package site

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
)

// byMatch is the order of matches in an Answer.
func byMatch(a, b concordat.Match) int {
	return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Distance, b.Distance),
		cmp.Compare(a.Source.Site, b.Source.Site), cmp.Compare(a.Source.Library, b.Source.Library),
		cmp.Compare(a.Source.Document, b.Source.Document), cmp.Compare(a.Ordinal, b.Ordinal))
}

// add puts what partners and mirrors told into the findings.
func add(f *report.Findings, all []*told) {
	for _, t := range all {
		f.Passages = append(f.Passages, t.passages...)
		f.Consulted = append(f.Consulted, t.consulted...)
		f.Partners = append(f.Partners, t.sources...)
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
					Detail: fmt.Sprintf("library %s of site %s holds something that matches and shows no more than that; its contact may tell more",
						c.Library, c.Site)})
			}
		}
	}
	slices.SortStableFunc(f.Partners, func(a, b report.PartnerSource) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Document, b.Document))
	})
}

// tally counts, for each sentence of a submission, the documents of each site that hold exactly it.
// Only matches at distance 0 can be added up: of others nobody knows whether two sites hold the same
// wording.
type tally map[concordat.Span]map[concordat.SiteID]int

func (t tally) add(site concordat.SiteID, hits []hit) {
	for _, h := range hits {
		if h.distance != 0 {
			continue
		}
		if t[h.span] == nil {
			t[h.span] = map[concordat.SiteID]int{}
		}
		t[h.span][site] = max(t[h.span][site], h.documents)
	}
}

// documents returns the number of documents of all sites that hold the sentence of h.
func (t tally) documents(h hit) int {
	if h.distance != 0 {
		return h.documents
	}
	n := 0
	for _, d := range t[h.span] {
		n += d
	}
	return max(n, h.documents)
}

// recount counts again in how many documents each passage stands, now of all sites: common wording
// is what is common in the federation.
func recount(own concordat.SiteID, f *report.Findings, local []*candidate, all []*told) {
	t := tally{}
	by := map[concordat.Ref]*candidate{}
	enter := func(site concordat.SiteID, cs []*candidate) {
		for _, c := range cs {
			t.add(site, c.hits)
			by[c.ref] = c
		}
	}
	enter(own, local)
	for _, x := range all {
		enter(x.site, x.candidates)
	}
	for _, c := range by {
		for i := range c.hits {
			c.hits[i].documents = t.documents(c.hits[i])
		}
	}
	for i := range f.Passages {
		p := &f.Passages[i]
		if c := by[p.Source]; c != nil {
			p.Documents = cmp.Or(c.documents(p.Span), p.Documents)
		}
	}
}

// forward asks partners and mirrors and merges what they tell. What is known is kept in the store as
// it comes.
func (s *Site) forward(ctx context.Context, task concordat.TaskID, f *report.Findings, sub Submission, o *CheckOptions,
	local []*candidate, shared *sharedWording, progress func(Progress)) error {
	f.Forward = o.forwarded()
	if len(o.Partners) == 0 && len(o.Mirrors) == 0 {
		return nil
	}
	fw, err := s.newForwarding(sub, o, task, shared)
	if err != nil {
		return err
	}
	fw.covered = slices.Clone(f.Passages)
	slices.SortFunc(fw.covered, func(a, b concordat.Passage) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	all, err := fw.mirrors(ctx)
	if err != nil {
		return err
	}
	add(f, all)
	k := &soFar{s: s, task: task, f: f, o: o}
	stop := k.start(ctx)
	asked, err := fw.all(ctx, progress, k.tell)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	add(f, asked)
	recount(s.o.ID, f, local, append(all, asked...))
	return nil
}

// keepEvery is how often the findings of a check that goes on are kept, if there are new ones: a check
// whose partners answer at once keeps them once, at its end.
const keepEvery = 300 * time.Millisecond

// soFar keeps the findings of a check that waits for partners, so that they can be read meanwhile.
type soFar struct {
	s    *Site
	task concordat.TaskID
	f    *report.Findings // of this site and of mirrors; does not change
	o    *CheckOptions

	mu    sync.Mutex // guards the rest
	told  []*told
	dirty bool
}

// tell takes what a partner told.
func (k *soFar) tell(t *told) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told, k.dirty = append(k.told, t), true
	return nil
}

// start keeps what there is every now and then until stop is called, which returns what went wrong.
func (k *soFar) start(ctx context.Context) (stop func() error) {
	if k.task == "" || k.o.forwarded() == ForwardNone {
		return func() error { return nil }
	}
	k.dirty = true
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		tick := time.NewTicker(keepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-tick.C:
			}
			k.mu.Lock()
			so, dirty := slices.Clone(k.told), k.dirty
			k.dirty = false
			k.mu.Unlock()
			if !dirty {
				continue
			}
			if err := k.keep(ctx, so); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// keep stores the findings so far. A partner that has not come back is in them as one that has not
// answered.
func (k *soFar) keep(ctx context.Context, so []*told) error {
	f, o := k.f, k.o
	g := *f
	g.Task = k.task
	g.Passages, g.Consulted, g.Partners, g.Statements, g.Flags, g.Wording = slices.Clone(f.Passages), slices.Clone(f.Consulted),
		slices.Clone(f.Partners), slices.Clone(f.Statements), slices.Clone(f.Flags), slices.Clone(f.Wording)
	add(&g, so)
	for _, p := range o.Partners {
		if slices.ContainsFunc(so, func(t *told) bool { return t.site == p.Partner.Site() }) {
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
	if err := k.s.o.Store.PutFindings(ctx, k.task, data); err != nil {
		return fmt.Errorf("keep findings: %w", err)
	}
	return nil
}

// Matched is every sentence match of a submission, at this site, in mirrors and at partners.
type Matched struct {
	// Sentences are the questions of the submission under each site's scheme.
	Sentences map[concordat.SiteID][]concordat.Sentence
	// Matches are within the gates of their sentences, in order of Sentence, Distance and Source, each
	// once. Sentence indexes the Sentences of its Source's site. Documents counts those of all sites
	// where Distance is 0.
	Matches   []concordat.Match
	Consulted []concordat.Consulted // partners and mirrors only
}

// Matches returns the sentence matches that Check would start from, of all sites, and keeps no task.
// What is asked of partners is recorded as in Check. With ForwardUnmatched the submission is compared
// with this site's documents first.
func (s *Site) Matches(ctx context.Context, sub Submission, o CheckOptions) (*Matched, error) {
	if err := o.checkForward(); err != nil {
		return nil, err
	}
	libraries, err := s.libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Profiler.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text}, o.Template)
	if err != nil {
		return nil, err
	}
	out := &Matched{Sentences: map[concordat.SiteID][]concordat.Sentence{s.o.ID: p.Questions()}}
	q := s.query(p, o, libraries)
	q.Limit = 0
	shared := shareable(sub.Text, templateTexts(o.Templates))
	fw, err := s.newForwarding(sub, &o, "", shared)
	if err != nil {
		return nil, err
	}
	fw.matchesOnly = true
	if len(q.Libraries) > 0 && len(q.Fingerprints) > 0 {
		a, err := s.o.Index.Match(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("match: %w", err)
		}
		out.Matches = slices.DeleteFunc(a.Matches, func(m concordat.Match) bool { return m.Distance > p.Questions()[m.Sentence].Gate })
	}
	if o.forwarded() == ForwardUnmatched {
		found, err := s.ask(ctx, p, q, o, func(Progress) {})
		if err == nil {
			fw.covered, err = s.align(ctx, shared, q, p.Questions(), found.candidates, documentsOf(libraries)+1, func(Progress) {})
		}
		if err != nil {
			return nil, err
		}
		slices.SortFunc(fw.covered, func(a, b concordat.Passage) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	}
	all, err := fw.mirrors(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := fw.all(ctx, func(Progress) {}, nil)
	if err != nil {
		return nil, err
	}
	out.add(append(all, asked...))
	return out, nil
}

// add merges what partners told.
func (m *Matched) add(all []*told) {
	t := tally{}
	enter := func(questions []concordat.Sentence, ms []concordat.Match) {
		for _, x := range ms {
			t.add(x.Source.Site, []hit{{span: questions[x.Sentence].Span, distance: x.Distance, documents: x.Documents}})
		}
	}
	for site, questions := range m.Sentences {
		enter(questions, slices.DeleteFunc(slices.Clone(m.Matches), func(x concordat.Match) bool { return x.Source.Site != site }))
	}
	for _, x := range all {
		m.Sentences[x.site] = x.questions
		m.Consulted = append(m.Consulted, x.consulted...)
		enter(x.questions, x.matches)
		m.Matches = append(m.Matches, x.matches...)
	}
	for i, x := range m.Matches {
		m.Matches[i].Documents = t.documents(hit{span: m.Sentences[x.Source.Site][x.Sentence].Span, distance: x.Distance, documents: x.Documents})
	}
	slices.SortStableFunc(m.Matches, byMatch)
}
