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

	"concordat"
	"concordat/federation"
	"concordat/instance"
	"concordat/profile"
	"concordat/site/compare"
)

// storeOnly opens a new site without its index.
func storeOnly(t *testing.T) *instance.Instance {
	t.Helper()
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
	return o
}

// TestRoundPanics: a panic in periodic work for partners ends only that round, and is counted and logged with its stack; an error is
// logged but not counted. The next round runs as usual.
func TestRoundPanics(t *testing.T) {
	o := storeOnly(t)
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

// faulty is a partner whose catalogue triggers a fault of the program.
type faulty struct{}

func (faulty) Site() concordat.SiteID { return "faulty" }

func (faulty) Catalogue(context.Context) (*concordat.Catalogue, error) { panic("in a catalogue") }

// open is a partner whose catalogue is empty.
type open struct{}

func (open) Site() concordat.SiteID { return "open" }

func (open) Catalogue(context.Context) (*concordat.Catalogue, error) {
	return &concordat.Catalogue{}, nil
}

// TestCataloguePanics: a panic while reading a partner's catalogue affects only that partner's answer, and is counted and logged with its
// stack; the others are answered.
func TestCataloguePanics(t *testing.T) {
	o := storeOnly(t)
	var log bytes.Buffer
	counted := 0
	o.TellPanics(compare.Panics{Logger: slog.New(slog.NewTextHandler(&log, nil)), Counted: func() { counted++ }})
	got := (&Client{o: o}).catalogues(t.Context(), federation.Group[owner]{Partners: []owner{faulty{}, open{}}})
	if len(got) != 1 || got["open"] == nil {
		t.Errorf("got %v, want the catalogue of the other", got)
	}
	if told := log.String(); counted != 1 || strings.Count(told, "msg=panic") != 1 || !strings.Contains(told, "partners.faulty.Catalogue") {
		t.Errorf("%d panics were counted, want 1, logged with its stack:\n%s", counted, told)
	}
}
