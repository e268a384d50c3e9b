package config

import (
	"strings"
	"testing"
)

// TestSetText: a key is set wherever it is, and added if it is missing; other lines and comments remain, and the new value can be read.
func TestSetText(t *testing.T) {
	const file = "# Our site.\nsite:\n  id: north\n  title: \"North\" # for people\nscheme: natural\n\n# Checks.\ncheck: {threshold: 0.3}\nreport:\n"
	for _, c := range []struct{ key, value, keeps string }{
		{"site.title", `The "North": #1 北京`, "# for people"},
		{"site.title", "null", "# Our site."},
		{"site.title", "", "# Checks."},
		{"check.threshold", "0.25", "scheme: natural"},
		{"check.again_days", "30", "threshold: 0.3"},
		{"report.exclude_kinds", "common, near", "# Checks."},
		{"federation.listen", ":8421", "# Our site."},
		{"report.exclude_quotes", "true", "id: north"},
	} {
		out, err := SetText([]byte(file), c.key, c.value)
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if !strings.Contains(string(out), c.keeps) {
			t.Errorf("%s: %q is gone from\n%s", c.key, c.keeps, out)
		}
		got, err := LoadText(out, "concordat.yaml", Central{}, nil)
		if err != nil {
			t.Errorf("%s: %v in\n%s", c.key, err, out)
			continue
		}
		for _, r := range got.Rows() {
			if r.Key == c.key && r.Value != c.value {
				t.Errorf("%s is %q, was set to %q", c.key, r.Value, c.value)
			}
			if r.Key == "site.id" && r.Value != "north" {
				t.Errorf("%s: the site became %q", c.key, r.Value)
			}
		}
	}
	if out, err := SetText(nil, "site.title", "North"); err != nil || string(out) != "site:\n  title: North\n" {
		t.Errorf("in an empty file: %q, %v", out, err)
	}
	for _, key := range []string{"site.name", "templates", "site"} {
		if _, err := SetText([]byte(file), key, "x"); err == nil {
			t.Errorf("%s was set", key)
		}
	}
	if _, err := SetText([]byte("check: 3\n"), "check.threshold", "0.2"); err == nil {
		t.Error("a key below a number was set")
	}
	if _, err := SetText([]byte("a: ["), "check.threshold", "0.2"); err == nil {
		t.Error("a damaged file was changed")
	}
}
