package wording_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align/wording"
)

// TestBesideElsewhere: if a document has a whole stretch in one place and its beginning in another, the place of the whole stretch is
// shown.
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
