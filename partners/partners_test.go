package partners_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/instance"
	"concordat/partners"
	"concordat/profile"
	"concordat/site"
)

func open(t *testing.T) *instance.Instance {
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

// TestWithoutKeys: a site without keys compares with its own libraries, and reports what it requires for anything more.
func TestWithoutKeys(t *testing.T) {
	o := open(t)
	options := partners.Options{Log: slog.New(slog.DiscardHandler)}
	var check site.CheckOptions
	alone := partners.Comparison{Level: concordat.ShowMetadata}
	busy, end, err := alone.AddTo(t.Context(), &check, o, options)
	if err != nil || busy || len(check.Partners)+len(check.Mirrors) > 0 {
		t.Errorf("alone: %v, busy %v, %d partners, %d mirrors", err, busy, len(check.Partners), len(check.Mirrors))
	}
	end()
	asked := partners.Comparison{Partners: []string{"all"}}
	if _, _, err := asked.AddTo(t.Context(), &check, o, options); !errors.Is(err, instance.ErrNoKeys) {
		t.Errorf("with partners: %v, want %v", err, instance.ErrNoKeys)
	}
	if _, err := partners.Open(t.Context(), o, options); !errors.Is(err, instance.ErrNoKeys) {
		t.Errorf("open: %v, want %v", err, instance.ErrNoKeys)
	}
}

// TestListen: without an address for partners there is no server, and a server requires keys.
func TestListen(t *testing.T) {
	o := open(t)
	options := partners.Options{Log: slog.New(slog.DiscardHandler)}
	if s, err := partners.Listen(t.Context(), o, options); s != nil || err != nil {
		t.Errorf("no address: %v, %v", s, err)
	}
	o.Config.Federation.Listen = "127.0.0.1:0"
	if _, err := partners.Listen(t.Context(), o, options); !errors.Is(err, instance.ErrNoKeys) {
		t.Errorf("no keys: %v, want %v", err, instance.ErrNoKeys)
	}
	if s := (*partners.Server)(nil).Status(t.Context()); s != nil {
		t.Errorf("status of no server: %v", s)
	}
}
