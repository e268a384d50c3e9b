//go:build linux

package program

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/instance"
	"concordat/store"
)

// TestLog: if so configured, the log is JSON. Its level changes on SIGHUP, answers include the number of their log record, and the log
// contains no secrets: no tokens, passwords, links or texts.
func TestLog(t *testing.T) {
	t.Parallel()
	data := newSite(t)
	output(t, 0, data, "site", "key", "init")
	s := serveSite(t, data, "CONCORDAT_LOG_FORMAT=json", "CONCORDAT_SERVE_METRICS=127.0.0.1:0")
	st, err := instance.Serving(t.Context(), data)
	must(t, err)
	get(t, "http://"+s.address+"/login") // not logged yet, at this level
	f, err := os.OpenFile(filepath.Join(data, instance.ConfigName), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("log: {level: debug}\n")
	must(t, err)
	must(t, f.Close())
	must(t, s.process.Process.Signal(syscall.SIGHUP))
	for began := time.Now(); !strings.Contains(s.log.String(), "configuration reloaded"); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("the signal was not taken:\n%s", s.log.String())
		}
	}
	if metrics := get(t, "http://"+st.Metrics+"/metrics"); !strings.Contains(metrics, `concordat_log_records_total{level="warn"} `) ||
		strings.Contains(metrics, `concordat_log_records_total{level="warn"} 0`) {
		t.Errorf("a warning is not counted:\n%s", metrics)
	}

	const password, joining = "correct horse battery staple", "link-secret-of-a-test"
	now := time.Now()
	must(t, s.db.People.CreateAccount(t.Context(), store.Account{Name: "bea", Role: store.RoleSubmitter, Created: now}))
	must(t, s.db.People.PutToken(t.Context(), joining, store.Token{Purpose: store.PurposeJoin, Account: "bea", Made: now,
		Expires: now.Add(time.Hour)}))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var session, request string
	for _, post := range []struct {
		path string
		form url.Values
	}{
		{"/join", url.Values{"key": {joining}, "password": {password}, "again": {password}}},
		{"/login", url.Values{"name": {"bea"}, "password": {"wrong-" + password}}},
		{"/login", url.Values{"name": {"bea"}, "password": {password}}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+post.path, strings.NewReader(post.form.Encode()))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(r)
		must(t, err)
		must(t, resp.Body.Close())
		for _, c := range resp.Cookies() {
			session = c.Value
		}
		request = resp.Header.Get("X-Request-Id")
	}
	if session == "" || request == "" {
		t.Fatalf("nobody signed in (%q, %q)", session, request)
	}
	const marked = "xylophonic marmalade"
	if code, answer := s.submit("one", "secret-name.txt", marked+" "+prose(2000)); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, answer)
	}
	s.only()
	if resp, err := http.Get("http://" + s.address + "/join?key=" + joining); err == nil {
		_ = resp.Body.Close()
	}
	index, err := os.ReadFile(filepath.Join(data, instance.KeyFileName))
	must(t, err)
	s.kill()

	text := s.log.String()
	if before, _, found := strings.Cut(text, "configuration reloaded"); !found || strings.Contains(before, `"msg":"request"`) {
		t.Errorf("before the signal:\n%s", before)
	}
	lines := 0
	for line := range strings.Lines(text) {
		var v map[string]any
		if !strings.HasPrefix(line, "{") { // terminal output
			continue
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		lines++
	}
	if lines < 5 || !strings.Contains(text, request) {
		t.Errorf("the log has %d lines and not the request %s:\n%s", lines, request, text)
	}
	for _, secret := range []string{password, joining, session, servedToken, marked, "secret-name", string(index)} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has the secret %q", secret)
		}
	}
}
