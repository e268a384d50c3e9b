package compare

import (
	"context"
	"errors"
	"sync"
	"testing"

	"concordat"
	"concordat/profile"
)

// twice is an index of documents without names, so that each is read once for a first look and again for the comparison.
type twice struct {
	concordat.Index
	fails int // which reading of the last document fails, 1 or 2; 0 for neither

	mu    sync.Mutex
	reads map[concordat.Ref]int
}

var errRead = errors.New("the disk does not read")

func (x *twice) Document(_ context.Context, ref concordat.Ref) (*concordat.Document, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reads[ref]++
	if ref.Document == "last" && x.reads[ref] == x.fails {
		return nil, errRead
	}
	return &concordat.Document{Text: told}, nil
}

// TestSourcesMustBeRead: if a source cannot be read, for the first look or for the comparison, the comparison fails, so no report implies
// that the source contained nothing.
func TestSourcesMustBeRead(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := concordat.Span{End: len(told)}
	for fails := range 3 {
		index := &twice{fails: fails, reads: map[concordat.Ref]int{}}
		m := &Comparer{Index: index, Profiler: p, Workers: 1}
		var candidates []*Candidate
		for _, id := range []concordat.DocumentID{"first", "last"} {
			candidates = append(candidates, &Candidate{Ref: concordat.Ref{Site: "here", Library: "a", Document: id},
				Hits: []Hit{{Span: whole, Source: whole}}})
		}
		found, err := m.Align(t.Context(), Shareable(told, nil, nil), &concordat.Query{}, nil, candidates, 3, NoProgress)
		if fails == 0 {
			sources := map[concordat.DocumentID]bool{}
			for _, x := range found {
				sources[x.Source.Document] = true
			}
			if err != nil || !sources["first"] || !sources["last"] || index.reads[candidates[1].Ref] != 2 {
				t.Fatalf("passages of %v, %v after %d readings", sources, err, index.reads[candidates[1].Ref])
			}
			continue
		}
		if !errors.Is(err, errRead) {
			t.Errorf("reading %d failed, and what came out is %d passages, %v", fails, len(found), err)
		}
	}
}
