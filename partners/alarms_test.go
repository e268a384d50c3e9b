package partners

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
	"concordat/internal/storetest"
	"concordat/store"
	"concordat/webhook"
)

// watcher is a site's roster together with everything that an administrator reads: the log, the audit, the alarms, and the messages to a
// webhook.
type watcher struct {
	*Roster
	t      *testing.T
	sender *webhook.Sender

	mu   sync.Mutex // guards the fields below
	log  bytes.Buffer
	told []string // sent to the webhook
}

func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func watch(t *testing.T, id *crypto.Identity, card *crypto.Card) *watcher {
	t.Helper()
	db := storetest.SQLite(t)
	return watchOver(t, db, id, card)
}

func watchOver(t *testing.T, db *store.DB, id *crypto.Identity, card *crypto.Card) *watcher {
	t.Helper()
	w := &watcher{t: t}
	w.Roster = NewRoster(db, slog.New(slog.NewTextHandler(w, nil)), id, card)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, string(b))
	}))
	t.Cleanup(receiver.Close)
	if err := db.People.CreateAccount(t.Context(), store.Account{Name: "adam", Role: store.RoleAdministrator,
		Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Webhooks.CreateHook(t.Context(), store.Hook{Account: "adam", Whole: true, URL: receiver.URL,
		Kinds: []store.EventKind{store.EventPartnerAlarm}}); err != nil {
		t.Fatal(err)
	}
	w.sender = webhook.New(webhook.Options{Store: db.Webhooks, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	return w
}

// raised fails the test unless exactly the alarm about the given partner is visible to an administrator; an empty kind means no alarm.
func (w *watcher) raised(step string, about concordat.SiteID, kind, words, action string) {
	w.t.Helper()
	w.sender.Step(context.Background())
	as, err := w.db.Partners.PartnerAlarms(context.Background(), about, 0) // the list on the partner's page
	if err != nil {
		w.t.Fatal(err)
	}
	entries, err := w.db.Audit.Audit(context.Background(), 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	audited := 0
	for _, e := range entries {
		if action != "" && e.Action == action && e.Actor == string(about) {
			audited++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind == "" {
		if len(as)+len(w.told) > 0 {
			w.t.Errorf("%s: alarms %+v, told %q", step, as, w.told)
		}
		return
	}
	if len(as) != 1 || as[0].Kind != kind {
		w.t.Errorf("%s: alarms %+v, want %s", step, as, kind)
	}
	if audited == 0 {
		w.t.Errorf("%s: the audit has no %q of %s", step, action, about)
	}
	if log := w.log.String(); !strings.Contains(log, words) || !strings.Contains(log, "site="+string(about)) {
		w.t.Errorf("%s: the log has no %q of %s:\n%s", step, words, about, log)
	}
	var event struct {
		Type string
		Data struct{ Partner, Kind string }
	}
	if len(w.told) != 1 || json.Unmarshal([]byte(w.told[0]), &event) != nil || event.Type != string(store.EventPartnerAlarm) ||
		event.Data.Partner != string(about) || event.Data.Kind != kind {
		w.t.Errorf("%s: the webhook is told %q", step, w.told)
	}
}

// answerer answers catalogue requests, and answers asks with a function.
type answerer struct {
	concordat.Answerer
	answer func(a *concordat.Ask) *concordat.SiteAnswer
}

func (a answerer) OpenTo(context.Context, concordat.SiteID) (*concordat.Catalogue, error) {
	return &concordat.Catalogue{}, nil
}

func (a answerer) Answer(_ context.Context, _ concordat.SiteID, q *concordat.Ask) (*concordat.SiteAnswer, error) {
	return a.answer(q), nil
}

const alarmScheme = concordat.Scheme("natural@1")

// TestFloodIsSeen: a partner that sends requests without end is refused, adds no further audit entries, and raises an alarm; a partner
// that merely works fast does not.
func TestFloodIsSeen(t *testing.T) {
	var w *watcher
	f := fedtest.New(t, 3, alarmScheme, func(i int, o *federation.ServerOptions) {
		if i == 0 {
			o.Rate = 1 // five hundred at once
			o.Observe = func(site concordat.SiteID, x federation.Outcome, _ time.Duration) { w.messageEnded(site, x) }
		}
	})
	f.Answer(0, answerer{})
	id, card := f.Sites[0].Roster.Self()
	w = watch(t, id, card)
	ask := func(site, times int) {
		t.Helper()
		c := f.Sites[site].NewClient(t, f.Sites[0], federation.ClientOptions{Tries: 1, Timeout: time.Minute})
		for range times {
			_, err := c.Catalogue(t.Context())
			var refusal *concordat.Refusal
			if err != nil && (!errors.As(err, &refusal) || refusal.Reason != concordat.ReasonBusy) {
				t.Fatal(err)
			}
		}
	}
	ask(1, 520)
	w.raised("in a hurry", f.ID(1), "", "", "")
	ask(2, 500+maxRefused+50)
	w.raised("without end", f.ID(2), store.AlarmFlooding, "a partner sends more than this site accepts", "flooding")
}

// TestSlownessIsSeen: a partner whose messages are invalid, or never end, raises an alarm like one that floods the site; a stranger, who
// can claim any name, raises none.
func TestSlownessIsSeen(t *testing.T) {
	id, err := crypto.New(time.Now(), bytes.NewReader(bytes.Repeat([]byte{5}, 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, id, &crypto.Card{})
	now := time.Now()
	w.now = func() time.Time { return now }
	for range 5 * maxRefused {
		w.messageEnded("", federation.OutcomeRejected)
		w.messageEnded("NORTH", federation.OutcomeAnswered)
	}
	for range 3 {
		for range maxRefused - 1 {
			w.messageEnded("NORTH", federation.OutcomeRejected)
		}
		now = now.Add(time.Hour)
	}
	w.raised("some each hour", "NORTH", "", "", "")
	for range maxRefused {
		w.messageEnded("NORTH", federation.OutcomeRejected)
	}
	w.raised("many in an hour", "NORTH", store.AlarmFlooding, "a partner sends more than this site accepts", "flooding")
}

// TestLiesAreSeen: an impossible answer raises an alarm at the asking site; a valid one does not.
func TestLiesAreSeen(t *testing.T) {
	f := fedtest.New(t, 3, alarmScheme)
	told := func(level concordat.Show) func(*concordat.Ask) *concordat.SiteAnswer {
		return func(a *concordat.Ask) *concordat.SiteAnswer {
			return &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: a.Libraries[0], Level: level, Ready: 1}}}
		}
	}
	f.Answer(1, answerer{answer: told(concordat.ShowCounts)})
	f.Answer(2, answerer{answer: told(concordat.ShowMetadata)}) // more than was requested
	id, card := f.Sites[0].Roster.Self()
	w := watch(t, id, card)
	ask := func(of int) error {
		c := f.Sites[0].NewClient(t, f.Sites[of], federation.ClientOptions{Tries: 1, Timeout: time.Minute,
			Observe: observing(w.callEnded, nil)})
		_, err := c.Ask(t.Context(), &concordat.Ask{Job: concordat.JobID{1}, Epoch: fedtest.Epoch, Scheme: alarmScheme,
			Level: concordat.ShowCounts, Probe: concordat.ProbeOne, Libraries: []concordat.LibraryID{"theses"}, Purpose: "thesis",
			Sentences: []concordat.AskedSentence{{Gate: 20}}})
		return err
	}
	if err := ask(1); err != nil {
		t.Fatal(err)
	}
	w.raised("an answer in order", f.ID(1), "", "", "")
	for range 3 {
		var e *federation.Error
		if err := ask(2); !errors.As(err, &e) || e.Kind != federation.KindGarbage {
			t.Fatalf("a false answer: %v", err)
		}
	}
	w.raised("a false answer", f.ID(2), store.AlarmFalse, "a partner's answer is impossible", "false answer")
}

// TestForgedHeadIsSeen: a partner raises an alarm by passing on an audit head that the member in question never signed.
func TestForgedHeadIsSeen(t *testing.T) {
	ms := members(t, 3)
	liar, victim := ms[1], ms[2]
	w := watchOver(t, ms[0].db, ms[0].id, ms[0].card)
	w.HeardOthers(liar.name, []*crypto.Head{victim.end(t, 5, 1, time.Now())})
	w.raised("a head as it was signed", liar.name, "", "", "")
	forged := *victim.end(t, 6, 1, time.Now())
	forged.Hash[0] ^= 1
	w.HeardOthers(liar.name, []*crypto.Head{&forged})
	w.raised("a forged head", liar.name, store.AlarmFalse, "an audit head that its site has not signed", "false answer")
}

// TestTwoAuditsAreSeen: a member that shows two partners different audits, and a member whose audit stops, raise alarms that reach an
// administrator.
func TestTwoAuditsAreSeen(t *testing.T) {
	ms := members(t, 3)
	liar, witness := ms[1], ms[2]
	w := watchOver(t, ms[0].db, ms[0].id, ms[0].card)
	at := time.Now().Add(-time.Hour)
	w.Heard(liar.end(t, 10, 1, at))
	w.HeardOthers(witness.name, []*crypto.Head{liar.end(t, 10, 1, at.Add(time.Second))})
	w.raised("one audit", liar.name, "", "", "")
	w.HeardOthers(witness.name, []*crypto.Head{liar.end(t, 10, 2, at.Add(time.Second))})
	w.raised("two audits", liar.name, store.AlarmAuditContradicts, "is not the same for all", "audit contradicts")

	silent := members(t, 2)
	w = watchOver(t, silent[0].db, silent[0].id, silent[0].card)
	now := time.Now()
	w.now = func() time.Time { return now }
	for range 2 * maxAgain {
		w.Heard(silent[1].end(t, 7, 1, now))
		now = now.Add(2 * time.Hour)
	}
	w.raised("an audit that stops", silent[1].name, store.AlarmAuditStopped, "audit has stopped", "audit stopped")
}
