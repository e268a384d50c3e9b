package shares_test

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/pages/shares"
)

// TestReadRule: a form changes the fields that it names and keeps the others; a value that means nothing is refused.
func TestReadRule(t *testing.T) {
	t.Parallel()
	date := func(s string) time.Time {
		d, err := time.ParseInLocation(time.DateOnly, s, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	r := store.DefaultShareRule()
	want := r
	want.Level, want.Limits.Sentences, want.Limits.LeadCells = concordat.ShowCounts, 7000, -1
	want.Purposes, want.Ship, want.Leads = []string{"thesis", "appeal"}, true, false
	want.Embargo, want.Expires = date("2097-01-02"), date("2098-01-02")
	if err := shares.ReadRule(&r, url.Values{"level": {"counts"}, "sentences": {"7000"}, "lead_cells": {"-1"},
		"purposes": {" thesis, *, appeal,"}, "ship": {"yes"}, "leads": {"no"}, "embargo": {"2097-01-02"},
		"expires": {"2098-01-02"}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := shares.ReadRule(&r, url.Values{"level": {"counts"}}); err != nil || !cmp.Equal(want, r) {
		t.Errorf("an empty form changes the rule: %v, %s", err, cmp.Diff(want, r))
	}
	if err := shares.ReadRule(&r, url.Values{"level": {"counts"}, "purposes": {"*"}}); err != nil || r.Purposes != nil {
		t.Errorf("any purpose: %q, %v", r.Purposes, err)
	}
	for field, value := range map[string]string{"sentences": "0", "burst": "-2", "units": "many", "embargo": "soon", "ship": "maybe"} {
		if err := shares.ReadRule(&r, url.Values{field: {value}}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s %q: %v", field, value, err)
		}
	}
}

// TestOpen opens a library to a partner that can be asked, changes the share, and closes the library again. Each step is in the audit.
func TestOpen(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	s, ctx, adam := d.Web.Shares, t.Context(), &pages.Visitor{Account: store.Account{Name: "adam", Role: store.RoleAdministrator}}
	if err := d.Store.Partners.AddPartner(ctx, store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(ctx, adam, "theses", url.Values{"partner": {"NONE"}, "level": {"counts"}}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("to a stranger: %v", err)
	}
	for _, f := range []url.Values{{"level": {"counts"}, "sentences": {"7000"}}, {"level": {"metadata"}}} {
		f.Set("partner", "SOUTH")
		if err := s.Open(ctx, adam, "theses", f); err != nil {
			t.Fatal(err)
		}
	}
	x, err := d.Store.Answers.Share(ctx, "theses", "SOUTH")
	if err != nil || x.Rule.Level != concordat.ShowMetadata || x.Rule.Limits.Sentences != 7000 {
		t.Errorf("share %+v, %v", x, err)
	}
	if err := s.Close(ctx, adam, "theses", "SOUTH"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Store.Answers.Share(ctx, "theses", "SOUTH"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("closed: %v", err)
	}
	if n := d.Actions(t); n["library_share"] != 2 || n["library_unshare"] != 1 {
		t.Errorf("audit %v", n)
	}
}
