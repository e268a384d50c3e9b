package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"concordat/cmd/internal/cli"
	"concordat/instance"
)

// /healthz says whether the store answers.
func TestHealthz(t *testing.T) {
	data := newSite(t)
	a := &app{data: data, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}
	o, err := a.open(t.Context(), instance.StoreOnly)
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

// /readyz says no until checks are taken, and where there is no room; /healthz does not mind either.
func TestReadyz(t *testing.T) {
	data := newSite(t)
	a := &app{data: data, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}
	o, err := a.open(t.Context(), instance.WithIndex)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &server{o: o, log: slog.New(slog.DiscardHandler)}
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
