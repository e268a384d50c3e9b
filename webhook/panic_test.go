package webhook_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"concordat/store"
	"concordat/webhook"
)

// panickingStore panics when the end of an attempt is recorded, if it is set to do so.
type panickingStore struct {
	webhook.Store
	broken bool
}

func (p *panickingStore) EndAttempt(ctx context.Context, d store.Delivery, a store.Attempt, state store.DeliveryState,
	due time.Time) error {
	if p.broken {
		panic("end of an attempt")
	}
	return p.Store.EndAttempt(ctx, d, a, state, due)
}

// TestAttemptPanics: a panic in an attempt ends only that attempt. It is logged once with its stack and counted, and the delivery is
// retried when its lease has expired.
func TestAttemptPanics(t *testing.T) {
	p := newPlace(t)
	r := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(r.Close)
	p.hook(t, r.URL)
	p.announce(t, 1)
	var log bytes.Buffer
	counted := 0
	broken := &panickingStore{Store: p.Webhooks, broken: true}
	s := webhook.New(webhook.Options{Store: broken, Allow: loopback, Now: p.now, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Panicked: func() { counted++ }})
	s.Step(t.Context())
	if counted != 1 || strings.Count(log.String(), "msg=panic") != 1 || !strings.Contains(log.String(), "panickingStore") {
		t.Errorf("%d panics were counted; want 1, logged with its stack:\n%s", counted, log.String())
	}
	broken.broken = false
	p.move(time.Hour)
	if n := s.Step(t.Context()); n != 1 {
		t.Errorf("%d attempts followed, want 1", n)
	}
}
