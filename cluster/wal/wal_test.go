package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
)

func open(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rec returns a record whose contents depend only on its position and epoch.
func rec(seq, epoch uint64) Record {
	r := Record{Seq: seq, Epoch: epoch, Kind: Put, Slot: uint8(seq), Rev: seq * 3, ID: fmt.Sprint("d", seq),
		Payload: bytes.Repeat([]byte{byte(seq), byte(epoch)}, int(seq%40))}
	if seq%7 == 0 {
		r.Kind, r.Payload = Delete, []byte{}
	}
	return r
}

// fill appends records of one epoch in groups, from the end of the log up to record to.
func fill(t *testing.T, l *Log, to, epoch uint64, group int) {
	t.Helper()
	for n, seq := 0, l.Extent().End+1; seq <= to; seq++ {
		must(t, l.Append(rec(seq, epoch)))
		if n++; n == group || seq == to {
			n = 0
			durable, err := l.Sync()
			must(t, err)
			if durable != seq {
				t.Fatalf("synced %d, want %d", durable, seq)
			}
		}
	}
}

// all returns the contents of the log, read in small parts.
func all(t *testing.T, l *Log) []Record {
	t.Helper()
	x := l.Extent()
	var out []Record
	for from := x.Base + 1; ; from = out[len(out)-1].Seq + 1 {
		rs, err := l.Read(from, 200)
		must(t, err)
		if len(rs) == 0 {
			return out
		}
		out = append(out, rs...)
	}
}

func expect(epochs ...uint64) []Record {
	out := make([]Record, len(epochs))
	for i, e := range epochs {
		out[i] = rec(uint64(i+1), e)
	}
	return out
}

func TestAppendReadReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var want []uint64
	for round := range uint64(4) {
		l, err := Open(dir, Options{Shard: "00", SegmentBytes: 4 << 10})
		must(t, err)
		fill(t, l, (round+1)*100, round+1, 7)
		for range 100 {
			want = append(want, round+1)
		}
		if diff := cmp.Diff(expect(want...), all(t, l)); diff != "" {
			t.Fatal(diff)
		}
		// Records can be read before they are on disk, and are lost in a crash without Sync.
		must(t, l.Append(rec((round+1)*100+1, round+1)))
		if rs, err := l.Read((round+1)*100+1, 1); err != nil || len(rs) != 1 {
			t.Errorf("pending record: %v, %v", rs, err)
		}
		if x := l.Extent(); x.End != x.Durable+1 {
			t.Errorf("extent %+v", x)
		}
		must(t, l.Close())
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) < 3 {
		t.Errorf("%d files, the test wants several", len(files))
	}
	x := open(t, dir, Options{Shard: "00"}).Extent()
	if diff := cmp.Diff(Extent{End: 400, Durable: 400, Epochs: []Epoch{{1, 1}, {2, 101}, {3, 201}, {4, 301}}}, x); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	free := uint64(1 << 30)
	l := open(t, dir, Options{Shard: "00", LowWater: 1 << 20, Free: func() (uint64, error) { return free, nil }})
	fill(t, l, 3, 5, 1)
	for _, r := range []Record{rec(3, 5), rec(5, 5), rec(4, 4), {Seq: 4, Epoch: 5, Kind: mark}, {Seq: 4, Epoch: 5},
		{Seq: 4, Epoch: 5, Kind: Put, ID: string(make([]byte, MaxID+1))}} {
		if err := l.Append(r); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("record %d epoch %d kind %d: %v", r.Seq, r.Epoch, r.Kind, err)
		}
	}
	if _, err := Open(dir, Options{Shard: "01"}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("another shard's log: %v", err)
	}
	free = 1<<20 + 10
	if err := l.Append(rec(4, 5)); !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("full disk: %v", err)
	}
	free = 1 << 21
	fill(t, l, 4, 5, 1) // the refused records left nothing behind
	if _, err := l.Read(0, 1); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("record 0: %v", err)
	}
}

func TestFailedSync(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	broken := false
	o := Options{Shard: "00", sync: func(f *os.File) error {
		if broken {
			return errors.New("disk on fire")
		}
		return f.Sync()
	}}
	l := open(t, dir, o)
	fill(t, l, 3, 1, 1)
	broken = true
	must(t, l.Append(rec(4, 1)))
	for range 2 { // the failure is permanent, although the disk would succeed the second time
		if durable, err := l.Sync(); !errors.Is(err, ErrFailed) || durable != 3 {
			t.Errorf("got %d, %v", durable, err)
		}
		broken = false
	}
	if err := l.Append(rec(5, 1)); !errors.Is(err, ErrFailed) {
		t.Errorf("append: %v", err)
	}
	must(t, l.Close())
	// The group may have reached the disk, so the log is read again.
	if x := open(t, dir, Options{Shard: "00"}).Extent(); x.End < 3 || x.End > 4 {
		t.Errorf("extent %+v", x)
	}
}

// TestFullDiskSaid: a log that failed for want of space says so, so that the operator makes some.
func TestFullDiskSaid(t *testing.T) {
	var full error
	l := open(t, filepath.Join(t.TempDir(), "log"), Options{Shard: "00", sync: func(*os.File) error { return full }})
	full = &fs.PathError{Op: "sync", Path: "log", Err: syscall.ENOSPC}
	must(t, l.Append(rec(1, 1)))
	if _, err := l.Sync(); !errors.Is(err, ErrFailed) || !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("got %v", err)
	}
}

// TestRebase: an extent that forgets its first records is the same as one that begins after them.
func TestRebase(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		epochs := []uint64{0}
		for range 1 + r.IntN(8) {
			epochs = append(epochs, epochs[len(epochs)-1]+r.Uint64N(3))
		}
		base := r.IntN(len(epochs))
		var got Extent
		want := Extent{Base: uint64(base), BaseEpoch: epochs[base], End: uint64(base)}
		for i, e := range epochs[1:] {
			got.Extend(e)
			if i+1 > base {
				want.Extend(e)
			}
		}
		got.Rebase(uint64(base), epochs[base])
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("epochs %v, base %d: %s", epochs, base, d)
		}
	}
}

// TestReadBounded: one read takes no more from the disk than was asked for, unless a single record is larger, and at least half of it.
func TestReadBounded(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"), Options{Shard: "00"})
	const n = 40
	fill(t, l, n, 1, 7)
	s := l.segments[0]
	for seq := uint64(1); seq <= n; seq++ {
		for _, most := range []int{0, 100, 500, 2000, 1 << 20} {
			rs, err := s.read(seq, n, most)
			must(t, err)
			took := s.end(seq+uint64(len(rs))-2) - s.offsets[seq-1]
			fits := uint64(1)
			for seq+fits <= n && s.end(seq+fits-1)-s.offsets[seq-1] <= int64(most) {
				fits++
			}
			if len(rs) == 0 || len(rs) > 1 && took > int64(most) || uint64(len(rs)) < fits/2 {
				t.Errorf("from %d, %d bytes: got %d records of %d bytes, %d fit", seq, most, len(rs), took, fits)
			}
		}
	}
}

// TestFileBoundary: a log can be cut exactly where a file begins, grows from there, and can be trimmed as soon as it has two files.
func TestFileBoundary(t *testing.T) {
	synced := 0
	l := open(t, filepath.Join(t.TempDir(), "log"), Options{Shard: "00", sync: func(f *os.File) error { synced++; return f.Sync() }})
	fill(t, l, 3, 1, 1)
	must(t, l.Rotate())
	for _, c := range []struct {
		seq  uint64
		keep int64
		want bool
	}{{3, 0, true}, {2, 0, false}, {3, 1 << 20, false}} {
		if got := l.Trimmable(c.seq, c.keep); got != c.want {
			t.Errorf("up to record %d, keeping %d bytes: got %v", c.seq, c.keep, got)
		}
	}
	fill(t, l, 6, 1, 1)
	before := synced
	must(t, l.Truncate(3))
	if synced != before+2 { // the folder and the file
		t.Errorf("%d syncs, want 2", synced-before)
	}
	fill(t, l, 5, 2, 1)
	if d := cmp.Diff(expect(1, 1, 1, 2, 2), all(t, l)); d != "" {
		t.Error(d)
	}
	must(t, l.Rotate())
	must(t, l.Trim(5, 0))
	if x := l.Extent(); x.Base != 5 || x.BaseEpoch != 2 || len(l.segments) != 1 {
		t.Errorf("got %+v in %d files", x, len(l.segments))
	}
}

// TestModel compares a log with a slice under random calls and crashes.
func TestModel(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := filepath.Join(t.TempDir(), fmt.Sprint(seed))
		o := Options{Shard: "00", SegmentBytes: 4 << 10, sync: func(*os.File) error { return nil }}
		l, err := Open(dir, o)
		must(t, err)
		var want []uint64 // epoch of each record, from record 1 on
		base, baseEpoch, durable, epoch := uint64(0), uint64(0), uint64(0), uint64(1)
		for range 300 {
			switch end := uint64(len(want)); r.IntN(12) {
			default:
				for range r.IntN(10) {
					must(t, l.Append(rec(uint64(len(want)+1), epoch)))
					want = append(want, epoch)
				}
			case 0, 1, 2:
				durable, err = l.Sync()
				must(t, err)
				if durable != end {
					t.Fatalf("seed %d: durable %d, want %d", seed, durable, end)
				}
			case 3:
				epoch += 1 + uint64(r.IntN(3))
			case 4:
				to := base + r.Uint64N(end-base+1)
				must(t, l.Truncate(to))
				want, durable = want[:to], min(durable, to)
			case 5:
				seq, keep, files := base+r.Uint64N(durable-base+1), int64(r.IntN(8<<10)), len(l.segments)
				may := l.Trimmable(seq, keep)
				must(t, l.Trim(seq, keep))
				if did := len(l.segments) < files; may != did {
					t.Fatalf("seed %d: trimmable %v, trimmed %v", seed, may, did)
				}
				if x := l.Extent(); x.Base < base {
					t.Fatalf("seed %d: base %d after %d", seed, x.Base, base)
				} else if x.Base > base {
					base, baseEpoch = x.Base, want[x.Base-1]
				}
			case 6: // a crash loses unsynced records
				must(t, l.Close())
				l, err = Open(dir, o)
				must(t, err)
				want = want[:durable]
			case 7:
				if r.IntN(4) == 0 {
					base, baseEpoch = end+r.Uint64N(50), epoch
					for uint64(len(want)) < base {
						want = append(want, epoch)
					}
					must(t, l.Reset(base, epoch))
					want, durable = want[:base], base
				}
			}
			x := l.Extent()
			if x.Base != base || x.BaseEpoch != baseEpoch || x.End != uint64(len(want)) || x.Durable != durable {
				t.Fatalf("seed %d: got %+v, want base %d of %d, end %d, durable %d", seed, x, base, baseEpoch, len(want), durable)
			}
			for seq := base + 1; seq <= x.End; seq++ {
				if x.EpochAt(seq) != want[seq-1] {
					t.Fatalf("seed %d: record %d has epoch %d, want %d", seed, seq, x.EpochAt(seq), want[seq-1])
				}
			}
		}
		if got := all(t, l); len(got) != len(want)-int(base) {
			t.Fatalf("seed %d: %d records, want %d", seed, len(got), len(want)-int(base))
		} else {
			for i, g := range got {
				seq := base + uint64(i) + 1
				if diff := cmp.Diff(rec(seq, want[seq-1]), g); diff != "" {
					t.Fatalf("seed %d: %s", seed, diff)
				}
			}
		}
		must(t, l.Close())
	}
}

// TestLimits: a record whose identity has the maximum length, or one byte less, is there after a restart and on another node. A longer
// one is refused and leaves the log unchanged. The same applies to payloads, but a test of the longest would take a gigabyte.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	var want []Record
	for _, n := range []int{MaxID - 1, MaxID, MaxID + 1} {
		r := rec(uint64(len(want)+1), 1)
		r.ID = strings.Repeat("i", n)
		if err := l.Append(r); (err == nil) != (n <= MaxID) {
			t.Errorf("an identity of %d bytes: %v", n, err)
		} else if err == nil {
			want = append(want, r)
		} else if !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("an identity of %d bytes: %v, want ErrInvalid", n, err)
		}
	}
	large := rec(uint64(len(want)+1), 1)
	large.Payload = make([]byte, MaxPayload+1) // the pages are never touched
	if err := l.Append(large); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a payload of %d bytes: %v, want ErrInvalid", len(large.Payload), err)
	}
	if _, err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	must(t, l.Close())
	if d := cmp.Diff(want, all(t, open(t, dir, Options{}))); d != "" {
		t.Error(d)
	}
	sent, err := ParseRecords(AppendRecords(nil, want))
	must(t, err)
	if d := cmp.Diff(want, sent); d != "" {
		t.Error(d)
	}
}

// TestIsDiskFull: writes fail for want of space also where a quota is exhausted.
func TestIsDiskFull(t *testing.T) {
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		if got := isDiskFull(&fs.PathError{Op: "write", Path: "log", Err: err}); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}
