package retain_test

import (
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
)

// TestNothingOfABatchIsDeleted: the documents of a batch are in no library, yet are not treated as deleted.
func TestNothingOfABatchIsDeleted(t *testing.T) {
	p := sitetest.NewSite(t)
	b := sitetest.NewBatch(t, p, sitetest.Quoted(), []string{"a.txt", "b.txt", "c.txt"}, batch.Job{NoLibraries: true})
	v := b.Run(t)
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
	e := retain.New(p.Site, retain.Options{Answers: p.Answerer, Store: p.Store, Batches: &onePlace{index: b.Index}})
	if _, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{v.Members[2].Task}}); err != nil {
		t.Fatal(err)
	}
	if a, b := deleted(v.Members[0]), deleted(v.Members[1]); a != 0 || b != 1 {
		t.Errorf("after c was deleted a names %d deleted sources, b %d; want 0 and 1", a, b)
	}
}
