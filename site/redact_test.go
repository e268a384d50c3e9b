package site_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
)

// quoted are three documents: a and b share a quotation, b and c a sentence that is none.
func quoted() map[string]string {
	quotation, sentence := "\n\n\""+strings.TrimSpace(prose(1, 3))+"\"\n\n", prose(2, 4)
	return map[string]string{"a.txt": strings.ReplaceAll(prose(3, 2), "stood there", "lay by") + quotation, "b.txt": prose(4, 2) +
		quotation + sentence, "c.txt": sentence + prose(5, 1)}
}

// TestNothingOfABatchIsDeleted: the documents of a batch are in no library, and are there all the same.
func TestNothingOfABatchIsDeleted(t *testing.T) {
	p := newSite(t)
	b := newBatch(t, p, quoted(), []string{"a.txt", "b.txt", "c.txt"}, batch.Job{NoLibraries: true})
	v := b.run(t)
	deleted := func(m store.BatchMember) int {
		t.Helper()
		f, err := p.Findings(t.Context(), m.Task)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range f.Flags {
			if flag.Code == report.FlagDeleted {
				return flag.Count
			}
		}
		return 0
	}
	for _, m := range v.Members {
		if n := deleted(m); n != 0 {
			t.Errorf("%s: %d sources of a fresh batch are called deleted", m.Name, n)
		}
	}
	e := retain.New(p.Site, retain.Options{Answers: p.Answerer, Store: p.store, Batches: &onePlace{index: b.index}})
	if _, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{v.Members[2].Task}}); err != nil {
		t.Fatal(err)
	}
	if a, b := deleted(v.Members[0]), deleted(v.Members[1]); a != 0 || b != 1 {
		t.Errorf("after c was deleted a names %d deleted sources, b %d; want 0 and 1", a, b)
	}
}
