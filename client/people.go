package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// Person is an account.
type Person struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"` // the person's name
	Role     string    `json:"role"`  // administrator, officer, submitter or auditor
	Created  time.Time `json:"created"`
	Disabled bool      `json:"disabled"`
}

// Link lets a person set a password. It is a secret.
type Link struct {
	Person  Person    `json:"person"`
	Path    string    `json:"link"` // path below the site's address
	Expires time.Time `json:"expires"`
}

// People returns the accounts sorted by name.
func (c *Client) People(ctx context.Context) iter.Seq2[Person, error] {
	return list[Person](ctx, c, "/people", "people", nil)
}

// AddPerson creates an account with the Name, Title and Role of p.
func (c *Client) AddPerson(ctx context.Context, p Person) (Link, error) {
	var out Link
	body := map[string]string{"name": p.Name, "title": p.Title, "role": p.Role}
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/people", body: body, once: true}, &out)
	return out, err
}

// DisablePerson disables or enables an account.
func (c *Client) DisablePerson(ctx context.Context, name string, disabled bool) (Person, error) {
	return c.changePerson(ctx, name, map[string]any{"disabled": disabled})
}

// SetRole changes the role of an account and ends its sessions and tokens.
func (c *Client) SetRole(ctx context.Context, name, role string) (Person, error) {
	return c.changePerson(ctx, name, map[string]any{"role": role})
}

func (c *Client) changePerson(ctx context.Context, name string, body map[string]any) (Person, error) {
	var out Person
	_, err := c.call(ctx, request{method: http.MethodPatch, path: "/people/" + escape(name), body: body}, &out)
	return out, err
}

// NewLink returns a new link for setting a person's password.
func (c *Client) NewLink(ctx context.Context, name string) (Link, error) {
	var out Link
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/people/" + escape(name) + "/link", once: true}, &out)
	return out, err
}

// Token is a token of the client's account, without its secret.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Scopes  []string  `json:"scopes"`
	Origins []string  `json:"origins"` // addresses below which it accepts notifications
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used"` // time of the last use, to the hour; zero if never
}

// Tokens returns the tokens of the client's account, newest first.
func (c *Client) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return list[Token](ctx, c, "/tokens", "tokens", nil)
}

// MakeToken creates a token for the client's account and returns its secret. The token is valid for the given number of days; 0 means one
// year.
func (c *Client) MakeToken(ctx context.Context, name string, days int, scopes ...string) (secret string, err error) {
	body := map[string]any{"name": name, "scopes": scopes}
	if days != 0 {
		body["days"] = days
	}
	var out struct{ Secret string }
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/tokens", body: body, once: true}, &out)
	return out.Secret, err
}

// RevokeToken revokes a token of the client's account.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/tokens/" + escape(id)}, nil)
	return err
}
