package partners

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/store"
)

// granted returns a grant with the leader's secrets as a member reads it, whether or not the leader followed the rules.
func granted(t *testing.T, leader *crypto.Identity) *crypto.FederationGrant {
	t.Helper()
	f, err := leader.Federation("law")
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&crypto.FederationGrant{Federation: f, Leader: leader.Site(), Members: []crypto.SiteID{leader.Site()}}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	g, err := crypto.ParseFederationGrant(b)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEarlyEpochWaits: an epoch that the leader begins less than 30 days after the previous one is not accepted in the hourly round. It
// is accepted when an administrator joins again; a later epoch is accepted automatically. Whatever is granted, the keystore on disk can
// still be opened.
func TestEarlyEpochWaits(t *testing.T) {
	o, c := federated(t)
	leader, err := crypto.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().AddDate(0, -6, 0)
	take := func(days int, agreed bool) error {
		t.Helper()
		if leader, err = leader.NewEpoch("law", began.AddDate(0, 0, days), crypto.EpochOverlap, rand.Reader); err != nil {
			t.Fatal(err)
		}
		_, _, err := Take(t.Context(), o.Store, c.keys, "law", instance.PartnerName(leader.Site()), granted(t, leader), agreed)
		if _, opens := keyfile.Read(c.keys.Path, c.keys.Secret); opens != nil {
			t.Fatalf("day %d: the member has lost its keys: %v", days, opens)
		}
		return err
	}
	if err := take(0, false); err != nil {
		t.Errorf("the first epoch: %v", err)
	}
	if err := take(30, false); err != nil {
		t.Errorf("30 days later: %v", err)
	}
	var early *EarlyError
	if err := take(59, false); !errors.As(err, &early) || early.Epoch != 3 || !strings.Contains(err.Error(), "concordat federation join law") {
		t.Errorf("29 days later: error %v, want an EarlyError", err)
	}
	held, err := keyfile.Read(c.keys.Path, c.keys.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := held.Federation("law"); err != nil || len(f.Epochs) != 2 {
		t.Errorf("refused, and %d epochs are held, error %v", len(f.Epochs), err)
	}
	for day := 60; day < 80; day++ { // even an administrator who agrees to every epoch loses nothing
		if err := take(day, true); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
	}
	if err := take(110, false); err != nil {
		t.Errorf("30 days after the last: %v", err)
	}
}

// TestLeaderBeginsEpochs: the leader's own epochs respect the limits. Ending a young epoch requires confirmation, and a second one on the
// same day begins a day later.
func TestLeaderBeginsEpochs(t *testing.T) {
	o, c := federated(t) // the site has just created the federation health
	_, err := BeginEpoch(t.Context(), o, c.keys, "health", crypto.EpochOverlap, false)
	if err == nil || !strings.Contains(err.Error(), "--early") {
		t.Errorf("the second epoch of a day: error %v", err)
	}
	for n := 2; n <= 12; n++ {
		id, err := BeginEpoch(t.Context(), o, c.keys, "health", crypto.EpochOverlap, true)
		if err != nil {
			t.Fatalf("epoch %d: %v", n, err)
		}
		f, err := id.Federation("health")
		if err != nil {
			t.Fatal(err)
		}
		es := f.Epochs
		if last := es[len(es)-1]; last.Number != uint32(n) || last.From.Sub(es[len(es)-2].From) < crypto.EpochSpacing {
			t.Errorf("epoch %d begins %v after the one before", last.Number, last.From.Sub(es[len(es)-2].From))
		}
		if _, err := keyfile.Read(c.keys.Path, c.keys.Secret); err != nil {
			t.Fatalf("epoch %d: the leader has lost its keys: %v", n, err)
		}
	}
}

// TestRefusedEpochRaisesAlarm: everything that the hourly round refuses is reported to an administrator.
func TestRefusedEpochRaisesAlarm(t *testing.T) {
	_, c := federated(t)
	leader := concordat.SiteID("LEADER")
	c.epochRefused(store.Membership{Federation: "law", Leader: leader}, &EarlyError{Federation: "law", Leader: leader, Epoch: 2})
	as, err := c.o.Store.Partners.PartnerAlarms(t.Context(), leader, 0)
	if err != nil || len(as) != 1 || as[0].Kind != store.AlarmEpoch {
		t.Errorf("alarms %v, error %v", as, err)
	}
	c.epochRefused(store.Membership{Federation: "law", Leader: "OTHER"}, os.ErrDeadlineExceeded)
	if as, err := c.o.Store.Partners.PartnerAlarms(t.Context(), "OTHER", 0); err != nil || len(as) != 0 {
		t.Errorf("a leader that does not answer: alarms %v, error %v", as, err)
	}
}
