package lti

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"concordat"
)

const (
	keyBits = 2048
	maxKeys = 3
	// assertionTime is the validity period of an assertion.
	assertionTime = 5 * time.Minute
)

// Keys are the site's keys for signing messages to platforms. The newest signs, and earlier ones remain published for a while. Keys is
// safe for concurrent use.
type Keys struct{ all []jose.JSONWebKey }

// NewKeys generates keys.
func NewKeys() (*Keys, error) { return (&Keys{}).Rotate() }

// Rotate returns keys with a new signing key and without the oldest key.
func (k *Keys) Rotate() (*Keys, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	fresh := jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"}
	all := append([]jose.JSONWebKey{fresh}, k.all...)
	return &Keys{all[:min(len(all), maxKeys)]}, nil
}

// ParseKeys parses the output of Marshal.
func ParseKeys(b []byte) (*Keys, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("keys: %w: %w", concordat.ErrCorrupt, err)
	}
	if len(set.Keys) == 0 || slices.ContainsFunc(set.Keys, func(k jose.JSONWebKey) bool {
		return !k.Valid() || k.IsPublic() ||
			k.KeyID == ""
	}) {
		return nil, fmt.Errorf("keys: %w: private keys with IDs are required", concordat.ErrCorrupt)
	}
	return &Keys{set.Keys}, nil
}

// Marshal returns the keys, including private keys, for a file that only the site can read.
func (k *Keys) Marshal() ([]byte, error) { return json.Marshal(jose.JSONWebKeySet{Keys: k.all}) }

// Public returns the public keys as a JWK set (RFC 7517, section 5).
func (k *Keys) Public() ([]byte, error) {
	var set jose.JSONWebKeySet
	for _, one := range k.all {
		set.Keys = append(set.Keys, one.Public())
	}
	return json.Marshal(set)
}

func (k *Keys) sign(claims any) (string, error) {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: k.all[0]}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(s).Claims(claims).Serialize()
}

// assertion returns a token that proves the site's identity to a platform's token service (RFC 7523, section 3).
func (k *Keys) assertion(p *Platform, now time.Time) (string, error) {
	aud := p.TokenAudience
	if aud == "" {
		aud = p.TokenURL
	}
	return k.sign(map[string]any{"iss": p.ClientID, "sub": p.ClientID, "aud": aud, "iat": now.Unix(), "exp": now.Add(assertionTime).Unix(),
		"jti": rand.Text()})
}

// Item is a content item that makes the site a processor of an activity.
type Item struct {
	Title, Text string
	Custom      map[string]string
	ReportURL   string // address for opening reports
}

// DeepLinkingResponse returns the signed answer to a deep linking request, with at most one item (Deep Linking 2.0, section 4.5).
func (k *Keys) DeepLinkingResponse(p *Platform, m *Message, item *Item, now time.Time) (string, error) {
	items := []any{}
	if item != nil {
		items = append(items, map[string]any{"type": ItemProcessor, "title": item.Title, "text": item.Text, "custom": item.Custom,
			"report": map[string]any{"url": item.ReportURL, "supportedTypes": []string{ReportType}, "released": true, "indicator": true}})
	}
	c := map[string]any{"iss": p.ClientID, "aud": p.Issuer, "iat": now.Unix(), "exp": now.Add(assertionTime).Unix(), "nonce": rand.Text(),
		claimPrefix + "message_type": "LtiDeepLinkingResponse", claimPrefix + "version": Version, claimPrefix + "deployment_id": m.Deployment,
		dlPrefix + "content_items": items}
	if m.DeepLinking != nil && len(m.DeepLinking.Data) > 0 {
		c[dlPrefix+"data"] = m.DeepLinking.Data
	}
	return k.sign(c)
}
