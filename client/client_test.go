package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/client"
	"concordat/webhook"
)

// scripted is a site that follows a script with one step per request.
type scripted struct {
	*httptest.Server
	mu    sync.Mutex
	steps []http.HandlerFunc // guarded by mu; the last step is repeated
	seen  []*http.Request    // guarded by mu
	sent  []string           // request bodies; guarded by mu
}

func script(t *testing.T, steps ...http.HandlerFunc) (*scripted, *client.Client) {
	t.Helper()
	s := &scripted{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // a body may be truncated
		s.mu.Lock()
		s.seen, s.sent = append(s.seen, r), append(s.sent, string(b))
		step := s.steps[0]
		if len(s.steps) > 1 {
			s.steps = s.steps[1:]
		}
		s.mu.Unlock()
		step(w, r)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{Address: s.URL + "/site/", Token: "T", Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func (s *scripted) requests() ([]*http.Request, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.sent
}

func answer(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
}

func refuse(status int, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "urn:concordat:problem:" + kind, "status": status, "detail": "because",
			"errors": []any{map[string]any{"message": "too short", "location": "body.text"}}})
	}
}

func lose(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestNew(t *testing.T) {
	for _, o := range []client.Options{{}, {Address: "site.example", Token: "T"}, {Address: "https://site.example"},
		{Address: "ftp://x", Token: "T"}, {Address: "https://x/?q=1", Token: "T"}} {
		if _, err := client.New(o); err == nil {
			t.Errorf("%+v passed", o)
		}
	}
}

// TestRetries: safe requests are retried with the same key and bytes; others are sent only once.
func TestRetries(t *testing.T) {
	ctx := t.Context()
	busy, ok := refuse(http.StatusServiceUnavailable, "unavailable"),
		answer(map[string]any{"checks": []any{map[string]string{"id": "t1", "state": "queued"}}})
	s, c := script(t, lose, busy, refuse(http.StatusTooManyRequests, "rate"), ok)
	made, err := c.Submit(ctx, client.Submission{Text: "text", Files: []client.File{client.Bytes("a.txt", []byte("content"))}})
	if err != nil || len(made) != 1 || made[0].ID != "t1" {
		t.Fatalf("got %+v, %v", made, err)
	}
	seen, sent := s.requests()
	if len(seen) != 4 {
		t.Fatalf("%d requests", len(seen))
	}
	for i, r := range seen {
		if key := r.Header.Get("Idempotency-Key"); key == "" || key != seen[0].Header.Get("Idempotency-Key") || sent[i] != sent[3] {
			t.Errorf("request %d: key %q, body %q", i, key, sent[i])
		}
		if r.URL.Path != "/site/api/v1/checks" || r.Header.Get("Authorization") != "Bearer T" {
			t.Errorf("request %d goes to %s", i, r.URL)
		}
	}
	if !strings.Contains(sent[0], `filename="a.txt"`) || !strings.Contains(sent[0], "content") {
		t.Errorf("sent %q", sent[0])
	}

	s, c = script(t, busy, ok)
	if _, err := c.MakeWebhook(ctx, client.Webhook{URL: "https://x"}); err == nil {
		t.Error("made a webhook twice, perhaps")
	}
	if seen, _ := s.requests(); len(seen) != 1 {
		t.Errorf("%d requests", len(seen))
	}

	s, c = script(t, lose)
	if _, err := c.Check(ctx, "t1"); err == nil {
		t.Error("no error")
	}
	if seen, _ := s.requests(); len(seen) < 5 { // the transport repeats some by itself
		t.Errorf("%d requests", len(seen))
	}

	// A body that can be read only once is not resent in part.
	_, c = script(t, lose, ok)
	if _, err := c.Submit(ctx, client.Submission{Files: []client.File{client.Reader("a.txt", strings.NewReader("content"))}}); err == nil {
		t.Error("a stream that was read was handed in again")
	}
}

func TestProblem(t *testing.T) {
	_, c := script(t, refuse(http.StatusUnprocessableEntity, "invalid"), func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>proxy</html>", http.StatusForbidden)
	}, answer("nonsense"))
	_, err := c.Check(t.Context(), "a/b?c")
	var p *client.Problem
	if !errors.As(err, &p) || p.Kind() != "invalid" || p.Status != 422 || !strings.Contains(err.Error(), "because") ||
		!strings.Contains(err.Error(), "body.text: too short") {
		t.Errorf("got %v", err)
	}
	if _, err = c.Check(t.Context(), "x"); !errors.As(err, &p) || p.Status != 403 || p.Kind() != "" {
		t.Errorf("got %v", err)
	}
	if _, err = c.Check(t.Context(), "x"); err == nil || errors.As(err, &p) && p.Status == 200 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Check(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPages: an iterator requests the next page when needed, and ends with the first error.
func TestPages(t *testing.T) {
	page := func(next string, ids ...string) http.HandlerFunc {
		var all []any
		for _, id := range ids {
			all = append(all, map[string]string{"id": id})
		}
		out := map[string]any{"checks": all}
		if next != "" {
			out["next"] = next
		}
		return answer(out)
	}
	s, c := script(t, page("two", "a", "b"), page("three", "c"), page("", "d"))
	var got []string
	for one, err := range c.Checks(t.Context(), client.Filter{Owner: "ada", States: []concordat.State{"done", "partial"}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(one.ID))
	}
	seen, _ := s.requests()
	if fmt.Sprint(got) != "[a b c d]" || len(seen) != 3 || seen[1].URL.Query().Get("cursor") != "two" ||
		seen[2].URL.Query().Get("owner") != "ada" || seen[0].URL.Query().Get("state") != "done,partial" {
		t.Errorf("got %v by %v", got, seen)
	}
	s, c = script(t, page("two", "a", "b"))
	for range c.Checks(t.Context(), client.Filter{}) {
		break
	}
	if seen, _ := s.requests(); len(seen) != 1 {
		t.Errorf("%d pages for one entry", len(seen))
	}
	for _, last := range []http.HandlerFunc{refuse(400, "invalid"), page("two", "c"), answer(7)} { // the second is its own next page
		_, c = script(t, page("two", "a"), last)
		entries, failed := 0, 0
		for _, err := range c.Checks(t.Context(), client.Filter{}) {
			if entries++; err != nil {
				failed++
			}
			if entries > 5 {
				t.Fatal("it goes on for ever")
			}
		}
		if failed != 1 {
			t.Errorf("%d errors", failed)
		}
	}
}

// TestWait: a client waits for events, and polls if they do not arrive.
func TestWait(t *testing.T) {
	stream := func(events ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range events {
				_, _ = fmt.Fprintf(w, ": still here\n\ndata: %s\n\n", e)
			}
		}
	}
	done := answer(map[string]string{"id": "t1", "state": "done"})
	s, c := script(t, stream(`{"state":"queued","ahead":3}`, `{"state":"running","stage":"match","done":1,"total":2}`,
		`{"state":"done","finally":true}`), done)
	var stages []string
	got, err := c.Wait(t.Context(), "t1", func(e client.Event) { stages = append(stages, string(e.State)+e.Stage) })
	if err != nil || got.State != concordat.TaskDone || fmt.Sprint(stages) != "[queued runningmatch done]" {
		t.Errorf("got %+v, %v, %v", got, err, stages)
	}
	if seen, _ := s.requests(); len(seen) != 2 {
		t.Errorf("%d requests", len(seen))
	}
	for _, broken := range []http.HandlerFunc{stream(), stream("nonsense"), lose, refuse(503, "unavailable")} {
		_, c = script(t, broken, done)
		if got, err := c.Wait(t.Context(), "t1", nil); err != nil || !got.Ended() {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	_, c = script(t, refuse(404, "not_found"))
	if _, err := c.Wait(t.Context(), "t1", nil); err == nil {
		t.Error("waited for what is not there")
	}
}

// TestVerify accepts requests signed by the site's sender, and no others.
func TestVerify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	secret, former := []byte("0123456789abcdef0123456789abcdef"), []byte("former")
	body := []byte(`{"type":"check.done","timestamp":"2026-03-01T12:00:00Z","data":{"id":"t1","leads":{"all":3,"open":2,"counted":1}}}`)
	h := func(at time.Time, secrets ...[]byte) http.Header {
		return http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())},
			"Webhook-Signature": {webhook.Signature(secrets, "msg_1", at, body)}}
	}
	text := webhook.SecretText(secret)
	n, err := client.Verify(text, h(now, secret, former), body, now.Add(time.Minute))
	if err != nil || n.ID != "msg_1" || n.Type != "check.done" {
		t.Fatalf("got %+v, %v", n, err)
	}
	var ended client.Ended
	if err := json.Unmarshal(n.Data, &ended); err != nil || ended.ID != "t1" ||
		*ended.Leads != (concordat.LeadCount{All: 3, Open: 2, Counted: 1}) {
		t.Errorf("told %+v, %v", ended, err)
	}
	if _, err := client.Verify(webhook.SecretText(former), h(now, secret, former), body, now); err != nil {
		t.Error(err)
	}
	other := h(now, secret)
	other.Set("Webhook-Id", "msg_2")
	many := h(now, secret)
	many.Set("Webhook-Signature", strings.Repeat("v1,AAAA ", 1000)+many.Get("Webhook-Signature"))
	for name, x := range map[string]struct {
		secret string
		h      http.Header
		body   string
		now    time.Time
	}{
		"another secret":      {webhook.SecretText(former), h(now, secret), string(body), now},
		"another body":        {text, h(now, secret), string(body) + " ", now},
		"another id":          {text, other, string(body), now},
		"an old one":          {text, h(now, secret), string(body), now.Add(client.Tolerance + time.Second)},
		"one of the future":   {text, h(now, secret), string(body), now.Add(-client.Tolerance - time.Second)},
		"no headers":          {text, http.Header{}, string(body), now},
		"no secret":           {"", h(now, secret), string(body), now},
		"too many signatures": {text, many, string(body), now},
	} {
		if _, err := client.Verify(x.secret, x.h, []byte(x.body), x.now); !errors.Is(err, client.ErrSignature) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("msg_1", "1800000000", "v1,AAAA v1a,x", `{}`)
	f.Add("", "-1", "v1,", "{")
	f.Add("msg", "99999999999999999999", "v1", "null")
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("secret"))
	f.Fuzz(func(t *testing.T, id, stamp, signature, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}
		n, err := client.Verify(secret, h, []byte(body), time.Unix(1_800_000_000, 0))
		if (n == nil) == (err == nil) {
			t.Errorf("got %v, %v", n, err)
		}
	})
}
