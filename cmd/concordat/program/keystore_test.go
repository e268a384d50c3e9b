package program

import (
	"strings"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
)

// TestRefreshCard: a week-old card is renewed if the root key is present; expired keys are always removed.
func TestRefreshCard(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "north")
	p.command(cli.Done, "site", "card", "--url", "https://north.example")
	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader("")}}}
	o, err := a.Open(t.Context(), instance.StoreOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	k, id, err := a.OpenKeys(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	card, err := instance.OwnCard(t.Context(), o.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	step := func(now time.Time, changed bool) {
		t.Helper()
		var got bool
		if id, card, got, err = instance.RefreshCard(t.Context(), o.Store, k, id, card, now); err != nil || got != changed {
			t.Fatalf("at %v: changed %v, %v; want %v", now, got, err, changed)
		}
	}
	first, start := card.Serial, card.NotBefore
	step(start.Add(instance.CardAge-time.Minute), false)
	step(start.Add(instance.CardAge+time.Minute), true)
	if card.Serial <= first || !card.NotBefore.After(start) {
		t.Errorf("card %d of %v follows %d of %v", card.Serial, card.NotBefore, first, start)
	}
	_, stored, err := a.OpenKeys(p.dir)
	if err != nil || stored.Site() != id.Site() || len(stored.Keys(start)) != len(id.Keys(start)) {
		t.Fatalf("the keystore has another identity (%v)", err)
	}
	if id, err = k.Update(t.Context(), func(id *crypto.Identity) (*crypto.Identity, error) { return id.WithoutRoot(), nil }); err != nil {
		t.Fatal(err)
	}
	serial, held := card.Serial, len(id.Keys(start))
	step(start.Add(30*24*time.Hour), true) // sealing keys have expired, and the card stays
	if card.Serial != serial || len(id.Keys(start)) >= held {
		t.Errorf("card %d, %d keys; want card %d and fewer than %d keys", card.Serial, len(id.Keys(start)), serial, held)
	}
	step(start.Add(30*24*time.Hour), false)
}
