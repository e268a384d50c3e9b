package webtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web/pages/checks"
)

// CheckedBy submits a text and returns the path of its page, once it is done.
func (d *Site) CheckedBy(t *testing.T, p *Person, title, text string) concordat.TaskID {
	t.Helper()
	p.Upload(http.StatusOK, url.Values{"text": {text}, "title": {title}})
	id, ok := d.Await(t)[title]
	if !ok {
		t.Fatalf("no check %q", title)
	}
	return id
}

// AddAlerts stores three alerts: a check of this site matched a document here, a partner was told about the first words of folios, and a
// partner was told about a match but not about the document.
func (d *Site) AddAlerts(t testing.TB, task concordat.TaskID) (found, told, untold int64) {
	t.Helper()
	put := func(a store.Alert) int64 {
		a.At = time.Now()
		seq, err := d.Store.Alerts.PutAlert(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	here := concordat.Ref{Site: "here", Library: "theses", Document: "folios.txt"}
	found = put(store.Alert{Task: task, Source: here, Title: "A <late> one", Sentences: 2, Spans: []concordat.Span{{Start: 4, End: 16}}})
	of := store.Alert{Side: store.AlertTold, Partner: "SOUTH", Job: "0a0b", Purpose: "thesis", Asked: time.Now().Add(-time.Hour), Source: here}
	named := of
	named.Level, named.Title, named.Sentences, named.Spans = concordat.ShowMetadata, "On folios", 2, []concordat.Span{{Start: 4, End: 16}}
	told = put(named)
	of.Level, of.Source.Document, of.Job = concordat.ShowExists, "", "0c"
	return found, told, put(of)
}

// AwaitBatch waits until a batch has ended.
func (d *Site) AwaitBatch(t *testing.T, path string) store.Batch {
	t.Helper()
	for {
		b, err := d.Store.Batches.Batch(t.Context(), strings.TrimPrefix(path, "/batches/"))
		if err != nil {
			t.Fatal(err)
		}
		if b.State.Ended() {
			return b
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the batch does not end")
		case <-time.After(20 * time.Millisecond): // look again
		}
	}
}

// AddSource adds a harvested repository with a few records.
func (d *Site) AddSource(t testing.TB, id string) {
	t.Helper()
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	h := d.Store.Harvest
	if err := h.AddSource(t.Context(), store.HarvestSource{ID: id, Kind: "oai", URL: "https://repository.example/oai", Library: "theses",
		Every: 24 * time.Hour, Withdrawn: store.HarvestDelete, Next: at, Made: at}); err != nil {
		t.Fatal(err)
	}
	if err := h.ClaimSource(t.Context(), id, "w", time.Second); err != nil {
		t.Fatal(err)
	}
	records := []store.HarvestRecord{{ID: "oai:r:1", State: store.RecordKept, Documents: []concordat.DocumentID{"oai:r:1"},
		Work: concordat.Work{Title: "On <tides>", Creators: []concordat.Creator{{Name: "Roe, Jane"}},
			Page: "https://repository.example/1"}},
		{ID: "oai:r:2", State: store.RecordFailed, Detail: "thesis.pdf: it is damaged", Work: concordat.Work{Title: "Damaged",
			Page: "javascript:alert(1)"}},
		{ID: "oai:r:3", State: store.RecordEmbargoed, Due: at.AddDate(1, 0, 0)}}
	if err := h.KeepHarvest(t.Context(), id, "w", store.HarvestState{Repository: "Archive of Oslo", Ended: at, Listed: 3},
		records...); err != nil {
		t.Fatal(err)
	}
	if err := h.ReleaseSource(t.Context(), id, "w", store.HarvestState{Repository: "Archive of Oslo", Ended: at, Listed: 3},
		at); err != nil {
		t.Fatal(err)
	}
}

// AddRequest stores a partner's request for the first words of the document.
func (d *Site) AddRequest(t testing.TB, id string, until time.Time) {
	t.Helper()
	sum := sha256.Sum256([]byte(Folios))
	r := store.Disclosure{ID: id, Direction: store.DisclosureIn, Partner: "SOUTH", Job: concordat.JobID{1},
		Handle: concordat.Handle{byte(len(id)), 2}, Library: "theses", Document: "folios.txt",
		Hash: hex.EncodeToString(sum[:]), Spans: []concordat.Span{{Start: 4, End: 16}}, Reason: "a <case> of ours", Contact: "dean@south",
		State: concordat.DisclosurePending, Until: until}
	if err := d.Store.Answers.PutDisclosure(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// AtPartner returns findings with a passage at a partner, and one in the mirror of another.
func AtPartner() *report.Findings {
	text := Folios + "\n\nAnd something else that stands in the mirror of a partner, word for word, as it seems."
	second := concordat.Span{Start: len(Folios) + 2, End: len(text)}
	place := func(site concordat.SiteID, n byte) concordat.Ref {
		return concordat.Ref{Site: site, Library: "theses", Document: concordat.DocumentID(strings.Repeat(fmt.Sprintf("%02x", n), 16))}
	}
	a, m := place("SOUTH", 7), place("WEST", 8)
	return &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "x", Title: "Essay", Text: text}, Forward: "all",
		Passages: []concordat.Passage{
			{Span: concordat.Span{End: len(Folios)}, Source: a, Title: "Theirs", Kind: concordat.KindNear, Similarity: 0.9,
				SourceSpan: concordat.Span{Start: 10, End: 10 + len(Folios)}},
			{Span: second, Source: m, Title: "Mirrored", Kind: concordat.KindVerbatim, Similarity: 1,
				SourceSpan: concordat.Span{Start: 10, End: 10 + second.Len()}}},
		Consulted: []concordat.Consulted{{Site: "SOUTH", Library: "theses", Asked: 2, Answered: 2, Level: concordat.ShowPassage,
			Shown: concordat.Shown{Exists: true, Documents: 1}},
			{Site: "WEST", Library: "theses", Asked: 2, Answered: 2, Level: concordat.ShowMetadata,
				Mirror: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		Partners: []report.PartnerSource{{Ref: a, Title: "Theirs", Level: concordat.ShowPassage, Job: strings.Repeat("01", 16),
			Epoch: concordat.Epoch{Federation: "f", Number: 1}, Matches: 1},
			{Ref: m, Title: "Mirrored", Level: concordat.ShowMetadata, Matches: 1}},
		Sites: map[concordat.SiteID]string{"SOUTH": "South", "WEST": "West"}}
}

// AddCase stores a case: a partner was told about folios.txt, and has confirmed it.
func (d *Site) AddCase(t testing.TB) concordat.CaseID {
	t.Helper()
	x := store.SharedCase{ID: concordat.CaseID{1}, Side: store.AlertTold, Partner: "SOUTH", Job: concordat.JobID{10, 11},
		Handle: concordat.Handle{1}, Source: concordat.Ref{Site: "here", Library: "theses", Document: "folios.txt"}, Title: "On <folios>",
		Level: concordat.ShowMetadata, Sentences: 2, Opened: time.Now()}
	if err := d.Store.Cases.Open(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	said := x
	said.Theirs = store.CasePosition{State: concordat.CaseConfirmed, Words: "two <chapters>", Contact: "dean@south.example", At: time.Now()}
	if err := d.Store.Cases.Keep(t.Context(), x, said, "partner"); err != nil {
		t.Fatal(err)
	}
	return x.ID
}

// AddFinished stores findings as if their check had been submitted and had finished.
func (d *Site) AddFinished(t testing.TB, id concordat.TaskID, owner string, f *report.Findings) {
	t.Helper()
	f.Task = id
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	task, err := d.Store.Checks.StartTask(t.Context(), store.Task{Task: concordat.Task{ID: id, Title: f.Submission.Title, Made: time.Now()},
		Owner: owner}, "test", time.Hour)
	if err == nil {
		err = d.Store.Checks.PutFindings(t.Context(), id, data)
	}
	if err == nil {
		err = d.Store.Checks.FinishTask(t.Context(), task, concordat.TaskDone, store.Cause{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Await waits until all tasks have ended and returns the ids by title.
func (d *Site) Await(t *testing.T) map[string]concordat.TaskID {
	t.Helper()
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]concordat.TaskID{}
	for _, one := range tasks {
		out[one.Title], out[checks.FileName(one)] = one.ID, one.ID // the document's title can replace its own at any time
		events, stop := d.Queue.Watch(one.ID)
		for !one.State.Ended() {
			select {
			case <-events:
			case <-time.After(100 * time.Millisecond): // a check that ended before watching began
			}
			if one, err = d.Store.Checks.Task(t.Context(), one.ID); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	}
	return out
}

// Glass and GlassAgain are the documents of LeadBatch: a text, and the same in other words.
const (
	Glass = `The guild of glass blowers moved its furnaces to the island of Lissa in 1411, since the magistrates feared fire. ` +
		`Every apprentice swore before the warden never to carry the recipe of the red glass across the lagoon. ` +
		`Whoever broke the oath lost his workshop, and his relatives were kept under arrest until he came home. ` +
		`Despite these measures two masters settled in Lorraine and sold ruby goblets to the court within ten years.`
	GlassAgain = `In 1411 the magistrates, who were afraid that a fire would break out, made the guild shift all its glass furnaces to an ` +
		`island called Lissa. No apprentice might take the red recipe over the lagoon, as each had sworn it before the warden. For a breach ` +
		`of that oath a man paid with his workshop, while relatives of his were arrested and held until his return. Lorraine nevertheless ` +
		`became home to two masters, from whom the court bought ruby goblets ten years afterwards.`
)

// LeadBatch submits a batch of two documents as ann and returns its path; one document restates the other in different words.
func (d *Site) LeadBatch(t *testing.T) string {
	t.Helper()
	files := store.OpenFiles(filepath.Join(d.Dir, "originals"))
	var inputs []store.BatchInput
	for _, f := range [][2]string{{"essay.txt", GlassAgain}, {"glass.txt", Glass}} {
		hash, _, err := files.Put(t.Context(), strings.NewReader(f[1]), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, store.BatchInput{Name: f[0], Place: hash})
	}
	id, err := d.Batches.Submit(t.Context(), "ann", "Two essays", batch.Job{NoLibraries: true, Leads: true}, inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := d.AwaitBatch(t, id); b.State != concordat.TaskDone {
		t.Fatalf("%s: %s", b.State, b.Cause)
	}
	return "/batches/" + id
}
