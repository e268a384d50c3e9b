package web_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"concordat/internal/webtest"
	"concordat/people"
	"concordat/report"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages"
	"concordat/web/pages/reports"
)

// lines is a log that is safe for concurrent writers.
type lines struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// panicking are choices whose templates cannot be listed.
type panicking struct{ pages.Choices }

func (panicking) Templates() []string { panic("no templates") }

// halfWritten panics with how in the middle of a report in JSON.
type halfWritten struct {
	reports.Unsigned
	how *any
}

// WriteJSON implements reports.Writer.
func (h halfWritten) WriteJSON(w io.Writer, _ *report.Report) error {
	_, _ = io.WriteString(w, strings.Repeat("half of a report", 1000))
	panic(*h.how)
}

// TestPanic: a panic is answered with status 500, as a problem for programs and as a page for people, and is logged once and counted; an
// answer that has begun is aborted.
func TestPanic(t *testing.T) {
	t.Parallel()
	var log lines
	var panics atomic.Int64
	how := any("half way")
	d := webtest.NewWith(t, false, func(o *web.Options) {
		o.Choices = panicking{o.Choices}
		o.ReportFiles = halfWritten{how: &how}
		o.Logger, o.Panicked = slog.New(slog.NewTextHandler(&log, nil)), func() { panics.Add(1) }
	})
	p := d.SignedIn(t, "olga", store.RoleOfficer)
	id := d.CheckedBy(t, p, "essay", webtest.Folios)
	program := p.Program(people.Scopes...)
	held := func(what string, want int64, phrase string) {
		t.Helper()
		if got := panics.Load(); got != want {
			t.Errorf("%s: %d panics counted, want %d", what, got, want)
		}
		if n := strings.Count(log.String(), "msg=panic"); n != int(want) || !strings.Contains(log.String(), phrase) ||
			!strings.Contains(log.String(), "guard_test.go") {
			t.Errorf("%s: logged %d times, want %d with the stack:\n%s", what, n, want, log.String())
		}
	}
	var m webtest.Problem
	program.Call(http.MethodGet, "/api/v1/templates", http.StatusInternalServerError, &m)
	if m.Type != "urn:concordat:problem:fault" || m.Status != http.StatusInternalServerError {
		t.Errorf("the problem is %+v", m)
	}
	held("a program", 1, "no templates")
	if page := p.Get("/checks/new", http.StatusInternalServerError); !strings.Contains(page, "<main") {
		t.Errorf("no page: %.200s", page)
	}
	held("a page", 2, "route=\"GET /checks/new\"")
	resp, err := p.Client.Get(d.URL + "/checks/" + string(id) + "/report?format=json")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer passes for a whole one")
	}
	held("half an answer", 3, "half way")

	how = http.ErrAbortHandler // aborted on purpose: not a fault of the program
	if resp, err = p.Client.Get(d.URL + "/checks/" + string(id) + "/report?format=json"); err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("an answer that was cut off passes for a whole one")
	}
	held("an answer that was cut off", 3, "half way")
}
