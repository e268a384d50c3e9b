package daemon

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"concordat/instance"
	"concordat/profile"
)

// openTestSite creates a site and opens it.
func openTestSite(t *testing.T, mode instance.Mode) *instance.Instance {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := instance.Create(t.Context(), dir, "test", "", profile.Natural, "", false); err != nil {
		t.Fatal(err)
	}
	o, err := instance.Open(t.Context(), dir, mode, instance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestHealthz: /healthz reports whether the store answers.
func TestHealthz(t *testing.T) {
	o := openTestSite(t, instance.StoreOnly)
	h := New(o, Options{}).public(http.NotFoundHandler())
	ask := func(want int, words string) {
		t.Helper()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if rec.Code != want || !strings.Contains(rec.Body.String(), words) {
			t.Errorf("answered %d %q, want %d with %q", rec.Code, rec.Body, want, words)
		}
	}
	ask(http.StatusOK, "ok")
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	ask(http.StatusServiceUnavailable, "does not answer")
}

// TestReadyz: /readyz fails until checks are accepted, and when there is no disk space; /healthz is not affected by either.
func TestReadyz(t *testing.T) {
	o := openTestSite(t, instance.WithIndex)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s := New(o, Options{})
	h := s.public(http.NotFoundHandler())
	ask := func(path string, want int, words string) {
		t.Helper()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != want || !strings.Contains(rec.Body.String(), words) {
			t.Errorf("%s answered %d %q, want %d with %q", path, rec.Code, rec.Body, want, words)
		}
	}
	ask("/readyz", http.StatusServiceUnavailable, "starting or stopping")
	s.ready.Store(true)
	ask("/readyz", http.StatusOK, `"disk":"ok"`)
	o.Config.Serve.LowWater = 1 << 60
	ask("/readyz", http.StatusServiceUnavailable, "MiB left")
	ask("/healthz", http.StatusOK, "ok")
}
