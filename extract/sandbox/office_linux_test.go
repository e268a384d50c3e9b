//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"concordat/extract"
	"concordat/extract/sandbox"
)

// standIn is the name of LibreOffice's executable, which the test binary takes to replace it.
const standIn = "soffice.bin"

func init() {
	switch {
	case filepath.Base(os.Args[0]) == standIn:
		standInForOffice()
	case len(os.Args) == 5 && os.Args[1] == "office-parent":
		f, err := sandbox.FindOffice(sandbox.OfficeOptions{Command: os.Args[2], Wall: time.Minute})
		if err == nil {
			_, err = f.PDF(context.Background(), os.Args[3], "a.odt", os.Args[4])
		}
		fmt.Println(err)
		os.Exit(1)
	}
}

// standInForOffice writes a "PDF" with the kernel's answers to system calls, or runs until it is killed if its file says so.
func standInForOffice() {
	in := os.Args[len(os.Args)-1]
	out := os.Args[len(os.Args)-2]
	if b, err := os.ReadFile(in); err == nil && string(b) == "stay" {
		for {
			f, err := os.OpenFile(filepath.Join(out, "beat"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				os.Exit(1)
			}
			_, _ = f.WriteString("x")
			_ = f.Close()
			time.Sleep(10 * time.Millisecond)
		}
	}
	said := "%PDF-\n"
	say := func(what string, err error) { said += fmt.Sprintf("%s: %v\n", what, err) }
	for what, flags := range map[string]uintptr{"fork": uintptr(unix.SIGCHLD), "vfork": uintptr(unix.SIGCHLD) | unix.CLONE_VFORK} {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
		if pid == 0 && errno == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		say(what, errno)
	}
	say("chmod", unix.Chmod(in, 0o600))
	say("fchmodat", unix.Fchmodat(unix.AT_FDCWD, in, 0o600, 0))
	say("chown", unix.Lchown(in, os.Getuid(), os.Getgid()))
	say("setxattr", unix.Setxattr(in, "user.a", []byte("b"), 0))
	say("utimes", unix.UtimesNanoAt(unix.AT_FDCWD, in, make([]unix.Timespec, 2), 0))
	var limit unix.Rlimit
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, uintptr(os.Getpid()), unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	runtime.KeepAlive(&limit)
	say("limits of a process", errno)
	say("own limits", unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if os.WriteFile(filepath.Join(out, "in.pdf"), []byte(said), 0o600) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// standInOffice returns the command of a LibreOffice whose executable is the test binary, with the given permissions.
func standInOffice(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, standIn), b, mode)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "soffice"), []byte("#!/bin/sh\n"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "soffice")
}

// TestOfficeMayNot: the process that becomes LibreOffice cannot start processes, change the permissions or times of files, or change
// resource limits.
func TestOfficeMayNot(t *testing.T) {
	f := office(t, sandbox.OfficeOptions{Command: standInOffice(t, 0o700)})
	path, err := f.PDF(t.Context(), write(t, "a.odt", "x"), "a.odt", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"fork", "vfork", "chmod", "fchmodat", "chown", "setxattr", "utimes", "limits of a process"} {
		if !strings.Contains(string(said), "\n"+what+": operation not permitted\n") {
			t.Errorf("%s is allowed", what)
		}
	}
	if !strings.Contains(string(said), "\nown limits: <nil>\n") {
		t.Error("its own limits are hidden from it")
	}
	t.Logf("%s", said)
}

// TestOfficeNotStarted: if the machine cannot start LibreOffice, the file is not blamed.
func TestOfficeNotStarted(t *testing.T) {
	f := office(t, sandbox.OfficeOptions{Command: standInOffice(t, 0o600)})
	var e *extract.Error
	_, err := f.PDF(t.Context(), write(t, "a.odt", "x"), "a.odt", t.TempDir())
	if err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "start LibreOffice: office-worker: permission denied") {
		t.Errorf("a program without the right to run: %v", err)
	}
}

// TestOfficeEndsWithUs: LibreOffice does not outlive the process that started it, however that process ends.
func TestOfficeEndsWithUs(t *testing.T) {
	command, dir := standInOffice(t, 0o700), t.TempDir()
	office(t, sandbox.OfficeOptions{Command: command})
	parent := exec.Command(os.Args[0], "office-parent", command, write(t, "a.odt", "stay"), dir)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	beats := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "out", "beat"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for begun := time.Now(); beats() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("it never began")
		}
	}
	_ = parent.Process.Kill() // Wait shows whether it worked
	_ = parent.Wait()
	for begun, last := time.Now(), int64(-1); ; time.Sleep(300 * time.Millisecond) {
		n := beats()
		if n == last {
			return
		}
		if last = n; time.Since(begun) > 5*time.Second {
			t.Fatal("it goes on")
		}
	}
}
