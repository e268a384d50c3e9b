package partners

import (
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/internal/storetest"
	"concordat/store"
)

// TestHeadsThatStop: a partner raises an alarm once a day if it stops sending heads, or if its audit does not grow although each exchange
// adds an entry.
func TestHeadsThatStop(t *testing.T) {
	db := storetest.SQLite(t)
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	r := &Roster{db: db, log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }, heads: map[crypto.SiteID]*heads{},
		refused: map[concordat.SiteID]refused{}}
	hear := func(site byte, seq uint64, wait time.Duration, times int) {
		t.Helper()
		for range times {
			now = now.Add(wait)
			r.Heard(&crypto.Head{Site: crypto.SiteID{site}, Seq: seq, At: now})
		}
	}
	alarms := func(step string, want int) {
		t.Helper()
		es, err := db.Audit.Audit(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, e := range es {
			if e.Action == "audit stopped" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d alarms, want %d", step, n, want)
		}
	}
	for seq := range uint64(50) {
		hear(1, seq+1, time.Hour, 1)
	}
	alarms("it goes on", 0)
	hear(1, 50, time.Minute, 100)
	alarms("the same for two hours: messages may overtake each other", 0)
	hear(1, 50, time.Hour, 30)
	alarms("the same for a day", 1)
	hear(1, 50, time.Hour, 30)
	alarms("and for another", 2)
	hear(1, 51, 48*time.Hour, 1)
	hear(1, 51, time.Hour, 10)
	alarms("it goes on after all", 2)
	hear(1, 0, time.Minute, 3)
	alarms("it tells none any more", 3)
	hear(2, 0, time.Hour, 60)
	alarms("another one that never told any", 3)
}

// member is a site with a roster; all members belong to one federation.
type member struct {
	*Roster
	id   *crypto.Identity
	card *crypto.Card
	name concordat.SiteID
}

// members creates n sites that are partners of each other.
func members(t *testing.T, n int) []*member {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var out []*member
	made := time.Now().Add(-2 * time.Hour)
	for range n {
		id, err := crypto.New(made, rand.Reader)
		must(err)
		m := &member{}
		m.id, m.card, err = id.MakeCard(crypto.CardFields{Name: "site", URLs: []string{"https://example.org"}, Modes: crypto.ModeSealed}, nil,
			made, rand.Reader)
		must(err)
		m.name = instance.PartnerName(m.id.Site())
		db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
		must(err)
		t.Cleanup(func() { _ = db.Close() })
		m.Roster = NewRoster(db, slog.New(slog.DiscardHandler), m.id, m.card)
		out = append(out, m)
	}
	for _, a := range out {
		var names []concordat.SiteID
		for _, b := range out {
			names = append(names, b.name)
			if a == b {
				continue
			}
			must(a.db.Partners.AddPartner(t.Context(), store.Partner{Site: b.name, Serial: b.card.Serial, Card: b.card.Bytes()}))
			must(a.db.Partners.SetPartnerState(t.Context(), b.name, store.PartnerPending, store.PartnerActive))
		}
		must(a.db.Partners.Join(t.Context(), "f", out[0].name, names...))
	}
	return out
}

// end signs a head of the audit that the site shows.
func (m *member) end(t *testing.T, seq uint64, hash byte, at time.Time) *crypto.Head {
	t.Helper()
	h, err := m.id.SignHead(seq, [32]byte{hash}, at)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestL4TwoAudits simulates an attack by a member that shows each partner a different audit. The partners exchange the heads that they
// have received, and so detect that an entry differs, or that one audit is ahead of the other after having been behind.
func TestL4TwoAudits(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		toA, toB []uint64 // entries sent, one every quarter of an hour
		hashB    byte     // hash of the entries sent to B
		want     int      // number of alarms at A
	}{
		"one audit":                       {[]uint64{10, 20, 30}, []uint64{12, 22, 32}, 1, 0},
		"two audits in step":              {[]uint64{10, 20, 30}, []uint64{10, 20, 30}, 2, 1},
		"two audits, of which one lags":   {[]uint64{10, 20, 30}, []uint64{3, 4, 5}, 2, 1},
		"another audit that says no more": {[]uint64{10, 20, 30}, []uint64{9}, 2, 0}, // not yet detectable
	} {
		t.Run(name, func(t *testing.T) {
			ms := members(t, 3)
			a, b, liar := ms[0], ms[1], ms[2]
			began := now.Add(-time.Hour)
			for i, seq := range c.toA {
				a.Heard(liar.end(t, seq, 1, began.Add(time.Duration(i)*15*time.Minute)))
			}
			for i, seq := range c.toB {
				b.Heard(liar.end(t, seq, c.hashB, began.Add(time.Duration(i)*15*time.Minute+time.Second)))
			}
			told := b.Others(a.name)
			if len(told) == 0 || len(told) > maxOfOne {
				t.Fatalf("%d heads are told", len(told))
			}
			a.HeardOthers(b.name, told)
			as, err := a.db.Partners.PartnerAlarms(t.Context(), liar.name, 0)
			if err != nil || len(as) != c.want || c.want > 0 && as[0].Kind != store.AlarmAuditContradicts {
				t.Errorf("alarms %+v, error %v, want %d", as, err, c.want)
			}
			es, err := a.db.Audit.Audit(t.Context(), 0, 0)
			if err != nil || c.want > 0 && !strings.Contains(string(es[len(es)-1].Detail), string(b.name)) {
				t.Errorf("the audit does not say who told: %+v, error %v", es, err)
			}
			if c.want == 0 {
				return
			}
			// Both halves of the proof are passed on to the next partner.
			var forks int
			for _, h := range a.Others(b.name) {
				if h.Site == liar.id.Site() && h.Check(liar.card) == nil {
					forks++
				}
			}
			if forks < 2 {
				t.Errorf("%d heads go on, want both that contradict", forks)
			}
		})
	}
}

// TestL4Forged: an unsigned head, a head signed by a stranger and a head of a site that is not a partner are not evidence, and a site
// that shares no federation with another learns nothing about the others.
func TestL4Forged(t *testing.T) {
	ms := members(t, 3)
	a, b, c := ms[0], ms[1], ms[2]
	good := c.end(t, 5, 1, time.Now())
	a.Heard(good)
	forged := *good
	forged.Hash[0] = 9
	stranger := members(t, 1)[0].end(t, 5, 1, time.Now())
	a.HeardOthers(b.name, []*crypto.Head{&forged, stranger, {Site: c.id.Site()}})
	for _, site := range []concordat.SiteID{c.name, instance.PartnerName(stranger.Site)} {
		as, err := a.db.Partners.PartnerAlarms(t.Context(), site, 0)
		if err != nil || len(as) > 0 {
			t.Errorf("alarms %+v, error %v", as, err)
		}
	}
	if n := len(a.Others(b.name)); n != 1 {
		t.Errorf("%d heads are told to a member, want 1", n)
	}
	if n := len(a.Others(instance.PartnerName(stranger.Site))); n != 0 {
		t.Errorf("%d heads are told to a site outside the federation", n)
	}
}
