package wording_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestBesideElsewhere: a document that also has the beginning of a stretch elsewhere is shown at the place where it has the whole stretch.
func TestBesideElsewhere(t *testing.T) {
	const block = "The surveyor measured the valley from end to end and wrote the height of every hill into a ledger bound in green " +
		"leather, which was lost in a fire and written down again from memory by the youngest of them."
	opening := strings.Join(strings.Fields(block)[:9], " ")
	text := "Some words of the writer's own stand here. " + block + " And others there."
	for _, source := range []string{
		block,
		opening + " is how one of our chapters begins, and then it goes on about something else. " + block,
		block + " Later on: " + opening + ", and no more.",
	} {
		w, other := wording.Split(text), wording.Split(source)
		at := strings.Index(text, block)
		got, ok := other.Places(nil).Beside(w, concordat.Span{Start: at, End: at + len(block)})
		there := strings.Index(source, block)
		want := concordat.Span{Start: there, End: there + len(block) - 1} // without the full stop
		if !ok || got.There != want || got.Here.Start != at || got.Share != 1 {
			t.Errorf("beside %q: %q at %v, share %v, want %v", source, got.There.In(source), got.There, got.Share, want)
		}
	}
}
