//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// network is a bridge in this process's own namespace; each machine has a namespace behind it. Each machine sends to fixed hardware
// addresses. A cut uses an address that no machine has, so packets vanish without an error on either side, and only in that direction.
type network struct {
	mu  sync.Mutex // guards the fields below
	t   testing.TB
	num map[string]int // last part of each machine's address
}

const subnet = "10.77.0."

func address(num int) string  { return fmt.Sprintf("%s%d", subnet, num) }
func hardware(num int) string { return fmt.Sprintf("02:00:00:00:00:%02x", num) }

const nowhere = "02:00:00:00:ff:ff"

// ip runs the ip command of iproute2.
func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// private gives this process its own mounts, with a place for the names of namespaces.
func private() error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	return os.Mkdir("/run/netns", 0o755)
}

// newNetwork creates the machines.
func newNetwork(t testing.TB, num map[string]int) *network {
	n := &network{t: t, num: num}
	run := func(args ...string) {
		t.Helper()
		if err := ip(args...); err != nil {
			t.Fatal(err)
		}
	}
	run("link", "set", "lo", "up")
	run("link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
	run("addr", "add", subnet+"1/24", "dev", "br0")
	run("link", "set", "br0", "up")
	for name, i := range num {
		run("netns", "add", name)
		run("link", "add", "p-"+name, "type", "veth", "peer", "name", "eth0", "netns", name, "address", hardware(i))
		run("link", "set", "p-"+name, "master", "br0", "up")
		run("-n", name, "addr", "add", address(i)+"/24", "dev", "eth0")
		run("-n", name, "link", "set", "lo", "up")
		run("-n", name, "link", "set", "eth0", "up")
	}
	for from := range num {
		for to := range num {
			n.set(from, to, false)
		}
	}
	return n
}

// set cuts or restores the connection from one machine to another.
func (n *network) set(from, to string, cut bool) {
	if from == to {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	mac := hardware(n.num[to])
	if cut {
		mac = nowhere
	}
	if err := ip("-n", from, "neigh", "replace", address(n.num[to]), "lladdr", mac, "nud", "permanent", "dev", "eth0"); err != nil {
		n.t.Error(err)
	}
}

// cut cuts or restores the traffic from a machine to others, from them to it, or both.
func (n *network) cut(machine string, others []string, out, in, cut bool) {
	for _, o := range others {
		if out {
			n.set(machine, o, cut)
		}
		if in {
			n.set(o, machine, cut)
		}
	}
}

// command returns a command that runs on the machine.
func (n *network) command(machine string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", machine}, args...)...)
}
