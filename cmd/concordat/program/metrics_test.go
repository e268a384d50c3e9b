//go:build linux

package program

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"concordat/instance"
)

// TestMetrics: metrics are served only at their own address and name no people.
func TestMetrics(t *testing.T) {
	t.Parallel()
	data := newSite(t)
	s := serveSite(t, data, "CONCORDAT_SERVE_METRICS=127.0.0.1:0")
	if code, answer := s.submit("one", "secret-title.txt", prose(2000)); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, answer)
	}
	s.only()
	st, err := instance.Serving(t.Context(), data)
	if err != nil || st.Metrics == "" {
		t.Fatalf("%+v, %v", st, err)
	}
	get := func(address, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	code, page := get(st.Metrics, "/metrics")
	for _, want := range []string{`concordat_tasks{state="done"} 1`, "concordat_queue_workers 1", "concordat_store_up 1",
		"concordat_disk_free_bytes ", "concordat_index_meant_documents ", "go_goroutines "} {
		if code != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d: no %q", code, want)
		}
	}
	if strings.Contains(page, "secret-title") || strings.Contains(page, `"ada"`) {
		t.Error("the metrics name somebody or something")
	}
	if code, body := get(st.Metrics, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if _, body := get(st.Listen, "/metrics"); strings.Contains(body, "concordat_tasks") {
		t.Error("people are told the metrics")
	}
}
