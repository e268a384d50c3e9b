package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"
)

// inward lists addresses that no webhook may reach, in all their spellings. This program listens at the ones with a port.
func inward(port string) []string {
	out := []string{
		"https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://169.254.169.254/latest/meta-data/", "https://100.64.0.1/",
		"https://[fd00::1]/", "https://[fe80::1]/", "https://[::ffff:169.254.169.254]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
		"https://[2001::1]/", "https://224.0.0.1/", "https://255.255.255.255/", "https://192.0.2.1/", "http://example.com/", "ftp://127.0.0.1/",
		"file:///etc/passwd", "gopher://127.0.0.1/", "https://user:secret@127.0.0.1/", "//127.0.0.1/", "https:///", "not an address",
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]",
		"[::ffff:127.0.0.1]",
		"127.0.0.1.", "localhost.", "１２７.0.0.1", "①②⑦.⓪.⓪.①"} {
		out = append(out, "https://"+host+":"+port+"/", "http://"+host+":"+port+"/")
	}
	return out
}

// attackHooks creates webhooks to private addresses and sends a ping to the ones that could be created.
func attackHooks(ctx context.Context, t *target, r *result) error {
	var reached atomic.Int32
	l, err := net.Listen("tcp", ":0") // reached only because of a fault
	if err != nil {
		return err
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_ = c.Close()
		}
	}()
	defer func() { _ = l.Close(); <-accepting }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	if err := each(t, r, inward(port), func(to string) error {
		r.tries++
		made, err := t.api(ctx, t.admin, "POST", "/webhooks", map[string]any{"url": to, "title": "attack", "events": []string{"check.done"}})
		if err != nil {
			r.count("refused on creation", 1)
			return ctx.Err()
		}
		id := url.PathEscape(fmt.Sprint(made["id"]))
		if _, err := t.api(ctx, t.admin, "POST", "/webhooks/"+id+"/ping", nil); err != nil {
			r.fault("webhook %s: cannot send a ping: %v", to, err)
		}
		if state := t.delivered(ctx, id); state == "delivered" {
			r.fault("webhook %s: the ping was delivered", to)
		} else {
			r.count("not delivered", 1)
		}
		_, err = t.api(ctx, t.admin, "DELETE", "/webhooks/"+id, nil)
		return err
	}); err != nil {
		return err
	}
	if n := reached.Load(); n > 0 {
		r.fault("webhooks made %d connections to this machine", n)
	}
	return nil
}

// delivered waits until a delivery of the webhook has been tried, and returns its state.
func (t *target) delivered(ctx context.Context, id string) string {
	end := time.Now().Add(5 * time.Second)
	for {
		list, err := t.api(ctx, t.admin, "GET", "/webhooks/"+id+"/deliveries", nil)
		if err != nil {
			return err.Error()
		}
		for _, x := range asList(list["deliveries"]) {
			d, _ := x.(map[string]any)
			if n, _ := d["attempts"].(float64); n > 0 {
				return fmt.Sprint(d["state"])
			}
		}
		if time.Now().After(end) {
			return "pending"
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "pending"
		}
	}
}
