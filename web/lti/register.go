package lti

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"concordat"
)

const (
	toolConfiguration = "https://purl.imsglobal.org/spec/lti-tool-configuration"
)

// Tool describes this site to platforms. Base is its public address, without a trailing slash.
type Tool struct{ Name, Base string }

// Addresses on the site.
func (t Tool) LoginURL() string  { return t.Base + "/lti/login" }
func (t Tool) LaunchURL() string { return t.Base + "/lti/launch" }
func (t Tool) KeysURL() string   { return t.Base + "/lti/jwks" }
func (t Tool) NoticeURL() string { return t.Base + "/lti/notice" }

// Offer is a platform's self-description for a tool that wants to register (Dynamic Registration 1.0, section 3.4).
type Offer struct {
	Issuer          string   `json:"issuer"`
	AuthURL         string   `json:"authorization_endpoint"`
	TokenURL        string   `json:"token_endpoint"`
	KeysURL         string   `json:"jwks_uri"`
	RegistrationURL string   `json:"registration_endpoint"`
	TokenAudience   string   `json:"authorization_server"`
	Scopes          []string `json:"scopes_supported"`
	Platform        struct {
		Family  string `json:"product_family_code"`
		Version string `json:"version"`
	} `json:"https://purl.imsglobal.org/spec/lti-platform-configuration"`
}

// platform returns the fields of the offer that are checked.
func (o *Offer) platform() *Platform {
	return &Platform{Issuer: o.Issuer, ClientID: "unknown yet", AuthURL: o.AuthURL, TokenURL: o.TokenURL, KeysURL: o.KeysURL,
		TokenAudience: o.TokenAudience}
}

// ReadOffer fetches a platform's self-description. The issuer must be at the host from which the description was fetched (Dynamic
// Registration 1.0, section 3.4), so that no platform can register as another.
func (c *Client) ReadOffer(ctx context.Context, address string) (*Offer, error) {
	u, err := service(address, c.o.Private)
	if err != nil {
		return nil, fmt.Errorf("offer: %w: %w", concordat.ErrInvalid, err)
	}
	b, err := c.call(ctx, http.MethodGet, u, "", "", nil)
	if err != nil {
		return nil, fmt.Errorf("offer: %w", err)
	}
	var o Offer
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("offer: %w: %w", concordat.ErrInvalid, err)
	}
	if err := o.platform().Validate(c.o.Private); err != nil {
		return nil, fmt.Errorf("offer: %w", err)
	}
	i, err := url.Parse(o.Issuer)
	if err != nil || !strings.EqualFold(i.Host, u.Host) {
		return nil, fmt.Errorf("offer: %w: the configuration of issuer %q comes from a different host, %s", concordat.ErrRefused, o.Issuer, u.Host)
	}
	if _, err := c.place(o.platform(), o.RegistrationURL); err != nil {
		return nil, fmt.Errorf("offer: %w", err)
	}
	return &o, nil
}

// Register registers the site with the platform that made the offer, using the token that accompanied it, and returns the platform.
// Deployments is empty if the platform states none.
func (c *Client) Register(ctx context.Context, o *Offer, token string, t Tool) (*Platform, error) {
	base, err := url.Parse(t.Base)
	if err != nil {
		return nil, fmt.Errorf("register: %w: %w", concordat.ErrInvalid, err)
	}
	message := func(kind string, more map[string]any) map[string]any {
		m := map[string]any{"type": kind, "target_link_uri": t.LaunchURL(), "label": t.Name}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	body, err := json.Marshal(map[string]any{
		"application_type": "web", "grant_types": []string{"implicit", "client_credentials"}, "response_types": []string{"id_token"},
		"redirect_uris": []string{t.LaunchURL()}, "initiate_login_uri": t.LoginURL(), "client_name": t.Name, "jwks_uri": t.KeysURL(),
		"token_endpoint_auth_method": "private_key_jwt", "scope": strings.Join([]string{ScopeNotices, ScopeAssets, ScopeReports}, " "),
		toolConfiguration: map[string]any{"domain": base.Host, "target_link_uri": t.LaunchURL(), "claims": []string{"iss", "sub", "name"},
			"messages": []any{
				message(TypeResourceLink, nil),
				message(TypeDeepLinking, map[string]any{"placements": []string{"ActivityAssetProcessor"}}),
			}}})
	if err != nil {
		return nil, err
	}
	p := o.platform()
	u, err := c.place(p, o.RegistrationURL)
	if err != nil {
		return nil, err
	}
	b, err := c.call(ctx, http.MethodPost, u, token, "application/json", body)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	var got struct {
		Client string `json:"client_id"`
		Tool   struct {
			Deployment string `json:"deployment_id"`
		} `json:"https://purl.imsglobal.org/spec/lti-tool-configuration"`
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Client == "" {
		return nil, fmt.Errorf("register: %w: the response contains no client ID", concordat.ErrInvalid)
	}
	p.ClientID = got.Client
	if got.Tool.Deployment != "" {
		p.Deployments = []string{got.Tool.Deployment}
	}
	return p, p.Validate(c.o.Private)
}

// SignIn contains the parameters that the site adds when it sends a browser to a platform to sign in.
type SignIn struct{ State, Nonce, Login, Hint string }

// SignInURL returns the platform's sign-in address for a browser (1EdTech Security Framework 1.0, section 5.1.1.2). The platform then
// posts a form to the launch address.
func SignInURL(p *Platform, t Tool, s SignIn) (string, error) {
	u, err := url.Parse(p.AuthURL)
	if err != nil {
		return "", fmt.Errorf("sign in: %w: %w", concordat.ErrInvalid, err)
	}
	q := u.Query()
	for name, v := range map[string]string{"scope": "openid", "response_type": "id_token", "response_mode": "form_post", "prompt": "none",
		"client_id": p.ClientID, "redirect_uri": t.LaunchURL(), "state": s.State, "nonce": s.Nonce, "login_hint": s.Login} {
		q.Set(name, v)
	}
	if s.Hint != "" {
		q.Set("lti_message_hint", s.Hint)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
