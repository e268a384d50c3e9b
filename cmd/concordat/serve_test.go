package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// /healthz says whether the store answers.
func TestHealthz(t *testing.T) {
	data := newSite(t)
	a := &app{data: data, stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	o, err := a.open(t.Context(), storeOnly)
	if err != nil {
		t.Fatal(err)
	}
	h := (&server{o: o, log: slog.New(slog.DiscardHandler)}).public(http.NotFoundHandler())
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
