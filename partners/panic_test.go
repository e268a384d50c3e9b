package partners

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/instance"
	"concordat/profile"
	"concordat/site/compare"
)

// TestRoundPanics: a panic of what is done now and then for partners ends that round alone, and is counted and logged with its
// stack; an error is logged and not counted. The next round is done.
func TestRoundPanics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := instance.Create(t.Context(), dir, "test", "", profile.Natural, "", false); err != nil {
		t.Fatal(err)
	}
	o, err := instance.Open(t.Context(), dir, instance.StoreOnly, instance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	counted := 0
	o.TellPanics(compare.Panics{Logger: logger, Counted: func() { counted++ }})
	p := &Server{client: &Client{o: o}, log: logger}
	ctx, stop := context.WithCancel(t.Context())
	rounds := 0
	if err := p.every(ctx, time.Millisecond, "notices", func(context.Context) error {
		switch rounds++; rounds {
		case 1:
			panic("in the first round")
		case 2:
			return errors.New("in the second one")
		}
		stop()
		return nil
	}); err != nil {
		t.Error(err)
	}
	told := log.String()
	if rounds != 3 || counted != 1 || strings.Count(told, "msg=panic") != 1 || !strings.Contains(told, "TestRoundPanics") ||
		!strings.Contains(told, "in the second one") {
		t.Errorf("%d rounds, %d panics were counted; want 3 and 1, logged with its stack:\n%s", rounds, counted, told)
	}
}
