//go:build linux

package program

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat/internal/ports"
	"concordat/internal/suite"
	"concordat/store"
)

// TestNeighbours runs the tests of deploy/neighbours in other languages against a served site: the OJS plug-in's if PHP is installed, the
// InvenioRDM check's if CONCORDAT_INVENIO names a Python with InvenioRDM, and the notifications' if CONCORDAT_COARNOTIFY names a Python
// with coarnotify.
func TestNeighbours(t *testing.T) {
	suite.Rest(t, "runs programs of neighbours")
	data := newSite(t)
	article := filepath.Join(t.TempDir(), "article.txt") // matches the notifications that are sent
	text := strings.Repeat("The harbour pilot keeps a ledger of every tide and lantern that passes.\n\n", 60)
	if err := os.WriteFile(article, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "add", "-l", "l", article)
	var to atomic.Pointer[url.URL] // the site needs its address, which is in its answers, before it listens
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to.Load()) }}).ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	s := serveSite(t, data, "CONCORDAT_HARVEST_ALLOW=127.0.0.0/8", "CONCORDAT_SERVE_URL="+front.URL)
	to.Store(&url.URL{Scheme: "http", Host: s.address})
	port := strconv.Itoa(ports.Free(t, 1)[0])
	now := time.Now()
	token := func(secret string, scopes ...string) error {
		k := store.Token{Purpose: store.PurposeAPI, Account: "journal", Name: secret, Scopes: scopes, Made: now, Expires: now.Add(time.Hour)}
		if slices.Contains(scopes, "inbox") {
			k.Origins = []string{"http://127.0.0.1:" + port}
		}
		return s.db.People.PutToken(t.Context(), secret, k)
	}
	if err := errors.Join(s.db.People.CreateAccount(t.Context(), store.Account{Name: "journal", Role: store.RoleSubmitter, Created: now}),
		token("token-of-a-neighbour", "check", "read"), token("token-of-a-reader", "read"), token("token-of-an-inbox", "inbox")); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name, program string
		args          []string
		dir           string
		want          *regexp.Regexp
	}{
		{"ojs", "php", []string{"tests/run.php"}, "../../../deploy/neighbours/ojs", regexp.MustCompile(`\b0 failed`)},
		{"invenio-checks", os.Getenv("CONCORDAT_INVENIO"), []string{"-m", "unittest", "discover", "-v", "tests"},
			"../../../deploy/neighbours/invenio-checks", regexp.MustCompile(`(?m)^OK$`)},
		{"coar-notify", os.Getenv("CONCORDAT_COARNOTIFY"), []string{"test_notify.py"}, "../../../deploy/neighbours/coar-notify",
			regexp.MustCompile(`(?m)^OK$`)},
	} {
		t.Run(one.name, func(t *testing.T) {
			program, err := exec.LookPath(one.program)
			if err != nil {
				t.Skipf("no %s here", one.program)
			}
			c := exec.CommandContext(t.Context(), program, one.args...)
			c.Dir = one.dir
			c.Env = append(os.Environ(), "CONCORDAT_URL="+front.URL, "CONCORDAT_TOKEN=token-of-a-neighbour",
				"CONCORDAT_READER=token-of-a-reader", "CONCORDAT_INSTALLED=yes",
				"CONCORDAT_INBOX=token-of-an-inbox", "CONCORDAT_PORT="+port, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=.")
			out, err := c.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !one.want.Match(out) {
				t.Errorf("%v", err)
			}
		})
	}
}
