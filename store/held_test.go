package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

// TestTidyKeepsOthers: Tidy deletes none of the files in the folder that the store did not create, and does not ask about them.
func TestTidyKeepsOthers(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{})
	for name, files := range map[string]func(dir string) *store.Files{"in the folder": store.OpenFiles, "in the database": db.Files} {
		dir := t.TempDir()
		f := files(dir)
		hash, _, err := f.Put(t.Context(), strings.NewReader("text"), 100)
		must(t, err)
		other := filepath.Join(dir, "notes.txt")
		must(t, os.WriteFile(other, nil, 0o600))
		n, err := f.Tidy(t.Context(), time.Now().Add(time.Hour), func(asked string) (bool, error) {
			if asked != hash {
				t.Errorf("%s: asked about %s", name, asked)
			}
			return false, nil
		})
		if err != nil || n != 1 {
			t.Errorf("%s: deleted %d, %v, want 1", name, n, err)
		}
		if _, err := os.Stat(other); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplayAllLost: if a statement fails, replaying all deliveries of a webhook fails, rather than reporting that there were none.
func TestReplayAllLost(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{})
	must(t, db.People.CreateAccount(t.Context(), account("ada", store.RoleOfficer)))
	h, err := db.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ada", URL: "https://ada.example/",
		Kinds: []store.EventKind{store.EventCheckDone}})
	must(t, err)
	for at := 0; ; at++ {
		ctx := storetest.NewLosing(t.Context(), at)
		_, err := db.Webhooks.ReplayDeliveries(ctx, h.ID, store.Replay{})
		if !ctx.Lost() {
			if err != nil || at < 3 {
				t.Errorf("after %d statements: %v", at, err)
			}
			return
		}
		if !errors.Is(err, storetest.ErrLost) {
			t.Errorf("statement %d failed, and the call returned the error %v", at, err)
		}
	}
}

// TestRetryAfterSeveral: a charge that does not fit is told to come again when it will fit, not when the first of several charges ends.
func TestRetryAfterSeveral(t *testing.T) {
	c := &clock{t: start}
	db := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{Now: c.now})
	x := store.Spending{Partner: "north", Library: "a", Kind: "k", Amount: 3, Windows: []store.Window{{Within: time.Hour, Most: 6}}}
	must2(t)(db.Answers.Spend(t.Context(), x))
	c.move(2 * store.SpendSlot)
	must2(t)(db.Answers.Spend(t.Context(), x))
	x.Amount = 4
	_, err := db.Answers.Spend(t.Context(), x)
	var o *store.Overspent
	if want := start.Add(time.Hour + 3*store.SpendSlot); !errors.As(err, &o) || o.Left != 0 || !o.Retry.Equal(want) {
		t.Errorf("got %+v (%v), want a retry at %s", o, err, want)
	}
}

// TestResultNamesChecked: a result with an invalid name of its source is refused, whichever name it is.
func TestResultNamesChecked(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{})
	for _, source := range []concordat.Ref{{Library: "l", Document: "d"}, {Site: "s", Document: "d"}, {Site: "s", Library: "l"}} {
		wantErr(t, db.Checks.PutResults(t.Context(), "t", []store.Result{{Kind: "near", Source: source}}), concordat.ErrInvalid)
	}
}
