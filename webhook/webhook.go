package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/store"
)

// Store is the part of the store that a Sender uses; *store.Webhooks implements it.
type Store interface {
	ClaimDelivery(ctx context.Context, lease time.Duration, busy ...store.HookID) (store.Delivery, store.Hook, error)
	EndAttempt(ctx context.Context, d store.Delivery, a store.Attempt, state store.DeliveryState, due time.Time) error
	PauseHook(ctx context.Context, id store.HookID, cause string) error
	ForgetDeliveries(ctx context.Context, before time.Time, keep int) (int64, error)
}

// Options configures a Sender. Store is required.
type Options struct {
	Store Store
	// Allow lists private networks that may receive events, even over plain http.
	Allow   []netip.Prefix
	Timeout time.Duration // time limit for one attempt, from name resolution to the answer; the default is 15 s
	Workers int           // maximum simultaneous attempts for all webhooks together; the default is 16
	// Retention is how long ended deliveries are kept; the default is 30 days. Keep is the number kept per webhook; the default is 1000.
	Retention time.Duration
	Keep      int
	Logger    *slog.Logger     // if nil, nothing is logged
	Panicked  func()           // if not nil, called after each attempt that ended in a panic, which is also logged
	Now       func() time.Time // the default is time.Now
	// Random returns numbers in [0, 1), which are used to spread deliveries that failed together; the default is math/rand.
	Random func() float64
	// Resolver resolves names; the default is the system's resolver.
	Resolver *net.Resolver
}

// Sender sends due deliveries. Its methods are safe for concurrent use.
type Sender struct {
	o      Options
	client *http.Client

	mu   sync.Mutex
	busy map[store.HookID]int // attempts in progress; guarded by mu
}

const (
	// maxBusy bounds the simultaneous attempts at one webhook, so that a slow receiver delays only itself.
	maxBusy = 2
	// pollTime is the interval between polls of the store for due deliveries.
	pollTime = time.Second
	// forgetTime is the interval at which old deliveries are deleted.
	forgetTime = time.Hour
	// maxAnswer is the number of bytes read from an answer so that the connection can be reused; the answer is discarded.
	maxAnswer = 4 << 10
)

// New returns a Sender.
func New(o Options) *Sender {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.Workers = cmp.Or(o.Workers, 16)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	o.Keep = cmp.Or(o.Keep, 1000)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Sender{o: o, client: newClient(o), busy: map[store.HookID]int{}}
}

// Run sends due deliveries until ctx ends, which also ends attempts in progress.
func (s *Sender) Run(ctx context.Context) error {
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	free, ended := make(chan struct{}, s.o.Workers), make(chan struct{}, 1)
	var forgot time.Time
	for {
		if now := s.o.Now(); now.Sub(forgot) >= forgetTime {
			forgot = now
			if _, err := s.o.Store.ForgetDeliveries(ctx, now.Add(-s.o.Retention), s.o.Keep); err != nil && ctx.Err() == nil {
				s.o.Logger.Error("forget deliveries", "error", err)
			}
		}
		for s.start(ctx, &wg, free, ended) {
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		case <-ended: // a worker is free again
		}
	}
}

// start begins an attempt if one is due and a worker is free, and reports whether it did.
func (s *Sender) start(ctx context.Context, wg *sync.WaitGroup, free, ended chan struct{}) bool {
	select {
	case free <- struct{}{}:
	default:
		return false
	}
	d, h, ok := s.claim(ctx)
	if !ok {
		<-free
		return false
	}
	wg.Go(func() {
		defer func() {
			<-free
			select {
			case ended <- struct{}{}:
			default:
			}
		}()
		s.attempt(ctx, d, h)
	})
	return true
}

// Step makes one attempt at each due delivery, one after another, and returns the number of attempts.
func (s *Sender) Step(ctx context.Context) int {
	for n := 0; ; n++ {
		d, h, ok := s.claim(ctx)
		if !ok {
			return n
		}
		s.attempt(ctx, d, h)
	}
}

func (s *Sender) claim(ctx context.Context) (store.Delivery, store.Hook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var busy []store.HookID
	for id, n := range s.busy {
		if n >= maxBusy {
			busy = append(busy, id)
		}
	}
	// The lease is longer than any attempt, so no other process attempts the same delivery at the same time.
	d, h, err := s.o.Store.ClaimDelivery(ctx, 2*s.o.Timeout+time.Minute, busy...)
	if err != nil {
		if !errors.Is(err, concordat.ErrNotFound) && ctx.Err() == nil {
			s.o.Logger.Error("claim a delivery", "error", err)
		}
		return d, h, false
	}
	s.busy[h.ID]++
	return d, h, true
}

// attempt sends a delivery once and records the outcome.
func (s *Sender) attempt(ctx context.Context, d store.Delivery, h store.Hook) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy[h.ID]--; s.busy[h.ID] == 0 {
			delete(s.busy, h.ID)
		}
	}()
	defer func() { // the next attempt follows when the lease of this one has expired
		if p := recover(); p != nil {
			s.o.Logger.Error("panic", "webhook", h.ID, "delivery", d.Seq, "cause", fmt.Sprint(p), "stack", string(debug.Stack()))
			if s.o.Panicked != nil {
				s.o.Panicked()
			}
		}
	}()
	began := s.o.Now()
	status, after, cause := s.send(ctx, d, h, began)
	if ctx.Err() != nil && status == 0 {
		return // the process is ending; another process makes the next attempt when the lease has expired
	}
	a := store.Attempt{At: began, Took: s.o.Now().Sub(began), Status: status, Cause: cause}
	state, due := s.next(d, status, after)
	last := context.WithoutCancel(ctx)
	if err := s.o.Store.EndAttempt(last, d, a, state, due); err != nil && !errors.Is(err, store.ErrLease) &&
		!errors.Is(err, concordat.ErrNotFound) {
		s.o.Logger.Error("note a delivery", "webhook", h.ID, "delivery", d.Seq, "error", err)
	}
	if status == http.StatusGone { // Standard Webhooks 1.0.0: the receiver wants no more events
		if err := s.o.Store.PauseHook(last, h.ID, "the receiver answered 410 Gone"); err != nil && !errors.Is(err, concordat.ErrNotFound) {
			s.o.Logger.Error("pause a webhook", "webhook", h.ID, "error", err)
		}
	}
	s.o.Logger.Debug("delivery", "webhook", h.ID, "delivery", d.Seq, "state", state, "status", status, "took", a.Took)
}

// next returns the state of a delivery after an attempt, and when the next attempt is due.
func (s *Sender) next(d store.Delivery, status int, after time.Duration) (store.DeliveryState, time.Time) {
	if status >= 200 && status < 300 {
		return store.DeliveryDelivered, time.Time{}
	}
	due := s.o.Now().Add(max(Backoff(d.Round, s.o.Random()), after))
	if status == http.StatusGone || !due.Before(d.Until) {
		return store.DeliveryDead, time.Time{}
	}
	return store.DeliveryPending, due
}

const (
	firstWait = 5 * time.Second
	maxWait   = 6 * time.Hour
)

// Backoff returns the pause after the given number of attempts, which is at least 1. The pause triples with each attempt, from 5 s to 6
// h. It is shortened by up to half, depending on random (0 to 1), so that deliveries that failed together are not retried together.
func Backoff(attempts int, random float64) time.Duration {
	wait := firstWait
	for range attempts - 1 {
		if wait *= 3; wait >= maxWait {
			wait = maxWait
			break
		}
	}
	return wait - time.Duration(random*float64(wait)/2)
}

// send makes the request. It returns the status (0 if there was no answer), the pause requested by the receiver, and a description of a
// network failure without any text from the receiver.
func (s *Sender) send(ctx context.Context, d store.Delivery, h store.Hook, now time.Time) (status int, after time.Duration, cause string) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	u, err := CheckURL(h.URL, s.o.Allow)
	if err != nil {
		return 0, 0, err.Error()
	}
	ctx = context.WithValue(ctx, plainKey{}, u.Scheme == "http")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(string(d.Body)))
	if err != nil {
		return 0, 0, "the address is not valid"
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Concordat")
	r.Header.Set("Webhook-Id", d.Event)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", Signature(h.Secrets, d.Event, now, d.Body))
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, 0, wordsOf(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // the status is enough
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp.StatusCode, 0, ""
	}
	if n, _ := strconv.Atoi(resp.Header.Get("Retry-After")); n > 0 { // the maximum int if too large, 0 if not a number
		after = min(time.Duration(min(n, int(maxWait/time.Second)))*time.Second, maxWait)
	}
	cause = "answered " + strconv.Itoa(resp.StatusCode)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		cause += "; redirections are not followed"
	}
	return resp.StatusCode, after, cause
}

// wordsOf describes why a request got no answer.
func wordsOf(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer in time"
	case errors.As(err, &dns):
		return "the name cannot be resolved"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return "no connection"
	}
	return "the connection was lost"
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Signature returns the header that authenticates body under the given ID and time. It contains one signature for each secret, separated
// by spaces (Standard Webhooks 1.0.0, Signature scheme, v1).
func Signature(secrets [][]byte, id string, at time.Time, body []byte) string {
	var out []string
	for _, secret := range secrets {
		m := hmac.New(sha256.New, secret)
		_, _ = fmt.Fprintf(m, "%s.%d.", id, at.Unix()) // writing to a hash cannot fail
		_, _ = m.Write(body)
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	}
	return strings.Join(out, " ")
}

// SecretText returns a secret in the form given to its receiver.
func SecretText(secret []byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}
