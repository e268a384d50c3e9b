package local_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/internal/coordtest"
)

func TestServedContract(t *testing.T) {
	var h *local.Hub
	coordtest.Run(t, coordtest.Subject{
		New: func(t *testing.T) func(coord.NodeID) coordtest.Session {
			h = new(local.Hub)
			server := httptest.NewServer(local.NewServer(h, 0))
			t.Cleanup(server.Close)
			return func(node coord.NodeID) coordtest.Session {
				s, err := local.Dial(t.Context(), server.URL, node)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() }) // a second Close does nothing
				return s
			}
		},
		Expire: func(t *testing.T, node coord.NodeID) {
			if err := h.Expire(node); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// TestSilentClient: when a process falls silent, its session ends and its client opens another.
func TestSilentClient(t *testing.T) {
	h := new(local.Hub)
	const timeout = time.Second
	s := local.NewServer(h, timeout)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	server := httptest.NewServer(s)
	c, err := local.Dial(t.Context(), server.URL, "a")
	if err != nil {
		t.Fatal(err)
	}
	first := (<-c.View()).Me
	server.CloseClientConnections()
	server.Listener.Close()
	for c.Online() {
		time.Sleep(time.Millisecond) // until the session expires by the client's own clock
	}
	other, err := h.Join("b")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	again := httptest.NewServer(s)
	defer again.Close()
	d, err := local.Dial(t.Context(), again.URL, "a")
	if err != nil {
		t.Fatal(err)
	}
	if v := <-d.View(); v.Me == first {
		t.Errorf("incarnation %s twice", first)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}
