package crypto_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"concordat/crypto"
)

// limit is the limit of a format; write creates something of that size and reads it back.
type limit struct {
	name  string
	most  int
	write func(n int) (read int, err error)
}

// TestLimits writes each format one below its limit, at the limit and one above, and reads it again. Everything written can be read back
// completely, and nothing is written that cannot be read.
func TestLimits(t *testing.T) {
	a, member := newSite(t, "asker", 1), newSite(t, "member", 2)
	key := crypto.RawKey([32]byte{7})
	reopened := func(id *crypto.Identity, err error) (*crypto.Identity, error) {
		if err != nil {
			return nil, err
		}
		b, err := id.Lock(key, source(3))
		if err != nil {
			return nil, err
		}
		got, err := crypto.Unlock(b, key)
		if err != nil {
			t.Fatalf("a keystore was written that does not open: %v", err)
		}
		if !bytes.Equal(crypto.Plain(got), crypto.Plain(id)) {
			t.Fatal("a keystore opens with other content")
		}
		return got, nil
	}
	card := func(change func(f *crypto.CardFields)) (*crypto.Card, error) {
		f := fields("asker")
		change(&f)
		_, c, err := a.MakeCard(f, nil, start, source(4))
		return c, err
	}
	grantOf := func(n int) *crypto.FederationGrant {
		g := &crypto.FederationGrant{Federation: crypto.Federation{Name: "health"}, Leader: a.Site()}
		for i := range n {
			from := start.Add(time.Duration(i) * crypto.EpochSpacing)
			g.Federation.Epochs = append(g.Federation.Epochs, crypto.FederationEpoch{Number: uint32(i + 1), From: from,
				To: from.Add(2 * crypto.EpochSpacing)})
		}
		return g
	}
	taken := func(g *crypto.FederationGrant) (*crypto.FederationGrant, error) {
		b, err := g.Bytes()
		if err != nil {
			return nil, err
		}
		got, err := crypto.ParseFederationGrant(b)
		if err != nil {
			t.Fatalf("a grant was written that is not read: %v", err)
		}
		return got, nil
	}
	for _, l := range []limit{
		{"name of a card", 200, func(n int) (int, error) {
			c, err := card(func(f *crypto.CardFields) { f.Name = strings.Repeat("n", n) })
			if err != nil {
				return 0, err
			}
			return len(c.Name), nil
		}},
		{"contact of a card", 1024, func(n int) (int, error) {
			c, err := card(func(f *crypto.CardFields) { f.Contact = strings.Repeat("n", n) })
			if err != nil {
				return 0, err
			}
			return len(c.Contact), nil
		}},
		{"addresses of a card", 8, func(n int) (int, error) {
			c, err := card(func(f *crypto.CardFields) {
				f.URLs = nil
				for i := range n {
					f.URLs = append(f.URLs, fmt.Sprintf("https://a%d.example", i))
				}
			})
			if err != nil {
				return 0, err
			}
			return len(c.URLs), nil
		}},
		{"bytes of an address", 1024, func(n int) (int, error) {
			c, err := card(func(f *crypto.CardFields) { f.URLs = []string{"https://" + strings.Repeat("n", n-len("https://"))} })
			if err != nil {
				return 0, err
			}
			return len(c.URLs[0]), nil
		}},
		{"epochs of a grant", 8, func(n int) (int, error) {
			g, err := taken(grantOf(n))
			if err != nil {
				return 0, err
			}
			return len(g.Federation.Epochs), nil
		}},
		{"members of a grant", crypto.MaxMembers, func(n int) (int, error) {
			g := grantOf(1)
			g.Members = make([]crypto.SiteID, n)
			g, err := taken(g)
			if err != nil {
				return 0, err
			}
			return len(g.Members), nil
		}},
		{"name of a federation", 64, func(n int) (int, error) {
			id, err := reopened(a.NewEpoch(strings.Repeat("f", n), start, 0, source(5)))
			if err != nil {
				return 0, err
			}
			return len(id.Federations()[0].Name), nil
		}},
		{"bytes of a keystore", crypto.MaxKeystore, func(n int) (int, error) {
			b, err := crypto.LockOfSize(a.Identity, n, key, source(6))
			if err != nil {
				return 0, err
			}
			if _, err := crypto.Unlock(b, key); err != nil {
				t.Fatalf("a keystore was written that does not open: %v", err)
			}
			return len(b), nil
		}},
		{"address of an invitation", 1024, func(n int) (int, error) {
			i, err := a.Invite("https://"+strings.Repeat("n", n-len("https://")), time.Hour, start, source(8))
			if err != nil {
				return 0, err
			}
			got, err := crypto.ParseInvitation(i.String())
			if err != nil {
				t.Fatalf("an invitation was written that is not read: %v", err)
			}
			return len(got.URL), nil
		}},
		{"addresses of a card that enrols", 8, func(n int) (int, error) {
			c, err := card(func(f *crypto.CardFields) { // as large as a card can be
				f.Name, f.Contact, f.URLs = strings.Repeat("n", 200), strings.Repeat("c", 1024), nil
				for i := range n {
					f.URLs = append(f.URLs, fmt.Sprintf("https://a%d.", i)+strings.Repeat("n", 1024-len("https://a0.")))
				}
			})
			if err != nil {
				return 0, err
			}
			i, err := member.Invite("https://member.example", time.Hour, start, source(9))
			if err != nil {
				return 0, err
			}
			b, _, err := i.Enrol(c, member.card, start, source(10))
			if err != nil {
				return 0, err
			}
			e, err := member.ReadEnrolment(b, start)
			if err != nil {
				t.Fatalf("an enrolment was written that is not read: %v", err)
			}
			return len(e.Card.URLs), nil
		}},
		{"kind of a statement", 32, func(n int) (int, error) {
			epoch, sig, err := a.SignStatement(strings.Repeat("k", n), start, [32]byte{}, nil)
			if err != nil {
				return 0, err
			}
			return n, a.card.VerifyStatement(epoch, strings.Repeat("k", n), start, [32]byte{}, nil, sig)
		}},
		{"payload of a message", crypto.MaxPayload, func(n int) (int, error) {
			env, _, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: make([]byte, n)}, member.card, start,
				source(7))
			if err != nil {
				return 0, err
			}
			o, err := open(member.Identity, env, a.card, start)
			if err != nil {
				t.Fatalf("a message was sealed that does not open: %v", err)
			}
			return len(o.Payload), nil
		}},
	} {
		for _, n := range []int{l.most - 1, l.most, l.most + 1} {
			got, err := l.write(n)
			switch {
			case n > l.most && !errors.Is(err, crypto.ErrFormat):
				t.Errorf("%s: %d are written, error %v, want ErrFormat", l.name, n, err)
			case n <= l.most && (err != nil || got != n):
				t.Errorf("%s: of %d there come back %d, error %v", l.name, n, got, err)
			}
		}
	}
}

// TestEnrolmentLimit: input longer than any enrolment is refused by its length, before a key is used.
func TestEnrolmentLimit(t *testing.T) {
	a := newSite(t, "asker", 1)
	for n, want := range map[int]string{crypto.MaxEnrolment + 1: "bytes", crypto.MaxEnrolment + 1<<20: "bytes"} {
		if _, err := a.ReadEnrolment(make([]byte, n), start); !errors.Is(err, crypto.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestManyEpochs: if a leader begins an epoch every day, both its keystore and a receiving member's can be opened, contain the newest
// eight epochs, and never serve more than two at once.
func TestManyEpochs(t *testing.T) {
	lead, member := newSite(t, "lead", 1), newSite(t, "member", 2)
	key, r := crypto.RawKey([32]byte{7}), source(3)
	for day := range 20 {
		var err error
		now := start.AddDate(0, 0, day)
		if lead.Identity, err = lead.NewEpoch("health", now, crypto.EpochOverlap, r); err != nil {
			t.Fatal(err)
		}
		f, err := lead.Federation("health")
		if err != nil {
			t.Fatal(err)
		}
		if member.Identity, err = member.Join(&crypto.FederationGrant{Federation: f, Leader: lead.Site()}); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*site{"leader": lead, "member": member} {
			b, err := s.Lock(key, r)
			if err != nil {
				t.Fatalf("day %d, %s: %v", day, name, err)
			}
			if s.Identity, err = crypto.Unlock(b, key); err != nil {
				t.Fatalf("day %d, %s: %v", day, name, err)
			}
			f, err := s.Federation("health")
			if err != nil || len(f.Epochs) != min(day+1, 8) || f.Epochs[len(f.Epochs)-1].Number != uint32(day+1) {
				t.Fatalf("day %d, %s: %d epochs, error %v", day, name, len(f.Epochs), err)
			}
			open := 0
			for _, e := range f.Epochs {
				if e.Serves(now) {
					open++
				}
			}
			if open != min(day+1, 2) {
				t.Errorf("day %d, %s: %d epochs are served", day, name, open)
			}
		}
	}
}

// TestHostileEpochs: a grant is refused with the reason if its epochs are too close together, if it serves too many at once, or if it
// changes the order of the member's epochs. The member keeps what it has.
func TestHostileEpochs(t *testing.T) {
	member := newSite(t, "member", 2)
	grant := func(es ...crypto.FederationEpoch) *crypto.FederationGrant {
		return &crypto.FederationGrant{Federation: crypto.Federation{Name: "health", Epochs: es}, Leader: member.Site()}
	}
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	epoch := func(n uint32, from, to int) crypto.FederationEpoch {
		e := crypto.FederationEpoch{Number: n, From: day(from)}
		if to > 0 {
			e.To = day(to)
		}
		return e
	}
	id, err := member.Join(grant(epoch(1, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		grant *crypto.FederationGrant
		words string
	}{
		"an hour apart":   {grant(epoch(1, 0, 20), crypto.FederationEpoch{Number: 2, From: start.Add(time.Hour)}), "a day later"},
		"before the last": {grant(epoch(2, -10, 0)), "a day later"},
		"three at once":   {grant(epoch(1, 0, 20), epoch(2, 2, 20), epoch(3, 4, 0)), "3 epochs would be active"},
		"eight, never ending": {grant(epoch(1, 0, 0), epoch(2, 1, 0), epoch(3, 2, 0), epoch(4, 3, 0), epoch(5, 4, 0), epoch(6, 5, 0),
			epoch(7, 6, 0), epoch(8, 7, 0)), "3 epochs"},
	} {
		if _, err := id.Join(test.grant); !errors.Is(err, crypto.ErrEpoch) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: error %v, want ErrEpoch and %q", name, err, test.words)
		}
	}
	// The leader cannot end an epoch that it no longer has; here, the second epoch after that one ends it.
	later, err := id.Join(grant(epoch(2, 30, 0), epoch(3, 60, 0)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := later.Federation("health")
	if err != nil || len(f.Epochs) != 3 || !f.Epochs[0].To.Equal(day(60)) {
		t.Errorf("%+v, error %v", f.Epochs, err)
	}
	again, err := later.Join(grant(epoch(1, 0, 60), epoch(2, 30, 0), epoch(3, 60, 0)))
	if err != nil || !bytes.Equal(crypto.Plain(again), crypto.Plain(later)) {
		t.Errorf("the same again: %v", err)
	}
}

// TestEarlyEpochs: an epoch that begins less than EpochAge after the previous one is reported, unless the site has none.
func TestEarlyEpochs(t *testing.T) {
	at := func(days ...int) crypto.Federation {
		f := crypto.Federation{Name: "health"}
		for i, d := range days {
			f.Epochs = append(f.Epochs, crypto.FederationEpoch{Number: uint32(i + 1), From: start.AddDate(0, 0, d)})
		}
		return f
	}
	for name, test := range map[string]struct {
		held, granted crypto.Federation
		early         uint32
	}{
		"first": {at(), at(0, 1), 0}, "after 29 days": {at(0), at(0, 29), 2}, "after 30 days": {at(0), at(0, 30), 0},
		"the second new one": {at(0), at(0, 30, 59), 3}, "held already": {at(0, 1), at(0, 1), 0}, "after one held": {at(0, 1), at(0, 1, 40), 0},
	} {
		e, early := test.held.Early(&crypto.FederationGrant{Federation: test.granted})
		if early != (test.early > 0) || e.Number != test.early {
			t.Errorf("%s: epoch %d, %v, want %d", name, e.Number, early, test.early)
		}
	}
}

// TestNineEpochs: a keystore with nine epochs, written by an earlier version, is read with the newest eight, and is written so that it
// can be read again.
func TestNineEpochs(t *testing.T) {
	a, key := newSite(t, "lead", 1), crypto.RawKey([32]byte{7})
	id, err := a.NewEpoch("health", start, 0, source(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{8, 9, 40, 255} {
		b, err := crypto.LockPlain(a.Site(), crypto.PlainOfEpochs(id, n), key, source(3))
		if err != nil {
			t.Fatal(err)
		}
		got, err := crypto.Unlock(b, key)
		if err != nil {
			t.Errorf("%d epochs: %v", n, err)
			continue
		}
		f, err := got.Federation("health")
		if err != nil || len(f.Epochs) != 8 || f.Epochs[7].Number != uint32(n) {
			t.Errorf("%d epochs: %d are left, error %v", n, len(f.Epochs), err)
		}
		if b, err = got.Lock(key, source(4)); err == nil {
			_, err = crypto.Unlock(b, key)
		}
		if err != nil {
			t.Errorf("%d epochs, written again: %v", n, err)
		}
	}
}

// TestLockReadsBack: Lock refuses an identity that its reader would not accept, for example with an epoch that ends before it begins,
// instead of writing a keystore that cannot be opened.
func TestLockReadsBack(t *testing.T) {
	a := newSite(t, "asker", 1)
	id, err := a.Join(&crypto.FederationGrant{Federation: crypto.Federation{Name: "health",
		Epochs: []crypto.FederationEpoch{{Number: 1, From: start, To: start}}}, Leader: a.Site()})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := id.Lock(crypto.RawKey([32]byte{7}), source(1)); !errors.Is(err, crypto.ErrFormat) || b != nil {
		t.Errorf("%d bytes, error %v, want ErrFormat and none", len(b), err)
	}
}
