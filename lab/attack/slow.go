package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	maxSlow   = 6000
	slowEnds  = 45 * time.Second // maximum time until silent connections must be closed
	pageTime  = 5 * time.Second  // maximum time for a page or, on a busy machine, signInTimes the usual duration
	slowLines = "POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000000\r\n\r\nn"
)

// attackSlow opens connections that send an endless form, endless headers, or nothing. It checks that the site continues to work in
// the meantime and closes these connections.
func attackSlow(ctx context.Context, t *target, r *result) error {
	n := maxSlow
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		n = min(n, int(limit.Cur)-200)
	}
	starts := []string{slowLines, "GET / HTTP/1.1\r\nHost: x\r\nX-A: ", "",
		"POST /api/v1/checks HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\nContent-Type: application/json\r\n\r\n{"}
	alone, err := t.signInAsAuditor(ctx)
	if err != nil {
		return err
	}
	r.count("ms to sign in without load", int(alone.Milliseconds()))
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for i := range n {
		d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 67, byte(i/200), 1+byte(i%200))}}
		if i%2 == 0 {
			d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 67, 99, 1)} // half of the connections from one address
		}
		c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(t.base, "http://"))
		if err != nil {
			r.count("rejected", 1)
			continue
		}
		open = append(open, c)
		_, _ = io.WriteString(c, starts[i%len(starts)])
		r.tries++
	}
	began := time.Now()
	r.count("opened", len(open))
	if err := t.worksBeside(ctx, r, max(pageTime, signInTimes*alone)); err != nil {
		return err
	}
	ended := 0
	for _, c := range open {
		left := time.Until(began.Add(slowEnds))
		_ = c.SetReadDeadline(time.Now().Add(max(left, time.Millisecond)))
		_, err := io.Copy(io.Discard, c)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			ended++
		}
	}
	r.count("closed by the site", ended)
	if still := len(open) - ended; still > 0 {
		r.fault("%d of %d idle connections are still open after %s", still, len(open), slowEnds)
	}
	return nil
}

// worksBeside checks whether a visitor from another address can open pages, sign in and add a document, each within the time limit.
func (t *target) worksBeside(ctx context.Context, r *result, within time.Duration) error {
	c := from(8, 8)
	c.Timeout = 4 * within
	for _, path := range []string{"/login", "/healthz"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+path, nil)
		if err != nil {
			return err
		}
		a, err := t.do(c, req)
		switch {
		case err != nil:
			r.fault("with slow connections open, cannot get %s: %v", path, err)
		case a.status != http.StatusOK || a.took > within:
			r.fault("with slow connections open, %s returns status %d after %s", path, a.status, a.took)
		}
	}
	if took, err := t.signInAsAuditor(ctx); err != nil || took > within {
		r.fault("with slow connections open, signing in takes %s: %v", took, err)
	} else {
		r.count("ms to sign in with slow connections open", int(took.Milliseconds()))
	}
	got, err := t.addDocuments(ctx, map[string][]byte{"beside.txt": []byte("A document that is added beside slow connections.")})
	if err != nil || got["beside.txt"] == "" {
		r.fault("with slow connections open, cannot add a document: %v", errors.Join(err, errOf(got["beside.txt"] == "")))
	}
	return nil
}

func errOf(bad bool) error {
	if bad {
		return fmt.Errorf("document was not added: %w", errAnswer)
	}
	return nil
}
