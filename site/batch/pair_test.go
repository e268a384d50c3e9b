package batch_test

import (
	"testing"

	"concordat/site/batch"
	"concordat/store"
)

// TestOfPair: an event belongs to a pair if it names both documents, in either order, and to no other pair.
func TestOfPair(t *testing.T) {
	a, b := &store.BatchMember{Name: "a.txt"}, &store.BatchMember{Name: "b.txt"}
	for _, x := range []struct {
		action, text, said string
		ok                 bool
	}{
		{"pair_count", "a.txt – b.txt", "", true},
		{"pair_discount", "a.txt – b.txt: joint work", "joint work", true},
		{"pair_discount", "b.txt – a.txt: joint work", "joint work", true}, // from an older batch
		{"pair_discount", "a.txt – b.txt.bak: joint work", "", false},
		{"pair_discount", "b.txt – a.txt.bak", "", false},
		{"pair_discount", "a.txt – c.txt: joint work", "", false},
		{"lineage", "a.txt – b.txt", "", false},
	} {
		e := store.BatchEvent{Action: x.action, Text: x.text}
		for _, said := range []func() (string, bool){
			func() (string, bool) { return batch.OfPair(e, a, b) }, func() (string, bool) { return batch.OfPair(e, b, a) }} {
			if got, ok := said(); got != x.said || ok != x.ok {
				t.Errorf("%s %q: got %q, %v; want %q, %v", x.action, x.text, got, ok, x.said, x.ok)
			}
		}
	}
}
