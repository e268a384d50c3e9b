package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"concordat"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/internal/powertest"
)

// TestHolds compares positions with a log that was trimmed to record 10, of epoch 2, and ends at record 20.
func TestHolds(t *testing.T) {
	x := wal.Extent{Base: 10, BaseEpoch: 2, End: 20, Durable: 20, Epochs: []wal.Epoch{{Epoch: 3, First: 12}, {Epoch: 5, First: 20}}}
	for _, tt := range []struct {
		at   Position
		want bool
	}{
		{Position{2, 9}, true}, {Position{1, 9}, true}, {Position{2, 10}, true},
		{Position{3, 10}, false}, // the trimmed part is of another master
		{Position{2, 11}, true}, {Position{3, 11}, false}, {Position{1, 11}, false},
		{Position{2, 12}, false}, {Position{3, 12}, true}, {Position{3, 19}, true},
		{Position{3, 20}, false}, {Position{5, 20}, true}, {Position{4, 20}, false},
		{Position{5, 21}, false}, {Position{1, 21}, false},
	} {
		if got := holds(&x, tt.at); got != tt.want {
			t.Errorf("record %d of epoch %d: got %v, want %v", tt.at.Seq, tt.at.Epoch, got, tt.want)
		}
	}
	if !holds(&wal.Extent{}, Position{}) {
		t.Error("an empty log lacks what was never acknowledged")
	}
}

// TestPositions: an epoch counts before a record, and of several positions to be recorded, the last one is.
func TestPositions(t *testing.T) {
	ordered := []Position{{}, {0, 7}, {1, 2}, {1, 3}, {2, 1}}
	for i, p := range ordered {
		for j, q := range ordered {
			if got, want := p.Compare(q), max(-1, min(1, i-j)); got != want {
				t.Errorf("%v to %v: got %d, want %d", p, q, got, want)
			}
		}
	}
	var s notes
	for _, p := range []Position{{1, 2}, {2, 1}, {1, 9}} {
		s.addLocked("00", p)
	}
	s.addLocked("01", Position{1, 1})
	if s.pending["00"] != (Position{2, 1}) || s.pending["01"] != (Position{1, 1}) {
		t.Errorf("got %v", s.pending)
	}
}

// TestNotReplaced: on a full disk, and where a file cannot be replaced, the write fails, and the state of a copy stays as it was.
func TestNotReplaced(t *testing.T) {
	dir := powertest.SmallDisk(t, "16k")
	old := replica.Meta{Epoch: 1, Damaged: true}
	if err := writeMeta(dir, old); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	if err := writeMeta(dir, replica.Meta{Epoch: 2}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: got %v, want %v", err, syscall.ENOSPC)
	}
	if got, err := openMeta(dir); got != old || err != nil {
		t.Errorf("full disk: got %+v, %v, want %+v", got, err, old)
	}
	if err := errors.Join(os.Remove(ballast), os.Remove(filepath.Join(dir, metaName)),
		os.MkdirAll(filepath.Join(dir, metaName, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := writeMeta(dir, replica.Meta{Epoch: 2}); err == nil {
		t.Error("a folder was replaced by a file")
	}
}

// TestAsides puts copies aside until there are too many, and lists them with whatever reasons can be read.
func TestAsides(t *testing.T) {
	root := filepath.Join(t.TempDir(), "copies")
	if as, err := Asides(root); len(as) > 0 || err != nil {
		t.Errorf("no folder: got %v, %v", as, err)
	}
	dir := filepath.Join(root, "00")
	fill := func(n int) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "x"), []byte(fmt.Sprint(n)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	for n := 1; n <= mostAsides; n++ {
		fill(n)
		if err := putAside(log, root, "00", fmt.Sprint("reason ", n)); err != nil || exists(dir) {
			t.Fatalf("copy %d: %v, still there: %v", n, err, exists(dir))
		}
	}
	fill(0)
	if err := putAside(log, root, "00", "one more"); !errors.Is(err, concordat.ErrRefused) || !exists(filepath.Join(dir, "x")) {
		t.Errorf("a copy too many: got %v, want %v, and the copy in its place", err, concordat.ErrRefused)
	}
	first := filepath.Join(root, "00.aside-1", asideName)
	if err := errors.Join(os.WriteFile(first, []byte(`{"reason": "`+strings.Repeat("x", maxAside)+`"}`), 0o600),
		os.WriteFile(filepath.Join(root, "00.aside-2", asideName), []byte("{"), 0o600),
		os.WriteFile(filepath.Join(root, "01.aside-1"), nil, 0o600), os.Mkdir(filepath.Join(root, "shard.aside-1"), 0o700)); err != nil {
		t.Fatal(err)
	}
	as, err := Asides(root)
	if err != nil || len(as) != mostAsides || !slices.IsSortedFunc(as, func(a, b Aside) int { return strings.Compare(a.Folder, b.Folder) }) {
		t.Fatalf("got %v, %v, want %d copies in order", as, err, mostAsides)
	}
	for i, a := range as {
		want := fmt.Sprint("reason ", i+1)
		if i < 2 {
			want = "unknown"
		}
		b, err := os.ReadFile(filepath.Join(a.Folder, "x"))
		if a.Shard != "00" || a.Reason != want || string(b) != fmt.Sprint(i+1) || a.Time.IsZero() != (i < 2) {
			t.Errorf("copy %d: got %+v with content %q, %v, want reason %q", i+1, a, b, err, want)
		}
	}
	if err := os.RemoveAll(as[4].Folder); err != nil {
		t.Fatal(err)
	}
	if err := putAside(log, root, "00", "in the gap"); err != nil || !exists(as[4].Folder) {
		t.Errorf("after one was removed: %v", err)
	}
}
