package partners

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/store"
)

// TestHeadsThatStop: a partner whose audit does not go on, though each exchange adds an entry to it, or that tells none
// any more, raises an alarm, once a day.
func TestHeadsThatStop(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	r := &Roster{db: db, log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }, heads: map[crypto.SiteID]*heads{}}
	hear := func(site byte, seq uint64, wait time.Duration, times int) {
		t.Helper()
		for range times {
			now = now.Add(wait)
			r.Heard(&crypto.Head{Site: crypto.SiteID{site}, Seq: seq, At: now})
		}
	}
	alarms := func(step string, want int) {
		t.Helper()
		es, err := db.Audit(t.Context(), 0, 0)
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
