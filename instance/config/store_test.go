package config

import (
	"strings"
	"testing"
)

func TestStore(t *testing.T) {
	for _, bad := range []string{"mysql://db/site", "/srv/site.db", "postgres://ada:hush@db/site", "postgres://db/site?password=hush",
		"postgres://ada:hush%zz@db/", "postgres://db/\x01", "postgres://db/" + strings.Repeat("x", 1000)} {
		_, err := Load("", func(name string) (string, bool) { return bad, name == "CONCORDAT_STORE_URL" })
		if err == nil {
			t.Errorf("%q is taken", bad)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("the fault shows the password: %v", err)
		}
	}
	c, err := Load("", func(name string) (string, bool) {
		value, ok := map[string]string{"CONCORDAT_STORE_URL": "postgres://ada@db/site", StorePasswordEnv: "hush"}[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.Password.Reveal() != "hush" {
		t.Error("the variable is not read")
	}
	var out strings.Builder
	if err := c.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hush") || !strings.Contains(out.String(), "postgres://ada@db/site") {
		t.Errorf("shown as %s", out.String())
	}
}
