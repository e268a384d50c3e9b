package partners

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/index"
	"concordat/instance"
	"concordat/internal/fedtest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// opens answers catalogue requests with libraries.
type opens struct {
	concordat.Answerer
	libraries []concordat.LibraryID
}

func (x opens) OpenTo(context.Context, concordat.SiteID) (*concordat.Catalogue, error) {
	v := &concordat.Catalogue{}
	for _, id := range x.libraries {
		v.Libraries = append(v.Libraries, concordat.OpenLibrary{ID: id, Title: string(id), Documents: 3, Level: concordat.ShowMetadata})
	}
	return v, nil
}

// federated opens a new site with keys that leads the federation health.
func federated(t *testing.T) (*instance.Instance, *Client) {
	t.Helper()
	o := storeOnly(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := o.Keys.Ensure(t.Context())
	must(err)
	k, _, err := o.Keys.Open()
	must(err)
	_, _, err = instance.MakeCard(t.Context(), o.Store, k, crypto.CardFields{Name: "site", URLs: []string{"https://127.0.0.1:1"},
		Modes: crypto.ModeSealed}, nil, time.Now())
	must(err)
	_, err = CreateFederation(t.Context(), o, k, "health", "root")
	must(err)
	c, err := Open(t.Context(), o, Options{Log: slog.New(slog.DiscardHandler), Tell: t.Logf})
	must(err)
	return o, c
}

// partner serves another site, which opens libraries, as an active partner of c.
func partner(t *testing.T, c *Client, libraries ...concordat.LibraryID) (*fedtest.Site, store.Partner) {
	t.Helper()
	s := fedtest.NewSite(t, alarmScheme)
	id, own := c.roster.Self()
	s.Roster.Set(federation.Member{Site: id.Site(), State: federation.StateActive, Card: own})
	s.Answer(opens{libraries: libraries})
	s.Start(t)
	_, card := s.Roster.Self()
	err := c.o.Store.Partners.AddPartner(t.Context(), store.Partner{Site: s.ID, Serial: card.Serial, Card: card.Bytes()})
	if err == nil {
		err = c.o.Store.Partners.SetPartnerState(t.Context(), s.ID, store.PartnerPending, store.PartnerActive)
	}
	p, lost := c.o.Store.Partners.Partner(t.Context(), s.ID)
	if err = errors.Join(err, lost); err != nil {
		t.Fatal(err)
	}
	return s, p
}

// TestWantedPartnersAreAsked: a check asks every selected partner about everything that the partner opens or about the selected
// libraries, under the key of a common federation. A partner without a common federation ends the check, which would otherwise continue
// without that partner.
func TestWantedPartnersAreAsked(t *testing.T) {
	o, c := federated(t)
	north, p := partner(t, c, "theses", "papers")
	if err := AddMembers(t.Context(), o, c.Identity(), "health", []store.Partner{p}, "root"); err != nil {
		t.Fatal(err)
	}
	public, err := profile.New(profile.Options{Recipe: o.Config.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string][]concordat.LibraryID{"all": {"theses", "papers"}, string(north.ID) + "/papers": {"papers"}} {
		var check site.CheckOptions
		w := Comparison{Partners: []string{value}, Level: concordat.ShowMetadata, Deadline: time.Minute}
		_, end, err := w.AddTo(t.Context(), &check, o, Options{Log: slog.New(slog.DiscardHandler), Tell: t.Logf})
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if len(check.Partners) != 1 {
			t.Fatalf("%s: %d partners are asked", value, len(check.Partners))
		}
		got := check.Partners[0]
		if got.Partner.Site() != north.ID || !slices.Equal(got.Libraries, want) || got.Epoch.Federation != "health" {
			t.Errorf("%s: %s is asked about %v by %v, want %v", value, got.Partner.Site(), got.Libraries, got.Epoch, want)
		}
		if got.Profiler == nil || got.Profiler.Scheme() == public.Scheme() {
			t.Errorf("%s: the fingerprints are not of the key of the federation", value)
		}
		end()
	}
	_, south := partner(t, c, "theses")
	var check site.CheckOptions
	w := Comparison{Partners: []string{"all"}, Deadline: time.Minute}
	if _, _, err := w.AddTo(t.Context(), &check, o, Options{Log: slog.New(slog.DiscardHandler), Tell: t.Logf}); err == nil ||
		!strings.Contains(err.Error(), string(south.Site)+": this site shares no federation") {
		t.Errorf("a partner of no federation in common: %v, and %d partners are asked", err, len(check.Partners))
	}
}

// TestCardsAreFetched: the cards of all active partners are fetched, even if one partner does not answer, which is reported.
func TestCardsAreFetched(t *testing.T) {
	o, c := federated(t)
	north, _ := partner(t, c)
	silent, _ := partner(t, c)
	silent.Stop()
	south, _ := partner(t, c)
	want := map[concordat.SiteID]uint64{}
	for _, s := range []*fedtest.Site{north, south} {
		id, _ := s.Roster.Self()
		s.Roster.Replace(t, id, s.URL, time.Now().Add(time.Second))
		_, card := s.Roster.Self()
		want[s.ID] = card.Serial
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := (&Server{client: c}).refreshCards(ctx)
	if err == nil || !strings.Contains(err.Error(), "card of "+string(silent.ID)) || strings.Contains(err.Error(), string(north.ID)) {
		t.Errorf("the error is %v, want one about %s alone", err, silent.ID)
	}
	for site, serial := range want {
		if p, err := o.Store.Partners.Partner(t.Context(), site); err != nil || p.Serial != serial {
			t.Errorf("the card of %s is number %d, want %d (%v)", site, p.Serial, serial, err)
		}
	}
}

// TestRetiredEpochIsGoneOrSaid: the fingerprints of an epoch that has ended are deleted, and anything that prevents this is reported.
func TestRetiredEpochIsGoneOrSaid(t *testing.T) {
	o := storeOnly(t)
	e := concordat.Epoch{Federation: "health", Number: 1}
	dir := EpochFolder(o.Dir, e)
	p := &Server{client: &Client{o: o}}
	for at := 0; ; at++ {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := index.Open(dir, index.Options{Site: o.Site.ID(), Shard: "00", Scheme: o.Profiler.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		ctx := storetest.NewLosing(t.Context(), at)
		err = p.retire(ctx, e, s)
		if ctx.Lost() {
			if !errors.Is(err, storetest.ErrLost) {
				t.Errorf("statement %d failed, and the error is %v", at, err)
			}
			continue
		}
		if _, gone := os.Stat(dir); err != nil || !errors.Is(gone, fs.ErrNotExist) || at == 0 {
			t.Errorf("%v, and its folder: %v, after %d statements", err, gone, at)
		}
		return
	}
}

// TestSettlingSaysWhatFailed: each failing statement of the store during the search for remains of mirrors is reported, even if an
// epoch's index was truncated before it had a scheme and is therefore examined a second time.
func TestSettlingSaysWhatFailed(t *testing.T) {
	o := storeOnly(t)
	whole, short := concordat.Epoch{Federation: "health", Number: 1}, concordat.Epoch{Federation: "health", Number: 2}
	holdMirror(t, o, "theses", whole, 2)
	holdMirror(t, o, "theses", short, 2)
	for at := 0; ; at++ {
		if at > 1000 {
			t.Fatal("it does not end")
		}
		dir := MirrorFolder(o.Dir, short)
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		ctx := storetest.NewLosing(t.Context(), at)
		err := SettleMirrors(ctx, o, func(string, int) {})
		if !ctx.Lost() {
			if err != nil || at < 4 {
				t.Errorf("after %d statements: %v", at, err)
			}
			return
		}
		if !errors.Is(err, storetest.ErrLost) {
			t.Errorf("statement %d failed, and the error is %v", at, err)
		}
	}
}
