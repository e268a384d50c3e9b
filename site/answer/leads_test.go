package answer_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/internal/sitetest"
	"concordat/meaning"
	"concordat/site"
	"concordat/store"
)

// cellsOf makes a question about a text, padded in separate stretches with the text's own last cells.
func cellsOf(t testing.TB, o *sitetest.Owner, text string, job byte) *concordat.LeadAsk {
	t.Helper()
	table, err := meaning.Default()
	sitetest.Must(t, err)
	cells, err := meaning.DefaultCells()
	sitetest.Must(t, err)
	a := &concordat.LeadAsk{Job: concordat.JobID{9, job}, Epoch: o.Epoch, Table: concordat.KeyedTable(cells.Digest()),
		Libraries: []concordat.LibraryID{"theses"},
		Purpose:   "thesis", Commitment: sha256.Sum256([]byte(text))}
	for i, stretch := range meaning.NewEncoder(table).Read(text, "en").Asked(cells) {
		for _, x := range stretch {
			a.Cells = append(a.Cells, concordat.AskedCells{Stretch: i, Chinese: x.Chinese, Cells: x.Cells})
		}
	}
	last := a.Cells[len(a.Cells)-1].Stretch
	for n := concordat.Padded(len(a.Cells)); len(a.Cells) < n; {
		a.Cells = append(a.Cells, concordat.AskedCells{Stretch: last + 1, Cells: [concordat.Bands]uint32{uint32(len(a.Cells) * 7919)}})
	}
	keyed := cellCipher(t, o.Epoch, a.Job)
	for i := range a.Cells {
		for band, cell := range a.Cells[i].Cells {
			a.Cells[i].Cells[band] = keyed.Seal(i, band, cell)
		}
	}
	return a
}

// cellCipher returns the key of a job's cells in an epoch.
func cellCipher(t testing.TB, e concordat.Epoch, job concordat.JobID) *crypto.CellCipher {
	t.Helper()
	return sitetest.CipherOf(t, sitetest.Key("cells of "+e.String()), job)
}

// TestLeadsAreToldInSteps: a library that permits leads names only the document that says the same thing in other words, with steps and
// places but no text. Passages can be requested only at those places and only with a person's consent.
func TestLeadsAreToldInSteps(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	o.ShareWith(t, "theses", "north", sitetest.LeadsRule())
	a := cellsOf(t, o, sitetest.InOtherWords, 1)
	tell, err := o.AnswerLeads(t.Context(), "north", a)
	sitetest.Must(t, err)
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
	sitetest.Must(t, err)
	if r.State != concordat.DisclosurePending || len(r.Passages) > 0 {
		t.Fatalf("asked for the passage: %+v", r)
	}
	waiting, err := o.Requests.Disclosures(t.Context(), concordat.DisclosurePending, 10)
	sitetest.Must(t, err)
	_, texts, err := o.Requests.Asked(t.Context(), waiting[0].ID)
	sitetest.Must(t, err)
	if _, err = o.Requests.Decide(t.Context(), waiting[0].ID, "officer", true, "yes"); err != nil {
		t.Fatal(err)
	}
	r, err = reveal(concordat.ShowPassage, "", d.Places...)
	sitetest.Must(t, err)
	if r.State != concordat.DisclosureGranted || r.Passages[0].Text != texts[0] || !strings.Contains(texts[0], "price of fish doubled") {
		t.Errorf("granted: %+v", r)
	}
	noted, err := o.Store.Audit.Audit(t.Context(), 0, 100)
	sitetest.Must(t, err)
	i := slices.IndexFunc(noted, func(e store.AuditEntry) bool { return e.Action == "leads" })
	var detail struct {
		Libraries []struct{ Documents, Hits int }
	}
	if i < 0 || json.Unmarshal(noted[i].Detail, &detail) != nil || detail.Libraries[0].Documents != 1 ||
		detail.Libraries[0].Hits != len(tell.Hits) {
		t.Errorf("in the audit: %+v", noted)
	}
	shown, err := o.Store.Asks.Showings(t.Context(), "north", 10)
	sitetest.Must(t, err)
	if !slices.ContainsFunc(shown, func(s store.Showing) bool { return s.Form == store.FormLeads && s.Sentences == len(tell.Hits) }) {
		t.Errorf("noted as shown: %+v", shown)
	}
}

// TestLeadsAreClosed: no leads come from a library that does not permit them, whatever its level, or from a site without an index of
// meaning, or for cells of another table. An ask without cells is reported as such and costs nothing.
func TestLeadsAreClosed(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	a := cellsOf(t, o, sitetest.InOtherWords, 1)
	reason := func(o *sitetest.Owner, a *concordat.LeadAsk) concordat.Reason {
		t.Helper()
		tell, err := o.AnswerLeads(t.Context(), "north", a)
		var r *concordat.Refusal
		if errors.As(err, &r) {
			return r.Reason
		}
		sitetest.Must(t, err)
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
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowPassage})
	if got := reason(o, a); got != concordat.ReasonLevel {
		t.Errorf("shared without leads: %s", got)
	}
	_, err := o.Answerer.Shares.Share(t.Context(), store.Share{Library: "theses", Partner: "north",
		Rule: store.ShareRule{Level: concordat.ShowCounts, Leads: true}})
	if !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("leads at level counts: error %v, want ErrInvalid", err)
	}
	rule := sitetest.LeadsRule()
	rule.Purposes = []string{"grant"}
	o.ShareWith(t, "theses", "north", rule)
	if got := reason(o, a); got != concordat.ReasonPurpose {
		t.Errorf("another purpose: %s", got)
	}
	o.ShareWith(t, "theses", "north", sitetest.LeadsRule())
	empty := *a
	empty.Cells = nil
	tell, err := o.AnswerLeads(t.Context(), "north", &empty)
	sitetest.Must(t, err)
	if tell.Libraries[0].Refusal != nil || tell.Libraries[0].LeftCells != 10_000 || len(tell.Documents) > 0 {
		t.Errorf("without cells: %+v", tell)
	}
	other := *a
	other.Table = "another"
	if got := reason(o, &other); got != concordat.ReasonScheme {
		t.Errorf("another table: %s", got)
	}
	// An old version sends cells without a key and names only the table. It gets an error, and none of its data is read as cells.
	old := *a
	old.Table = strings.TrimSuffix(a.Table, "-keyed-1")
	if got := reason(o, &old); got != concordat.ReasonScheme {
		t.Errorf("cells without a key: %s", got)
	}
	_, err = o.AnswerLeads(t.Context(), "north", &old)
	if err == nil || !strings.Contains(err.Error(), "only if they are keyed with the federation's key") || old.Table == a.Table {
		t.Errorf("cells without a key: %v", err)
	}
	plain := sitetest.NewOwner(t, "theses")
	plain.AddDocuments(t, "theses", site.Incoming{ID: "ice", Title: "Of ice", Text: sitetest.Wordy})
	plain.ShareWith(t, "theses", "north", sitetest.LeadsRule())
	if got := reason(plain, cellsOf(t, plain, sitetest.InOtherWords, 1)); got != concordat.ReasonScheme {
		t.Errorf("without an index of meaning: %s", got)
	}
}

// TestLeadBudgets: cells asked about, and sentences and documents disclosed, are limited per day, separately from questions by
// fingerprint.
func TestLeadBudgets(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	rule := sitetest.LeadsRule()
	rule.Limits.LeadCells = 64
	o.ShareWith(t, "theses", "north", rule)
	ask := func(job byte) *concordat.LeadAnswer {
		t.Helper()
		tell, err := o.AnswerLeads(t.Context(), "north", cellsOf(t, o, sitetest.InOtherWords, job))
		sitetest.Must(t, err)
		return tell
	}
	if tell := ask(1); len(tell.Documents) != 1 || tell.Libraries[0].LeftCells != 0 {
		t.Errorf("the first: %+v", tell)
	}
	if tell := ask(2); tell.Libraries[0].Refusal == nil || tell.Libraries[0].Refusal.Reason != concordat.ReasonBudget || len(tell.Hits) > 0 {
		t.Errorf("the second: %+v", tell)
	}
	if _, err := o.Answer(t.Context(), "north", o.Question(t, sitetest.Wordy, concordat.ShowMetadata, "theses")); err != nil {
		t.Errorf("by fingerprints: %v", err)
	}
	rule.Limits.LeadCells, rule.Limits.LeadSentences = -1, 1
	o.ShareWith(t, "theses", "north", rule)
	o.Clock.Move(25 * time.Hour)
	if tell := ask(3); len(tell.Documents) > 0 || len(tell.Hits) > 0 || tell.Libraries[0].Refusal != nil {
		t.Errorf("with one sentence a day: %+v", tell)
	}
	rule.Limits.LeadSentences, rule.Limits.LeadDocuments = -1, 1
	o.ShareWith(t, "theses", "north", rule)
	o.Clock.Move(25 * time.Hour)
	if tell := ask(4); len(tell.Documents) != 1 {
		t.Errorf("with one document a day: %+v", tell)
	}
	if tell := ask(5); len(tell.Documents) != 0 {
		t.Errorf("with one document a day, again: %+v", tell)
	}
}

// TestLeadVariants: for each place, at most twelve different questions are answered in a year, whatever their wording.
func TestLeadVariants(t *testing.T) {
	o := sitetest.NewLeadsOwner(t)
	rule := sitetest.LeadsRule()
	rule.Limits = store.Limits{LeadCells: -1, LeadSentences: -1, LeadDocuments: -1}
	o.ShareWith(t, "theses", "north", rule)
	words := strings.Fields(`alpha beta gamma delta sigma omega castle garden window teacher planet engine copper silver winter summer
		doctor farmer bridge letter market forest river island`)
	const variants, places = 100, 6 + 5 // 6 sentences and 5 pairs of sentences
	told, last := map[[concordat.Bands]uint32]bool{}, 0
	for i := range variants {
		w := words[i%len(words)] + " " + words[(7*i+i/len(words))%len(words)]
		a := cellsOf(t, o, strings.ReplaceAll(sitetest.InOtherWords+" ", ". ", " of the "+w+". "), byte(20+i))
		answer, err := o.AnswerLeads(t.Context(), "north", a)
		sitetest.Must(t, err)
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
