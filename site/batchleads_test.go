package site_test

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
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

const (
	glass = `The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. ` +
		`Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. ` +
		`Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home. ` +
		`Despite these measures two masters settled in Lorraine and sold ruby goblets to the court within ten years.`
	glassThird = `Out of fear that the city might burn, its magistrates had the blowers take all their furnaces over to Lissa; that was in 1411. ` +
		`How red glass was made must stay on this side of the lagoon: on that recipe a warden had every apprentice take an oath. ` +
		`A broken oath meant the end of a workshop, and until the man was home his whole family of relatives sat under arrest. ` +
		`It helped little, for in Lorraine ten years on there were two who called themselves masters, and ruby goblets went to the court.`
	glassAgain = `The year was 1411 when furnaces were no longer wanted in town, and so the guild went to an island called Lissa for fear of fire. ` +
		`Each new apprentice promised on oath, with the warden as witness, that no recipe for glass in red would be taken past the lagoon. ` +
		`Those who left all the same had their workshop taken away, and arrest awaited whatever relatives they had at home. ` +
		`Ruby goblets nevertheless reached a court from Lorraine before ten years were over, since two of the masters lived there by then.`
	railway = `The railway reached the valley late, and for a generation the mill had to send its cloth by mule over two passes. ` +
		`When the line opened, wages in the weaving sheds rose by a third, while the price of bread hardly moved at all. ` +
		`Farmers planted sugar beet beside the track, for which the new factory at the junction paid in cash each autumn. ` +
		`By the turn of the century the valley held three banks, a school for girls and a quarrel about the price of coal.`
	bees = `A swarm of bees hangs from a branch for a day or two while its scouts inspect hollow trees in every direction. ` +
		`Returning scouts dance on the surface of the cluster, longer and livelier the better the cavity that they have seen. ` +
		`Once enough dancers agree on a single address, the insects warm up their flight muscles and leave together.`
	tides = `Twice each day the estuary empties so far that carts used to cross it on the sand between two rows of stakes. ` +
		`Pilots kept tables of high water in a chest at the inn, copied by hand and corrected whenever a storm upset them. ` +
		`A lighthouse made the stakes useless, although some families still drive their cattle over at the spring ebb.`
	violin = `Spruce for the belly of a violin is felled in winter, split along the grain and dried under a roof for ten summers. ` +
		`The carver taps each plate and listens, taking shavings off the inside until the note that he wants rings out. ` +
		`Varnish protects the instrument against sweat, yet musicians argue endlessly about whether it improves the tone.`
	comets = `Astronomers in Padua noticed that the tail of a comet always points away from the sun, whatever way it travels. ` +
		`Pamphlets sold at fairs nevertheless explained every one as a sign of drought, of plague or of a prince's death. ` +
		`Only the return of a bright one that a calculation had foretold persuaded the almanac makers to change their trade.`
	declared = "\n\nI declare that I have written this essay on my own and that every source which I used is named in the list at its end."
)

// essays are five documents, all with one declaration: two say the same of the glass blowers.
func essays() map[string]string {
	return map[string]string{"a.txt": railway + "\n\n" + glass + declared, "b.txt": bees + "\n\n" + glassAgain + declared,
		"c.txt": tides + declared, "d.txt": violin + declared, "e.txt": comets + declared}
}

func leadsIn(t *testing.T, b *batchParts) *batch.ViewedLeads {
	t.Helper()
	leads, err := b.view(t).Leads(t.Context(), b.store, report.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return leads
}

// TestBatchLeads: what one document of a batch says in other words than another is a lead of both reports and of the batch, apart from
// pairs; it is decided for both, and in any order of the files the same is found. Nobody who does not ask for leads gets any.
func TestBatchLeads(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	if b := newBatch(t, newSite(t), texts, names, batch.Job{NoLibraries: true}); len(b.run(t).Pairs) > 0 || len(leadsIn(t, b).Leads) > 0 {
		t.Errorf("without asking: pairs %v, leads %+v", said(b.view(t)), leadsIn(t, b))
	}
	var first []batch.ViewedLead
	for _, order := range [][]string{reversed(names), names} {
		b := newBatch(t, newSite(t), texts, order, batch.Job{NoLibraries: true, Leads: true})
		v := b.run(t)
		leads := leadsIn(t, b)
		if len(leads.Leads) != 1 || len(leads.Many) > 0 || len(v.Pairs) > 0 {
			t.Fatalf("leads %+v, pairs %v", leads, said(v))
		}
		l := leads.Leads[0]
		a, c := v.Members[l.A], v.Members[l.B]
		if a.Name != "a.txt" || c.Name != "b.txt" || !strings.Contains(glass, l.Span.In(texts["a.txt"])) ||
			!strings.Contains(glassAgain, l.Source.In(texts["b.txt"])) || l.State != report.LeadOpen || len(l.Pairs) < 3 ||
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

// decides decides about the lead, and takes it back.
func decides(t *testing.T, b *batchParts, l batch.ViewedLead) {
	t.Helper()
	v := b.view(t)
	decide := func(state report.LeadState, why string) error {
		return batch.DecideLead(t.Context(), b.Site, b.store, b.id, batch.LeadDecision{A: v.Members[l.A].Number, B: v.Members[l.B].Number,
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
	events, err := b.store.Batches.BatchEvents(t.Context(), b.id)
	if err != nil || len(events) != 3 || events[0].Action != "lead_counted" || events[0].Text != "a.txt – b.txt: read both" {
		t.Errorf("on record %+v, %v", events, err)
	}
}

func reportOf(t *testing.T, b *batchParts, task concordat.TaskID) (*report.Report, error) {
	f, err := b.Findings(t.Context(), task)
	if err != nil {
		return nil, err
	}
	rules, err := site.RulesInForce(t.Context(), b.store, task, report.Rules{})
	return report.Build(f, rules), err
}

// TestManySayInBatch: what three documents say, each in its own words, is no lead and is shown as said by many; two versions of one group
// are one of them.
func TestManySayInBatch(t *testing.T) {
	texts := essays()
	texts["c.txt"] += "\n\n" + glassThird
	names := slices.Sorted(maps.Keys(texts))
	b := newBatch(t, newSite(t), texts, names, batch.Job{NoLibraries: true, Leads: true})
	v := b.run(t)
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
	b = newBatch(t, newSite(t), texts, names, job)
	b.run(t)
	if leads = leadsIn(t, b); len(leads.Many) > 0 || len(leads.Leads) != 1 || leads.Leads[0].Lineage != "" {
		t.Errorf("of two versions and one other: %+v", leads)
	}
	b = newBatch(t, newSite(t), essays(), names, job)
	b.run(t)
	if leads = leadsIn(t, b); len(leads.Leads) != 1 || leads.Leads[0].Lineage != batch.LineageGroup {
		t.Errorf("of two versions: %+v", leads)
	}
}

// TestLeadIsNoEvidence: a stretch that is evidence is not led from, however another document puts it; one that only an excused pair shares
// is.
func TestLeadIsNoEvidence(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	p := newSite(t, "theses")
	p.ingest(t, "theses", site.Incoming{ID: "old", Text: glass})
	b := newBatch(t, p, texts, names, batch.Job{Leads: true})
	v := b.run(t)
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

	texts["d.txt"] = violin + "\n\n" + glass + declared
	b = newBatch(t, newSite(t), texts, names, batch.Job{NoLibraries: true, Leads: true,
		Manifest: []batch.ManifestLine{{File: "a.txt", Group: "team 1"}, {File: "d.txt", Group: "team 1"}}})
	v = b.run(t)
	if leads := leadsIn(t, b); len(v.Pairs) != 1 || v.Pairs[0].Counted() || len(leads.Leads) == 0 || len(leads.Many) > 0 {
		t.Errorf("two of one group: %v, %+v", said(v), leads)
	}
}

// TestBatchLeadsGoOn: a batch that was cut short tells the leads of one that was left alone.
func TestBatchLeadsGoOn(t *testing.T) {
	texts := essays()
	names := slices.Sorted(maps.Keys(texts))
	p := newSite(t)
	want := newBatch(t, p, texts, names, batch.Job{NoLibraries: true, Leads: true})
	want.run(t)
	b := newBatch(t, p, texts, names, batch.Job{NoLibraries: true, Leads: true})
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		o := b.options
		var mu sync.Mutex
		steps := 0
		o.Progress = func(string, int, int) {
			mu.Lock()
			defer mu.Unlock()
			if steps++; steps > 4 {
				cancel()
			}
		}
		err := batch.Run(ctx, b.Site, b.id, o)
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

// TestLeadsAreCounted: webhooks are told how many leads each check and the batch have.
func TestLeadsAreCounted(t *testing.T) {
	texts := essays()
	p := newSite(t)
	must(t, p.store.People.CreateAccount(t.Context(), store.Account{Name: "ann", Role: store.RoleOfficer, Created: time.Now()}))
	h, err := p.store.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ann", URL: "https://ann.example/", Kinds: store.EventKinds()})
	must(t, err)
	newBatch(t, p, texts, slices.Sorted(maps.Keys(texts)), batch.Job{NoLibraries: true, Leads: true}).run(t)
	_, err = p.Check(t.Context(), site.Submission{ID: "alone", Text: railway}, site.CheckOptions{})
	must(t, err)
	deliveries, err := p.store.Webhooks.Deliveries(t.Context(), h.ID, "", 0, 0)
	must(t, err)
	told := map[string]int{}
	for _, d := range deliveries {
		var body struct {
			Data struct{ Leads *concordat.LeadCount }
		}
		must(t, json.Unmarshal(d.Body, &body))
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
