package federation_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// diary is an in-memory federation.Journal.
type diary struct {
	mu        sync.Mutex
	head      wire.Head
	heard     []*crypto.Head
	exchanges []federation.Exchange
	others    []*crypto.Head // which it forwards
	told      []*crypto.Head // received from partners, about others
}

var _ federation.Journal = (*diary)(nil)

func newDiary(t *testing.T, s *fedtest.Site, seq uint64) *diary {
	t.Helper()
	id, _ := s.Roster.Self()
	h, err := id.SignHead(seq, [32]byte{byte(seq)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &diary{head: federation.HeadOf(h)}
}

func (d *diary) Head() wire.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.head
}

func (d *diary) Heard(h *crypto.Head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = append(d.heard, h)
}

func (d *diary) Others(concordat.SiteID) []*crypto.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.others
}

func (d *diary) HeardOthers(_ concordat.SiteID, hs []*crypto.Head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, hs...)
}

func (d *diary) Exchanged(e federation.Exchange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.exchanges = append(d.exchanges, e)
}

// TestL2_Heads: each message carries the signed head of its sender's audit. Both ends receive the other's head and record the exchange
// under the same two digests.
func TestL2_Heads(t *testing.T) {
	asker, owner := fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme)
	asker.Roster.Set(owner.Member(federation.StateActive))
	owner.Roster.Set(asker.Member(federation.StateActive))
	asking, owning := newDiary(t, asker, 7), newDiary(t, owner, 9)
	owner.Options.Journal = owning
	answers := library(newRand(t), "Thesis", 1, 5)
	owner.Answer(answers)
	owner.Start(t)
	c := asker.NewClient(t, owner, federation.ClientOptions{Journal: asking})
	if _, err := c.Ask(t.Context(), submission(newRand(t), answers, 5)); err != nil {
		t.Fatal(err)
	}
	if len(asking.heard) != 1 || asking.heard[0].Seq != 9 || asking.heard[0].Site.String() != string(owner.ID) {
		t.Errorf("the asker heard %+v", asking.heard)
	}
	if len(owning.heard) != 1 || owning.heard[0].Seq != 7 || owning.heard[0].Site.String() != string(asker.ID) {
		t.Errorf("the owner heard %+v", owning.heard)
	}
	if len(asking.exchanges) != 1 || len(owning.exchanges) != 1 {
		t.Fatalf("%d and %d exchanges, want one each", len(asking.exchanges), len(owning.exchanges))
	}
	a, o := asking.exchanges[0], owning.exchanges[0]
	if a.Request != o.Request || a.Reply != o.Reply || a.Reply == [32]byte{} || !a.Asked || o.Asked || a.Kind != "tell" ||
		o.Kind != "tell" || a.Partner != owner.ID || o.Partner != asker.ID {
		t.Errorf("recorded %+v\nand %+v", a, o)
	}

	// A head signed by another site is ignored, and the message with it does not run.
	asking.head.Hash[0] ^= 1
	var refusal *concordat.Refusal
	if _, err := c.Catalogue(t.Context()); !errors.As(err, &refusal) || len(owning.heard) != 1 {
		t.Errorf("a forged head: error %v, heard %d", err, len(owning.heard))
	}
}

// TestL3_HeadsOfOthers: a catalogue carries the heads of third sites with those sites' signatures.
func TestL3_HeadsOfOthers(t *testing.T) {
	asker, owner, third := fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme)
	asker.Roster.Set(owner.Member(federation.StateActive))
	owner.Roster.Set(asker.Member(federation.StateActive))
	asking, owning := newDiary(t, asker, 7), newDiary(t, owner, 9)
	id, card := third.Roster.Self()
	for seq := range uint64(2) {
		h, err := id.SignHead(seq+20, [32]byte{byte(seq)}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		owning.others = append(owning.others, h)
	}
	owner.Options.Journal = owning
	owner.Answer(library(newRand(t), "Thesis", 1, 5))
	owner.Start(t)
	c := asker.NewClient(t, owner, federation.ClientOptions{Journal: asking})
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asking.told) != 2 {
		t.Fatalf("%d heads of others are told, want 2", len(asking.told))
	}
	for i, h := range asking.told {
		if h.Seq != uint64(i)+20 || h.Check(card) != nil {
			t.Errorf("head %d: %+v, error %v", i, h, h.Check(card))
		}
	}
}
