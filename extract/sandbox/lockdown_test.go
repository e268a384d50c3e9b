//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"concordat/extract/sandbox"
)

// probe is what a hostile reader would try after the locks are on. It runs in a process of its own
// and prints one line per attempt.
func probe(kind string) {
	got, err := sandbox.LockDown(1, 512<<20)
	if err != nil {
		fmt.Println("lockdown:", err)
		os.Exit(1)
	}
	fmt.Println("isolation", got)
	switch kind {
	case "escape":
		_, err := os.ReadFile("/etc/hostname")
		fmt.Println("open:", err != nil)
		err = os.WriteFile("/tmp/concordat-escape", []byte("x"), 0o600)
		fmt.Println("create:", err != nil)
		_, err = net.Dial("tcp", "127.0.0.1:9")
		fmt.Println("socket:", err != nil && strings.Contains(err.Error(), "not permitted"))
		err = exec.Command("/bin/true").Run()
		fmt.Println("exec:", err != nil)
		done := make(chan int)
		for range 20 { // threads and memory still work
			go func() { done <- len(make([]byte, 1<<20)) }()
		}
		sum := 0
		for range 20 {
			sum += <-done
		}
		fmt.Println("work:", sum == 20<<20)
	case "memory":
		var keep [][]byte
		for range 64 {
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			keep = append(keep, b)
		}
		fmt.Println("held", len(keep))
	case "cpu":
		for x := uint64(1); x != 0; {
			x = x*6364136223846793005 | 1
		}
	}
	os.Exit(0)
}

func runProbe(t *testing.T, kind string) (string, *os.ProcessState) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "probe-"+kind)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return out.String(), cmd.ProcessState
}

func TestChildCannotEscape(t *testing.T) {
	out, _ := runProbe(t, "escape")
	if !strings.Contains(out, "seccomp") {
		t.Skip("this kernel has no system call filter: " + out)
	}
	for _, want := range []string{"open: true", "create: true", "socket: true", "exec: true", "work: true"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestChildMemoryIsBounded(t *testing.T) {
	out, state := runProbe(t, "memory")
	if state.Success() || !strings.Contains(out, "out of memory") && !strings.Contains(out, "cannot allocate") &&
		!strings.Contains(out, "failed to allocate") { // as the race detector says it
		t.Errorf("4 GiB within a limit of 512 MiB: %v\n%s", state, out[:min(len(out), 500)])
	}
}

func TestChildProcessorTimeIsBounded(t *testing.T) {
	out, state := runProbe(t, "cpu")
	if used := state.UserTime() + state.SystemTime(); state.Success() || used.Seconds() > 8 {
		t.Errorf("endless loop within a limit of 1 s used %v: %v\n%s", used, state, out[:min(len(out), 500)])
	}
}

// TestNamespaces: where a process may make namespaces at all, children have their own.
func TestNamespaces(t *testing.T) {
	allowed := exec.Command("/bin/true")
	allowed.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := allowed.Run(); err != nil {
		t.Skip("this system allows no namespaces: ", err)
	}
	r := newRunner(t, sandbox.Options{Files: 1})
	for _, want := range []string{"namespaces", "chroot"} {
		if !slices.Contains(r.Isolation(), want) {
			t.Errorf("isolation %v, want %s among it", r.Isolation(), want)
		}
	}
}
