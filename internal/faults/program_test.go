//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programEnv is the path of a program concordat to run instead of building one; previousEnv is a commit, or such a program, for
// TestUpgrade to upgrade from.
const (
	programEnv  = "CONCORDAT_FAULTS_PROGRAM"
	previousEnv = "CONCORDAT_FAULTS_PREVIOUS"
)

// clockEnv names the file that sets the clock of a program built by build. It contains the number of seconds by which the clock is ahead,
// as a little-endian 64-bit integer.
const clockEnv = "CONCORDAT_FAULTS_CLOCK"

// clockSource is added to the program's package time. The monotonic clock remains correct, as when an operator or a time server sets a
// machine's clock. The file is in memory, since the runtime calls Now where system calls are not allowed.
const clockSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var clockAhead = mapClock()

func mapClock() *int64 {
	path, ok := syscall.Getenv("` + clockEnv + `")
	if !ok {
		return new(int64)
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("clock " + path + ": " + err.Error())
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("clock " + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&b[0]))
}

// clockError is how many seconds this process's clock is ahead.
func clockError() int64 {
	if clockAhead == nil { // other packages are still being initialized
		return 0
	}
	return atomic.LoadInt64(clockAhead)
}
`

// overlay returns the file that makes the go command build with a settable clock.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go command to build the program with; %s names a program: %v", programEnv, err)
	}
	lib := filepath.Join(string(bytes.TrimSpace(root)), "src", "time")
	b, err := os.ReadFile(filepath.Join(lib, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	now := []byte("func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n")
	changed := bytes.Replace(b, now, append(bytes.Clone(now), "\tsec += clockError()\n"...), 1)
	if bytes.Equal(b, changed) {
		t.Fatalf("time.Now is not as expected in %s", lib)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(lib, "time.go"):         filepath.Join(dir, "time.go"),
		filepath.Join(lib, "faults_clock.go"): filepath.Join(dir, "faults_clock.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	for name, content := range map[string][]byte{file: list, filepath.Join(dir, "time.go"): changed,
		filepath.Join(dir, "faults_clock.go"): []byte(clockSource)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// build builds the program from a folder with its source.
func build(t *testing.T, source, program string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", overlay(t, t.TempDir()), "-o", program, "./cmd/concordat")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_CFLAGS=-O0") // the C library, which sites with PostgreSQL do not use, would take longest
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, out)
	}
}

// current returns a program built from this source, or the one set in the environment.
func current(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(programEnv); path != "" {
		return path
	}
	program := filepath.Join(t.TempDir(), "concordat")
	build(t, "../..", program)
	return program
}

// previous returns the program of a commit, or the file with that name.
func previous(t *testing.T, from string) string {
	t.Helper()
	if i, err := os.Stat(from); err == nil && i.Mode().IsRegular() {
		return from
	}
	source := t.TempDir()
	tar := fmt.Sprintf("git -C ../.. archive %s | tar -x -C %s", from, source)
	if out, err := exec.Command("sh", "-c", tar).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", tar, err, out)
	}
	program := filepath.Join(source, "previous")
	build(t, source, program)
	return program
}
