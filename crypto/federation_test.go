package crypto_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"concordat/crypto"
)

// TestFederationByName: each federation is found by its own name, an unknown name is not found, and leaving one federation keeps the
// other.
func TestFederationByName(t *testing.T) {
	a := newSite(t, "asker", 1)
	id, r := a.Identity, source(1)
	for _, name := range []string{"health", "law"} {
		var err error
		if id, err = id.NewEpoch(name, start, 0, r); err != nil {
			t.Fatal(err)
		}
	}
	secret := func(name string) [32]byte {
		t.Helper()
		f, err := id.Federation(name)
		if err != nil || f.Name != name || len(f.Epochs) != 1 {
			t.Fatalf("federation %s: %q, %d epochs, error %v", name, f.Name, len(f.Epochs), err)
		}
		return crypto.EpochSecret(f.Epochs[0])
	}
	if secret("health") == secret("law") {
		t.Error("two federations have one secret")
	}
	if f, err := id.Federation("art"); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("a federation that it is not in: %q, error %v, want ErrNoKey", f.Name, err)
	}
	law := secret("law")
	id = id.Leave("health")
	if _, err := id.Federation("health"); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("after leaving: error %v, want ErrNoKey", err)
	}
	if secret("law") != law {
		t.Error("leaving one federation changes another")
	}
}

// TestK2 removes one member from a federation of three. Both epochs are served during the overlap, the old one is refused after its date,
// and the removed member cannot read the new secret.
func TestK2(t *testing.T) {
	lead, stays, leaves := newSite(t, "lead", 1), newSite(t, "stays", 2), newSite(t, "leaves", 3)
	r := source(4)
	var err error
	if lead.Identity, err = lead.NewEpoch("health", start, 0, r); err != nil {
		t.Fatal(err)
	}
	grant := func(members ...*site) *crypto.FederationGrant {
		f, err := lead.Federation("health")
		if err != nil {
			t.Fatal(err)
		}
		g := &crypto.FederationGrant{Federation: f, Leader: lead.Site()}
		for _, m := range members {
			g.Members = append(g.Members, m.Site())
		}
		return g
	}
	send := func(g *crypto.FederationGrant, to *site, now time.Time) []byte {
		b, err := g.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		env, _, err := lead.SealRequest(crypto.Request{Type: crypto.TypeFederation, TTL: crypto.MaxTTL, Payload: b}, to.card, now, r)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	receive := func(s *site, env []byte, now time.Time) error {
		v, err := s.VerifyRequest(env, lead.card, crypto.Policy{Types: []crypto.MessageType{crypto.TypeFederation}}, now)
		if err != nil {
			return err
		}
		o, err := v.Open()
		if err != nil {
			return err
		}
		g, err := crypto.ParseFederationGrant(o.Payload)
		if err != nil {
			return err
		}
		id, err := s.Join(g)
		if err != nil {
			return err
		}
		s.Identity = id
		return nil
	}
	for _, m := range []*site{stays, leaves} {
		if err := receive(m, send(grant(lead, stays, leaves), m, start), start); err != nil {
			t.Fatal(err)
		}
	}
	// All members have the same scheme and key.
	key := func(s *site, number uint32, now time.Time) ([]byte, error) {
		f, err := s.Federation("health")
		if err != nil {
			return nil, err
		}
		e, err := f.Epoch(number, now)
		if err != nil {
			return nil, err
		}
		return e.FingerprintKey("natural@0123456789abcdef"), nil
	}
	one, _ := key(lead, 1, start)
	for _, m := range []*site{stays, leaves} {
		if got, err := key(m, 1, start); err != nil || !bytes.Equal(got, one) || len(got) != 32 {
			t.Fatalf("key of epoch 1: %v", err)
		}
	}

	removal := start.AddDate(0, 1, 0)
	for _, s := range []*site{lead, stays, leaves} { // as every week
		if s.Identity, s.card, err = s.MakeCard(s.card.CardFields, nil, removal, r); err != nil {
			t.Fatal(err)
		}
	}
	if lead.Identity, err = lead.NewEpoch("health", removal, crypto.EpochOverlap, r); err != nil {
		t.Fatal(err)
	}
	env := send(grant(lead, stays), stays, removal)
	if err := receive(leaves, env, removal); !errors.Is(err, crypto.ErrEnvelope) {
		t.Errorf("the removed member with the new secret's envelope: %v", err)
	}
	stolen := crypto.Readdress(leaves.Identity, env)
	if v, err := leaves.VerifyRequest(stolen, lead.card, crypto.Policy{Types: []crypto.MessageType{crypto.TypeFederation}},
		removal); err == nil {
		if _, err := v.Open(); err == nil {
			t.Error("the removed member opened it")
		}
	}
	if err := receive(stays, env, removal); err != nil {
		t.Fatal(err)
	}
	two, err := key(stays, 2, removal)
	if err != nil || bytes.Equal(two, one) {
		t.Fatalf("key of epoch 2: %v", err)
	}
	if _, err := key(leaves, 2, removal); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("epoch 2 at the removed member: %v", err)
	}
	for name, k := range map[string]struct {
		number uint32
		at     time.Time
		want   error
	}{
		"old in the overlap":   {1, removal.Add(crypto.EpochOverlap - time.Second), nil},
		"new in the overlap":   {2, removal.Add(time.Second), nil},
		"old after its date":   {1, removal.Add(crypto.EpochOverlap), crypto.ErrNoKey},
		"new after the date":   {2, removal.Add(crypto.EpochOverlap), nil},
		"new before its start": {2, removal.Add(-time.Second), crypto.ErrNoKey},
		"no such epoch":        {3, removal, crypto.ErrNoKey},
	} {
		if _, err := key(stays, k.number, k.at); !errors.Is(err, k.want) || k.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, k.want)
		}
	}
	f, _ := stays.Federation("health")
	if e, err := f.Current(removal); err != nil || e.Number != 2 {
		t.Errorf("current epoch %d, %v", e.Number, err)
	}
	after, changed := stays.Expire(removal.Add(crypto.EpochOverlap + crypto.MaxTTL + crypto.Skew + time.Second))
	if f, _ := after.Federation("health"); !changed || len(f.Epochs) != 1 {
		t.Errorf("the old secret is still held")
	}
}

// TestGrants tests what a leader cannot do, and what derived keys have in common.
func TestGrants(t *testing.T) {
	lead, m := newSite(t, "lead", 1), newSite(t, "member", 2)
	r := source(3)
	one, err := lead.NewEpoch("health", start, 0, r)
	if err != nil {
		t.Fatal(err)
	}
	other, err := lead.NewEpoch("health", start, 0, r) // a different secret with the same number
	if err != nil {
		t.Fatal(err)
	}
	grant := func(id *crypto.Identity) *crypto.FederationGrant {
		f, err := id.Federation("health")
		if err != nil {
			t.Fatal(err)
		}
		return &crypto.FederationGrant{Federation: f, Leader: id.Site()}
	}
	joined, err := m.Join(grant(one))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joined.Join(grant(other)); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("another secret for an epoch that is held: %v", err)
	}
	next, err := joined.NewEpoch("health", start.Add(crypto.EpochSpacing), 0, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Join(grant(one)); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("an epoch that ended is opened again: %v", err)
	}
	if _, err := next.NewEpoch("health", start, 0, r); !errors.Is(err, crypto.ErrEpoch) {
		t.Errorf("an epoch before the last: %v", err)
	}
	for _, name := range []string{"", "Health", "a b", "../x"} {
		if _, err := lead.NewEpoch(name, start, 0, r); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if f := next.Leave("health").Federations(); len(f) != 0 {
		t.Error("left and still a member")
	}
	f, _ := one.Federation("health")
	e := f.Epochs[0]
	keys := [][]byte{
		e.FingerprintKey("natural@1"), e.FingerprintKey("natural@2"),
		e.SketchKey(lead.Site(), m.Site()), e.SketchKey(m.Site(), lead.Site()), e.AuthorKey(),
		lead.HandleKey(m.Site(), "health", 1), lead.HandleKey(m.Site(), "health", 2), lead.HandleKey(lead.Site(), "health", 1),
		m.HandleKey(m.Site(), "health", 1),
	}
	for i := range keys {
		for j := range i {
			if bytes.Equal(keys[i], keys[j]) {
				t.Errorf("keys %d and %d are equal", i, j)
			}
		}
	}
}
