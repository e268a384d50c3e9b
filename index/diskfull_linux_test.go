package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
	"concordat/internal/indextest"
)

// TestDiskFull fills a small file system. Every acknowledged change remains, Put returns ErrDiskFull, and the same Put succeeds once
// space is available.
func TestDiskFull(t *testing.T) {
	for _, reserve := range []uint64{8 << 20, 0} {
		t.Run(fmt.Sprintf("reserve %d MB", reserve>>20), func(t *testing.T) {
			dir := smallDisk(t)
			diskFull(t, filepath.Join(dir, "shard"), filepath.Join(dir, "ballast"), reserve)
		})
	}
}

// TestDiskStaysFull: calls waiting for a permanently full disk end with their context, and no shard is created there.
func TestDiskStaysFull(t *testing.T) {
	dir := smallDisk(t)
	s := open(t, filepath.Join(dir, "shard"), Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme, Logged: true})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	t.Cleanup(func() { os.Remove(ballast) })
	var e entry
	e.reset(textID(1))
	e.store(fieldText, []byte(randomText(indextest.NewGenerator(1, 1), 1<<20)))
	batch := bleve.NewBatch()
	batch.Update(&e)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.engine.batchDurably(ctx, batch); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if _, err := Open(filepath.Join(dir, "other"), testOptions); !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("a new shard: %v, want ErrDiskFull", err)
	}
}

// smallDisk returns a folder on a disk of 24 MB used only by t.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("concordat-test", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func diskFull(t *testing.T, dir, ballast string, reserve uint64) {
	if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, testOptions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // before the file system is unmounted
	s.reserve = reserve
	g := indextest.NewGenerator(5, 2000)
	var acknowledged []*concordat.Profile
	var refused []*concordat.Profile
	for i := 0; refused == nil; i++ {
		var ps []*concordat.Profile
		for j := range 40 {
			p := g.Profile("l", concordat.DocumentID(fmt.Sprintf("%d-%d", i, j)), 50)
			p.Document.Text = randomText(g, 20_000)
			for k := range p.Indexed {
				p.Indexed[k].Span = concordat.Span{Start: 10 * k, End: 10*k + 9}
			}
			ps = append(ps, p)
		}
		switch err := s.Put(t.Context(), ps...); {
		case errors.Is(err, concordat.ErrDiskFull):
			refused = ps
		case err != nil:
			t.Fatalf("got %v, want ErrDiskFull", err)
		default:
			acknowledged = append(acknowledged, ps...)
		}
		if i > 1000 {
			t.Fatal("the disk never fills")
		}
	}
	t.Logf("%d documents acknowledged", len(acknowledged))
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	// A background merge might take the space first; it releases the space when done.
	for try := 0; ; try++ {
		err := s.Put(t.Context(), refused...)
		if err == nil {
			break
		}
		if !errors.Is(err, concordat.ErrDiskFull) || try > 50 {
			t.Fatalf("with room again: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, testOptions); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, p := range append(acknowledged, refused...) {
		d, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: p.Document.ID})
		if err != nil || d.Text != p.Document.Text {
			t.Fatalf("document %s: %v", p.Document.ID, err)
		}
	}
	if n := s.Stats().Documents; n != len(acknowledged)+len(refused) {
		t.Errorf("%d documents, want %d", n, len(acknowledged)+len(refused))
	}
}

func randomText(g *indextest.Generator, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + g.IntN(95))
	}
	return string(b)
}
