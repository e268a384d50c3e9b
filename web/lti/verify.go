package lti

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"concordat"
)

// These are the signature algorithms accepted from platforms: RS256, as LTI requires, and stronger public-key algorithms (1EdTech
// Security Framework 1.0, section 5.1.3).
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.ES256, jose.ES384}

const (
	// skew is the tolerated difference between clocks.
	skew = time.Minute
	// keysTime is how long a platform's keys are used before they are fetched again.
	keysTime = time.Hour
	// keysRest is the minimum interval between fetches caused by unknown keys.
	keysRest = 10 * time.Second
	// leastRSA is the minimum length of an RSA key in bits.
	leastRSA = 2048
)

// Peek returns the issuer and audience claimed by a token, without verifying anything.
func Peek(raw string) (issuer string, audience []string, err error) {
	t, err := open(raw)
	if err != nil {
		return "", nil, err
	}
	var b basics
	if err := json.Unmarshal(t.UnsafePayloadWithoutVerification(), &b); err != nil {
		return "", nil, fmt.Errorf("message: %w: %w", concordat.ErrInvalid, err)
	}
	return b.Issuer, b.Audience, nil
}

func open(raw string) (*jose.JSONWebSignature, error) {
	if len(raw) > MaxMessage {
		return nil, fmt.Errorf("message: %w: the token is too long (%d bytes)", concordat.ErrInvalid, len(raw))
	}
	t, err := jose.ParseSignedCompact(raw, algorithms)
	if err != nil {
		return nil, fmt.Errorf("message: %w: %w", concordat.ErrInvalid, err)
	}
	return t, nil
}

// Verify returns the message in a token that the platform recently signed for this site (1EdTech Security Framework 1.0, section 5.1.3;
// LTI Core 1.3, section 5.3). It fails with concordat.ErrRefused if a check fails, with concordat.ErrInvalid if raw is not a message, and
// with concordat.ErrUnavailable if the platform's keys cannot be fetched. The caller must check the nonce and the notice.
func (c *Client) Verify(ctx context.Context, p *Platform, raw string) (*Message, error) {
	t, err := open(raw)
	if err != nil {
		return nil, err
	}
	key, err := c.platformKey(ctx, p, t.Signatures[0].Header.KeyID)
	if err != nil {
		return nil, err
	}
	payload, err := t.Verify(key)
	if err != nil {
		return nil, fmt.Errorf("message: %w: %w", concordat.ErrRefused, err)
	}
	b, m, err := parse(payload)
	if err != nil {
		return nil, err
	}
	if why := b.wrong(p, c.o.Now()); why != "" {
		return nil, fmt.Errorf("message: %w: %s", concordat.ErrRefused, why)
	}
	if !p.Deployed(m.Deployment) {
		return nil, &DeploymentError{Issuer: p.Issuer, Deployment: m.Deployment}
	}
	return m, nil
}

// DeploymentError means that the platform is known but the deployment is not.
type DeploymentError struct{ Issuer, Deployment string }

// Error implements error.
func (e *DeploymentError) Error() string {
	return fmt.Sprintf("message: deployment %q of %s is not registered", e.Deployment, e.Issuer)
}

// Unwrap returns concordat.ErrRefused.
func (e *DeploymentError) Unwrap() error { return concordat.ErrRefused }

// wrong describes what is wrong with the claims, or returns "" if nothing is.
func (b *basics) wrong(p *Platform, now time.Time) string {
	early, late := now.Add(-skew), now.Add(skew)
	switch {
	case b.Issuer != p.Issuer:
		return fmt.Sprintf("unexpected issuer %q", b.Issuer)
	case !slices.Contains(b.Audience, p.ClientID):
		return fmt.Sprintf("unexpected audience %q", b.Audience)
	case b.AZP != "" && b.AZP != p.ClientID, b.AZP == "" && len(b.Audience) > 1:
		return fmt.Sprintf("issued to %q", b.AZP)
	case !b.Expires.time().After(early):
		return "expired at " + b.Expires.time().UTC().Format(time.RFC3339)
	case b.Issued == 0 || b.Issued.time().After(late):
		return "issue time is missing or in the future"
	case b.Before.time().After(late):
		return "not valid yet"
	case b.Nonce == "":
		return "missing nonce"
	}
	return ""
}

// keySet caches the keys of a platform.
type keySet struct {
	mu   sync.Mutex // guards the fields below and serialises fetches
	keys jose.JSONWebKeySet
	read time.Time // when the keys were last fetched
	try  time.Time // when a fetch was last attempted
}

// platformKey returns the platform's key with the given ID. If the ID is unknown, it fetches the keys again because platforms rotate
// keys. It limits how often this happens, because the ID can be a forger's guess.
func (c *Client) platformKey(ctx context.Context, p *Platform, kid string) (*jose.JSONWebKey, error) {
	c.mu.Lock()
	s := c.keys[p.KeysURL]
	if s == nil {
		s = &keySet{}
		c.keys[p.KeysURL] = s
	}
	c.mu.Unlock()
	s.mu.Lock() // a slow platform delays only its own messages
	defer s.mu.Unlock()
	now := c.o.Now()
	k := s.find(kid)
	if (k == nil || now.Sub(s.read) > keysTime) && now.Sub(s.try) > keysRest {
		s.try = now
		if err := c.readKeys(ctx, p, s); err != nil {
			if k == nil {
				s.try = time.Time{} // no keys are known, so the next message tries again
				return nil, err
			}
		} else {
			s.read, k = now, s.find(kid)
		}
	}
	if k == nil {
		return nil, fmt.Errorf("message: %w: there is no key %.100q at %s", concordat.ErrRefused, kid, p.KeysURL)
	}
	return k, nil
}

func (c *Client) readKeys(ctx context.Context, p *Platform, s *keySet) error {
	b, err := c.get(ctx, p, p.KeysURL, "")
	if err != nil {
		return fmt.Errorf("keys of %s: %w", p.Issuer, err)
	}
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("keys of %s: %w: %w", p.Issuer, concordat.ErrUnavailable, err)
	}
	s.keys = jose.JSONWebKeySet{}
	for _, one := range raw.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(one) == nil && usable(&k) { // keys of unknown types are for other tools
			s.keys.Keys = append(s.keys.Keys, k)
		}
	}
	return nil
}

func usable(k *jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= leastRSA
	case *ecdsa.PublicKey:
		return true
	}
	return false
}

// find returns the key with the given ID; if there is only one key, the ID can be omitted.
func (s *keySet) find(kid string) *jose.JSONWebKey {
	for i := range s.keys.Keys {
		if k := &s.keys.Keys[i]; k.KeyID == kid && kid != "" || kid == "" && len(s.keys.Keys) == 1 {
			return k
		}
	}
	return nil
}
