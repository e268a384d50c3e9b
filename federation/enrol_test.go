package federation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// registrar is an in-memory federation.Registrar with open invitations and the sites that redeemed them.
type registrar struct {
	mu       sync.Mutex
	open     map[[32]byte]time.Time
	digests  map[[32]byte][32]byte // digests of invitations
	enrolled map[[32]byte]*crypto.Enrolment
	roster   *fedtest.Roster
}

var _ federation.Registrar = (*registrar)(nil)

func newRegistrar(r *fedtest.Roster) *registrar {
	return &registrar{open: map[[32]byte]time.Time{}, digests: map[[32]byte][32]byte{}, enrolled: map[[32]byte]*crypto.Enrolment{}, roster: r}
}

func (d *registrar) invite(t *testing.T, url string) *crypto.Invitation {
	t.Helper()
	id, _ := d.roster.Self()
	i, err := id.Invite(url, crypto.InvitationLife, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[i.TokenHash()], d.digests[i.TokenHash()] = i.Expiry, i.Digest()
	return i
}

func (d *registrar) Inviting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open) > 0
}

func (d *registrar) Invitation(_ context.Context, token [32]byte) (time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	expiry, ok := d.open[token]
	if !ok {
		return time.Time{}, concordat.ErrNotFound
	}
	return expiry, nil
}

func (d *registrar) Enrol(_ context.Context, e *crypto.Enrolment) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.open[e.TokenHash()]; !ok {
		return concordat.ErrRefused
	}
	delete(d.open, e.TokenHash())
	d.enrolled[e.TokenHash()] = e
	d.roster.Set(federation.Member{Site: e.Card.Site, State: federation.StatePending, Card: e.Card})
	return nil
}

// words returns the six words that the inviting site shows.
func (d *registrar) words(token [32]byte) [6]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, _ := d.roster.Self()
	e := d.enrolled[token]
	return crypto.Words(id.Site(), e.Card.Site, d.digests[token], e.Nonce)
}

// startInviting returns a serving site with a registrar.
func startInviting(t *testing.T) (*fedtest.Site, *registrar) {
	t.Helper()
	s := fedtest.NewSite(t, scheme)
	d := newRegistrar(s.Roster)
	s.Options.Registrar = d
	s.Answer(&scan{title: "of the inviting site", level: concordat.ShowMetadata})
	s.Start(t)
	return s, d
}

func kindOf(err error) federation.Kind {
	var e *federation.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// TestE1_Enrolment enrols a site, from the invitation to the first answer. Nothing is answered before both sites have confirmed, and the
// federation's secret arrives encrypted.
func TestE1_Enrolment(t *testing.T) {
	b, registrar := startInviting(t)
	a := fedtest.NewSite(t, scheme)
	invitation := registrar.invite(t, b.URL)
	redeemed, err := federation.Redeem(t.Context(), invitation, a.Roster, federation.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if redeemed.Words != registrar.words(invitation.TokenHash()) {
		t.Error("the two sites show other words")
	}
	if !bytes.Equal(redeemed.Inviter.Bytes(), b.Member(federation.StateActive).Card.Bytes()) {
		t.Error("another card than the inviting site's")
	}

	// Only A has confirmed, so B answers nothing, although its TLS lets A connect while another invitation is open.
	a.Roster.Set(federation.Member{Site: redeemed.Inviter.Site, State: federation.StateActive, Card: redeemed.Inviter})
	registrar.invite(t, b.URL)
	if _, err := a.NewClient(t, b, federation.ClientOptions{}).Catalogue(t.Context()); kindOf(err) != federation.KindRejected {
		t.Errorf("pending at B: error %v, want kind %s", err, federation.KindRejected)
	}
	b.Roster.Set(a.Member(federation.StateActive))
	c := a.NewClient(t, b, federation.ClientOptions{})
	catalogue, err := c.Catalogue(t.Context())
	if err != nil || catalogue.Libraries[0].Title != "of the inviting site" {
		t.Errorf("confirmed: %+v, %v", catalogue, err)
	}

	// B leads a federation and gives A the federation's secret.
	id, _ := b.Roster.Self()
	id, err = id.NewEpoch("health", time.Now(), 0, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Grant(t.Context(), "health"); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("no member yet: error %v, want ErrRefused", err)
	}
	b.Epochs.Give(a.ID, grantOf(t, id, "health"))
	grant, err := c.Grant(t.Context(), "health")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := a.Roster.Self()
	joined, err := own.Join(grant)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fingerprintKey(t, joined, "health", 1), fingerprintKey(t, id, "health", 1)) {
		t.Error("the two sites have other fingerprint keys")
	}
	if _, err := c.Grant(t.Context(), "other"); kindOf(err) != federation.KindGarbage {
		t.Errorf("the grant of another federation: error %v, want kind %s", err, federation.KindGarbage)
	}
}

func grantOf(t *testing.T, id *crypto.Identity, name string) []byte {
	t.Helper()
	f, err := id.Federation(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&crypto.FederationGrant{Federation: f, Leader: id.Site()}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fingerprintKey(t *testing.T, id *crypto.Identity, name string, epoch uint32) []byte {
	t.Helper()
	f, err := id.Federation(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Epochs {
		if e.Number == epoch {
			return e.FingerprintKey(string(scheme))
		}
	}
	t.Fatalf("no epoch %d", epoch)
	return nil
}

// TestE1_Refused: an invitation works once, at the site that made it, and TLS refuses a stranger without one.
func TestE1_Refused(t *testing.T) {
	b, registrar := startInviting(t)
	a, thief := fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme)
	a.Roster.Set(b.Member(federation.StateActive))
	if _, err := a.NewClient(t, b, federation.ClientOptions{Tries: 1}).Catalogue(t.Context()); err == nil {
		t.Error("a stranger was answered")
	}
	used := registrar.invite(t, b.URL)
	if _, err := federation.Redeem(t.Context(), used, a.Roster, federation.ClientOptions{}); err != nil {
		t.Fatal(err)
	}
	registrar.invite(t, b.URL) // leaves an invitation open
	if _, err := federation.Redeem(t.Context(), used, thief.Roster, federation.ClientOptions{}); kindOf(err) != federation.KindRejected {
		t.Errorf("a used invitation: error %v, want kind %s", err, federation.KindRejected)
	}
	forged := *registrar.invite(t, b.URL)
	forged.Token[0] ^= 1
	if _, err := federation.Redeem(t.Context(), &forged, thief.Roster, federation.ClientOptions{}); kindOf(err) != federation.KindRejected {
		t.Errorf("a forged token: error %v, want kind %s", err, federation.KindRejected)
	}
	elsewhere, other := startInviting(t)
	other.invite(t, elsewhere.URL)
	moved := *registrar.invite(t, b.URL)
	moved.URL = elsewhere.URL
	if _, err := federation.Redeem(t.Context(), &moved, thief.Roster, federation.ClientOptions{}); kindOf(err) != federation.KindStranger {
		t.Errorf("another site answers: error %v, want kind %s", err, federation.KindStranger)
	}
}

// TestStolenCard: a card is public, so a site that presents another's card without its keys can neither become a partner nor answer
// questions.
func TestStolenCard(t *testing.T) {
	b, registrar := startInviting(t)
	victim, thief := fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme)
	stolen := victim.Member(federation.StateActive).Card
	_, err := federation.Redeem(t.Context(), registrar.invite(t, b.URL), withCard{thief.Roster, stolen}, federation.ClientOptions{})
	if kindOf(err) != federation.KindRejected {
		t.Errorf("enrolling with another's card: error %v, want kind %s", err, federation.KindRejected)
	}
	id, _ := victim.Roster.Self()
	if _, ok := b.Roster.Member(id.Site()); ok {
		t.Error("the victim was enrolled by the thief")
	}

	// The thief answers at an address where the victim's partner expects the victim.
	owner, ownerDesk := startInviting(t)
	ownerDesk.invite(t, owner.URL)
	moved := fedtest.NewSite(t, scheme)
	moved.Roster.Use(t, id, owner.URL)
	a := fedtest.NewSite(t, scheme)
	a.Roster.Set(moved.Member(federation.StateActive))
	if _, err := a.NewClient(t, victim, federation.ClientOptions{}).Catalogue(t.Context()); kindOf(err) != federation.KindStranger {
		t.Errorf("answering under another's card: error %v, want kind %s", err, federation.KindStranger)
	}
}

// withCard is a roster that presents another site's card.
type withCard struct {
	*fedtest.Roster
	card *crypto.Card
}

func (w withCard) Self() (*crypto.Identity, *crypto.Card) {
	id, _ := w.Roster.Self()
	return id, w.card
}

// TestE2_CardRollback: an older card does not replace a newer one, and the next message of a revoked partner is
// refused.
func TestE2_CardRollback(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{level: concordat.ShowMetadata}, &scan{level: concordat.ShowMetadata})
	a, b := f.Sites[0], f.Sites[1]
	old := b.Member(federation.StateActive)
	id, _ := b.Roster.Self()
	b.Roster.Use(t, id, b.URL)
	c := f.Partner(0, 1)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	newer := b.Member(federation.StateActive).Card
	if m, _ := a.Roster.Member(id.Site()); m.Card.Serial != newer.Serial {
		t.Fatalf("serial %d is held, want %d", m.Card.Serial, newer.Serial)
	}
	b.Roster.Back(old.Card)
	err := c.Refresh(t.Context())
	if kindOf(err) != federation.KindGarbage || !errors.Is(err, crypto.ErrCard) {
		t.Errorf("an older card: error %v, want ErrCard", err)
	}
	namesSite(t, "refresh", err, b.ID)
	if m, _ := a.Roster.Member(id.Site()); m.Card.Serial != newer.Serial {
		t.Errorf("serial %d is held, want %d", m.Card.Serial, newer.Serial)
	}
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Errorf("before: %v", err)
	}
	b.Roster.Set(a.Member(federation.StateRevoked))
	if _, err := c.Catalogue(t.Context()); err == nil || kindOf(err) != federation.KindRejected {
		t.Errorf("revoked, over an open connection: error %v, want kind %s", err, federation.KindRejected)
	}
}

// TestCardRefresh: a partner that replaced all its keys is recognised at once by its new card.
func TestCardRefresh(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{level: concordat.ShowMetadata})
	b := f.Sites[1]
	c := f.Partner(0, 1)
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, _ := b.Roster.Self()
	replaced, err := id.Replace(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b.Roster.Use(t, replaced, b.URL)
	// Over the open connection, the message arrives but cannot be decrypted.
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Errorf("keys replaced, open connection: %v", err)
	}
	id, _ = b.Roster.Self()
	if replaced, err = id.Replace(time.Now(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	b.Roster.Use(t, replaced, b.URL)
	c.Close()
	// A new connection presents a key that the known card does not name.
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Errorf("keys replaced, new connection: %v", err)
	}
}
