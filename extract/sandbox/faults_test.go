package sandbox_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat/extract"
	"concordat/extract/sandbox"
)

// misbehave is a worker that reports ready and then fails as its program name says.
func misbehave(name string) {
	frame := func(s string) {
		head := binary.BigEndian.AppendUint64(nil, uint64(len(s)))
		os.Stdout.Write(append(head, s...))
	}
	switch name {
	case "hang", "crash", "threadless", "flood", "lie", "half", "silent":
		frame(`{"isolation":[]}`)
		var b [1]byte
		os.Stdin.Read(b[:])
	default:
		return
	}
	switch name {
	case "hang":
		time.Sleep(time.Hour)
	case "crash":
		panic("broken reader")
	case "threadless": // the Go runtime's message when a thread cannot be created
		fmt.Fprint(os.Stderr, "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n")
		os.Exit(2)
	case "flood":
		os.Stdout.Write([]byte{0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		time.Sleep(time.Hour)
	case "lie":
		frame(`{"item":{"path":"x"}}`)
		time.Sleep(time.Hour)
	case "half":
		frame(`{"item":{"path":"a.zip!/one.txt","result":{"text":"one","format":"text"}}}`)
		os.Exit(9)
	}
	os.Exit(0)
}

// program makes the test binary available under another name.
func program(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, p); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	return p
}

func TestFaultyChildIsOneError(t *testing.T) {
	for _, c := range []struct{ name, code, says string }{
		{"hang", extract.Timeout, "700ms"},
		{"crash", extract.Crashed, "broken reader"},
		{"threadless", extract.Limit, "memory"},
		{"flood", extract.Crashed, "message of"},
		{"lie", extract.Crashed, "contains no result"},
		{"silent", extract.Crashed, "without an answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wall := 30 * time.Second
			if c.code == extract.Timeout {
				wall = 700 * time.Millisecond
			}
			r := newRunner(t, sandbox.Options{Executable: program(t, c.name), Wall: wall})
			items, err := r.File(context.Background(), write(t, "a.txt", "some text"))
			if err != nil {
				t.Fatal(err)
			}
			if len(items) != 1 || items[0].Err == nil || items[0].Err.Code != c.code || !strings.Contains(items[0].Err.Error(), c.says) {
				t.Errorf("got %+v, %v; want %s with %q", items, items[0].Err, c.code, c.says)
			}
		})
	}
}

func TestMembersBeforeACrashAreKept(t *testing.T) {
	r := newRunner(t, sandbox.Options{Executable: program(t, "half")})
	items, err := r.File(context.Background(), write(t, "a.zip", "PK"))
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 2 || items[0].Result == nil || items[0].Result.Text != "one" || items[1].Err == nil ||
		items[1].Err.Code != extract.Crashed {
		t.Errorf("got %+v", items)
	}
}

func TestNotAWorker(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{Executable: "/bin/true"}); err == nil {
		t.Error("a program that is no worker is accepted")
	}
	if _, err := sandbox.New(sandbox.Options{Memory: 1, Wall: -1}); err == nil || !strings.Contains(err.Error(), "Memory") ||
		!strings.Contains(err.Error(), "Wall") {
		t.Errorf("options out of range: %v", err)
	}
}

func TestCancel(t *testing.T) {
	r := newRunner(t, sandbox.Options{Executable: program(t, "hang")})
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	if _, err := r.File(ctx, write(t, "a.txt", "text")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	r := newRunner(t, sandbox.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		p := write(t, "a.md", fmt.Sprintf("# Title\n\nfile *%d*\n", i))
		wg.Go(func() {
			items, err := r.File(context.Background(), p)
			if want := fmt.Sprintf("Title\n\nfile %d", i); err != nil || len(items) != 1 || items[0].Result == nil || items[0].Result.Text != want {
				t.Errorf("got %+v, %v; want %q", items, err, want)
			}
		})
	}
	wg.Wait()
}

// TestPDFInChild reads a PDF within all limits of a child.
func TestPDFInChild(t *testing.T) {
	r := newRunner(t, sandbox.Options{})
	pdf := "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]" +
		"/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>endobj 4 0 obj<</Length 44>>stream\nBT /F 12 Tf 1 0 0 1 72 700 Tm (Hello) Tj ET  \nendstream endobj 5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>"
	items, err := r.File(context.Background(), write(t, "a.pdf", pdf))
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 || items[0].Result == nil || items[0].Result.Text != "Hello" {
		t.Errorf("got %+v, %v", items, items[0].Err)
	}
}

// TestOverhead reads files of one word one after the other, with nothing else running, to measure the cost of a child.
func TestOverhead(t *testing.T) {
	r := newRunner(t, sandbox.Options{})
	p := write(t, "a.txt", "word")
	var took []time.Duration
	for range 15 {
		begin := time.Now()
		if _, err := r.File(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	t.Logf("median %v, slowest %v", took[len(took)/2], took[len(took)-1])
}
