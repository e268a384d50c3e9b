package instance

import (
	"errors"
	"testing"

	"concordat"
	"concordat/site/compare"
)

// TestFillPanics: if a document triggers a fault of the program while documents move to the shards, only that step ends, not the process.
func TestFillPanics(t *testing.T) {
	o := &Instance{} // without a node that could provide the document
	err := o.fillDocuments(t.Context(), []*concordat.Document{{ID: "a"}})
	if fault := (*compare.Fault)(nil); !errors.As(err, &fault) {
		t.Fatalf("got %v, want a fault", err)
	}
	counted := 0
	o.panics.told.Store(&compare.Panics{Counted: func() { counted++ }})
	if !o.panics.note(err) || o.panics.note(nil) || counted != 1 {
		t.Errorf("the fault was counted %d times, want once", counted)
	}
}
