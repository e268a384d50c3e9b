package powertest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/internal/powertest"
)

// TestRecord compares the simulated disk contents at each moment with the possible ones.
func TestRecord(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, name) }
	sync := func(path string) {
		t.Helper()
		f, err := os.Open(path)
		must(err)
		must(f.Sync(), f.Close())
	}
	must(os.Mkdir(root, 0o700), os.WriteFile(in("old"), []byte("old"), 0o600))
	d := powertest.Record(t)
	d.Start(root)
	moments := map[string]int{"start": d.Now()}

	f, err := os.Create(in("a"))
	must(err)
	large := bytes.Repeat([]byte("1"), 1024)
	_, err = f.WriteAt(large, 0)
	must(err)
	moments["written"] = d.Now()
	must(f.Sync())
	moments["synced"] = d.Now()
	sync(root)
	moments["named"] = d.Now()
	_, err = f.WriteAt(bytes.Repeat([]byte("2"), 1024), 0)
	must(err)
	moments["again"] = d.Now()
	must(f.Sync(), f.Truncate(1), os.Rename(in("old"), in("b")), os.Rename(in("a"), in("old")))
	moments["moved"] = d.Now()

	d.Die(0)
	if _, err := f.WriteAt([]byte("3"), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write of a dead process: %v", err)
	}
	if err := os.Remove(in("b")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a removal of a dead process: %v", err)
	}
	if !d.Live() || d.Live() {
		t.Error("it died not once")
	}
	must(f.Close())
	d.Stop()

	ones, twos := "1024 11", "1024 22"
	for when, want := range map[string][]string{ // the minimum first
		"start": {"old=3 o"},
		"written": {"old=3 o", "a=0  old=3 o", "a=1024 \x00\x00 old=3 o", "a=1024 \x001 old=3 o",
			"a=1024 1\x00 old=3 o", "a=" + ones + " old=3 o"},
		"synced": {"old=3 o", "a=" + ones + " old=3 o"},
		"named":  {"a=" + ones + " old=3 o"},
		"again":  {"a=" + ones + " old=3 o", "a=1024 12 old=3 o", "a=1024 21 old=3 o", "a=" + twos + " old=3 o"},
		"moved": {"a=" + twos + " old=3 o", "a=1 2 old=3 o", "a=" + twos + " b=3 o", "a=1 2 b=3 o", "b=3 o old=" + twos,
			"b=3 o old=1 2"},
	} {
		seen := map[string]bool{}
		for _, got := range found(t, d, moments[when], 500) {
			if len(seen) == 0 && got != want[0] {
				t.Errorf("%s: the least is %q, want %q", when, got, want[0])
			}
			if !slices.Contains(want, got) {
				t.Fatalf("%s: found %q", when, got)
			}
			seen[got] = true
		}
		if len(seen) != len(want) {
			t.Errorf("%s: %d states of %d were drawn: %v", when, len(seen), len(want), seen)
		}
	}
}

// found returns, for some cuts, the contents of the files, with their lengths and the first byte of each sector; the minimum content
// comes first.
func found(t *testing.T, d *powertest.Recorded, at, cuts int) []string {
	t.Helper()
	dir := t.TempDir()
	out := make([]string, cuts)
	done := make(chan error)
	go func() { // its calls are not recorded
		var all error
		for i := range out {
			var r *rand.Rand
			if i > 0 {
				r = rand.New(rand.NewPCG(uint64(i), 1))
			}
			to := filepath.Join(dir, fmt.Sprint(i))
			err := d.Cut(at, r, to)
			files, globErr := filepath.Glob(filepath.Join(to, "*"))
			all = errors.Join(all, err, globErr)
			for _, path := range files {
				b, err := os.ReadFile(path)
				all = errors.Join(all, err)
				var first []byte
				for i := 0; i < len(b); i += 512 {
					first = append(first, b[i])
				}
				out[i] += fmt.Sprintf(" %s=%d %s", filepath.Base(path), len(b), first)
			}
			out[i] = strings.TrimPrefix(out[i], " ")
			all = errors.Join(all, os.RemoveAll(to))
		}
		done <- all
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRecorderEnds: the recorder of a thread ends with the thread, and does not keep a processor busy until the process ends.
func TestRecorderEnds(t *testing.T) {
	listeners := func() (n int) {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.Contains(to, "seccomp") {
				n++
			}
		}
		return n
	}
	before := listeners() // of tests that ran on the main thread
	record := func(t *testing.T) {
		d := powertest.Record(t)
		d.Start(t.TempDir())
		d.Stop()
	}
	t.Run("recorded", func(t *testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if syscall.Gettid() != os.Getpid() {
			record(t)
			return
		}
		t.Run("elsewhere", record) // the main thread never ends before the process
	})
	for began := time.Now(); listeners() > before; time.Sleep(time.Millisecond) { // nothing announces that a file is closed
		if time.Since(began) > time.Minute {
			t.Fatal("the recorder goes on")
		}
	}
}
