//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat/internal/suite"
	"concordat/store"
)

// TestNeighbours runs the tests of deploy/neighbours that are not in Go against a served site: of the plug-in for OJS if there is
// PHP, and of the check for InvenioRDM if CONCORDAT_INVENIO names a Python that has it.
func TestNeighbours(t *testing.T) {
	suite.Rest(t, "runs programs of neighbours")
	data := newSite(t)
	article := filepath.Join(t.TempDir(), "article.txt") // those that are sent say the same
	text := strings.Repeat("The harbour pilot keeps a ledger of every tide and lantern that passes.\n\n", 60)
	if err := os.WriteFile(article, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "add", "-l", "l", article)
	s := serveSite(t, data)
	now := time.Now()
	token := func(secret string, scopes ...string) error {
		return s.db.People.PutToken(t.Context(), secret, store.Token{Purpose: store.PurposeAPI, Account: "journal", Name: secret, Scopes: scopes,
			Made: now, Expires: now.Add(time.Hour)})
	}
	if err := errors.Join(s.db.People.CreateAccount(t.Context(), store.Account{Name: "journal", Role: store.RoleSubmitter, Created: now}),
		token("token-of-a-neighbour", "check", "read"), token("token-of-a-reader", "read")); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name, program string
		args          []string
		dir           string
		want          *regexp.Regexp
	}{
		{"ojs", "php", []string{"tests/run.php"}, "../../deploy/neighbours/ojs", regexp.MustCompile(`\b0 failed`)},
		{"invenio-checks", os.Getenv("CONCORDAT_INVENIO"), []string{"-m", "unittest", "discover", "-v", "tests"},
			"../../deploy/neighbours/invenio-checks", regexp.MustCompile(`(?m)^OK$`)},
	} {
		t.Run(one.name, func(t *testing.T) {
			program, err := exec.LookPath(one.program)
			if err != nil {
				t.Skipf("no %s here", one.program)
			}
			c := exec.CommandContext(t.Context(), program, one.args...)
			c.Dir = one.dir
			c.Env = append(os.Environ(), "CONCORDAT_URL=http://"+s.address, "CONCORDAT_TOKEN=token-of-a-neighbour",
				"CONCORDAT_READER=token-of-a-reader", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=.")
			out, err := c.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !one.want.Match(out) {
				t.Errorf("%v", err)
			}
		})
	}
}
