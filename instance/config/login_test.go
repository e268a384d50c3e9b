package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/store"
)

// TestLoginRoles: the roles that a claim can assign are the store's, which accepts no others.
func TestLoginRoles(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir()+"/site.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, r := range roleNames {
		if err := db.People.CreateAccount(t.Context(), store.Account{Name: r, Role: store.Role(r)}); err != nil {
			t.Error(err)
		}
	}
}

const provider = `serve: {url: "https://check.example.edu"}
login:
  oidc:
    - name: university
      title: University account
      issuer: https://id.example.edu/
      client_id: check
      client_secret_file: secret
      scopes: [openid, email]
      role_claim: groups
      roles: {office: officer, "a b": submitter}
      update_role: true
      create: true
      clock_skew: 30s
`

func TestProvider(t *testing.T) {
	path := write(t, provider)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "secret"), []byte("s3cret-value\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, path, nil)
	o := c.Login.OIDC[0]
	if o.Issuer != "https://id.example.edu/" || o.ClientSecret.Reveal() != "s3cret-value" || o.Roles["a b"] != "submitter" ||
		len(o.Scopes) != 1 || o.Scopes[0] != "email" {
		t.Errorf("got %#v", o)
	}
	var table strings.Builder
	if err := c.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{table.String(), fmt.Sprintf("%v %+v %#v", o, o, o), o.String()} {
		if strings.Contains(shown, "s3cret") {
			t.Errorf("the secret is shown: %s", shown)
		}
	}
	c = mustLoad(t, path, map[string]string{"CONCORDAT_LOGIN_OIDC_UNIVERSITY_SECRET": "from outside"})
	if got := c.Login.OIDC[0].ClientSecret.Reveal(); got != "from outside" {
		t.Errorf("secret %q", got)
	}
}

func TestProviderFaults(t *testing.T) {
	const head = "serve: {url: 'https://check.example.edu'}\nlogin:\n  oidc:\n    - {"
	const good = "name: u, issuer: 'https://id.example.edu', client_id: c"
	for text, want := range map[string]string{
		head + "issuer: 'https://id.example.edu', client_id: c}":                          "no name",
		head + "name: u, client_id: c}":                                                   "no issuer",
		head + "name: u, issuer: 'http://id.example.edu', client_id: c}":                  "https is required",
		head + "name: u, issuer: 'https://a@id.example.edu', client_id: c}":               "want an address",
		head + "name: U, issuer: 'https://id.example.edu', client_id: c}":                 "lower-case",
		head + good + ", client_secret: hush}":                                            "client_secret_file",
		head + good + ", client_secret_file: none}":                                       "no such file",
		head + good + ", default_role: king}":                                             "king",
		head + good + ", roles: {a: officer}}":                                            "roles requires role_claim",
		head + good + ", role_claim: a}":                                                  "role_claim requires roles",
		head + good + ", create: true}":                                                   "nobody could sign in",
		head + good + ", create: maybe}":                                                  "true or false",
		head + good + ", clock_skew: 1h}":                                                 "duration",
		head + good + "}\n    - {" + good + "}":                                           "twice",
		"login:\n  oidc:\n    - {" + good + "}":                                           "requires serve.url",
		"serve: {url: 'http://check.example.edu'}\nlogin:\n  oidc:\n    - {" + good + "}": "must be an https address",
		"serve: {url: 'https://check.example.edu/path'}":                                  "without a path",
		"login: {password: administrators}":                                               "login.oidc is empty",
		"login: {password: nobody}":                                                       "nobody",
		"login: {oidc: {}}":                                                               "must be a list",
	} {
		_, err := Load(write(t, text), nil)
		if !errors.Is(err, concordat.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("the secret is shown: %v", err)
		}
	}
}
