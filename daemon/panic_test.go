package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"concordat/instance"
	"concordat/site/compare"
)

// TestBackgroundPanics: a panic in retention, deletion or other background work ends only that round, is counted once and logged with its
// stack; an error is logged but not counted.
func TestBackgroundPanics(t *testing.T) {
	o := openTestSite(t, instance.WithIndex)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	var log bytes.Buffer
	s := New(o, Options{})
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	o.TellPanics(compare.Panics{Logger: s.log, Counted: s.meters.panic})
	if s.guarded(t.Context(), "retention", func() error { panic("in the night") }) {
		t.Error("work that panicked was taken for done")
	}
	if s.guarded(t.Context(), "retention", func() error { return errors.New("no disk") }) {
		t.Error("work that failed was taken for done")
	}
	if !s.guarded(t.Context(), "retention", func() error { return nil }) {
		t.Error("work that was done was taken for failed")
	}
	n, _ := s.meters.panicsSoFar()
	told := log.String()
	if n != 1 || strings.Count(told, "msg=panic") != 1 || !strings.Contains(told, "TestBackgroundPanics") ||
		!strings.Contains(told, "no disk") {
		t.Errorf("%d panics were counted; want 1, logged with its stack:\n%s", n, told)
	}
	// A sweep without an eraser panics in each round and continues until it is stopped.
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.sweep(ctx, nil); err != nil {
		t.Error(err)
	}
	if n, _ := s.meters.panicsSoFar(); n != 2 {
		t.Errorf("%d panics were counted after a sweep that panicked, want 2", n)
	}
}
