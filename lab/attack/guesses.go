package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
	"time"
)

// Limits of wrong passwords within ten minutes (doc/security-pages.md).
const (
	maxOfAccountAndAddress = 5
	maxOfAddress           = 50
	maxOfAccount           = 100

	// Limits on how long another person's sign-in may take in the meantime: one second or, on a busy machine, several times its duration
	// without an attack.
	signInTime  = time.Second
	signInTimes = 4
)

// from returns a client that connects from the given loopback address.
func from(a, b byte) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, a, b)}, Timeout: 30 * time.Second}
	return &http.Client{Timeout: 2 * time.Minute, CheckRedirect: noRedirect,
		Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
}

// guess is one password for one account.
type guess struct {
	client         *http.Client
	name, password string
}

// guessAll tries all guesses at once. It returns the number of guesses tried and the number that succeeded.
func (t *target) guessAll(ctx context.Context, r *result, all []guess) (tried, in int) {
	var mu sync.Mutex
	var trying sync.WaitGroup
	for _, g := range all {
		trying.Go(func() {
			a, err := t.post(ctx, g.client, "/login", url.Values{"name": {g.name}, "password": {g.password}})
			mu.Lock()
			defer mu.Unlock()
			r.tries++
			switch {
			case err != nil:
				r.count("without a response", 1)
			case a.status == http.StatusSeeOther:
				in++
			case a.status == http.StatusForbidden:
				tried++
			case a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable:
				r.fault("unexpected status %d for a password guess", a.status)
			}
			if err == nil {
				r.count(fmt.Sprintf("status %d", a.status), 1)
			}
		})
	}
	trying.Wait()
	return tried, in
}

// attackGuesses guesses 300 passwords at once: for one account from one address, for many accounts from one address, and for one account
// from 300 addresses. The right password comes last. At the same time, another person signs in.
func attackGuesses(ctx context.Context, t *target, r *result) error {
	const at = 300
	alone, err := t.signInAsAuditor(ctx)
	if err != nil {
		return err
	}
	bound := max(signInTime, signInTimes*alone)
	r.count("ms to sign in without load", int(alone.Milliseconds()))
	officer, submitter := t.people["officer"], t.people["submitter"]
	one := from(1, 1)
	var same, many, spread []guess
	for i := range at {
		wrong := fmt.Sprintf("wrong guess %d", i)
		same = append(same, guess{one, officer.name, wrong})
		many = append(many, guess{from(1, 2), fmt.Sprintf("nobody-%d", i), wrong})
		spread = append(spread, guess{from(2+byte(i/200), 1+byte(i%200)), submitter.name, wrong})
	}
	same[at-1].password, spread[at-1].password = officer.password, submitter.password
	for _, x := range []struct {
		what string
		all  []guess
		most int
	}{
		{"for one account from one address", same, maxOfAccountAndAddress},
		{"for 300 accounts from one address", many, maxOfAddress},
		{"for one account from 300 addresses", spread, maxOfAccount},
	} {
		done := make(chan struct{})
		var took time.Duration
		var failed error
		go func() {
			defer close(done)
			took, failed = t.signInAsAuditor(ctx)
		}()
		tried, in := t.guessAll(ctx, r, x.all)
		<-done
		if tried > x.most {
			r.fault("guesses %s: %d of %d simultaneous guesses were tried, but at most %d are allowed", x.what, tried, len(x.all), x.most)
		}
		if in > 0 && tried >= x.most {
			r.fault("guesses %s: the correct password was accepted after %d wrong passwords", x.what, tried)
		}
		r.count("tried "+x.what, tried)
		r.count("ms to sign in during guesses "+x.what, int(took.Milliseconds()))
		switch {
		case failed != nil:
			r.fault("guesses %s: another person cannot sign in meanwhile: %v", x.what, failed)
		case took > bound:
			r.fault("guesses %s: another person needs %s to sign in meanwhile; at most %s is allowed", x.what, took.Round(time.Millisecond),
				bound.Round(time.Millisecond))
		}
	}
	return nil
}

// signInAsAuditor signs in from a separate address during the guessing.
func (t *target) signInAsAuditor(ctx context.Context) (time.Duration, error) {
	c := from(9, 9)
	jar, err := cookiejar.New(nil)
	if err != nil {
		return 0, err
	}
	c.Jar = jar
	p := t.people["auditor"]
	a, err := t.post(ctx, c, "/login", url.Values{"name": {p.name}, "password": {p.password}})
	if err == nil && a.status != http.StatusSeeOther {
		err = fmt.Errorf("status %d", a.status)
	}
	return a.took, err
}
