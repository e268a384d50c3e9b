package federation_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// TestFlood: a partner that sends many requests at once delays only itself. Other partners are answered, and rejected requests get a
// refusal and can be repeated.
func TestFlood(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.New(t, 3, scheme, func(i int, o *federation.ServerOptions) { o.Parallel, o.PerSite, o.Waiting = 2, 1, 3 })
	f.Answer(0, answers)
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	defer free()
	flooder := f.ID(1)
	answers.setBefore(func(ctx context.Context) error {
		answers.mu.Lock()
		from := answers.from[len(answers.from)-1]
		answers.mu.Unlock()
		if from != flooder {
			return nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	c := f.Sites[1].NewClient(t, f.Sites[0], federation.ClientOptions{Tries: 1, Parallel: 12, Timeout: time.Minute})
	var flood sync.WaitGroup
	const requests = 12
	outcomes := make(chan error, requests)
	for range requests {
		a := submission(r, answers, 5)
		flood.Go(func() {
			_, err := c.Ask(t.Context(), a)
			outcomes <- err
		})
	}
	// One request runs and three wait; eight are rejected while the first still runs.
	for range requests - 4 {
		var refusal *concordat.Refusal
		if err := <-outcomes; !errors.As(err, &refusal) || refusal.Reason != concordat.ReasonBusy || refusal.Retry.IsZero() {
			t.Errorf("one request too many: error %v, want reason %s and a time", err, concordat.ReasonBusy)
		}
	}
	if _, err := f.Partner(2, 0).Ask(t.Context(), submission(r, answers, 5)); err != nil {
		t.Errorf("the other partner: %v", err)
	}
	free()
	flood.Wait()
	for range 4 {
		if err := <-outcomes; err != nil {
			t.Errorf("a request that waited: %v", err)
		}
	}
	if n := answers.asked(); n != 5 {
		t.Errorf("%d requests ran, want 5", n)
	}
}

// TestBusyPartner: many concurrent calls of one client wait in the client and at the partner, and all are answered.
func TestBusyPartner(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) { o.Parallel, o.PerSite, o.Waiting = 1, 1, 2 })
	f.Answer(1, answers)
	c := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Parallel: 3})
	var calls sync.WaitGroup
	for range 40 {
		a := submission(r, answers, 5)
		calls.Go(func() {
			if _, err := c.Ask(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := answers.asked(); n != 40 {
		t.Errorf("%d ran, want 40", n)
	}
}

// TestBeat: an answer is not sent before its beat, however quickly it was found.
func TestBeat(t *testing.T) {
	const beat = 150 * time.Millisecond
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) { o.Beat = beat })
	f.Answer(1, &scan{level: concordat.ShowMetadata})
	began := time.Now()
	if _, err := f.Partner(0, 1).Catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < beat {
		t.Errorf("answered after %v, before the beat of %v", took, beat)
	}
}

// TestFloodOfConnections: connections above the limit per address are closed before TLS.
func TestFloodOfConnections(t *testing.T) {
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) { o.ConnsPer = 4 })
	f.Answer(1, &scan{level: concordat.ShowMetadata})
	address := strings.TrimPrefix(f.Sites[1].URL, "https://")
	var open []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	extra, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = extra.Close() }()
	_ = extra.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := extra.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(fmt.Sprint(err), "reset") {
		t.Errorf("a fifth connection: %v, want it closed", err)
	}
	for _, c := range open {
		_ = c.Close()
	}
	c := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Timeout: time.Minute, Tries: 8})
	if _, err := c.Catalogue(t.Context()); err != nil {
		t.Errorf("after the flood: %v", err)
	}
}

// TestBigBody: a body longer than the limit is not read.
func TestBigBody(t *testing.T) {
	w := newWorkbench(t, time.Now)
	for _, n := range []int{crypto.MaxEnvelope, crypto.MaxEnvelope + 1, crypto.MaxEnvelope + 1<<20} {
		if code, _ := w.post(bytes.Repeat([]byte{'C'}, n)); code != http.StatusBadRequest {
			t.Errorf("%d bytes: answered %d", n, code)
		}
	}
}

// TestDrippingRequest: a request that does not arrive in time is abandoned.
func TestDrippingRequest(t *testing.T) {
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) { o.ReadFor = 300 * time.Millisecond })
	f.Answer(1, &scan{level: concordat.ShowMetadata})
	id, _ := f.Sites[0].Roster.Self()
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.Dial("tcp", strings.TrimPrefix(f.Sites[1].URL, "https://"),
		&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Skipf("this machine is too busy for a handshake in 300 ms: %v", err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "POST /concordat/1/message HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nCC")
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := io.ReadAll(c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Errorf("the connection is still open after a minute; read %q", answer)
	}
}
