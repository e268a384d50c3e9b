package store_test

import (
	"context"
	"errors"
	"testing"

	"concordat"
	"concordat/store"
)

func testAtomic(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	add := func(tx *store.DB, name string) error {
		if err := tx.People.CreateAccount(ctx, account(name, store.RoleOfficer)); err != nil {
			return err
		}
		_, err := tx.Audit.AppendAudit(ctx, "root", "account_made", nil)
		return err
	}
	stands := func(names int, entries int64) {
		t.Helper()
		all, err := db.People.Accounts(ctx)
		must(t, err)
		head, err := db.Audit.VerifyAudit(ctx)
		must(t, err)
		if len(all) != names || head.Seq != entries {
			t.Errorf("got %d accounts and %d entries, want %d and %d", len(all), head.Seq, names, entries)
		}
	}
	must(t, db.Atomic(ctx, func(tx *store.DB) error {
		err := add(tx, "ada")
		if _, missing := tx.People.Account(ctx, "ada"); missing != nil {
			t.Errorf("the transaction does not see its own change: %v", missing)
		}
		return errors.Join(err, tx.Atomic(ctx, func(tx *store.DB) error { return add(tx, "bo") }))
	}))
	stands(2, 2)

	stop := errors.New("stop")
	if err := db.Atomic(ctx, func(tx *store.DB) error { return errors.Join(add(tx, "cy"), stop) }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the function's error", err)
	}
	stands(2, 2)

	// A failed change undoes the others, even if the function ignores the failure.
	wantErr(t, db.Atomic(ctx, func(tx *store.DB) error {
		must(t, add(tx, "cy"))
		_ = tx.People.CreateAccount(ctx, account("ada", store.RoleOfficer))
		return nil
	}), concordat.ErrExists)
	wantErr(t, db.Atomic(ctx, func(tx *store.DB) error { return add(tx, "ada") }), concordat.ErrExists)
	stands(2, 2)

	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Atomic(gone, func(tx *store.DB) error { return add(tx, "cy") }); err == nil {
		t.Error("a cancelled transaction succeeded")
	}
	stands(2, 2)
}
