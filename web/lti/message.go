package lti

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"concordat"
)

// Bounds on messages.
const (
	// MaxMessage is the maximum length of a message in bytes.
	MaxMessage = 1 << 20
	// MaxAssets is the maximum number of files in a notice.
	MaxAssets = 1000
	maxText   = 4000 // bytes of one name or address
	maxCustom = 200
)

// basics are the claims common to all tokens (OpenID Connect Core 1.0, section 2).
type basics struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	AZP      string   `json:"azp"`
	Expires  seconds  `json:"exp"`
	Issued   seconds  `json:"iat"`
	Before   seconds  `json:"nbf"`
	Nonce    string   `json:"nonce"`
	Name     string   `json:"name"`
	Locale   string   `json:"locale"`
}

// audience is an audience claim: a text or an array of texts.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// seconds is a time in seconds since 1970, possibly with a fraction, as some platforms write it.
type seconds float64

func (s seconds) time() time.Time { return time.Unix(int64(s), 0) }

// UnmarshalJSON implements json.Unmarshaler. It rejects times out of range.
func (s *seconds) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || x < 0 || x > 1<<40 {
		return fmt.Errorf("%w: %.40q is not a time", concordat.ErrInvalid, b)
	}
	*s = seconds(x)
	return nil
}

type claims map[string]json.RawMessage

// read decodes a claim into v if the claim is present under its final name or, failing that, its name in a draft.
func (c claims) read(name string, v any) error {
	raw, ok := c[claimPrefix+name]
	if !ok {
		raw, ok = c[apPrefix+name]
	}
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("claim %s: %w: %w", name, concordat.ErrInvalid, err)
	}
	return nil
}

// parse parses the payload of a token without verifying it.
func parse(payload []byte) (*basics, *Message, error) {
	if len(payload) > MaxMessage {
		return nil, nil, fmt.Errorf("%w: the message is too long (%d bytes)", concordat.ErrInvalid, len(payload))
	}
	var b basics
	var c claims
	if err := errors.Join(json.Unmarshal(payload, &b), json.Unmarshal(payload, &c)); err != nil {
		return nil, nil, fmt.Errorf("message: %w: %w", concordat.ErrInvalid, err)
	}
	m := &Message{Issuer: b.Issuer, Subject: b.Subject, Nonce: b.Nonce, Name: b.Name, Locale: b.Locale}
	var version string
	var forUser struct {
		ID string `json:"user_id"`
	}
	var assets struct {
		Scope  []string `json:"scope"`
		Assets []Asset  `json:"assets"`
	}
	var reports struct {
		Scope []string `json:"scope"`
		URL   string   `json:"report_url"`
	}
	var custom map[string]json.RawMessage
	err := errors.Join(c.read("version", &version), c.read("message_type", &m.Type), c.read("deployment_id", &m.Deployment),
		c.read("target_link_uri", &m.Target), c.read("roles", &m.Roles), c.read("context", &m.Context), c.read("resource_link", &m.Link),
		c.read("activity", &m.Activity), c.read("submission", &m.Submission), c.read("asset", &m.Asset),
		c.read("assetreport_type", &m.ReportType),
		c.read("for_user", &forUser), c.read("custom", &custom), c.read("platformnotificationservice", &m.Notices), c.read("notice", &m.Notice),
		c.read("assetservice", &assets), c.read("assetreport", &reports))
	if raw, ok := c[dlPrefix+"deep_linking_settings"]; ok && err == nil {
		err = json.Unmarshal(raw, &m.DeepLinking)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("message: %w: %w", concordat.ErrInvalid, err)
	}
	m.ForUser, m.Assets, m.AssetScopes, m.ReportURL, m.ReportScopes = forUser.ID, assets.Assets, assets.Scope, reports.URL, reports.Scope
	m.Custom = texts(custom)
	if version != Version {
		return nil, nil, fmt.Errorf("message: %w: unexpected version %.40q, want %s", concordat.ErrInvalid, version, Version)
	}
	return &b, m, m.bounds()
}

// texts returns the values that are texts.
func texts(raw map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for name, v := range raw {
		var s string
		if len(out) < maxCustom && len(name) <= maxText && json.Unmarshal(v, &s) == nil && len(s) <= maxText {
			out[name] = s
		}
	}
	return out
}

// bounds rejects implausibly long values.
func (m *Message) bounds() error {
	all := []string{m.Issuer, m.Subject, m.Nonce, m.Name, m.Locale, m.Type, m.Deployment, m.Target, m.ReportType, m.ForUser, m.ReportURL}
	for _, n := range []Named{m.Context, m.Link, m.Activity, m.Submission, m.Asset} {
		all = append(all, n.ID, n.Title)
	}
	if m.Notice != nil {
		all = append(all, m.Notice.ID, m.Notice.Type)
	}
	for _, a := range m.Assets {
		all = append(all, a.ID, a.URL, a.Title, a.Filename, a.Media, a.Digest)
	}
	if len(m.Assets) > MaxAssets {
		return fmt.Errorf("message: %w: %d files, but at most %d are allowed", concordat.ErrInvalid, len(m.Assets), MaxAssets)
	}
	for _, s := range all {
		if len(s) > maxText {
			return fmt.Errorf("message: %w: a value is too long (%d bytes)", concordat.ErrInvalid, len(s))
		}
	}
	return nil
}
