package federation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// namesSite requires that an error names the site that it concerns, because a report shows the error next to that site.
func namesSite(t *testing.T, what string, err error, want concordat.SiteID) {
	t.Helper()
	var e *federation.Error
	if !errors.As(err, &e) || e.Site != want {
		t.Errorf("%s: error %v, want one of site %s", what, err, want)
	}
}

// TestClocksDiffer: if a partner accepts no message and its clock differs from this site's, the error says so and by how much; if the
// clocks agree, it does not mention them.
func TestClocksDiffer(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{level: concordat.ShowMetadata})
	late := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Now: func() time.Time { return time.Now().Add(20 * time.Minute) }})
	_, err := late.Catalogue(t.Context())
	if kindOf(err) != federation.KindRejected || !strings.Contains(err.Error(), "the partner's clock differs from this site's by 20m") {
		t.Errorf("20 minutes ahead: error %v", err)
	}
	f.Sites[1].Roster.Set(f.Sites[0].Member(federation.StateRevoked))
	_, err = f.Partner(0, 1).Catalogue(t.Context())
	if kindOf(err) != federation.KindRejected || strings.Contains(err.Error(), "clock") {
		t.Errorf("revoked: error %v", err)
	}
}

// TestGrantOfNoFederation: an invalid name returns an error and no grant.
func TestGrantOfNoFederation(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{})
	if g, err := f.Partner(0, 1).Grant(t.Context(), concordat.FederationID(strings.Repeat("x", 1<<16))); err == nil || g != nil {
		t.Errorf("grant %v, error %v", g, err)
	}
}

// TestNotAsked: a question that the format cannot express is not sent, and the method returns ErrInvalid.
func TestNotAsked(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{})
	c := f.Partner(0, 1)
	c.Close() // a question sent now would fail differently
	ctx := t.Context()
	_, unpadded := c.Ask(ctx, &concordat.Ask{})
	_, ask := c.Ask(ctx, &concordat.Ask{Sentences: make([]concordat.AskedSentence, 1)})
	_, outline := c.Outline(ctx, &concordat.OutlineAsk{})
	_, edges := c.Edges(ctx, &concordat.EdgesAsk{})
	_, reveal := c.Reveal(ctx, &concordat.RevealAsk{})
	_, ship := c.Ship(ctx, &concordat.ShipAsk{})
	notice := c.Notify(ctx, &concordat.Notice{})
	for name, err := range map[string]error{"ask without sentences": unpadded, "ask without libraries": ask, "outline": outline,
		"edges": edges, "reveal": reveal, "ship": ship, "notice": notice} {
		if !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// TestRefusedAgain: a message that did not run is not remembered. If sent again, it gets the same answer, and its sender does not wait
// for an answer that is not being prepared.
func TestRefusedAgain(t *testing.T) {
	w := newWorkbench(t, time.Now)
	id, _ := w.asker.Roster.Self()
	card := w.owner.Member(federation.StateActive).Card
	request := crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: []byte("no request")}
	senseless, pending, err := id.SealRequest(request, card, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	again := func(what string, env []byte, pending *crypto.Pending, want concordat.Reason) {
		t.Helper()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			rec := httptest.NewRecorder()
			w.server.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodPost, "/concordat/1/message", bytes.NewReader(env)))
			cancel()
			if _, refusal := w.opened(t, rec.Body.Bytes(), pending, crypto.TypeReply); refusal == nil || refusal.Reason != want {
				t.Errorf("%s: refusal %v, want %s", what, refusal, want)
			}
		}
	}
	again("without sense", senseless, pending, concordat.ReasonFault)
	old, pending := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
	owner, _ := w.owner.Roster.Self()
	replaced, err := owner.Replace(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w.owner.Roster.Use(t, replaced, w.owner.URL)
	again("sealed to a key that is gone", old, pending, wire.ReasonKey)
	if n := w.answers.asked(); n != 0 {
		t.Errorf("%d requests ran", n)
	}
}

// TestCauses: a partner learns that an answer failed, but only this site's log says why.
func TestCauses(t *testing.T) {
	cause := errors.New("a secret of this site")
	for err, want := range map[error]concordat.Reason{
		cause: concordat.ReasonFault,
		fmt.Errorf("%w: %w", cause, concordat.ErrScheme): concordat.ReasonScheme,
		fmt.Errorf("%w: %w", cause, wire.ErrFormat):      concordat.ReasonFault,
	} {
		var log bytes.Buffer
		w := newWorkbench(t, time.Now)
		w.reopen(t, federation.ServerOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
		w.answers.setBefore(func(context.Context) error { return err })
		env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
		_, body := w.post(env)
		_, refusal := w.opened(t, body, pending, crypto.TypeReply)
		if refusal == nil || refusal.Reason != want || strings.Contains(refusal.Words, "secret") {
			t.Errorf("%v: refusal %v, want %s", err, refusal, want)
		}
		if !strings.Contains(log.String(), cause.Error()) {
			t.Errorf("%v: not in the log:\n%s", err, log.String())
		}
	}
}

// TestMalformed: a request of any kind whose payload violates the format is refused as malformed and does not reach the site.
func TestMalformed(t *testing.T) {
	panicked := 0
	w := newWorkbench(t, time.Now)
	w.reopen(t, federation.ServerOptions{Panicked: func() { panicked++ }})
	for _, typ := range []crypto.MessageType{crypto.TypeQuery, crypto.TypeCatalogue, crypto.TypeReveal, crypto.TypeCard,
		crypto.TypeAuditHead, crypto.TypeOutline, crypto.TypeEdges, crypto.TypeShip, crypto.TypeNotice, crypto.TypeFederation,
		crypto.TypeLeads} {
		for _, payload := range [][]byte{nil, {wire.Version, wire.ModeSealed, 1}} {
			env, pending := w.seal(t, typ, payload, time.Minute)
			status, body := w.post(env)
			if status != http.StatusOK {
				t.Errorf("type %d: status %d", typ, status)
				continue
			}
			_, refusal := w.opened(t, body, pending, crypto.TypeReply)
			if refusal == nil || refusal.Reason != concordat.ReasonFault || refusal.Words == "" {
				t.Errorf("type %d, %d bytes: refusal %+v", typ, len(payload), refusal)
			}
		}
	}
	if n := w.answers.asked(); n != 0 || panicked != 0 {
		t.Errorf("%d requests ran, %d panicked", n, panicked)
	}
}

// TestAnswerPanics: a panic while a partner is answered refuses only that request, and is counted once and logged with its stack.
func TestAnswerPanics(t *testing.T) {
	var log bytes.Buffer
	counted := 0
	w := newWorkbench(t, time.Now)
	w.reopen(t, federation.ServerOptions{Log: slog.New(slog.NewTextHandler(&log, nil)), Panicked: func() { counted++ }})
	w.answers.setBefore(func(context.Context) error { panic("a secret of this site") })
	ask := func() *concordat.Refusal {
		t.Helper()
		env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
		_, body := w.post(env)
		_, refusal := w.opened(t, body, pending, crypto.TypeReply)
		return refusal
	}
	if r := ask(); r == nil || r.Reason != concordat.ReasonFault || strings.Contains(r.Words, "secret") {
		t.Errorf("refusal %v, want %s without the cause", r, concordat.ReasonFault)
	}
	if counted != 1 || strings.Count(log.String(), "panic: a secret") != 1 || !strings.Contains(log.String(), "TestAnswerPanics") {
		t.Errorf("%d panics were counted; want 1, logged with its stack:\n%s", counted, log.String())
	}
	w.answers.setBefore(nil)
	if r := ask(); r != nil {
		t.Errorf("the next request: %v", r)
	}
}

// TestShutdownEnds: Serve waits for running work as long as configured, reports work that did not end in time, and leaves no connection
// open.
func TestShutdownEnds(t *testing.T) {
	w := newWorkbench(t, time.Now)
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.answers.setBefore(func(context.Context) error { once.Do(func() { close(running) }); <-release; return nil })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, l, 10*time.Millisecond) }()
	env, _ := w.seal(t, crypto.TypeQuery, w.query(t, 5), time.Minute)
	asked := make(chan error, 1)
	go func() {
		resp, err := http.Post("http://"+l.Addr().String()+"/concordat/1/message", "", bytes.NewReader(env))
		if err == nil {
			_ = resp.Body.Close()
		}
		asked <- err
	}()
	<-running
	stop()
	if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve ended with error %v, want that the time was over", err)
	}
	select {
	case err := <-asked:
		if err == nil {
			t.Error("the request that was running was answered")
		}
	case <-time.After(time.Minute):
		t.Error("the connection is open though Serve has ended")
	}
	close(release)
}
