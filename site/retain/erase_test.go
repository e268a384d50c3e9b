package retain_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
)

// mark marks text that must be deleted; nothing else contains it.
const mark = "QZXWVKJ9"

const marked = mark + " marks a sentence of a hundred and fifty letters, which nobody else has written and which is to be found on the disk until it has been purged away."

// erasureSite is a site in a single folder on disk.
type erasureSite struct {
	*sitetest.Services
	t      *testing.T
	dir    string
	now    time.Time
	store  *store.DB
	shard  *index.Shard
	files  *store.Files
	queue  *site.Queue
	eraser *retain.Eraser
	cited  retain.CitedPolicy
}

func newErasureSite(t *testing.T) *erasureSite {
	t.Helper()
	s := &erasureSite{t: t, dir: t.TempDir(), now: time.Now().Truncate(time.Second), cited: retain.CitedKeep}
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.store, err = (store.Options{Now: func() time.Time { return s.now }}).Open(t.Context(), filepath.Join(s.dir, "site.db")); err != nil {
		t.Fatal(err)
	}
	if s.shard, err = index.Open(filepath.Join(s.dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.shard.Close(), s.store.Close()); err != nil {
			t.Error(err)
		}
	})
	s.files = store.OpenFiles(filepath.Join(s.dir, "originals"))
	s.Services = sitetest.Open(site.Options{ID: "here", Index: s.shard, Store: s.store, Profiler: p, Now: func() time.Time { return s.now }})
	s.eraser = retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: s.store, Areas: []retain.Area{s.files},
		Cited: func() retain.CitedPolicy { return s.cited },
		Sign:  func(sum [32]byte) (json.RawMessage, error) { return json.Marshal(sum[:4]) }})
	s.queue = s.NewQueue(site.QueueOptions{Store: s.store, Discard: s.eraser.Discard,
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			path, err := s.files.Path(j.File)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			return []site.Item{{Submission: site.Submission{ID: "submission", Text: string(b)}}}, err
		},
		Options: func(context.Context, site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Short: true}, nil, nil
		}})
	if err := s.store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: s.now}); err != nil {
		t.Fatal(err)
	}
	s.add("stays", sitetest.Folios)
	return s
}

func (s *erasureSite) add(id concordat.DocumentID, text string) {
	s.t.Helper()
	if err := s.Ingest(s.t.Context(), "theses", sitetest.Docs(site.Incoming{ID: id, Title: "Title " + string(id), Text: text}),
		func(site.Ingested) error { return nil }); err != nil {
		s.t.Fatal(err)
	}
}

// check submits a text as a file and waits for its report.
func (s *erasureSite) check(text string, change func(*site.Job)) concordat.TaskID {
	s.t.Helper()
	hash, _, err := s.files.Put(s.t.Context(), strings.NewReader(text), 1<<20)
	if err != nil {
		s.t.Fatal(err)
	}
	j := site.Job{Name: "essay.txt", File: hash}
	if change != nil {
		change(&j)
	}
	id := sitetest.Submit(s.t, s.queue, j)
	stop := sitetest.StartQueue(s.t, s.queue)
	if state, cause := sitetest.Await(s.t, &sitetest.Parts{Services: s.Services, Store: s.store}, s.queue, id); state != concordat.TaskDone {
		s.t.Fatalf("check: %s, %s", state, cause)
	}
	stop()
	return id
}

// holding returns the files of the site that contain the bytes.
func (s *erasureSite) holding(needle []byte) (out []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, needle) {
			out = append(out, strings.TrimPrefix(path, s.dir))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// packed returns part of a task's findings as stored on disk.
func (s *erasureSite) packed(id concordat.TaskID) []byte {
	s.t.Helper()
	var b []byte
	storetest.Query(s.t, s.store, func(r *sql.Rows) error { return r.Scan(&b) }, `SELECT data FROM findings WHERE task = ?`, id)
	if len(b) < 200 {
		s.t.Fatalf("%d bytes of findings", len(b))
	}
	return b[100:140]
}

func (s *erasureSite) erase(t retain.Target) *retain.Receipt {
	s.t.Helper()
	r, err := s.eraser.Erase(s.t.Context(), "ada", "the author of "+mark[4:]+" asks", t)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// TestErasedBytesAreGone: after a deletion, no file of the site contains any part of the text, title, original or findings.
func TestErasedBytesAreGone(t *testing.T) {
	s := newErasureSite(t)
	s.add(mark+".txt", marked)
	task := s.check(marked+" "+sitetest.Folios, func(j *site.Job) { j.Title = mark + " essay" })
	other := s.check(sitetest.Folios, nil)
	needles := map[string][]byte{"text": []byte(mark), "findings": s.packed(task)}
	where := strings.Join(s.holding(needles["text"]), " ")
	for _, place := range []string{"index", "site.db", "originals"} {
		if !strings.Contains(where, place) {
			t.Fatalf("before, only %s hold the mark: nothing can be shown of %s", where, place)
		}
	}
	if len(s.holding(needles["findings"])) == 0 {
		t.Fatal("the findings are not to be found before")
	}
	r := s.erase(retain.Target{Tasks: []concordat.TaskID{task}})
	r2 := s.erase(retain.Target{Library: "theses", Documents: []concordat.DocumentID{mark + ".txt"}})
	for name, n := range needles {
		if in := s.holding(n); len(in) > 0 {
			t.Errorf("%s: still in %s", name, in)
		}
	}
	if len(r.Tasks) != 1 || r.Tasks[0].Findings == 0 || len(r.Tasks[0].Files) != 1 || r.Done.IsZero() || string(r.Signature) != "null" &&
		len(r.Signature) == 0 {
		t.Errorf("receipt %+v", r)
	}
	if len(r2.Documents) != 1 || r2.Documents[0].Name != retain.DocumentName("theses", mark+".txt") || r2.Documents[0].Sentences == 0 {
		t.Errorf("receipt %+v", r2)
	}
	for _, want := range []retain.Place{{Name: "index", Items: 1, State: "purged"}, {Name: "store", State: "purged"}} {
		found := false
		for _, p := range r2.Places {
			found = found || p == want
		}
		if !found {
			t.Errorf("places %+v lack %+v", r2.Places, want)
		}
	}
	if f, err := s.Findings(t.Context(), other); err != nil || len(f.Passages) == 0 {
		t.Errorf("another report: %v", err)
	}
	lines, err := s.store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	erased := 0
	for _, l := range lines {
		if l.Action == "erased" {
			erased++
			if l.Actor != "ada" || strings.Contains(string(l.Detail), "author") {
				t.Errorf("audit has %s: %s", l.Actor, l.Detail)
			}
		}
	}
	if erased != 2 {
		t.Errorf("%d lines of deletions", erased)
	}
	again := s.erase(retain.Target{Tasks: []concordat.TaskID{task}}) // reported as not found, which is not an error
	if len(again.Tasks) != 1 || again.Tasks[0].Findings != 0 {
		t.Errorf("again %+v", again.Tasks)
	}
}

// TestCitedWording: reports that cite a deleted document say so and, if the policy requires it, lose its wording.
func TestCitedWording(t *testing.T) {
	for _, policy := range []retain.CitedPolicy{retain.CitedKeep, retain.CitedWithhold} {
		t.Run(string(policy), func(t *testing.T) {
			s := newErasureSite(t)
			s.cited = policy
			s.add(mark+".txt", marked)
			task := s.check(marked, nil)
			before, err := s.Findings(t.Context(), task)
			if err != nil || len(before.Passages) == 0 {
				t.Fatal(before, err)
			}
			r := s.erase(retain.Target{Library: "theses", Documents: []concordat.DocumentID{mark + ".txt"}})
			if r.Reports != 1 || r.Cited != policy || r.Documents[0].Reports != 1 {
				t.Errorf("receipt %+v", r)
			}
			f, err := s.Findings(t.Context(), task)
			if err != nil {
				t.Fatal(err)
			}
			if !sitetest.Flagged(f, report.FlagDeleted) {
				t.Errorf("flags %v", f.Flags)
			}
			p := f.Passages[0]
			kept := strings.Contains(p.Text, mark) && strings.Contains(p.Title+string(p.Source.Document), mark)
			if kept != (policy == retain.CitedKeep) || policy == retain.CitedWithhold &&
				strings.Contains(p.Title+p.Text+p.Before+p.After+string(p.Source.Document), mark) {
				t.Errorf("passage %+v", p)
			}
			if report.Build(before, report.Rules{}).Scores != report.Build(f, report.Rules{}).Scores {
				t.Error("the scores have changed")
			}
		})
	}
}

// TestNoStore: once the report exists, the text and the original are deleted, and the report remains.
func TestNoStore(t *testing.T) {
	s := newErasureSite(t)
	kept := s.check(marked+" "+sitetest.Folios, nil)
	want, err := s.Findings(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	s.erase(retain.Target{Tasks: []concordat.TaskID{kept}})
	if in := s.holding([]byte(mark)); len(in) > 0 {
		t.Fatalf("the way is not clear: %s", in)
	}
	task := s.check(marked+" "+sitetest.Folios, func(j *site.Job) { j.NoStore = true })
	if in := s.holding([]byte(mark)); len(in) > 0 {
		t.Errorf("the text is still in %s", in)
	}
	f, err := s.Findings(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if f.Withheld == nil || strings.Contains(f.Submission.Text, mark) || !sitetest.Flagged(f, report.FlagWithheld) {
		t.Errorf("findings %+v", f)
	}
	if report.Build(f, report.Rules{}).Scores != report.Build(want, report.Rules{}).Scores {
		t.Error("other scores than with the text")
	}
	// Data needed by another check is kept.
	one := s.check(marked, nil)
	two := s.check(marked, func(j *site.Job) { j.NoStore = true })
	row, err := s.store.Retention.Originals(t.Context(), one)
	if err != nil || len(row) != 1 {
		t.Fatal(row, err)
	}
	if _, err := s.files.Path(row[0]); err != nil {
		t.Errorf("the other check's file: %v", err)
	}
	if row, err = s.store.Retention.Originals(t.Context(), two); err != nil || len(row) != 0 {
		t.Errorf("originals of what is not kept: %v, %v", row, err)
	}
}

// TestEmbargo: a hidden source counts but is not shown before its date.
func TestEmbargo(t *testing.T) {
	s := newErasureSite(t)
	s.add(mark+".txt", marked)
	if err := s.store.Retention.SetTerm(t.Context(), store.Term{Library: "theses", Document: mark + ".txt",
		Hidden: s.now.Add(48 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimPrefix(marked, mark+" ")
	task := s.check(text, nil)
	f, err := s.Findings(t.Context(), task)
	if err != nil || len(f.Passages) == 0 {
		t.Fatal(f, err)
	}
	if p := f.Passages[0]; p.Text != "" || p.Title != report.HiddenTitle || p.Source.Document != mark+".txt" ||
		!sitetest.Flagged(f, report.FlagHidden) {
		t.Errorf("hidden: %+v, flags %v", p, f.Flags)
	}
	scores := report.Build(f, report.Rules{}).Scores
	s.now = s.now.Add(49 * time.Hour)
	if f, err = s.Findings(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if p := f.Passages[0]; p.Text == "" || p.Title != "Title "+mark+".txt" || sitetest.Flagged(f, report.FlagHidden) {
		t.Errorf("afterwards: %+v", p)
	}
	if got := report.Build(f, report.Rules{}).Scores; got != scores {
		t.Errorf("scores %+v and %+v", scores, got)
	}
}

// TestSweep: everything that has expired is deleted once; a dry run only counts; an interrupted sweep continues.
func TestSweep(t *testing.T) {
	const day = 24 * time.Hour
	s := newErasureSite(t)
	ctx := t.Context()
	s.add("old", "An old document of the second library, whose term of three days has come to its end by the time of the sweep, says a sentence of its own here.")
	if err := s.store.Retention.SetTerm(ctx, store.Term{Library: "theses", Document: "old", Expires: s.now.Add(3 * day)}); err != nil {
		t.Fatal(err)
	}
	first := s.check(marked, nil)
	s.now = s.now.Add(4 * day)
	second := s.check(sitetest.Folios+" "+mark, nil)
	s.now = s.now.Add(4 * day)
	third := s.check(sitetest.Folios, nil)
	policy := retain.Retention{Reports: 7 * day, Texts: 3 * day, Originals: day}
	dry, err := s.eraser.Sweep(ctx, policy, true)
	if err != nil {
		t.Fatal(err)
	}
	if dry.Reports != 1 || dry.Texts != 1 || dry.Documents != 1 || len(dry.Receipts) != 0 {
		t.Errorf("dry %+v", dry)
	}
	if f, err := s.Findings(ctx, second); err != nil || f.Withheld != nil {
		t.Errorf("a dry run changed something: %v", err)
	}
	// The process ends after a deletion was requested.
	if _, err := retain.Ask(ctx, s.Site, s.store, "ada", "", retain.Target{Tasks: []concordat.TaskID{third}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.eraser.Sweep(ctx, policy, false)
	if err != nil {
		t.Fatal(err)
	}
	if got.Reports != 1 || got.Texts != 1 || got.Documents != 1 || len(got.Receipts) != 2 || got.Resumed != 3 {
		t.Errorf("swept %+v", got)
	}
	for _, id := range []concordat.TaskID{first, third} {
		if _, err := s.Findings(ctx, id); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("%s is still there: %v", id, err)
		}
	}
	if f, err := s.Findings(ctx, second); err != nil || f.Withheld == nil {
		t.Errorf("the text of %s: %v", second, err)
	}
	if _, err := s.store.Catalogue.DocumentRow(ctx, "theses", "old"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the old document: %v", err)
	}
	if in := s.holding([]byte(mark)); len(in) > 0 {
		t.Errorf("the texts are still in %s", in)
	}
	for _, id := range got.Receipts {
		row, err := s.store.Retention.Erasure(ctx, id)
		if err != nil || row.State != store.ErasureDone || row.Actor != retain.SweepActor || row.Target != nil {
			t.Errorf("receipt %s: %+v, %v", id, row, err)
		}
	}
	again, err := s.eraser.Sweep(ctx, policy, false)
	if err != nil || again.Reports+again.Texts+again.Originals+again.Documents+again.Resumed+again.Files != 0 {
		t.Errorf("again %+v, %v", again, err)
	}
}

// TestErasureGoesOn: the next sweep completes a deletion that failed halfway, with one receipt that counts everything once.
func TestErasureGoesOn(t *testing.T) {
	s := newErasureSite(t)
	s.add(mark+".txt", marked)
	task := s.check(marked, nil)
	broken := &brokenArea{Files: s.files, fail: true}
	e := retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: s.store, Areas: []retain.Area{broken}})
	_, err := e.Erase(t.Context(), "ada", "", retain.Target{Tasks: []concordat.TaskID{task}, Library: "theses",
		Documents: []concordat.DocumentID{mark + ".txt"}})
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	open, err := s.store.Retention.OpenErasures(t.Context())
	if err != nil || len(open) != 1 || open[0].State != store.ErasureAsked {
		t.Fatal(open, err)
	}
	broken.fail = false
	if n, err := e.Resume(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	row, err := s.store.Retention.Erasure(t.Context(), open[0].ID)
	if err != nil || row.State != store.ErasureDone {
		t.Fatal(row, err)
	}
	var r retain.Receipt
	if err := json.Unmarshal(row.Receipt, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Tasks) != 1 || len(r.Tasks[0].Files) != 1 || len(r.Documents) != 1 {
		t.Errorf("receipt %s", row.Receipt)
	}
	if in := s.holding([]byte(mark)); len(in) > 0 {
		t.Errorf("still in %s", in)
	}
}

var errBroken = errors.New("broken")

type brokenArea struct {
	*store.Files
	fail bool
}

func (b *brokenArea) Erase(ctx context.Context, id concordat.TaskID, originals []string) (int, error) {
	if b.fail {
		return 0, errBroken
	}
	return b.Files.Erase(ctx, id, originals)
}
