package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// essays returns five documents with the same declaration; two of them say the same about the glass blowers.
func essays() map[string]string {
	return map[string]string{"a.txt": sitetest.Railway + "\n\n" + sitetest.Glass + sitetest.Declared,
		"b.txt": sitetest.Bees + "\n\n" + sitetest.GlassAgain + sitetest.Declared,
		"c.txt": sitetest.Tides + sitetest.Declared, "d.txt": sitetest.Violin + sitetest.Declared, "e.txt": sitetest.Comets + sitetest.Declared}
}

func leadsIn(t *testing.T, b *sitetest.BatchParts) *batch.ViewedLeads {
	t.Helper()
	leads, err := b.View(t).Leads(t.Context(), b.Store, report.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return leads
}

// TestBatchLeads: if two documents of a batch make a statement in different words, it is a lead in both reports and in the batch,
// separate from pairs. A decision applies to both, and the order of files makes no difference. Without the option there are no leads.
func TestBatchLeads(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	if b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true}); len(b.Run(t).Pairs) > 0 ||
		len(leadsIn(t, b).Leads) > 0 {
		t.Errorf("without asking: pairs %v, leads %+v", sitetest.Said(b.View(t)), leadsIn(t, b))
	}
	var first []batch.ViewedLead
	for _, order := range [][]string{reversed(names), names} {
		b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, order, batch.Job{NoLibraries: true, Leads: true})
		v := b.Run(t)
		leads := leadsIn(t, b)
		if len(leads.Leads) != 1 || len(leads.Many) > 0 || len(v.Pairs) > 0 {
			t.Fatalf("leads %+v, pairs %v", leads, sitetest.Said(v))
		}
		l := leads.Leads[0]
		a, c := v.Members[l.A], v.Members[l.B]
		if a.Name != "a.txt" || c.Name != "b.txt" || !strings.Contains(sitetest.Glass, l.Span.In(texts["a.txt"])) ||
			!strings.Contains(sitetest.GlassAgain, l.Source.In(texts["b.txt"])) || l.State != report.LeadOpen || len(l.Pairs) < 3 ||
			l.Kind != report.LeadRewording || l.Languages != [2]string{"en", "en"} || l.Encoder == "" {
			t.Fatalf("lead %+v of %s and %s", l, a.Name, c.Name)
		}
		if first == nil {
			first = leads.Leads
		} else if d := cmp.Diff(first, leads.Leads); d != "" {
			t.Errorf("in another order: %s", d)
		}
		for _, m := range v.Members {
			f, err := b.Findings(t.Context(), m.Task)
			if err != nil {
				t.Fatal(err)
			}
			rep := report.Build(f, report.Rules{})
			if want := m.Name == "a.txt" || m.Name == "b.txt"; rep.Leads == nil || (len(rep.Leads) == 1) != want {
				t.Errorf("%s has leads %+v", m.Name, rep.Leads)
			}
			for _, x := range rep.Leads {
				if other := texts[string(x.Source.Document)]; x.Text != x.SourceSpan.In(other) || m.Share != 0 {
					t.Errorf("%s: %q is not in its source, or counts: %v", m.Name, x.Text, m.Share)
				}
			}
		}
		decides(t, b, l)
	}
}

// decides stores a decision on the lead, then undoes it.
func decides(t *testing.T, b *sitetest.BatchParts, l batch.ViewedLead) {
	t.Helper()
	v := b.View(t)
	decide := func(state report.LeadState, why string) error {
		return batch.DecideLead(t.Context(), b.Site, b.Store, b.BatchID, batch.LeadDecision{A: v.Members[l.A].Number, B: v.Members[l.B].Number,
			Span: l.Points, Source: l.SourcePoints, State: state, By: "olga", Why: why}, report.Rules{})
	}
	for _, state := range []report.LeadState{report.LeadCounted, report.LeadSetAside, report.LeadOpen} {
		if err := decide(state, "read both"); err != nil {
			t.Fatal(err)
		}
		got := leadsIn(t, b).Leads[0]
		if got.State != state || state != report.LeadOpen && (got.Ruling.By != "olga" || got.Ruling.Comment != "read both") {
			t.Errorf("decided as %s: %+v", state, got)
		}
		for _, i := range []int{l.A, l.B} {
			rep, err := reportOf(t, b, v.Members[i].Task)
			if err != nil || len(rep.Leads) != 1 || rep.Leads[0].State != state || (rep.Scores.Leads > 0) != (state == report.LeadCounted) {
				t.Errorf("%s in the report of %s: %+v, %v", state, v.Members[i].Name, rep, err)
			}
		}
	}
	l.Points.End--
	if err := decide(report.LeadCounted, "x"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("a lead that is not there: %v", err)
	}
	events, err := b.Store.Batches.BatchEvents(t.Context(), b.BatchID)
	if err != nil || len(events) != 3 || events[0].Action != "lead_counted" || events[0].Text != "a.txt – b.txt: read both" {
		t.Errorf("on record %+v, %v", events, err)
	}
}

func reportOf(t *testing.T, b *sitetest.BatchParts, task concordat.TaskID) (*report.Report, error) {
	f, err := b.Findings(t.Context(), task)
	if err != nil {
		return nil, err
	}
	rules, err := site.RulesInForce(t.Context(), b.Store, task, report.Rules{})
	return report.Build(f, rules), err
}

// TestManySayInBatch: if three documents make a statement, each in its own words, it is not a lead and is shown as made by many; two
// versions from one group count as one.
func TestManySayInBatch(t *testing.T) {
	texts := essays()
	texts["c.txt"] += "\n\n" + sitetest.GlassThird
	names := slices.Sorted(maps.Keys(texts))
	b := sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true, Leads: true})
	v := b.Run(t)
	leads := leadsIn(t, b)
	if len(leads.Leads) > 0 || len(leads.Many) != 1 {
		t.Fatalf("leads %+v", leads)
	}
	var who []string
	for _, i := range leads.Many[0].Documents() {
		who = append(who, v.Members[i].Name)
	}
	if !slices.Equal(who, []string{"a.txt", "b.txt", "c.txt"}) {
		t.Errorf("said by %v", who)
	}
	job := batch.Job{NoLibraries: true, Leads: true, Manifest: []batch.ManifestLine{{File: "a.txt", Group: "team 1"},
		{File: "b.txt", Group: "team 1"}}}
	b = sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, job)
	b.Run(t)
	if leads = leadsIn(t, b); len(leads.Many) > 0 || len(leads.Leads) != 1 || leads.Leads[0].Lineage != "" {
		t.Errorf("of two versions and one other: %+v", leads)
	}
	b = sitetest.NewBatch(t, sitetest.NewSite(t), essays(), names, job)
	b.Run(t)
	if leads = leadsIn(t, b); len(leads.Leads) != 1 || leads.Leads[0].Lineage != batch.LineageGroup {
		t.Errorf("of two versions: %+v", leads)
	}
}

// TestLeadIsNoEvidence: a stretch that is evidence never starts a lead, however another document rewords it; a stretch shared only by an
// excused pair can start one.
func TestLeadIsNoEvidence(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	p := sitetest.NewSite(t, "theses")
	p.Add(t, "theses", site.Incoming{ID: "old", Text: sitetest.Glass})
	b := sitetest.NewBatch(t, p, texts, names, batch.Job{Leads: true})
	v := b.Run(t)
	if v.Members[0].Share == 0 {
		t.Fatal("the copy is no evidence")
	}
	for _, l := range leadsIn(t, b).Leads {
		t.Errorf("a lead from evidence: %s and %s, %+v", v.Members[l.A].Name, v.Members[l.B].Name, l)
	}
	rep, err := reportOf(t, b, v.Members[1].Task)
	if err != nil || len(rep.Leads) == 0 {
		t.Errorf("the one who put it in other words has no lead: %v", err)
	}

	texts["d.txt"] = sitetest.Violin + "\n\n" + sitetest.Glass + sitetest.Declared
	b = sitetest.NewBatch(t, sitetest.NewSite(t), texts, names, batch.Job{NoLibraries: true, Leads: true,
		Manifest: []batch.ManifestLine{{File: "a.txt", Group: "team 1"}, {File: "d.txt", Group: "team 1"}}})
	v = b.Run(t)
	if leads := leadsIn(t, b); len(v.Pairs) != 1 || v.Pairs[0].Counted() || len(leads.Leads) == 0 || len(leads.Many) > 0 {
		t.Errorf("two of one group: %v, %+v", sitetest.Said(v), leads)
	}
}

// TestBatchLeadsGoOn: an interrupted batch finds the same leads as an uninterrupted one.
func TestBatchLeadsGoOn(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	p := sitetest.NewSite(t)
	want := sitetest.NewBatch(t, p, texts, names, batch.Job{NoLibraries: true, Leads: true})
	want.Run(t)
	b := sitetest.NewBatch(t, p, texts, names, batch.Job{NoLibraries: true, Leads: true})
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		o := b.BatchOptions
		var mu sync.Mutex
		steps := 0
		o.Progress = func(string, int, int) {
			mu.Lock()
			defer mu.Unlock()
			if steps++; steps > 4 {
				cancel()
			}
		}
		err := batch.Run(ctx, b.Site, b.BatchID, o)
		cancel()
		if err == nil {
			if stops < 3 {
				t.Errorf("it was cut short %d times only", stops)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || stops > 40 {
			t.Fatal(stops, err)
		}
	}
	if d := cmp.Diff(leadsIn(t, want), leadsIn(t, b)); d != "" {
		t.Error(d)
	}
}

// TestLeadsAreCounted: webhooks report how many leads each check and the batch have.
func TestLeadsAreCounted(t *testing.T) {
	texts := essays()
	p := sitetest.NewSite(t)
	sitetest.Must(t, p.Store.People.CreateAccount(t.Context(), store.Account{Name: "ann", Role: store.RoleOfficer, Created: time.Now()}))
	h, err := p.Store.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ann", URL: "https://ann.example/", Kinds: store.EventKinds()})
	sitetest.Must(t, err)
	sitetest.NewBatch(t, p, texts, slices.Sorted(maps.Keys(texts)), batch.Job{NoLibraries: true, Leads: true}).Run(t)
	_, err = p.Check(t.Context(), site.Submission{ID: "alone", Text: sitetest.Railway}, site.CheckOptions{})
	sitetest.Must(t, err)
	deliveries, err := p.Store.Webhooks.Deliveries(t.Context(), h.ID, "", 0, 0)
	sitetest.Must(t, err)
	told := map[string]int{}
	for _, d := range deliveries {
		var body struct {
			Data struct{ Leads *concordat.LeadCount }
		}
		sitetest.Must(t, json.Unmarshal(d.Body, &body))
		what := string(d.Kind) + " unasked"
		if n := body.Data.Leads; n != nil {
			what = fmt.Sprint(d.Kind, *n)
		}
		told[what]++
	}
	if d := cmp.Diff(map[string]int{"check.done{1 1 0}": 2, "check.done{0 0 0}": 3, "batch.done{1 1 0}": 1}, told); d != "" {
		t.Error(d)
	}
}
