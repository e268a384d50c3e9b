package retain_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site/batch"
	"concordat/site/retain"
)

// onePlace locates the files of one batch.
type onePlace struct {
	index   concordat.Index
	busy    bool
	removed int
	written int
}

func (p *onePlace) OpenBatch(string) (concordat.Index, func() error, error) {
	if p.busy {
		return nil, nil, concordat.ErrLocked
	}
	return p.index, func() error { return nil }, nil
}

func (p *onePlace) RemoveBatch(string) (int, error) {
	if p.busy {
		return 0, concordat.ErrLocked
	}
	p.removed++
	return 3, nil
}

func (p *onePlace) RemoveWritten(string) (int, error) {
	p.written++
	return 1, nil
}

// erasedFiles records the files that an eraser removes.
type erasedFiles struct{ erased []string }

func (*erasedFiles) Name() string { return "originals" }

func (f *erasedFiles) Erase(_ context.Context, _ concordat.TaskID, originals []string) (int, error) {
	f.erased = append(f.erased, originals...)
	return len(originals), nil
}

func (*erasedFiles) Tidy(context.Context, time.Time, func(string) (bool, error)) (int, error) {
	return 0, nil
}

// wording returns everything that a report's findings quote from other documents.
func wording(f *report.Findings) string {
	var b strings.Builder
	for _, p := range f.Passages {
		b.WriteString(p.Before + p.Text + p.After + p.Title + string(p.Source.Document) + "\n")
	}
	return b.String()
}

// TestEraseMember: deleting the check of one document in a batch also deletes its text from the batch's index, and its wording and name
// from the other reports.
func TestEraseMember(t *testing.T) {
	p := sitetest.NewSite(t)
	shared := sitetest.Prose(1, 12)
	b := sitetest.NewBatch(t, p, map[string]string{"x.txt": shared + sitetest.Prose(2, 8), "y.txt": shared + sitetest.Prose(3, 8),
		"z.txt": shared + sitetest.Prose(4, 8)},
		[]string{"x.txt", "y.txt", "z.txt"},
		batch.Job{NoLibraries: true, Manifest: []batch.ManifestLine{{File: "x.txt", Author: "Xenia"}, {File: "y.txt", Author: "Yves"}}})
	v := b.Run(t)
	tasks := map[string]concordat.TaskID{}
	for _, m := range v.Members {
		tasks[m.Name] = m.Task
	}
	before, err := p.Findings(t.Context(), tasks["y.txt"])
	if err != nil || !strings.Contains(wording(before), "x.txt") || !strings.Contains(wording(before), "z.txt") {
		t.Fatalf("the report of y.txt names %q, %v: nothing can be shown", wording(before), err)
	}
	place, files := &onePlace{index: b.Index, busy: true}, &erasedFiles{}
	e := retain.New(p.Site, retain.Options{Answers: p.Answerer, Store: p.Store, Batches: place, Areas: []retain.Area{files}})
	if _, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{tasks["x.txt"]}}); !errors.Is(err,
		concordat.ErrLocked) {
		t.Errorf("while somebody works on the batch: %v", err)
	}
	if _, err := p.Store.Checks.Task(t.Context(), tasks["x.txt"]); err != nil {
		t.Errorf("and yet the check is gone: %v", err)
	}
	place.busy = false
	if n, err := e.Resume(t.Context()); n != 1 || err != nil {
		t.Fatalf("went on with %d deletions, %v", n, err)
	}
	ref := concordat.Ref{Site: "here", Library: concordat.BatchLibrary(b.BatchID), Document: "x.txt"}
	if _, err := b.Index.Document(t.Context(), ref); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("its text: %v", err)
	}
	if _, err := p.Store.Checks.Task(t.Context(), tasks["x.txt"]); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("its check: %v", err)
	}
	for _, name := range []string{"y.txt", "z.txt"} {
		f, err := p.Findings(t.Context(), tasks[name])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(wording(f), "x.txt") {
			t.Errorf("the report of %s names it still", name)
		}
		for _, one := range f.Passages {
			if strings.HasPrefix(string(one.Source.Document), "deleted-") && one.Text != "" {
				t.Errorf("the report of %s has its words still: %q", name, one.Text)
			}
		}
	}
	after, err := p.Findings(t.Context(), tasks["y.txt"])
	if err != nil || !strings.Contains(wording(after), "z.txt") {
		t.Errorf("what is not deleted went too: %q, %v", wording(after), err)
	}
	row, err := p.Store.Batches.Batch(t.Context(), b.BatchID)
	if err != nil || strings.Contains(string(row.Request), "Xenia") || !strings.Contains(string(row.Request), "Yves") {
		t.Errorf("the list of the batch: %s, %v", row.Request, err)
	}

	if len(files.erased) != 1 || files.erased[0] != "x.txt" {
		t.Errorf("the files that went are %v, want the one that was handed in", files.erased)
	}

	// A document named by the batch is deleted with its check.
	r, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Library: ref.Library, Documents: []concordat.DocumentID{"z.txt"}})
	if err != nil || len(r.Tasks) != 1 || r.Tasks[0].Task != tasks["z.txt"] {
		t.Errorf("receipt %+v, %v", r, err)
	}
}

// TestEraseBatch: a batch is deleted together with its files and the checks of its documents, and the receipt says so.
func TestEraseBatch(t *testing.T) {
	p := sitetest.NewSite(t)
	shared := sitetest.Prose(1, 12)
	b := sitetest.NewBatch(t, p, map[string]string{"x.txt": shared, "y.txt": shared}, []string{"x.txt", "y.txt"}, batch.Job{NoLibraries: true})
	v := b.Run(t)
	place := &onePlace{index: b.Index}
	e := retain.New(p.Site, retain.Options{Answers: p.Answerer, Store: p.Store, Batches: place})
	r, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Batches: []string{b.BatchID}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Batches) != 1 || r.Batches[0] != (retain.ErasedBatch{Batch: b.BatchID, Documents: 2, Files: 3}) || len(r.Tasks) != 2 ||
		place.removed != 1 || r.Done.IsZero() {
		t.Errorf("receipt %+v", r)
	}
	if _, err := p.Store.Batches.Batch(t.Context(), b.BatchID); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the batch: %v", err)
	}
	for _, m := range v.Members {
		if _, err := p.Store.Checks.Task(t.Context(), m.Task); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("check of %s: %v", m.Name, err)
		}
	}
	if _, err := e.Erase(t.Context(), "ada", "again", retain.Target{Batches: []string{b.BatchID}}); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
}
