package lti

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"concordat"
)

// TestMessageBounds: no name or address in a message exceeds its bound; of at most 200 custom values, short texts are kept; a message
// without a notice is valid.
func TestMessageBounds(t *testing.T) {
	values := func(s string) *Message {
		m := &Message{Notice: &Notice{ID: s, Type: s}, Assets: []Asset{{}}}
		for _, n := range []*Named{&m.Context, &m.Link, &m.Activity, &m.Submission, &m.Asset} {
			*n = Named{ID: s, Title: s}
		}
		return m
	}
	if err := values(strings.Repeat("x", maxText)).bounds(); err != nil {
		t.Errorf("values at their bound: %v", err)
	}
	if err := new(Message).bounds(); err != nil {
		t.Errorf("a message without a notice: %v", err)
	}
	long := strings.Repeat("x", maxText+1)
	for i := range 12 {
		m := values("x")
		all := []*string{&m.Notice.ID, &m.Notice.Type}
		for _, n := range []*Named{&m.Context, &m.Link, &m.Activity, &m.Submission, &m.Asset} {
			all = append(all, &n.ID, &n.Title)
		}
		*all[i] = long
		if err := m.bounds(); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("value %d is too long: %v", i, err)
		}
	}
	raw := map[string]json.RawMessage{}
	for i := range maxCustom + 5 {
		raw[fmt.Sprint(i)] = json.RawMessage(`"x"`)
	}
	if got := texts(raw); len(got) != maxCustom {
		t.Errorf("%d custom values, want %d", len(got), maxCustom)
	}
	fitting := map[string]string{strings.Repeat("n", maxText): "x", "value": strings.Repeat("v", maxText)}
	raw = map[string]json.RawMessage{long: json.RawMessage(`"x"`), "long": json.RawMessage(`"` + long + `"`), "number": json.RawMessage("7")}
	for name, v := range fitting {
		raw[name] = json.RawMessage(`"` + v + `"`)
	}
	if got := texts(raw); !reflect.DeepEqual(got, fitting) {
		t.Errorf("kept are %d values, want the two that fit", len(got))
	}
}

// TestUsableKeys: messages are verified only with public keys that are intended for signatures and long enough.
func TestUsableKeys(t *testing.T) {
	pair, err := rsa.GenerateKey(rand.Reader, leastRSA)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short := rsa.PublicKey{N: new(big.Int).SetBit(new(big.Int), leastRSA-2, 1), E: 65537} // one bit too few
	for name, one := range map[string]struct {
		key  jose.JSONWebKey
		want bool
	}{
		"RSA":              {jose.JSONWebKey{Key: &pair.PublicKey}, true},
		"for signatures":   {jose.JSONWebKey{Key: &pair.PublicKey, Use: "sig"}, true},
		"elliptic":         {jose.JSONWebKey{Key: &curve.PublicKey}, true},
		"for encryption":   {jose.JSONWebKey{Key: &pair.PublicKey, Use: "enc"}, false},
		"short":            {jose.JSONWebKey{Key: &short}, false},
		"without exponent": {jose.JSONWebKey{Key: &rsa.PublicKey{N: pair.N}}, false},
		"private":          {jose.JSONWebKey{Key: pair}, false},
		"symmetric":        {jose.JSONWebKey{Key: []byte("secret")}, false},
	} {
		if got := usable(&one.key); got != one.want {
			t.Errorf("%s: %v, want %v", name, got, one.want)
		}
	}
}

// TestHostsOfPlatform: a registration covers the hosts that it lists, alone or with their subdomains, and no others.
func TestHostsOfPlatform(t *testing.T) {
	p := Platform{Issuer: "https://a.example", ClientID: "c", AuthURL: "https://a.example/a", TokenURL: "https://a.example/t",
		KeysURL: "https://a.example/k"}
	for host, want := range map[string]bool{"files.example.edu": true, ".example.edu": true, "192.0.2.1:8443": true,
		"": false, ".": false, "files.example.edu/x": false, "*.example.edu": false, "a@b": false, "a b": false, "https://a.example": false} {
		p.Hosts = []string{host}
		if err := p.Validate(false); (err == nil) != want || err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// TestGivenUpBetweenTokens: if a caller gives up while a platform refuses its own token, the caller gets that refusal.
func TestGivenUpBetweenTokens(t *testing.T) {
	c := NewClient(Options{Keys: &Keys{}})
	defer c.Close()
	p := &Platform{Issuer: "https://a.example", ClientID: "c"}
	c.tokens[tokenKey{p.Issuer, p.ClientID, ScopeAssets}] = token{"had before", c.o.Now().Add(time.Hour)}
	ctx, giveUp := context.WithCancel(t.Context())
	refused := errors.New("refused")
	tries := 0
	err := c.withToken(ctx, p, []string{ScopeAssets}, func(string) (bool, error) {
		tries++
		giveUp()
		return true, refused
	})
	if !errors.Is(err, refused) || tries != 1 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
