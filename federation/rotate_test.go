package federation_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// TestK1_Rotation: 300 messages are in transit while the partner's sealing key changes, expired keys are destroyed and the partner makes
// new cards. No message is lost.
func TestK1_Rotation(t *testing.T) {
	start := time.Now().Add(time.Second)
	c := &clock{now: start}
	answers := &scan{level: concordat.ShowMetadata}
	asker := fedtest.NewSite(t, scheme)
	owner := fedtest.NewSite(t, scheme)
	asker.Roster.Set(owner.Member(federation.StateActive))
	owner.Roster.Set(asker.Member(federation.StateActive))
	owner.Options.Now = c.Now
	owner.Options.Waiting = 300
	owner.Answer(answers)
	owner.Start(t)
	client := asker.NewClient(t, owner, federation.ClientOptions{Now: c.Now, Timeout: 2 * time.Minute})

	card := owner.Member(federation.StateActive).Card
	change := card.Sealing[1].From // time when the second key takes over
	c.Add(change.Sub(start) - 30*time.Second)

	const messages, steps = 300, 60
	var sending sync.WaitGroup
	failed := make(chan error, messages)
	slots := make(chan struct{}, 12)
	for i := range messages {
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			if _, err := client.Catalogue(t.Context()); err != nil {
				failed <- fmt.Errorf("message %d at %s: %w", i, c.Now().Sub(change), err)
			}
		})
		if i%(messages/steps) == 0 {
			c.Add(time.Second)
			id, _ := owner.Roster.Self()
			id, _ = id.Expire(c.Now())
			owner.Roster.Replace(t, id, owner.URL, c.Now())
		}
	}
	sending.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	m, _ := asker.Roster.Member(card.Site)
	if m.Card.Serial == card.Serial {
		t.Error("the asker still has the first card")
	}
	if now := c.Now(); !now.After(change.Add(20 * time.Second)) {
		t.Errorf("the clock stopped at %s, before the change at %s", now, change)
	}
}

// members provides a federation's epochs from an identity, and its list of members.
type members struct {
	mu   sync.Mutex
	id   *crypto.Identity
	now  func() time.Time
	name string
	in   []concordat.SiteID
}

var _ federation.Epochs = (*members)(nil)

func (k *members) Scheme(e concordat.Epoch) (concordat.Scheme, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := k.id.Federation(string(e.Federation))
	if err != nil {
		return "", false
	}
	epoch, err := f.Epoch(e.Number, k.now())
	if err != nil {
		return "", false
	}
	return epochScheme(epoch), true
}

// epochScheme derives the scheme from the epoch's key, so fingerprints of two epochs have different schemes.
func epochScheme(e crypto.FederationEpoch) concordat.Scheme {
	return concordat.Scheme(fmt.Sprintf("natural@%x", e.FingerprintKey("natural")[:8]))
}

func (k *members) Grant(_ context.Context, to concordat.SiteID, name concordat.FederationID) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := k.id.Federation(string(name))
	if err != nil || !slices.Contains(k.in, to) {
		return nil, &concordat.Refusal{Reason: concordat.ReasonUnknown}
	}
	return (&crypto.FederationGrant{Federation: f, Leader: k.id.Site()}).Bytes()
}

// TestK2_Epochs: after a member is removed, a new epoch begins whose secret the member does not get. The old epoch is served in parallel
// until its date, and refused afterwards.
func TestK2_Epochs(t *testing.T) {
	c := &clock{now: time.Now().Add(time.Second)}
	w := newWorkbench(t, c.Now)
	removed := fedtest.NewSite(t, scheme)
	w.owner.Roster.Set(removed.Member(federation.StateActive))
	removed.Roster.Set(w.owner.Member(federation.StateActive))
	leader, _ := w.owner.Roster.Self()
	leader, err := leader.NewEpoch("health", c.Now().Add(-crypto.EpochSpacing), 0, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keeper := &members{id: leader, now: c.Now, name: "health", in: []concordat.SiteID{w.asker.ID, removed.ID}}
	serving := fedtest.Serve(t, w.owner, keeper, w.answers, federation.ServerOptions{Now: c.Now})
	fetch := func(s *fedtest.Site) (*crypto.FederationGrant, error) {
		return s.NewClient(t, serving, federation.ClientOptions{Now: c.Now}).Grant(t.Context(), "health")
	}
	w.asker.Roster.Set(serving.Member(federation.StateActive))
	removed.Roster.Set(serving.Member(federation.StateActive))
	first, err := fetch(removed)
	if err != nil {
		t.Fatal(err)
	}

	// The member is removed, and a new epoch begins without it.
	const overlap = 24 * time.Hour
	keeper.mu.Lock()
	keeper.id, err = keeper.id.NewEpoch("health", c.Now().Add(time.Second), overlap, rand.Reader)
	keeper.in = keeper.in[:1]
	keeper.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fetch(removed); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("the removed member asks for the secret: error %v, want ErrRefused", err)
	}
	if n := len(first.Federation.Epochs); n != 1 {
		t.Errorf("the removed member has %d epochs, want 1", n)
	}
	second, err := fetch(w.asker)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(second.Federation.Epochs); n != 2 {
		t.Fatalf("the member has %d epochs, want 2", n)
	}
	if epochScheme(second.Federation.Epochs[0]) == epochScheme(second.Federation.Epochs[1]) {
		t.Fatal("two epochs make the same fingerprints")
	}

	ask := func(number int) error {
		a := submission(newRand(t), w.answers, 5)
		a.Epoch = concordat.Epoch{Federation: "health", Number: uint32(number)}
		a.Scheme = epochScheme(second.Federation.Epochs[number-1])
		_, err := w.asker.NewClient(t, serving, federation.ClientOptions{Now: c.Now}).Ask(t.Context(), a)
		return err
	}
	c.Add(time.Hour)
	for number := 1; number <= 2; number++ {
		if err := ask(number); err != nil {
			t.Errorf("epoch %d while both are served: %v", number, err)
		}
	}
	c.Add(overlap)
	var refusal *concordat.Refusal
	if err := ask(1); !errors.As(err, &refusal) || refusal.Reason != concordat.ReasonEpoch || !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("epoch 1 after its date: error %v, want reason %s", err, concordat.ReasonEpoch)
	}
	if err := ask(2); err != nil {
		t.Errorf("epoch 2: %v", err)
	}
}

// TestAlert: the hits in a notice about a standing ask use the asker's sentence numbers.
func TestAlert(t *testing.T) {
	r := newRand(t)
	answers, asking := library(r, "Thesis", 2, 10), &scan{}
	f := fedtest.Join(t, scheme, asking, answers)
	a := submission(r, answers, 40)
	want, err := f.Partner(0, 1).Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	// Later the owner finds the same match again for the ask as it arrived.
	padded := answers.asks[0]
	later, err := answers.Answer(t.Context(), f.ID(0), padded)
	if err != nil {
		t.Fatal(err)
	}
	n := &concordat.Notice{Kind: concordat.NoticeAlert, Job: a.Job, Answer: later, Asked: len(padded.Sentences),
		At: time.Now().UTC().Truncate(time.Millisecond)}
	if err := f.Partner(1, 0).Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var got []concordat.Hit
	for _, h := range asking.notices[0].Answer.Hits {
		if h.Sentence < len(a.Sentences) { // not a dummy
			got = append(got, h)
		}
	}
	if !slices.Equal(got, want.Hits) {
		t.Errorf("got %v, want %v", got, want.Hits)
	}
	n.Asked = 0
	if err := f.Partner(1, 0).Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if hits := asking.notices[1].Answer.Hits; len(hits) != 0 {
		t.Errorf("without the number asked: %d hits, want none", len(hits))
	}
}
