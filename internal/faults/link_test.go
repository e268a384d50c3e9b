//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// trouble describes how a bad link treats the frames that cross it, in either direction.
type trouble struct {
	Drop, Double float64       // probabilities
	Late         time.Duration // maximum delay of a frame, so that frames overtake each other
}

// badLink connects a machine to the bridge by two devices of this process, which passes frames between them.
type badLink struct {
	tr     trouble
	taps   [2]*os.File
	timers sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	r      *rand.Rand
	closed bool
}

// tap creates a network device whose frames this process reads and writes.
func tap(name string) (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:15], name)
	request.flags = syscall.IFF_TAP | syscall.IFF_NO_PI
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("device %s: %w", name, errno)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// worsen puts a bad link between a machine and the others. It returns a function that restores the good link.
func (n *network) worsen(t testing.TB, machine string, tr trouble, seed uint64) func() {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l := &badLink{tr: tr, r: rand.New(rand.NewPCG(seed, 3))}
	bridge := "b-" + machine
	for i, device := range []string{"i-" + machine, "o-" + machine} {
		var err error
		l.taps[i], err = tap(device)
		must(err)
		must(ip("link", "set", device, "up"))
	}
	must(ip("link", "add", bridge, "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0"))
	must(ip("link", "set", bridge, "up"))
	must(ip("link", "set", "i-"+machine, "master", bridge))
	must(ip("link", "set", "o-"+machine, "master", "br0"))
	must(ip("link", "set", "p-"+machine, "master", bridge))
	var ends sync.WaitGroup
	ends.Go(func() { l.pass(0, 1) })
	ends.Go(func() { l.pass(1, 0) })
	return func() {
		must(ip("link", "set", "p-"+machine, "master", "br0"))
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
		for _, f := range l.taps {
			_ = f.Close() // this ends the reading and removes the device
		}
		ends.Wait()
		l.timers.Wait()
		must(ip("link", "del", bridge))
	}
}

// pass forwards frames until the device is closed.
func (l *badLink) pass(from, to int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.taps[from].Read(buf)
		if err != nil {
			return
		}
		for range l.copies() {
			frame := append([]byte(nil), buf[:n]...)
			l.mu.Lock()
			if l.closed {
				l.mu.Unlock()
				return
			}
			l.timers.Add(1)
			late := time.Duration(l.r.Int64N(int64(l.tr.Late) + 1))
			l.mu.Unlock()
			time.AfterFunc(late, func() {
				defer l.timers.Done()
				_, _ = l.taps[to].Write(frame) // frames can be lost
			})
		}
	}
}

// copies draws the number of times that a frame arrives.
func (l *badLink) copies() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch x := l.r.Float64(); {
	case x < l.tr.Drop:
		return 0
	case x < l.tr.Drop+l.tr.Double:
		return 2
	}
	return 1
}

// halve ends all connections of a machine without informing the other side, which still considers them open when the machine is reachable
// again.
func (n *network) halve(machine string, others []string) error {
	n.cut(machine, others, true, true, true)
	defer n.cut(machine, others, true, true, false)
	out, err := n.command(machine, "ss", "-K", "-t", "state", "established").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ss -K: %w: %s", err, out)
	}
	return nil
}
