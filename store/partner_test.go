package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func testCards(t *testing.T, p place) {
	db, clock := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Partners.PutCard(ctx, "NORTH", 5, []byte("five")))
	must(t, db.Partners.PutCard(ctx, "NORTH", 5, []byte("five")))
	clock.move(time.Hour)
	must(t, db.Partners.PutCard(ctx, "NORTH", 1<<62, []byte("next")))
	for serial, card := range map[uint64]string{5: "five", 4: "four", 1 << 62: "other"} {
		wantErr(t, db.Partners.PutCard(ctx, "NORTH", serial, []byte(card)), concordat.ErrExists)
	}
	for _, bad := range [][]byte{nil, make([]byte, 1<<17)} {
		wantErr(t, db.Partners.PutCard(ctx, "NORTH", 1<<62+1, bad), concordat.ErrInvalid)
	}
	wantErr(t, db.Partners.PutCard(ctx, "NORTH", 1<<63, []byte("x")), concordat.ErrInvalid)
	got, err := db.Partners.Cards(ctx, "NORTH")
	must(t, err)
	want := []store.SignedCard{
		{Site: "NORTH", Serial: 1 << 62, Card: []byte("next"), Accepted: start.Add(time.Hour)},
		{Site: "NORTH", Serial: 5, Card: []byte("five"), Accepted: start},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func partner(site concordat.SiteID) store.Partner {
	return store.Partner{Site: site, State: store.PartnerPending, Words: "one two", Serial: 7, Card: []byte("card of " + site)}
}

func testPartners(t *testing.T, p place) {
	db, clock := openPlace(t, p)
	ctx := t.Context()
	one := partner("ONE")
	one.Name, one.Policy = "north", json.RawMessage(`{"types":[1]}`)
	one.Grants = []store.Grant{{Library: "theses", Rule: store.ShareRule{Level: concordat.ShowOverlap}}}
	must(t, db.Partners.AddPartner(ctx, one))
	must(t, db.Partners.AddPartner(ctx, partner("TWO")))
	taken := partner("THREE")
	taken.Name = "north"
	wantErr(t, db.Partners.AddPartner(ctx, taken), concordat.ErrExists)
	bad := partner("FOUR")
	bad.Policy = json.RawMessage(`{`)
	wantErr(t, db.Partners.AddPartner(ctx, bad), concordat.ErrInvalid)

	one.Made = start
	for _, by := range []concordat.SiteID{"ONE", "north"} {
		got, err := db.Partners.Partner(ctx, by)
		must(t, err)
		if d := cmp.Diff(one, got); d != "" {
			t.Error(d)
		}
	}
	for _, none := range []concordat.SiteID{"", "THREE", "south"} { // TWO has no name, so an empty name does not find it
		_, err := db.Partners.Partner(ctx, none)
		wantErr(t, err, concordat.ErrNotFound)
	}

	clock.move(time.Minute)
	must(t, db.Partners.SetPartnerState(ctx, "ONE", store.PartnerPending, store.PartnerActive))
	wantErr(t, db.Partners.SetPartnerState(ctx, "ONE", store.PartnerPending, store.PartnerActive), concordat.ErrInvalid)
	wantErr(t, db.Partners.SetPartnerState(ctx, "NONE", store.PartnerPending, store.PartnerActive), concordat.ErrNotFound)
	wantErr(t, db.Partners.SetPartnerState(ctx, "ONE", store.PartnerActive, store.PartnerPending), concordat.ErrInvalid)
	wantErr(t, db.Partners.AddPartner(ctx, one), concordat.ErrExists) // the partner is active
	must(t, db.Partners.PutCard(ctx, "ONE", 8, []byte("new card")))
	must(t, db.Partners.NamePartner(ctx, "ONE", "nord"))
	wantErr(t, db.Partners.NamePartner(ctx, "NONE", "x"), concordat.ErrNotFound)
	one.State, one.Words, one.Confirmed, one.Serial, one.Card, one.Name = store.PartnerActive, "", start.Add(time.Minute), 8,
		[]byte("new card"), "nord"
	two := partner("TWO")
	two.Made = start
	two.Grants = []store.Grant{}
	all, err := db.Partners.Partners(ctx)
	must(t, err)
	if d := cmp.Diff([]store.Partner{one, two}, all); d != "" {
		t.Error(d)
	}

	must(t, db.Partners.SetPartnerState(ctx, "ONE", store.PartnerActive, store.PartnerRevoked))
	got, err := db.Partners.Partner(ctx, "ONE")
	must(t, err)
	if got.State != store.PartnerRevoked || !got.Revoked.Equal(start.Add(time.Minute)) {
		t.Errorf("revoked partner: %+v", got)
	}
	again := partner("ONE") // refused with an older card
	wantErr(t, db.Partners.AddPartner(ctx, again), concordat.ErrExists)
	again.Serial, again.Card = 9, []byte("enrolled anew")
	must(t, db.Partners.AddPartner(ctx, again))
	got, err = db.Partners.Partner(ctx, "ONE")
	must(t, err)
	if got.State != store.PartnerPending || !got.Revoked.IsZero() || got.Serial != 9 {
		t.Errorf("enrolled anew: %+v", got)
	}
}

// testInvitations tests the store's part of E1: an invitation can be used once, by one site, before it expires, and the redeeming site is
// pending.
func testInvitations(t *testing.T, p place) {
	db, clock := openPlace(t, p)
	ctx := t.Context()
	inv := func(n byte, life time.Duration) store.Invitation {
		return store.Invitation{Hash: [32]byte{n}, Digest: [32]byte{n, 1}, Note: "the north", Expires: start.Add(life),
			Grants: []store.Grant{{Library: "theses", Rule: store.ShareRule{Level: concordat.ShowCounts}}}}
	}
	must(t, db.Partners.AddInvitation(ctx, inv(1, time.Hour)))
	must(t, db.Partners.AddInvitation(ctx, inv(2, time.Minute)))
	wantErr(t, db.Partners.AddInvitation(ctx, inv(1, time.Hour)), concordat.ErrExists)
	count := func(want int) {
		t.Helper()
		if n, err := db.Partners.OpenInvitations(ctx); err != nil || n != want {
			t.Errorf("%d open invitations, %v; want %d", n, err, want)
		}
	}
	count(2)
	clock.move(2 * time.Minute)
	count(1)
	wantErr(t, db.Partners.Redeem(ctx, [32]byte{2}, [32]byte{9}, partner("ONE")), concordat.ErrRefused) // the invitation has expired
	wantErr(t, db.Partners.Redeem(ctx, [32]byte{3}, [32]byte{9}, partner("ONE")), concordat.ErrNotFound)
	must(t, db.Partners.Redeem(ctx, [32]byte{1}, [32]byte{9}, partner("ONE")))
	count(0)
	must(t, db.Partners.Redeem(ctx, [32]byte{1}, [32]byte{9}, partner("ONE")))                          // the receipt was lost
	wantErr(t, db.Partners.Redeem(ctx, [32]byte{1}, [32]byte{8}, partner("ONE")), concordat.ErrRefused) // a different request
	wantErr(t, db.Partners.Redeem(ctx, [32]byte{1}, [32]byte{9}, partner("TWO")), concordat.ErrRefused) // a different site
	got, err := db.Partners.Partner(ctx, "ONE")
	must(t, err)
	if got.State != store.PartnerPending || !got.Invited || len(got.Grants) != 1 || got.Grants[0].Library != "theses" {
		t.Errorf("after redeeming: %+v", got)
	}
	used := inv(1, time.Hour)
	used.Made, used.Used, used.Site, used.Request = start, start.Add(2*time.Minute), "ONE", [32]byte{9}
	i, err := db.Partners.Invitation(ctx, [32]byte{1})
	must(t, err)
	if d := cmp.Diff(used, i); d != "" {
		t.Error(d)
	}
	all, err := db.Partners.Invitations(ctx)
	must(t, err)
	if len(all) != 2 || all[0].Hash != ([32]byte{1}) || all[1].Hash != ([32]byte{2}) {
		t.Errorf("invitations %+v", all)
	}

	// An active site does not consume an invitation.
	must(t, db.Partners.SetPartnerState(ctx, "ONE", store.PartnerPending, store.PartnerActive))
	must(t, db.Partners.AddInvitation(ctx, inv(4, time.Hour)))
	wantErr(t, db.Partners.Redeem(ctx, [32]byte{4}, [32]byte{7}, partner("ONE")), concordat.ErrExists)
	count(1)
}

func testMemberships(t *testing.T, p place) {
	db, clock := openPlace(t, p)
	ctx := t.Context()
	must(t, db.Partners.Join(ctx, "health", "LEAD", "LEAD", "ONE", "TWO"))
	must(t, db.Partners.Join(ctx, "art", "ME", "ME"))
	clock.move(time.Hour)
	must(t, db.Partners.Join(ctx, "health", "LEAD", "LEAD", "ONE", "THREE"))
	wantErr(t, db.Partners.Join(ctx, "", "LEAD"), concordat.ErrInvalid)
	later := start.Add(time.Hour)
	want := []store.Membership{
		{Federation: "art", Leader: "ME", Joined: start, Members: []store.Member{{Site: "ME", Since: start}}},
		{Federation: "health", Leader: "LEAD", Joined: start, Members: []store.Member{
			{Site: "LEAD", Since: start}, {Site: "ONE", Since: start}, {Site: "THREE", Since: later}, {Site: "TWO", Since: start, Removed: later}}},
	}
	got, err := db.Partners.Memberships(ctx)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, db.Partners.Join(ctx, "health", "LEAD", "TWO"))
	got, err = db.Partners.Memberships(ctx)
	must(t, err)
	if m := got[1].Members[3]; m.Site != "TWO" || !m.Since.Equal(later) || !m.Removed.IsZero() {
		t.Errorf("a member that came back: %+v", m)
	}
	must(t, db.Partners.Leave(ctx, "health"))
	wantErr(t, db.Partners.Leave(ctx, "health"), concordat.ErrNotFound)
}

// testPartnerAlarms: each kind of alarm is raised once a day for each library, sent to the site's webhooks and forgotten after a year.
func testPartnerAlarms(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	probing := store.PartnerAlarm{Partner: "north", Kind: store.AlarmProbing, Library: "theses"}
	raise := func(a store.PartnerAlarm, want bool) {
		t.Helper()
		raised, err := db.Partners.RaiseAlarm(ctx, a)
		must(t, err)
		if raised != want {
			t.Errorf("%+v raised: %v, want %v", a, raised, want)
		}
	}
	raise(probing, true)
	raise(probing, false)
	raise(store.PartnerAlarm{Partner: "north", Kind: store.AlarmProbing, Library: "grants"}, true)
	raise(store.PartnerAlarm{Partner: "south", Kind: store.AlarmAuditStopped}, true)
	c.move(25 * time.Hour)
	raise(probing, true)
	as, err := db.Partners.PartnerAlarms(ctx, "north", 2)
	must(t, err)
	if len(as) != 2 || as[0].Library != "theses" || !as[0].At.Equal(c.now()) || as[1].Library != "grants" {
		t.Errorf("got %+v", as)
	}
	c.move(400 * 24 * time.Hour)
	raise(probing, true)
	if as, err = db.Partners.PartnerAlarms(ctx, "north", 0); err != nil || len(as) != 1 {
		t.Errorf("after a year: %+v, error %v", as, err)
	}
}

// testWitnesses tests the store's part of L2: a partner that rewrote its audit contradicts what was stored.
func testWitnesses(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	add := func(seq uint64, hash byte, at time.Duration) *store.Witness {
		t.Helper()
		f, err := db.Partners.AddWitness(ctx, store.Witness{Site: "ONE", Seq: seq, Hash: [32]byte{hash}, At: start.Add(at),
			Head: []byte{byte(seq), hash}})
		must(t, err)
		return f
	}
	for i := range 300 { // an hour or more apart, slightly out of order
		at := time.Duration(i) * 15 * time.Second
		if f := add(uint64(10+i), byte(i), at); f != nil {
			t.Fatalf("entry %d contradicts %d", 10+i, f.Seq)
		}
		if i%7 == 3 {
			if f := add(uint64(10+i-2), byte(i-2), at-30*time.Second); f != nil {
				t.Fatalf("entry %d, late, contradicts %d", 10+i-2, f.Seq)
			}
		}
	}
	kept, err := db.Partners.Witnesses(ctx, "ONE")
	must(t, err)
	if len(kept) > 60 || kept[0].Seq != 10 || kept[len(kept)-1].Seq != 309 {
		t.Errorf("%d kept, %d to %d", len(kept), kept[0].Seq, kept[len(kept)-1].Seq)
	}
	last := kept[len(kept)-1]
	if add(last.Seq, last.Hash[0], last.At.Sub(start)) != nil {
		t.Error("the same end again contradicts itself")
	}
	if f := add(309, 200, 80*time.Minute); f == nil || f.Seq != 309 {
		t.Errorf("another entry of the same number: %v", f)
	}
	if f := add(12, 0, 90*time.Minute); f == nil {
		t.Error("an audit that was cut off is not seen")
	}
	if f := add(400, 1, -time.Hour); f == nil {
		t.Error("a longer audit before a shorter one is not seen")
	}
	forks := 0
	kept, err = db.Partners.Witnesses(ctx, "ONE")
	must(t, err)
	for _, k := range kept {
		if k.Fork {
			forks++
		}
	}
	if forks < 4 {
		t.Errorf("%d are marked, want both sides of each", forks)
	}
	latest, err := db.Partners.LatestWitnesses(ctx, "ONE", forks+1)
	must(t, err)
	for i, k := range latest {
		if k.Fork != (i < forks) {
			t.Errorf("of the latest, number %d: fork %v", i, k.Fork)
		}
	}
	// A partner that keeps contradicting itself does not fill the store.
	for i := range 500 {
		if add(309, byte(i), time.Duration(i)*time.Hour) == nil && i != int(last.Hash[0]) {
			t.Errorf("contradiction %d is not seen", i)
		}
	}
	kept, err = db.Partners.Witnesses(ctx, "ONE")
	must(t, err)
	if len(kept) > 200 {
		t.Errorf("%d ends are kept of 500 that contradict", len(kept))
	}
}
