package federation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// TestE1_Between: an attacker between the two sites forwards the inviting site's card and terminates TLS with another key. The attacker
// does not receive the enrolment, whether it is there from the start or only after the card was read.
func TestE1_Between(t *testing.T) {
	for name, honest := range map[string]int{"from the beginning": 0, "after the card": 1} {
		t.Run(name, func(t *testing.T) {
			known := fedtest.NewSite(t, scheme)
			var mu sync.Mutex
			var requests []string
			card := func(note bool) func(*script) http.HandlerFunc {
				return func(s *script) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) {
						if note {
							mu.Lock()
							requests = append(requests, r.Method)
							mu.Unlock()
						}
						if honest > 0 {
							w.Header().Set("Connection", "close") // forces a new connection for the next request
						}
						_, _ = w.Write(known.Member(federation.StateActive).Card.Bytes())
					}
				}
			}
			inviter := newScript(t, known, card(false))
			between := newScript(t, known, card(true))
			// Both present the card of the inviting site.
			known.Roster.Back(inviter.Member(federation.StateActive).Card)
			id, _ := inviter.Roster.Self()
			invitation, err := id.Invite(inviter.URL, crypto.InvitationLife, time.Now(), bytes.NewReader(make([]byte, 64)))
			if err != nil {
				t.Fatal(err)
			}
			_, middle := between.Roster.Self()
			connections := 0
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if connections++; connections > honest {
					address = middle.URLs[0][len("https://"):]
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			asker := fedtest.NewSite(t, scheme)
			invitation.URL = inviter.Member(federation.StateActive).Card.URLs[0]
			_, err = federation.Redeem(t.Context(), invitation, asker.Roster, federation.ClientOptions{Dial: dial})
			if kindOf(err) != federation.KindStranger {
				t.Errorf("error %v, want kind %s", err, federation.KindStranger)
			}
			namesSite(t, "redeem", err, concordat.SiteID(invitation.Site.String()))
			mu.Lock()
			defer mu.Unlock()
			for _, method := range requests {
				if method == http.MethodPost {
					t.Error("the enrolment was handed to the one between")
				}
			}
			if connections <= honest {
				t.Errorf("%d connections: the one between was never asked", connections)
			}
		})
	}
}

// TestRefusalInJournal: if a request is refused before it is opened, the journal records its sender, its type and the reason.
func TestRefusalInJournal(t *testing.T) {
	clock := &clock{now: time.Now().Add(time.Second)}
	w := newWorkbench(t, clock.Now)
	if err := w.replays.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.owner.Replays); err != nil { // so that requests older than the start are refused
		t.Fatal(err)
	}
	journal := newDiary(t, w.owner, 9)
	w.reopen(t, federation.ServerOptions{Journal: journal})
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
	_, body := w.post(env)
	if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal == nil || refusal.Reason != concordat.ReasonUnknown {
		t.Fatalf("refusal %v, want %s", refusal, concordat.ReasonUnknown)
	}
	if len(journal.exchanges) != 1 {
		t.Fatalf("%d exchanges in the journal, want the refused one", len(journal.exchanges))
	}
	x := journal.exchanges[0]
	if x.Partner != w.asker.ID || x.Kind != "tell" || x.Refused != concordat.ReasonUnknown || x.Request == [32]byte{} ||
		!x.At.Equal(clock.Now()) || x.Again {
		t.Errorf("in the journal: %+v", x)
	}
}

// TestRefusalNotSealed: if a refusal cannot be signed, nothing is sent and nothing is recorded in the journal.
func TestRefusalNotSealed(t *testing.T) {
	w := newWorkbench(t, time.Now)
	if err := w.replays.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.owner.Replays); err != nil {
		t.Fatal(err)
	}
	journal := newDiary(t, w.owner, 9)
	env, _ := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
	w.reopen(t, federation.ServerOptions{Journal: journal})
	w.server = federation.NewServer(&fading{Roster: w.owner.Roster, after: 1}, w.answers, w.owner.Epochs, w.replays, w.owner.Order,
		federation.ServerOptions{Behind: true, Journal: journal})
	if code, _ := w.post(env); code != http.StatusServiceUnavailable || len(journal.exchanges) != 0 {
		t.Errorf("status %d, %d exchanges in the journal", code, len(journal.exchanges))
	}
}

// reopen starts serving with different options.
func (w *workbench) reopen(t *testing.T, o federation.ServerOptions) {
	t.Helper()
	_ = w.replays.Close()
	var err error
	if w.replays, err = federation.OpenReplays(w.owner.Replays, w.now()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.replays.Close() })
	o.Behind, o.Now = true, w.now
	w.server = federation.NewServer(w.owner.Roster, w.answers, w.owner.Epochs, w.replays, w.owner.Order, o)
}

// outcomes are the events that a Server reported to its observer.
type outcomes struct {
	mu   sync.Mutex
	seen []federation.Outcome
}

func (o *outcomes) observe(_ concordat.SiteID, x federation.Outcome, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, x)
}

func (o *outcomes) last() federation.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) == 0 {
		return ""
	}
	return o.seen[len(o.seen)-1]
}

// fading is a roster whose site loses the ability to sign.
type fading struct {
	*fedtest.Roster
	mu    sync.Mutex
	end   bool
	after int // if above 0, number of calls of Self after which the site can no longer sign
	calls int
}

func (f *fading) Self() (*crypto.Identity, *crypto.Card) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, card := f.Roster.Self()
	f.calls++
	if f.end || f.after > 0 && f.calls > f.after {
		id, _ = id.Expire(time.Now().Add(10 * crypto.SigningLife))
	}
	return id, card
}

// TestCannotSeal: a site that cannot sign an answer reports that it is temporarily unreachable, and sends nothing unsigned.
func TestCannotSeal(t *testing.T) {
	w := newWorkbench(t, time.Now)
	roster := &fading{Roster: w.owner.Roster}
	told := &outcomes{}
	w.server = federation.NewServer(roster, w.answers, w.owner.Epochs, w.replays, w.owner.Order,
		federation.ServerOptions{Behind: true, Observe: told.observe})
	w.answers.setBefore(func(context.Context) error {
		roster.mu.Lock()
		defer roster.mu.Unlock()
		roster.end = true
		return nil
	})
	env, _ := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
	rec := httptest.NewRecorder()
	w.server.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/concordat/1/message", bytes.NewReader(env)))
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") != "1" || rec.Body.String() != "unavailable\n" {
		t.Errorf("status %d, Retry-After %q, body %q", rec.Code, rec.Header().Get("Retry-After"), rec.Body)
	}
	if told.last() != federation.OutcomeFailed {
		t.Errorf("observed %q, want %q", told.last(), federation.OutcomeFailed)
	}
}

// TestTimeoutOfAnswers: the time for an answer is the one in the settings, or two minutes if none is set or it exceeds a message's
// lifetime.
func TestTimeoutOfAnswers(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{
		0: 2 * time.Minute, -time.Second: 2 * time.Minute, 20 * time.Second: 20 * time.Second,
		crypto.MaxTTL: crypto.MaxTTL, crypto.MaxTTL + 1: 2 * time.Minute,
	} {
		w := newWorkbench(t, time.Now)
		w.reopen(t, federation.ServerOptions{Timeout: set})
		var left time.Duration
		w.answers.setBefore(func(ctx context.Context) error {
			end, ok := ctx.Deadline()
			if !ok {
				t.Errorf("timeout %v: no deadline", set)
			}
			left = time.Until(end)
			return nil
		})
		env, _ := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
		w.post(env)
		if left > want || left < want-15*time.Second {
			t.Errorf("timeout %v: %v to answer, want %v", set, left, want)
		}
	}
}

// untouched is a request body that must not be read.
type untouched struct {
	t    *testing.T
	what string
}

func (u untouched) Read([]byte) (int, error) {
	u.t.Errorf("%s: the body was read", u.what)
	return 0, io.EOF
}

// TestNothingReadOfStrangers: the body of an unacceptable request is not read. It is unacceptable if it is a message on a connection
// without a partner's key or with a length above the limit, or an enrolment that is too long or arrives while no invitation is open.
func TestNothingReadOfStrangers(t *testing.T) {
	b, open := startInviting(t)
	_, shut := startInviting(t)
	open.invite(t, b.URL)
	replays, err := federation.OpenReplays(fedtest.NewSite(t, scheme).Replays, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replays.Close() })
	told := &outcomes{}
	server := func(behind bool, r federation.Registrar) *federation.Server {
		return federation.NewServer(b.Roster, &scan{}, b.Epochs, replays, b.Order,
			federation.ServerOptions{Behind: behind, Registrar: r, Observe: told.observe})
	}
	for _, test := range []struct {
		what   string
		server *federation.Server
		path   string
		length int64
	}{
		{"message without a key", server(false, nil), "message", 5000},
		{"message without a key, while a site is invited", server(false, open), "message", 5000},
		{"message that is too long", server(true, nil), "message", crypto.MaxEnvelope + 1},
		{"enrolment where nobody can enrol", server(true, nil), "enrol", 5000},
		{"enrolment while nobody is invited", server(true, shut), "enrol", 5000},
		{"enrolment that is too long", server(true, open), "enrol", crypto.MaxEnrolment + 1},
	} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/concordat/1/"+test.path, untouched{t, test.what})
		req.ContentLength = test.length
		test.server.ServeHTTP(rec, req)
		if rec.Code != http.StatusBadRequest || rec.Body.String() != "bad request\n" {
			t.Errorf("%s: status %d, %q", test.what, rec.Code, rec.Body)
		}
		if test.path == "message" && told.last() != federation.OutcomeRejected {
			t.Errorf("%s: observed %q", test.what, told.last())
		}
	}
	if len(told.seen) != 3 {
		t.Errorf("%d messages observed, want 3", len(told.seen))
	}
	for path, length := range map[string]int64{"message": crypto.MaxEnvelope, "enrol": crypto.MaxEnrolment} {
		read := false
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/concordat/1/"+path, readerFunc(func([]byte) (int, error) { read = true; return 0, io.EOF }))
		req.ContentLength = length
		server(true, open).ServeHTTP(rec, req)
		if !read || rec.Code != http.StatusBadRequest {
			t.Errorf("%s of the most bytes: read %v, status %d", path, read, rec.Code)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// failingRegistrar is a registrar that cannot store an enrolment.
type failingRegistrar struct{ *registrar }

func (failingRegistrar) Enrol(context.Context, *crypto.Enrolment) error {
	return concordat.ErrUnavailable
}

// TestEnrolmentBehindProxy posts enrolments directly to the handler, as from a proxy that terminates TLS. Only the valid one is accepted,
// all get the same answer, and none blocks the next.
func TestEnrolmentBehindProxy(t *testing.T) {
	b, registrar := startInviting(t)
	invitation := registrar.invite(t, b.URL)
	a := fedtest.NewSite(t, scheme)
	_, own := a.Roster.Self()
	_, inviter := b.Roster.Self()
	replays, err := federation.OpenReplays(fedtest.NewSite(t, scheme).Replays, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replays.Close() })
	serving := func(r federation.Registrar) *federation.Server {
		return federation.NewServer(b.Roster, &scan{}, b.Epochs, replays, b.Order,
			federation.ServerOptions{Behind: true, Strangers: 128 << 10, Registrar: r})
	}
	post := func(s *federation.Server, body []byte) *httptest.ResponseRecorder {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends the test if places are not returned
		defer cancel()
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/concordat/1/enrol", bytes.NewReader(body)).WithContext(ctx))
		return rec
	}
	enrol := func(i *crypto.Invitation) []byte {
		t.Helper()
		body, _, err := i.Enrol(own, inviter, time.Now(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	good := enrol(invitation)
	s := serving(registrar)
	unknown := *invitation
	unknown.Token[3] ^= 1
	ended := registrar.invite(t, b.URL)
	registrar.mu.Lock()
	registrar.open[ended.TokenHash()] = time.Now().Add(-time.Minute)
	registrar.mu.Unlock()
	for name, body := range map[string][]byte{
		"no enrolment": []byte("hello"), "nothing": nil, "cut": good[:len(good)-1], "an unknown token": enrol(&unknown),
		"an ended invitation": enrol(ended),
	} {
		if rec := post(s, body); rec.Code != http.StatusBadRequest || rec.Body.String() != "bad request\n" {
			t.Errorf("%s: status %d, %q", name, rec.Code, rec.Body)
		}
	}
	if rec := post(serving(failingRegistrar{registrar}), good); rec.Code != http.StatusBadRequest {
		t.Errorf("an enrolment that was not kept: status %d", rec.Code)
	}
	if len(registrar.enrolled) != 0 {
		t.Fatalf("%d sites are enrolled", len(registrar.enrolled))
	}
	if rec := post(s, good); rec.Code != http.StatusOK || len(registrar.enrolled) != 1 {
		t.Errorf("the good one: status %d, %d sites are enrolled", rec.Code, len(registrar.enrolled))
	}
	registrar.invite(t, b.URL)
	if rec := post(s, good); rec.Code != http.StatusBadRequest || len(registrar.enrolled) != 1 {
		t.Errorf("the good one again: status %d, %d sites are enrolled", rec.Code, len(registrar.enrolled))
	}
}
