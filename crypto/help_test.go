package crypto_test

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"concordat/crypto"
)

// start is when the tests' sites are created.
var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// source returns random bytes that depend only on the seed.
func source(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// site holds the keys and the card of a test site.
type site struct {
	*crypto.Identity
	card *crypto.Card
}

func fields(name string) crypto.CardFields {
	return crypto.CardFields{Name: name, URLs: []string{"https://" + name + ".example:8443"}, Contact: "integrity@" + name + ".example",
		Modes: crypto.ModeSealed}
}

func newSite(t testing.TB, name string, seed byte) *site {
	t.Helper()
	r := source(seed)
	id, err := crypto.New(start, r)
	if err != nil {
		t.Fatal(err)
	}
	id, card, err := id.MakeCard(fields(name), nil, start, r)
	if err != nil {
		t.Fatal(err)
	}
	return &site{id, card}
}

var policy = crypto.Policy{Types: []crypto.MessageType{crypto.TypeQuery, crypto.TypeReveal}}

// request seals a query from a to b at now.
func request(t testing.TB, a, b *site, now time.Time, payload string) ([]byte, *crypto.Pending) {
	t.Helper()
	env, p, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: []byte(payload)}, b.card, now, source(77))
	if err != nil {
		t.Fatal(err)
	}
	return env, p
}

func open(b *crypto.Identity, env []byte, from *crypto.Card, now time.Time) (*crypto.Opened, error) {
	v, err := b.VerifyRequest(env, from, policy, now)
	if err != nil {
		return nil, err
	}
	return v.Open()
}
