package store_test

import (
	"errors"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

// TestClaimedWhole: a delivery that cannot be read in full is not claimed, and the next caller gets it.
func TestClaimedWhole(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		must(t, db.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleOfficer, Created: time.Now()}))
		h, err := db.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ada", URL: "https://ada.example/",
			Kinds: []store.EventKind{store.EventCheckDone}})
		must(t, err)
		must(t, db.Webhooks.PingHook(t.Context(), h.ID))
		for at := 0; ; at++ {
			ctx := storetest.NewLosing(t.Context(), at)
			d, of, err := db.Webhooks.ClaimDelivery(ctx, time.Hour)
			if !ctx.Lost() {
				if err != nil || d.Hook != h.ID || of.ID != h.ID || d.Attempts != 1 || at < 4 {
					t.Errorf("after %d statements: delivery %+v of %+v, %v", at, d, of, err)
				}
				return
			}
			if !errors.Is(err, storetest.ErrLost) {
				t.Errorf("statement %d failed, and claimed is %+v, %v", at, d, err)
			}
		}
	})
}

// TestMembershipsWhole: if one federation's members cannot be read, no federations are returned.
func TestMembershipsWhole(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		for _, f := range []concordat.FederationID{"a", "b"} {
			must(t, db.Partners.Join(t.Context(), f, "north", "north", "south"))
		}
		for at := 0; ; at++ {
			ctx := storetest.NewLosing(t.Context(), at)
			ms, err := db.Partners.Memberships(ctx)
			if !ctx.Lost() {
				if err != nil || len(ms) != 2 || len(ms[0].Members) != 2 || len(ms[1].Members) != 2 || at != 3 {
					t.Errorf("after %d statements: %+v, %v", at, ms, err)
				}
				return
			}
			if !errors.Is(err, storetest.ErrLost) {
				t.Errorf("statement %d failed, and told is %+v, %v", at, ms, err)
			}
		}
	})
}
