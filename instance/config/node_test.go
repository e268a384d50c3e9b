package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
)

// TestForNode: another machine gets the site's configuration without the settings for this machine.
func TestForNode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `# kept
site:
  id: uni # the university
store:
  url: postgres://db/site
  password_file: pw
serve:
  url: https://concordat.example.edu
cluster:
  coordinator: zk://z:2181
  node: a
  listen: 10.0.0.1:1
login:
  oidc:
    - name: campus
      issuer: https://id.example.edu
      client_id: c
      client_secret_file: ` + filepath.Join(dir, "secret") + `
      default_role: submitter
`
	c, err := load([]byte(text), filepath.Join(dir, "concordat.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range c.Files() {
		names = append(names, f.Key+"="+f.Name)
	}
	if got, want := strings.Join(names, " "), "login.oidc.campus=oidc-campus-secret store.password_file=store-password"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := ForNode([]byte(text), map[string]string{"cluster.node": "b", "cluster.coordinator": "zk://z:2181", "login.oidc.campus": other,
		"store.password_file": "/x/store-password", "serve.listen": "127.0.0.1:0", "federation.listen": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# kept", "# the university"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%q is not in\n%s", want, b)
		}
	}
	c, err = load(b, filepath.Join(dir, "concordat.yaml"), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if c.Cluster.Node != "b" || c.Cluster.Listen != "" || c.Store.URL != "postgres://db/site" || c.Store.PasswordFile != "/x/store-password" ||
		c.Serve.Listen != "127.0.0.1:0" || c.Login.OIDC[0].secretFile != other {
		t.Errorf("got\n%s", b)
	}
	for _, bad := range []string{"- a\n", "a: [", "login: {oidc: []}\n"} {
		if _, err := ForNode([]byte(bad), map[string]string{"login.oidc.campus": "x"}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if b, err := ForNode(nil, map[string]string{"cluster.node": "b"}); err != nil || !strings.Contains(string(b), `node: "b"`) {
		t.Errorf("empty: %q, %v", b, err)
	}
}

// TestCentral: settings for all machines override the file, and the environment overrides them; a change takes effect immediately only
// for settings that can change while the site runs.
func TestCentral(t *testing.T) {
	text := "check:\n  threshold: 0.5\nquota:\n  documents: 3\nlog:\n  level: warn\ntemplates:\n  - name: x\n    sections:\n      - name: a\n        heading: b\n"
	look := func(name string) (string, bool) { return "debug", name == "CONCORDAT_LOG_LEVEL" }
	before, err := load([]byte(text), "f", look)
	if err != nil {
		t.Fatal(err)
	}
	central := Central{Version: 7, Keys: map[string]string{"check.threshold": "0.25", "quota.documents": "9", "log.level": "error"}}
	next, err := loadCentral([]byte(text), "f", central, look)
	if err != nil {
		t.Fatal(err)
	}
	origin := func(c *Config, key string) string {
		for _, r := range c.Rows() {
			if r.Key == key {
				return r.Value + " " + r.Origin.String()
			}
		}
		return ""
	}
	live := before.WithLive(next, false)
	for _, want := range []struct {
		c         *Config
		key, text string
	}{
		{next, "check.threshold", "0.25 cluster, version 7"}, {next, "quota.documents", "9 cluster, version 7"},
		{next, "log.level", "debug $CONCORDAT_LOG_LEVEL"},
		{live, "check.threshold", "0.25 cluster, version 7"}, {live, "quota.documents", "3 f:4"},
		{live, "log.level", "debug $CONCORDAT_LOG_LEVEL"},
		{before, "check.threshold", "0.5 f:2"}, {live.WithLive(before, false), "check.threshold", "0.5 f:2"},
	} {
		if got := origin(want.c, want.key); got != want.text {
			t.Errorf("%s: got %s, want %s", want.key, got, want.text)
		}
	}
	if d := Diff(live, next); len(d) != 1 || d[0].Key != "quota.documents" {
		t.Errorf("left for a restart: %+v", d)
	}
	_, err = loadCentral([]byte(text), "f", Central{Version: 8, Keys: map[string]string{"check.threshold": "much"}}, nil)
	if !errors.Is(err, concordat.ErrInvalid) || !strings.Contains(err.Error(), "cluster, version 8") {
		t.Errorf("a value that cannot be: %v", err)
	}
}
