package program

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/instance"
	"concordat/store"
	"concordat/view"
)

// TestInbox: the commands list and show the notifications from other programs and the replies to them, for people and for programs, and
// resend replies that were given up.
func TestInbox(t *testing.T) {
	data := newSite(t)
	if out, _ := output(t, 0, data, "inbox", "list"); out != "" {
		t.Errorf("an empty inbox: %q", out)
	}
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	db, err := store.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	take := func(id string, state store.NotificationState, cause string, answers ...store.NotificationAnswer) error {
		_, _, err := db.Notifications.TakeNotification(t.Context(), store.Notification{ID: id, Account: "journal", Activity: "urn:" + id,
			Kind: "Offer coar-notify:ReviewAction", Origin: "https://repo.example.edu", Inbox: "https://repo.example.edu/inbox",
			Object: "https://repo.example.edu/" + id, Body: []byte(`{"id":"urn:` + id + `","x":"` + "\u009b" + `1m"}`), State: state,
			Cause: cause, Due: at, Made: at}, answers...)
		return err
	}
	answer := func(id, kind string, until time.Time) store.NotificationAnswer {
		return store.NotificationAnswer{ID: id, Kind: kind, Body: []byte(`{}`), Due: at, Until: until, Made: at}
	}
	err = errors.Join(db.People.CreateAccount(t.Context(), store.Account{Name: "journal", Role: store.RoleSubmitter, Created: at}),
		take("one", store.NotificationFailed, "no\x1b[2J text", answer("a1", "TentativeAccept", at), answer("a2", "Reject", at)),
		take("two", store.NotificationRefused, "", answer("b1", "Flag", at.AddDate(90, 0, 0))))
	for range 2 {
		if err == nil {
			_, _, err = db.Notifications.ClaimReply(t.Context(), time.Hour) // gives up the replies to one notification
		}
	}
	if err = errors.Join(err, db.Close()); err != nil && !strings.Contains(err.Error(), "not found") {
		t.Fatal(err)
	}
	out, _ := output(t, 0, data, "inbox", "list")
	if i, j := strings.Index(out, "two  "), strings.Index(out, "one  "); i != 0 || j < i || strings.Contains(out, "\x1b") ||
		!strings.Contains(out, "  no\uFFFD[2J text\n") || !strings.Contains(out, "  Reject dead 20") ||
		!strings.Contains(out, "Offer coar-notify:ReviewAction from https://repo.example.edu, account journal\n") {
		t.Errorf("listed:\n%s", out)
	}
	for _, args := range [][]string{{"--state", "failed"}, {"--dead"}} {
		if out, _ := output(t, 0, data, append([]string{"inbox", "list"}, args...)...); strings.Contains(out, "two") ||
			!strings.Contains(out, "one") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if _, said := output(t, 2, data, "inbox", "list", "--state", "lost"); !strings.Contains(said, "must be one of [fetching") {
		t.Errorf("said %q", said)
	}
	var v view.Notification
	show := func(args ...string) view.Notification {
		t.Helper()
		out, _ := output(t, 0, data, append([]string{"--json", "inbox"}, args...)...)
		v = view.Notification{}
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return v
	}
	if v := show("show", "one"); v.ID != "one" || v.State != store.NotificationFailed || len(v.Answers) != 2 || !v.Dead() ||
		v.Answers[0].Ended.IsZero() {
		t.Errorf("got %+v", v)
	}
	out, _ = output(t, 0, data, "inbox", "show", "one", "--received")
	var raw map[string]string
	if err := json.Unmarshal([]byte(out), &raw); err != nil || raw["id"] != "urn:one" || raw["x"] != "\u009b1m" ||
		strings.Contains(out, "\u009b") {
		t.Errorf("as it came: %q, %v", out, err)
	}
	if v := show("replay", "one"); v.Dead() || v.Answers[0].State != store.DeliveryPending || time.Until(v.Answers[0].Due) > time.Minute {
		t.Errorf("got %+v", v)
	}
	if _, said := output(t, 1, data, "inbox", "replay", "two"); !strings.Contains(said, "has no undelivered answers") {
		t.Errorf("said %q", said)
	}
	if out, _ := output(t, 0, data, "__complete", "inbox", "replay", ""); !strings.HasPrefix(out, "two\none\n") {
		t.Errorf("completed %q", out)
	}
	if out, _ := output(t, 0, data, "__complete", "inbox", "list", "--state", ""); !strings.HasPrefix(out, "fetching\nchecking\n") {
		t.Errorf("completed %q", out)
	}
	if _, said := output(t, 2, data, "inbox", "show", "three"); !strings.Contains(said, "notification three not found; see concordat inbox list") {
		t.Errorf("said %q", said)
	}
	if out, _ := output(t, 0, data, "audit", "show"); strings.Count(out, "notification_replayed") != 1 {
		t.Errorf("audit:\n%s", out)
	}
}
