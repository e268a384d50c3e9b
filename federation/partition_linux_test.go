package federation_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"concordat"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// namespaces is two network namespaces of this test, connected by a virtual cable.
type namespaces struct {
	t    *testing.T
	a, b string
	via  string // cable end in b
}

const (
	addressA = "10.213.77.1"
	addressB = "10.213.77.2"
)

// newNamespaces creates the namespaces, or skips the test with the reason.
func newNamespaces(t *testing.T) *namespaces {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces need the program ip")
	}
	id := fmt.Sprintf("%d", os.Getpid())
	n := &namespaces{t: t, a: "cct-a-" + id, b: "cct-b-" + id, via: "ctb" + id}
	if out, err := exec.Command("ip", "netns", "add", n.a).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.a).Run() })
	n.ip("netns", "add", n.b)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.b).Run() })
	cable := "cta" + id
	if out, err := exec.Command("ip", "-n", n.a, "link", "add", cable, "type", "veth", "peer", "name", n.via, "netns",
		n.b).CombinedOutput(); err != nil {
		t.Skipf("no virtual cables here: %v: %s", err, out)
	}
	n.ip("-n", n.a, "addr", "add", addressA+"/24", "dev", cable)
	n.ip("-n", n.b, "addr", "add", addressB+"/24", "dev", n.via)
	n.ip("-n", n.a, "link", "set", cable, "up")
	n.ip("-n", n.b, "link", "set", n.via, "up")
	return n
}

func (n *namespaces) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// cut disconnects the cable, and join reconnects it.
func (n *namespaces) cut()  { n.ip("-n", n.b, "link", "set", n.via, "down") }
func (n *namespaces) join() { n.ip("-n", n.b, "link", "set", n.via, "up") }

// within calls f in the namespace; sockets that f opens stay there.
func within(name string, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with this goroutine
		space, err := os.Open("/var/run/netns/" + name)
		if err == nil {
			err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
			_ = space.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// TestPartition: if the network is cut during a question, the question fails at its deadline. If the network is back in time, nothing is
// lost, and the question runs once.
func TestPartition(t *testing.T) {
	n := newNamespaces(t)
	r := newRand(t)
	answers := library(r, "Thesis", 2, 10)
	asker, owner := fedtest.NewSite(t, scheme), fedtest.NewSite(t, scheme)
	var l net.Listener
	if err := within(n.b, func() (err error) { l, err = net.Listen("tcp", addressB+":0"); return err }); err != nil {
		t.Fatal(err)
	}
	id, _ := owner.Roster.Self()
	owner.Roster.Use(t, id, "https://"+l.Addr().String())
	asker.Roster.Set(owner.Member(federation.StateActive))
	owner.Roster.Set(asker.Member(federation.StateActive))
	replays, err := federation.OpenReplays(owner.Replays, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := federation.NewServer(owner.Roster, answers, owner.Epochs, replays, owner.Order, federation.ServerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx, l, time.Second)
	}()
	t.Cleanup(func() { cancel(); <-ended; _ = replays.Close() })
	dial := func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = within(n.a, func() (err error) { c, err = (&net.Dialer{}).DialContext(ctx, network, address); return err })
		return c, err
	}
	client := func(timeout time.Duration) *federation.Client {
		return asker.NewClient(t, owner, federation.ClientOptions{Dial: dial, Timeout: timeout})
	}
	if _, err := client(time.Minute).Ask(t.Context(), submission(r, answers, 10)); err != nil {
		t.Fatalf("before: %v", err)
	}

	// The cable is disconnected before the answer leaves, and stays disconnected.
	answers.setBefore(func(context.Context) error { n.cut(); return nil })
	_, err = client(2*time.Second).Ask(t.Context(), submission(r, answers, 10))
	var e *federation.Error
	if !errors.As(err, &e) || e.Kind != federation.KindSilent && e.Kind != federation.KindDown || !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("parted: error %v, want kind %s or %s", err, federation.KindSilent, federation.KindDown)
	}
	answers.setBefore(nil)
	n.cut()
	if _, err := client(2 * time.Second).Catalogue(t.Context()); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("still parted: error %v, want ErrUnavailable", err)
	}

	// The cable is disconnected for a while and reconnected before the deadline.
	n.join()
	ran := answers.asked()
	answers.setBefore(func(context.Context) error {
		n.cut()
		time.AfterFunc(time.Second, n.join)
		return nil
	})
	tell, err := client(time.Minute).Ask(t.Context(), submission(r, answers, 10))
	if err != nil || len(tell.Hits) == 0 {
		t.Errorf("back in time: %v", err)
	}
	if got := answers.asked() - ran; got != 1 {
		t.Errorf("ran %d times", got)
	}
}
