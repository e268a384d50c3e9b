package partners

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/internal/fedtest"
	"concordat/store"
)

// served serves the site of c to other, which is an active partner on its roster, and returns a function that requests the catalogue as
// other.
func served(t *testing.T, c *Client, other *fedtest.Site) (ask func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	self, _ := c.roster.Self()
	self, own, err := self.MakeCard(crypto.CardFields{Name: "site", URLs: []string{"https://" + l.Addr().String()}, Modes: crypto.ModeSealed},
		nil, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.roster.Use(self, own)
	other.Roster.Set(federation.Member{Site: self.Site(), State: federation.StateActive, Card: own})
	path := filepath.Join(t.TempDir(), "replays")
	if err := federation.CreateReplays(path); err != nil {
		t.Fatal(err)
	}
	replays, err := federation.OpenReplays(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := federation.NewServer(c.roster, opens{libraries: []concordat.LibraryID{"theses"}}, other.Epochs, replays, [32]byte{},
		federation.ServerOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(ctx, l, time.Second) }()
	t.Cleanup(func() { cancel(); <-ended; _ = replays.Close() })
	return func() error {
		cl := federation.NewClient(self.Site(), other.Roster, [32]byte{}, federation.ClientOptions{Timeout: 10 * time.Second})
		defer cl.Close()
		_, err := cl.Catalogue(t.Context())
		return err
	}
}

// naming returns the card of a new site that contains the TLS key of another card, in version 1 format, which requires no proof.
func naming(t *testing.T, victim *crypto.Card, before concordat.SiteID) *crypto.Card {
	t.Helper()
	for {
		id, err := crypto.New(time.Now(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if instance.PartnerName(id.Site()) > before {
			continue // it must be found first when partners are searched
		}
		_, good, err := id.MakeCard(crypto.CardFields{Name: "bad", URLs: []string{"https://127.0.0.1:9"}, Modes: crypto.ModeSealed}, nil,
			time.Now(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		// Version 1 contains the pin of a key in place of version 2's key and proof, before modes, suites and contact.
		raw := good.Bytes()
		end := len(raw) - ed25519.SignatureSize - 2 - len(good.Contact) - 1 - len(good.Suites) - 1
		begin := end - len(good.TLS)*(ed25519.PublicKeySize+ed25519.SignatureSize)
		body := slices.Concat(raw[:begin-1], []byte{1}, victim.TLS[0][:], raw[end:len(raw)-ed25519.SignatureSize])
		body[4] = 1
		root, err := id.Root()
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		raw = append(body, ed25519.Sign(ed25519.NewKeyFromSeed(root), append([]byte("concordat/card/1\x00"), sum[:]...))...)
		card, err := crypto.Accept(id.Site(), nil, raw, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return card
	}
}

// TestForeignPin: a site whose card contains the TLS key of an honest partner, with or without a proof, takes nothing away from that
// partner, whether it is enrolled, active or revoked, and even if its row was stored by an earlier version.
func TestForeignPin(t *testing.T) {
	o, c := federated(t)
	victim := fedtest.NewSite(t, alarmScheme)
	_, card := victim.Roster.Self()
	ask := served(t, c, victim)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(c *crypto.Card, to store.PartnerState) {
		t.Helper()
		name := instance.PartnerName(c.Site)
		must(o.Store.Partners.AddPartner(t.Context(), store.Partner{Site: name, Serial: c.Serial, Card: c.Bytes()}))
		if to != store.PartnerPending {
			must(o.Store.Partners.SetPartnerState(t.Context(), name, store.PartnerPending, to))
		}
	}
	add(card, store.PartnerActive)
	must(ask())
	for _, state := range []store.PartnerState{store.PartnerPending, store.PartnerActive, store.PartnerRevoked} {
		bad := naming(t, card, victim.ID)
		if err := c.roster.pinsAreFree(t.Context(), bad); !errors.Is(err, errPinTaken) {
			t.Errorf("a card with another partner's key: error %v, want %v", err, errPinTaken)
		}
		add(bad, state)
		if err := ask(); err != nil {
			t.Errorf("with a %s site whose card names the honest partner's key: %v", state, err)
		}
	}
	if as, err := o.Store.Partners.PartnerAlarms(t.Context(), victim.ID, 0); err != nil || len(as) > 0 {
		t.Errorf("alarms about the honest partner: %v, %v", as, err)
	}
	// An unproven card that came first does not exclude the honest site either.
	if err := c.roster.pinsAreFree(t.Context(), card); err != nil {
		t.Errorf("the honest partner's proven card: %v", err)
	}
	_, own := c.roster.Self()
	if err := c.roster.pinsAreFree(t.Context(), naming(t, own, victim.ID)); !errors.Is(err, errPinTaken) {
		t.Errorf("a card with this site's key: error %v, want %v", err, errPinTaken)
	}
}

// TestRenewedCardWithForeignPin: an active partner whose new card contains another site's TLS key keeps its old card, and an alarm is
// raised.
func TestRenewedCardWithForeignPin(t *testing.T) {
	_, c := federated(t)
	honest, _ := partner(t, c, "theses")
	_, card := honest.Roster.Self()
	bad := naming(t, card, honest.ID)
	held := store.Partner{Site: instance.PartnerName(bad.Site), Serial: 1, Card: []byte("held")}
	if err := c.o.Store.Partners.AddPartner(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if err := c.roster.Renew(t.Context(), bad); !errors.Is(err, errPinTaken) {
		t.Errorf("error %v, want %v", err, errPinTaken)
	}
	if as, err := c.o.Store.Partners.PartnerAlarms(t.Context(), instance.PartnerName(bad.Site), 0); err != nil || len(as) != 1 ||
		as[0].Kind != store.AlarmFalse {
		t.Errorf("alarms %v, %v", as, err)
	}
	if p, err := c.o.Store.Partners.Partner(t.Context(), instance.PartnerName(bad.Site)); err != nil || p.Serial != 1 {
		t.Errorf("serial %d is held, error %v", p.Serial, err)
	}
}
