package daemon

import (
	"errors"
	"strings"
	"testing"

	"concordat/instance"
	"concordat/meaning/managed"
	"concordat/store"
)

// TestHealth: each examined part reports its findings, good or bad.
func TestHealth(t *testing.T) {
	o := openTestSite(t, instance.WithIndex)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	s := New(o, Options{})
	wants := func(code string, ok bool, words string) {
		t.Helper()
		for _, p := range (machine{s}).Health(t.Context()) {
			if p.Code == code {
				if p.OK != ok || !strings.Contains(p.Detail, words) {
					t.Errorf("%s: %v, %q; want %v with %q", code, p.OK, p.Detail, ok, words)
				}
				return
			}
		}
		t.Errorf("%s was not looked at", code)
	}
	wants("store", true, "")
	wants("index", true, "0 documents")
	wants("disk", true, "iB free")
	wants("partners", true, "no active partners")
	if err := o.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"),
		Words: "six words"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Store.Partners.SetPartnerState(t.Context(), "SOUTH", store.PartnerPending, store.PartnerActive); err != nil {
		t.Fatal(err)
	}
	wants("partners", false, "No address for partners")
	o.Config.Serve.LowWater = 1 << 60
	wants("disk", false, "must stay free")
}

// TestEncoderHealth: the encoder's state is reported, with the reason if it failed.
func TestEncoderHealth(t *testing.T) {
	for _, c := range []struct {
		status managed.Status
		ok     bool
		words  string
	}{
		{managed.Status{Phase: managed.Idle}, true, "starting"}, {managed.Status{Phase: managed.Ready, Restarts: 3}, true, "3"},
		{managed.Status{Phase: managed.Failed, Err: errors.New("no model")}, false, "no model"},
	} {
		if p := encoderFits(c.status); p.Code != "encoder" || p.OK != c.ok || !strings.Contains(p.Detail, c.words) {
			t.Errorf("%+v: %+v", c.status, p)
		}
	}
}
