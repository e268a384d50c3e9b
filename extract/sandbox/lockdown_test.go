//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/extract/sandbox"
	"concordat/internal/suite"
)

// probe tries what a hostile reader would try once the locks are on. It runs in a separate process and prints one line per attempt.
// bystander is a process of the same user.
func probe(kind string) {
	kind, bystander, _ := strings.Cut(kind, "-")
	memory := int64(512 << 20)
	if kind == "threads" {
		memory = 64 << 30 // so that the stacks do not reach the limit
	}
	got, err := sandbox.LockDown(1, memory)
	if err != nil {
		fmt.Println("lockdown:", err)
		os.Exit(1)
	}
	fmt.Println("isolation", got)
	switch kind {
	case "escape":
		escape(bystander)
	case "threads":
		for i := range 4096 {
			started := make(chan bool)
			go func() {
				runtime.LockOSThread()
				close(started)
				select {}
			}()
			<-started
			fmt.Println("thread", i)
		}
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
	case "loop":
		var u syscall.Rusage
		for time.Duration(u.Utime.Nano()+u.Stime.Nano()) < loopTime {
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
		}
		fmt.Println("looped")
		select {}
	}
	os.Exit(0)
}

// loopTime is the minimum processor time that the probe "loop" uses.
const loopTime = 300 * time.Millisecond

// escape tries to reach files, the network, programs and other processes, and uses everything that the reader needs.
func escape(bystander string) {
	_, err := os.ReadFile("/etc/hostname")
	fmt.Println("open:", err != nil)
	err = os.WriteFile("/tmp/concordat-escape", []byte("x"), 0o600)
	fmt.Println("create:", err != nil)
	_, err = net.Dial("tcp", "127.0.0.1:9")
	fmt.Println("socket:", err != nil && strings.Contains(err.Error(), "not permitted"))
	err = exec.Command("/bin/true").Run()
	fmt.Println("exec:", err != nil)

	denied := func(what string, number, a, b, c uintptr) {
		_, _, errno := syscall.RawSyscall(number, a, b, c)
		fmt.Printf("%s: %v (%v)\n", what, errno == syscall.EPERM, errno)
	}
	other, _ := strconv.Atoi(bystander)
	denied("tgkill", syscall.SYS_TGKILL, uintptr(other), uintptr(other), uintptr(syscall.SIGKILL))
	denied("tkill", syscall.SYS_TKILL, uintptr(other), uintptr(syscall.SIGKILL), 0)
	denied("kill", syscall.SYS_KILL, uintptr(other), uintptr(syscall.SIGKILL), 0)
	const setSignal, setOwnerEx, lease, notify = 10, 15, 1024, 1026
	denied("owner", syscall.SYS_FCNTL, 1, syscall.F_SETOWN, uintptr(other))
	denied("owner_ex", syscall.SYS_FCNTL, 1, setOwnerEx, 0)
	denied("signal", syscall.SYS_FCNTL, 1, setSignal, uintptr(syscall.SIGKILL))
	denied("async", syscall.SYS_FCNTL, 1, syscall.F_SETFL, syscall.O_ASYNC)
	denied("lease", syscall.SYS_FCNTL, 1, lease, syscall.F_RDLCK)
	denied("notify", syscall.SYS_FCNTL, 1, notify, 1)
	denied("clone", syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	denied("namespace", syscall.SYS_CLONE, syscall.CLONE_THREAD|syscall.CLONE_VM|syscall.CLONE_SIGHAND|syscall.CLONE_NEWNS, 0, 0)

	_, _, flags := syscall.RawSyscall(syscall.SYS_FCNTL, 1, syscall.F_GETFL, 0)
	_, _, self := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(os.Getpid()), 0)
	done := make(chan int)
	for range 20 { // threads and memory must still work
		go func() { done <- len(make([]byte, 1<<20)) }()
	}
	sum := 0
	for range 20 {
		sum += <-done
	}
	fmt.Println("work:", sum == 20<<20 && flags == 0 && self == 0)
}

// setting describes a child's environment by the user who starts it and by whether the system lets it create namespaces.
type setting struct {
	name       string
	user       int
	namespaces bool
}

// settings returns the available settings: for root, root's and nobody's; for other users, the setting of the user who runs the test.
func settings() []setting {
	if os.Getuid() == 0 {
		return []setting{{"root with namespaces", 0, true}, {"nobody with namespaces", 65534, true}, {"nobody without", 65534, false}}
	}
	return []setting{{"with namespaces", os.Getuid(), true}, {"without", os.Getuid(), false}}
}

// as makes cmd a process in the setting. A child without namespaces is not told to create them, as if the kernel had refused.
func (s setting) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = "/"
	cmd.Env = []string{"GORACE=" + os.Getenv("GORACE")}
	if s.namespaces {
		cmd.Env = append(cmd.Env, "CONCORDAT_OWN_NAMESPACES=1")
	}
	if s.user != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.user), Gid: uint32(s.user)}}
	}
	return cmd
}

// forAll returns the path of a copy of the test binary that every user can start.
func forAll(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return exe
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "concordat-probe-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "probe")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func run(cmd *exec.Cmd) (string, *os.ProcessState) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // its state shows how it ended
	return out.String(), cmd.ProcessState
}

func runProbe(t *testing.T, kind string) (string, *os.ProcessState) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return run(exec.Command(exe, "probe-"+kind))
}

func TestChildCannotEscape(t *testing.T) {
	exe := forAll(t)
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			if s.namespaces && !namespacesAllowed() {
				t.Skip("this system allows no namespaces")
			}
			bystander := s.as(exec.Command("sleep", "600"))
			if err := bystander.Start(); err != nil {
				t.Fatal(err)
			}
			out, _ := run(s.as(exec.Command(exe, fmt.Sprintf("probe-escape-%d", bystander.Process.Pid))))
			if !strings.Contains(out, "seccomp") {
				t.Skip("this kernel has no system call filter: " + out)
			}
			for _, want := range []string{"open", "create", "socket", "exec", "tgkill", "tkill", "kill", "owner", "owner_ex", "signal",
				"async", "lease", "notify", "clone", "namespace", "work"} {
				if !strings.Contains(out, "\n"+want+": true") {
					t.Errorf("want %q in\n%s", want+": true", out)
				}
			}
			if s.namespaces && !strings.Contains(out, "namespaces chroot processes") {
				t.Errorf("the reader sees other processes:\n%s", out)
			}
			if err := bystander.Process.Signal(syscall.SIGTERM); err != nil {
				t.Errorf("the bystander: %v", err)
			}
			_ = bystander.Wait() // its state shows which signal ended it
			if got := bystander.ProcessState.Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGTERM {
				t.Errorf("the bystander ended before: %v", bystander.ProcessState)
			}
		})
	}
}

// TestChildThreadsAreBounded: the limit also applies to the children of root if they can become nobody.
func TestChildThreadsAreBounded(t *testing.T) {
	exe := forAll(t)
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			if s.namespaces && !namespacesAllowed() {
				t.Skip("this system allows no namespaces")
			}
			out, state := run(s.as(exec.Command(exe, "probe-threads")))
			n := strings.Count(out, "\nthread ")
			if state.Success() || n < 20 || n > 2048 || s.namespaces && n > 400 {
				t.Errorf("%d threads, %v\n%.300s", n, state, out)
			}
		})
	}
}

func TestChildMemoryIsBounded(t *testing.T) {
	out, state := runProbe(t, "memory")
	if state.Success() || !strings.Contains(out, "out of memory") && !strings.Contains(out, "cannot allocate") &&
		!strings.Contains(out, "failed to allocate") { // as the race detector puts it
		t.Errorf("4 GiB within a limit of 512 MiB: %v\n%s", state, out[:min(len(out), 500)])
	}
}

func TestChildProcessorTimeIsBounded(t *testing.T) {
	exe := forAll(t)
	all := settings()
	for _, s := range all[len(all)-suite.Rounds(1, len(all)):] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.namespaces && !namespacesAllowed() {
				t.Skip("this system allows no namespaces")
			}
			out, state := run(s.as(exec.Command(exe, "probe-cpu")))
			if used := state.UserTime() + state.SystemTime(); state.Success() || used.Seconds() < 1 || used.Seconds() > 8 {
				t.Errorf("endless loop within a limit of 1 s used %v: %v\n%s", used, state, out[:min(len(out), 500)])
			}
		})
	}
}

// TestReaderEndsWithItsParent: in a separate PID namespace, another process stands between the program and the reader. If that process is
// killed, the reader ends too; if it is asked to end, it reports the reader's resource usage.
func TestReaderEndsWithItsParent(t *testing.T) {
	if !namespacesAllowed() {
		t.Skip("this system allows no namespaces")
	}
	exe := forAll(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		for _, s := range settings() {
			if !s.namespaces {
				continue
			}
			cmd := s.as(exec.Command(exe, "probe-loop"))
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "processes") {
				t.Fatalf("%q, %v", line, err)
			}
			_, _ = lines.ReadString('\n') // until it has used some processor time
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, lines); err != nil { // ends when every copy of the other end is closed
				t.Fatal(err)
			}
			_ = cmd.Wait() // its state shows everything
			if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); sig == syscall.SIGTERM && used < loopTime {
				t.Errorf("%s: the reader used %v, at least %v expected", s.name, used, loopTime)
			}
		}
	}
}

// namespacesAllowed reports whether processes can create namespaces at all.
func namespacesAllowed() bool {
	allowed := exec.Command("/bin/true")
	allowed.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return allowed.Run() == nil
}

// TestNamespaces: if processes can create namespaces at all, children have their own.
func TestNamespaces(t *testing.T) {
	if !namespacesAllowed() {
		t.Skip("this system allows no namespaces")
	}
	r := newRunner(t, sandbox.Options{Files: 1})
	for _, want := range []string{"namespaces", "chroot", "processes", "threads"} {
		if !slices.Contains(r.Isolation(), want) {
			t.Errorf("isolation %v, want %s among it", r.Isolation(), want)
		}
	}
}
