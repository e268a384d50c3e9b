package site_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/meaning"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// inOtherWords says the same as wordy, but for what it begins with.
const (
	wordy = "Café owners in Zürich rent their chairs by the hour, and hardly any guest knows it. " +
		"Goats were first tamed in the mountains of western Iran. " +
		"A violin is tuned in fifths, a guitar mostly in fourths. " +
		"Most adults in the survey sleep less than seven hours a night. " +
		"Copper wires were replaced by glass fibre in the whole district. " +
		"The novel was translated twice before it found any readers. " +
		"The harbour was closed for three weeks because ice had blocked the channel. " +
		"Fishermen could not leave, and the price of fish doubled in the markets of the town. " +
		"The council asked the capital for an icebreaker, but none was free before spring. " +
		"Families who lived from the sea were given flour and coal by the church. " +
		"The keeper of the lighthouse noted every morning how thick the ice was and sent the figure by telegraph. " +
		"When the thaw came at last, the first steamer was greeted with bells and brass bands."
	inOtherWords = "Since the fairway was frozen over, no ship could enter the port for twenty-one days. " +
		"As boats were unable to put out, people at the market stalls had to pay twice as much for fish. " +
		"The town's councillors requested an icebreaker from the capital, yet not one was available until the spring. " +
		"The church handed out flour and coal to the families that depended on the sea. " +
		"At every dawn the lighthouse keeper measured the thickness of the ice and telegraphed the number. " +
		"As the thaw finally set in, bells and a brass band welcomed the first steamer."
	elsewhere = "Voters under thirty were less likely to take part in the election than their parents. " +
		"The painter destroyed his early works because he was ashamed of them. " +
		"Clay soils hold water for longer, so that roots rot in wet winters. " +
		"Most of the patients felt better within two days of taking the new drug."
)

// newLeadsOwner is a site with an index of meaning.
func newLeadsOwner(t testing.TB) *owner {
	t.Helper()
	o := newOwner(t, "theses")
	p, err := profile.New(profile.Options{Meaning: true})
	must(t, err)
	f := &faulty{Index: openShard(t, filepath.Join(t.TempDir(), "meaning"), p)}
	o.parts = &parts{open(site.Options{ID: "here", Index: f, Store: o.store, Profiler: p, Now: o.clock.now}), o.store, f, p}
	o.use(t, o.newSet(t, testEpoch))
	o.add(t, "theses", site.Incoming{ID: "ice", Title: "Of ice", Text: wordy}, site.Incoming{ID: "other", Title: "Other", Text: elsewhere},
		site.Incoming{ID: "third", Title: "Third",
			Text: strings.Repeat("Bees cannot find flowers easily when the air is full of exhaust fumes. ", 3)})
	return o
}

// cellsOf makes a question of a text, padded with its own last cells, in stretches of their own.
func cellsOf(t testing.TB, o *owner, text string, job byte) *concordat.LeadAsk {
	t.Helper()
	table, err := meaning.Default()
	must(t, err)
	cells, err := meaning.DefaultCells()
	must(t, err)
	a := &concordat.LeadAsk{Job: concordat.JobID{9, job}, Epoch: o.epoch, Table: concordat.KeyedTable(cells.Digest()),
		Libraries: []concordat.LibraryID{"theses"},
		Purpose:   "thesis", Commitment: sha256.Sum256([]byte(text))}
	for i, stretch := range meaning.NewEncoder(table).Read(text).Asked(cells) {
		for _, x := range stretch {
			a.Cells = append(a.Cells, concordat.AskedCells{Stretch: i, Chinese: x.Chinese, Cells: x.Cells})
		}
	}
	last := a.Cells[len(a.Cells)-1].Stretch
	for n := concordat.Padded(len(a.Cells)); len(a.Cells) < n; {
		a.Cells = append(a.Cells, concordat.AskedCells{Stretch: last + 1, Cells: [concordat.Bands]uint32{uint32(len(a.Cells) * 7919)}})
	}
	keyed := cellCipher(t, o.epoch, a.Job)
	for i := range a.Cells {
		for band, cell := range a.Cells[i].Cells {
			a.Cells[i].Cells[band] = keyed.Seal(i, band, cell)
		}
	}
	return a
}

// cellCipher is the key of the cells of a job in an epoch.
func cellCipher(t testing.TB, e concordat.Epoch, job concordat.JobID) *crypto.CellCipher {
	t.Helper()
	return cipherOf(t, key("cells of "+e.String()), job)
}

func cipherOf(t testing.TB, key []byte, job concordat.JobID) *crypto.CellCipher {
	t.Helper()
	c, err := crypto.NewCellCipher(key, job)
	must(t, err)
	return c
}

func leadsRule() store.ShareRule { return store.ShareRule{Level: concordat.ShowPassage, Leads: true} }

// TestLeadsAreToldInSteps: a library that is open for it names the document that says the same in other words, with steps and places and
// no text, and no other one; its passages can be asked for at those places alone, after a person agreed.
func TestLeadsAreToldInSteps(t *testing.T) {
	o := newLeadsOwner(t)
	o.share(t, "theses", "north", leadsRule())
	a := cellsOf(t, o, inOtherWords, 1)
	tell, err := o.AnswerLeads(t.Context(), "north", a)
	must(t, err)
	if len(tell.Documents) != 1 || tell.Documents[0].Title != "Of ice" || len(tell.Hits) < 2 {
		t.Fatalf("told %+v", tell)
	}
	d := tell.Documents[0]
	if !slices.ContainsFunc(tell.Hits, func(h concordat.LeadHit) bool { return h.Step > concordat.LeadFar }) {
		t.Errorf("hits %+v: want some that are near", tell.Hits)
	}
	if l := tell.Libraries[0]; l.Refusal != nil || l.LeftCells != 10_000-len(a.Cells) || l.LeftNear != 100-len(tell.Hits) {
		t.Errorf("told of the library %+v", l)
	}
	reveal := func(level concordat.Show, text string, spans ...concordat.Span) (*concordat.Revealed, error) {
		r := &concordat.RevealAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle, Level: level, Reason: "an examination"}
		for _, s := range spans {
			r.Passages = append(r.Passages, concordat.RevealPassage{Span: s, Text: text})
		}
		return o.AnswerReveal(t.Context(), "north", r)
	}
	place := d.Places[0]
	for what, f := range map[string]func() error{
		"overlap": func() error { _, err := reveal(concordat.ShowOverlap, "The harbour", place); return err },
		"outline": func() error {
			out, err := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch,
				Documents: []concordat.OutlineOf{{Handle: d.Handle, Ordinals: []int{0}}}})
			if err == nil && out.Documents[0].Refusal != nil {
				return out.Documents[0].Refusal
			}
			return err
		},
		"edges": func() error {
			_, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: d.Handle,
				Passages: []concordat.EdgePassage{{Span: place, Words: []byte{1}}}})
			return err
		},
		"another place": func() error {
			_, err := reveal(concordat.ShowPassage, "", concordat.Span{Start: place.Start, End: place.End - 1})
			return err
		},
		"text beside it": func() error { _, err := reveal(concordat.ShowPassage, "The harbour", place); return err },
	} {
		if err := f(); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%s of a document that is a lead: error %v, want ErrRefused", what, err)
		}
	}
	r, err := reveal(concordat.ShowPassage, "", d.Places...)
	must(t, err)
	if r.State != concordat.DisclosurePending || len(r.Passages) > 0 {
		t.Fatalf("asked for the passage: %+v", r)
	}
	waiting, err := o.Disclosures(t.Context(), concordat.DisclosurePending, 10)
	must(t, err)
	_, texts, err := o.Asked(t.Context(), waiting[0].ID)
	must(t, err)
	if _, err = o.Decide(t.Context(), waiting[0].ID, "officer", true, "yes"); err != nil {
		t.Fatal(err)
	}
	r, err = reveal(concordat.ShowPassage, "", d.Places...)
	must(t, err)
	if r.State != concordat.DisclosureGranted || r.Passages[0].Text != texts[0] || !strings.Contains(texts[0], "price of fish doubled") {
		t.Errorf("granted: %+v", r)
	}
	noted, err := o.store.Audit.Audit(t.Context(), 0, 100)
	must(t, err)
	i := slices.IndexFunc(noted, func(e store.AuditEntry) bool { return e.Action == "leads" })
	var detail struct {
		Libraries []struct{ Documents, Hits int }
	}
	if i < 0 || json.Unmarshal(noted[i].Detail, &detail) != nil || detail.Libraries[0].Documents != 1 ||
		detail.Libraries[0].Hits != len(tell.Hits) {
		t.Errorf("in the audit: %+v", noted)
	}
	shown, err := o.store.Asks.Showings(t.Context(), "north", 10)
	must(t, err)
	if !slices.ContainsFunc(shown, func(s store.Showing) bool { return s.Form == store.FormLeads && s.Sentences == len(tell.Hits) }) {
		t.Errorf("noted as shown: %+v", shown)
	}
}

// TestLeadsAreClosed: nothing is told of meaning by a library that does not open it, whatever its level, by a site without an index of
// meaning, or of cells of another table; an ask without cells tells so and costs nothing.
func TestLeadsAreClosed(t *testing.T) {
	o := newLeadsOwner(t)
	a := cellsOf(t, o, inOtherWords, 1)
	reason := func(o *owner, a *concordat.LeadAsk) concordat.Reason {
		t.Helper()
		tell, err := o.AnswerLeads(t.Context(), "north", a)
		var r *concordat.Refusal
		if errors.As(err, &r) {
			return r.Reason
		}
		must(t, err)
		if r = tell.Libraries[0].Refusal; r == nil {
			return ""
		}
		if len(tell.Documents)+len(tell.Hits) > 0 {
			t.Errorf("refused, and told %+v", tell)
		}
		return r.Reason
	}
	if got := reason(o, a); got != concordat.ReasonLibrary {
		t.Errorf("not shared: %s", got)
	}
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowPassage})
	if got := reason(o, a); got != concordat.ReasonLevel {
		t.Errorf("shared without leads: %s", got)
	}
	_, err := o.Share(t.Context(), store.Share{Library: "theses", Partner: "north",
		Rule: store.ShareRule{Level: concordat.ShowCounts, Leads: true}})
	if !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("leads at level counts: error %v, want ErrInvalid", err)
	}
	rule := leadsRule()
	rule.Purposes = []string{"grant"}
	o.share(t, "theses", "north", rule)
	if got := reason(o, a); got != concordat.ReasonPurpose {
		t.Errorf("another purpose: %s", got)
	}
	o.share(t, "theses", "north", leadsRule())
	empty := *a
	empty.Cells = nil
	tell, err := o.AnswerLeads(t.Context(), "north", &empty)
	must(t, err)
	if tell.Libraries[0].Refusal != nil || tell.Libraries[0].LeftCells != 10_000 || len(tell.Documents) > 0 {
		t.Errorf("without cells: %+v", tell)
	}
	other := *a
	other.Table = "another"
	if got := reason(o, &other); got != concordat.ReasonScheme {
		t.Errorf("another table: %s", got)
	}
	// A version that sends cells without a key names the table alone: it is told, and nothing of what it sent is taken for a cell.
	old := *a
	old.Table = strings.TrimSuffix(a.Table, "-keyed-1")
	if got := reason(o, &old); got != concordat.ReasonScheme {
		t.Errorf("cells without a key: %s", got)
	}
	_, err = o.AnswerLeads(t.Context(), "north", &old)
	if err == nil || !strings.Contains(err.Error(), "only under the federation's key") || old.Table == a.Table {
		t.Errorf("cells without a key: %v", err)
	}
	plain := newOwner(t, "theses")
	plain.add(t, "theses", site.Incoming{ID: "ice", Title: "Of ice", Text: wordy})
	plain.share(t, "theses", "north", leadsRule())
	if got := reason(plain, cellsOf(t, plain, inOtherWords, 1)); got != concordat.ReasonScheme {
		t.Errorf("without an index of meaning: %s", got)
	}
}

// TestLeadBudgets: cells asked, sentences and documents told are bounded in a day, apart from questions by fingerprints.
func TestLeadBudgets(t *testing.T) {
	o := newLeadsOwner(t)
	rule := leadsRule()
	rule.Limits.LeadCells = 64
	o.share(t, "theses", "north", rule)
	ask := func(job byte) *concordat.LeadAnswer {
		t.Helper()
		tell, err := o.AnswerLeads(t.Context(), "north", cellsOf(t, o, inOtherWords, job))
		must(t, err)
		return tell
	}
	if tell := ask(1); len(tell.Documents) != 1 || tell.Libraries[0].LeftCells != 0 {
		t.Errorf("the first: %+v", tell)
	}
	if tell := ask(2); tell.Libraries[0].Refusal == nil || tell.Libraries[0].Refusal.Reason != concordat.ReasonBudget || len(tell.Hits) > 0 {
		t.Errorf("the second: %+v", tell)
	}
	if _, err := o.Answer(t.Context(), "north", o.ask(t, wordy, concordat.ShowMetadata, "theses")); err != nil {
		t.Errorf("by fingerprints: %v", err)
	}
	rule.Limits.LeadCells, rule.Limits.LeadSentences = -1, 1
	o.share(t, "theses", "north", rule)
	o.clock.move(25 * time.Hour)
	if tell := ask(3); len(tell.Documents) > 0 || len(tell.Hits) > 0 || tell.Libraries[0].Refusal != nil {
		t.Errorf("with one sentence a day: %+v", tell)
	}
	rule.Limits.LeadSentences, rule.Limits.LeadDocuments = -1, 1
	o.share(t, "theses", "north", rule)
	o.clock.move(25 * time.Hour)
	if tell := ask(4); len(tell.Documents) != 1 {
		t.Errorf("with one document a day: %+v", tell)
	}
	if tell := ask(5); len(tell.Documents) != 0 {
		t.Errorf("with one document a day, again: %+v", tell)
	}
}

// TestLeadVariants: of each place at most twelve different questions are answered in a year, in whatever other words it is asked about.
func TestLeadVariants(t *testing.T) {
	o := newLeadsOwner(t)
	rule := leadsRule()
	rule.Limits = store.Limits{LeadCells: -1, LeadSentences: -1, LeadDocuments: -1}
	o.share(t, "theses", "north", rule)
	words := strings.Fields(`alpha beta gamma delta sigma omega castle garden window teacher planet engine copper silver winter summer
		doctor farmer bridge letter market forest river island`)
	const variants, places = 100, 6 + 5 // sentences, and two together
	told, last := map[[concordat.Bands]uint32]bool{}, 0
	for i := range variants {
		w := words[i%len(words)] + " " + words[(7*i+i/len(words))%len(words)]
		a := cellsOf(t, o, strings.ReplaceAll(inOtherWords+" ", ". ", " of the "+w+". "), byte(20+i))
		answer, err := o.AnswerLeads(t.Context(), "north", a)
		must(t, err)
		for _, h := range answer.Hits {
			if asked := a.Cells[h.Cells].Cells; !told[asked] {
				told[asked], last = true, i
			}
		}
	}
	if len(told) == 0 || len(told) > 12*places || last == variants-1 {
		t.Errorf("%d questions of %d variants were answered, the last of the %dth; want at most %d, and an end", len(told), variants, last,
			12*places)
	}
}
