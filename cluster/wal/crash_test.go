package wal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// damaged is the result of opening a modified copy of a log.
type damaged struct {
	end  uint64 // records 1 to end were recovered
	lost uint64 // argument of the function Damaged
	err  error
}

// reopen opens a copy of the log in dir, with different content in one file. The copy is next to the log.
func reopen(t *testing.T, dir, file string, content []byte) damaged {
	t.Helper()
	scratch := dir + "-copy"
	must(t, os.RemoveAll(scratch))
	must(t, os.MkdirAll(scratch, 0o700))
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		if f.Name() != file {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(scratch, f.Name()), b, 0o600))
		}
	}
	must(t, os.WriteFile(filepath.Join(scratch, file), content, 0o600))
	var d damaged
	o := Options{Shard: "00", SegmentBytes: 4 << 10, Damaged: func(lost uint64) error { d.lost = lost; return nil },
		sync: func(*os.File) error { return nil }} // there are thousands of logs, and this test cuts no power
	l, err := Open(scratch, o)
	if err != nil {
		return damaged{err: err}
	}
	for _, r := range all(t, l) {
		if r.Seq != d.end+1 || string(r.Payload) != string(rec(r.Seq, 1).Payload) {
			t.Fatalf("record %d after %d: %q", r.Seq, d.end, r.Payload)
		}
		d.end = r.Seq
	}
	// The repaired log accepts records and opens without an error.
	fill(t, l, d.end+2, 1, 1)
	must(t, l.Close())
	o.Damaged = nil
	l, err = Open(scratch, o)
	must(t, err)
	if x := l.Extent(); x.End != d.end+2 {
		t.Fatalf("mended log ends at %d, want %d", x.End, d.end+2)
	}
	must(t, l.Close())
	return d
}

// small makes a log of n records in groups of 3, and returns its newest file.
func small(t *testing.T, n uint64) (dir, file string, content []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, Options{Shard: "00", SegmentBytes: 4 << 10})
	must(t, err)
	fill(t, l, n, 1, 3)
	must(t, l.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	file = files[len(files)-1]
	content, err = os.ReadFile(file)
	must(t, err)
	return dir, filepath.Base(file), content
}

// every returns the step through the bytes of a log: 1, or 5 in short runs, but at most left.
func every(left int) int {
	if testing.Short() && (left == 0 || left > 5) {
		return 5
	}
	return 1
}

// TestTornAnywhere cuts the last file at every byte, as a crash during a write would. A cut within the last group or its mark is not
// damage, and complete records before the cut are recovered.
func TestTornAnywhere(t *testing.T) {
	dir, file, content := small(t, 12)
	last := uint64(0)
	for n := headerFixed + 2; n <= len(content); n += every(len(content) - n) {
		d := reopen(t, dir, file, content[:n])
		if d.err != nil || d.lost != 0 {
			t.Fatalf("cut at %d: %+v", n, d)
		}
		if d.end < last {
			t.Fatalf("cut at %d gives %d records, one byte less gave %d", n, d.end, last)
		}
		last = d.end
	}
	if last != 12 {
		t.Errorf("the whole file gives %d records", last)
	}
}

// TestTornIsCut tears a group of three in its second record, and writes another second record whose mark ends where the third record of
// the torn group begins. That third record was never acknowledged and does not come back.
func TestTornIsCut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	broken := false
	o := Options{Shard: "00", sync: func(f *os.File) error {
		if broken {
			return errors.New("no mark is written")
		}
		return f.Sync()
	}}
	l, err := Open(dir, o)
	must(t, err)
	first, second, third := rec(1, 1), rec(2, 1), rec(3, 1)
	second.Payload = make([]byte, 100)
	must(t, l.Append(first, second, third))
	broken = true
	if _, err := l.Sync(); err == nil {
		t.Fatal("synced")
	}
	must(t, l.Close())
	path := filepath.Join(dir, segmentName(0))
	b, err := os.ReadFile(path)
	must(t, err)
	b[len(b)-third.Size()-1] ^= 1
	must(t, os.WriteFile(path, b, 0o600))
	broken = false
	l, err = Open(dir, o)
	must(t, err)
	second.Payload = second.Payload[:100-markSize]
	must(t, l.Append(second))
	_, err = l.Sync()
	must(t, err)
	must(t, l.Close())
	if d := cmp.Diff([]Record{first, second}, all(t, open(t, dir, o))); d != "" {
		t.Error(d)
	}
}

// TestFlippedAnywhere flips a bit in every byte of the last file. Every acknowledged record is either recovered or
// reported lost.
func TestFlippedAnywhere(t *testing.T) {
	dir, file, content := small(t, 12)
	cases := map[string]int{}
	for i := 0; i < len(content); i += every(0) {
		flipped := append([]byte{}, content...)
		flipped[i] ^= 1 << (i % 8)
		d := reopen(t, dir, file, flipped)
		switch {
		case d.err != nil:
			if i != 7 { // an unknown version is refused as such
				t.Fatalf("byte %d: %v", i, d.err)
			}
			cases["version"]++
		case d.end == 12:
			cases["last mark"]++
			if i < len(content)-markSize {
				t.Fatalf("byte %d changed and nothing noticed", i)
			}
		case d.lost < 12 && i >= headerFixed+2:
			t.Fatalf("byte %d: %d records came back, %d said to be lost, 12 acknowledged", i, d.end, d.lost)
		case d.lost == 0:
			t.Fatalf("byte %d: loss of the header not said", i)
		default:
			cases["damaged"]++
		}
	}
	if !testing.Short() && cases["last mark"] != markSize || cases["damaged"] == 0 {
		t.Errorf("cases %v", cases)
	}
}

// TestMiddleDamaged flips bits in an older file. The copy cannot be used and is left unchanged.
func TestMiddleDamaged(t *testing.T) {
	dir, _, _ := small(t, 300)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	if len(files) < 3 {
		t.Fatalf("%d files, the test wants three", len(files))
	}
	content, err := os.ReadFile(files[1])
	must(t, err)
	for i := 0; i < len(content); i += 13 {
		flipped := append([]byte{}, content...)
		flipped[i] ^= 0x10
		d := reopen(t, dir, filepath.Base(files[1]), flipped)
		var c *CorruptError
		if i == 7 {
			continue // version byte
		}
		if i >= len(content)-markSize && d.err == nil {
			continue // the byte is in the mark at the end, and no record is missing
		}
		if !errors.As(d.err, &c) || !errors.Is(d.err, concordat.ErrCorrupt) {
			t.Fatalf("byte %d: %v", i, d.err)
		}
		if filepath.Base(c.Path) != filepath.Base(files[1]) || c.Offset > int64(i) {
			t.Fatalf("byte %d of %s: %v", i, files[1], d.err)
		}
	}
	// A whole file is missing.
	must(t, os.Remove(files[1]))
	if _, err := Open(dir, Options{Shard: "00"}); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("missing file: %v", err)
	}
}

// TestDamagedRefused: without Damaged, nothing is cut off.
func TestDamagedRefused(t *testing.T) {
	dir, file, content := small(t, 12)
	flipped := append([]byte{}, content...)
	flipped[len(content)/2] ^= 1
	must(t, os.WriteFile(filepath.Join(dir, file), flipped, 0o600))
	if _, err := Open(dir, Options{Shard: "00"}); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(dir, Options{Shard: "00", Damaged: func(uint64) error { return os.ErrPermission }}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, file))
	must(t, err)
	if string(after) != string(flipped) {
		t.Error("the file changed")
	}
}

// TestReadNoticesDamage damages a file while the log is open.
func TestReadNoticesDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := open(t, dir, Options{Shard: "00"})
	fill(t, l, 12, 1, 3)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	b, err := os.ReadFile(files[0])
	must(t, err)
	b[len(b)/2] ^= 1
	must(t, os.WriteFile(files[0], b, 0o600))
	_, err = l.Read(1, 1<<20)
	var c *CorruptError
	if !errors.As(err, &c) || !errors.Is(err, concordat.ErrCorrupt) || c.Path != files[0] {
		t.Fatalf("got %v", err)
	}
	if at := int64(len(b) / 2); c.Offset > at || l.segments[0].offsets[c.Seq-1] != c.Offset || l.segments[0].end(c.Seq-1) <= at {
		t.Errorf("byte %d was damaged: got %v", at, err)
	}
}

// TestResetCutShort leaves the folders in the state after a crash during Reset.
func TestResetCutShort(t *testing.T) {
	for _, step := range []string{"building", "moved away", "in place"} {
		dir, _, _ := small(t, 12)
		must(t, replaceDir(dir+".x", Options{Shard: "00", sync: (*os.File).Sync}, 77, 3))
		want := uint64(12)
		switch step {
		case "building":
			must(t, os.Rename(dir+".x", dir+newSuffix))
		case "moved away":
			must(t, os.Rename(dir, dir+oldSuffix))
			must(t, os.Rename(dir+".x", dir+newSuffix))
			want = 77
		case "in place":
			must(t, os.Rename(dir, dir+oldSuffix))
			must(t, os.Rename(dir+".x", dir))
			want = 77
		}
		if x := open(t, dir, Options{Shard: "00"}).Extent(); x.End != want {
			t.Errorf("%s: %+v", step, x)
		}
		if left, _ := filepath.Glob(dir + ".*"); len(left) != 0 {
			t.Errorf("%s: left %v", step, left)
		}
	}
}

// TestResetNotInPlace: if the new log cannot be built, or not be moved to its place, Reset fails, and neither log is lost.
func TestResetNotInPlace(t *testing.T) {
	dir, _, _ := small(t, 12)
	aside, moved := dir+"-aside", false
	o := Options{Shard: "00", sync: func(f *os.File) error {
		if _, err := os.Stat(dir + newSuffix); err == nil && f.Name() == filepath.Dir(dir) {
			moved = true
			must(t, os.Rename(dir+newSuffix, aside))
		}
		return f.Sync()
	}}
	l := open(t, dir, o)
	for range 2 {
		if err := l.Reset(77, 3); !errors.Is(err, ErrFailed) || !errors.Is(err, os.ErrNotExist) || !moved {
			t.Fatalf("got %v, moved away %v", err, moved)
		}
	}
	if _, err := os.Stat(dir + oldSuffix); err != nil {
		t.Errorf("the old log: %v", err)
	}
	l.segments = nil // Reset closed them
	must(t, os.Rename(aside, dir+newSuffix))
	if x := open(t, dir, Options{Shard: "00"}).Extent(); x.End != 77 {
		t.Errorf("got %+v", x)
	}
	o.sync = (*os.File).Sync
	if err := replaceDir(filepath.Join(t.TempDir(), strings.Repeat("x", 252)), o, 0, 0); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("no name for the new log: got %v", err)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendRecords(nil, []Record{rec(1, 1), rec(2, 1), rec(7, 2)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		rs, err := ParseRecords(b)
		if err != nil {
			return
		}
		if got := AppendRecords(nil, rs); string(got) != string(b) {
			t.Errorf("%x reads and writes as %x", b, got)
		}
	})
}

// FuzzOpen opens a folder whose only file has a valid header followed by the given bytes.
func FuzzOpen(f *testing.F) {
	const salt = 7
	header := appendHeader(nil, "00", salt, 0, 0)
	good := append([]byte{}, header...)
	for seq := range uint64(4) {
		r := rec(seq+1, 1)
		good = r.append(good, salt)
	}
	good = (&Record{Seq: 4, Epoch: 1, Kind: mark}).append(good, salt)
	f.Add(header)
	f.Add(good)
	f.Add(good[:len(good)-50])
	f.Add(good[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, segmentName(0)), b, 0o600))
		l, err := Open(dir, Options{Shard: "00", Damaged: func(uint64) error { return nil }, sync: func(*os.File) error { return nil }})
		if err != nil {
			return
		}
		n := uint64(len(all(t, l)))
		if x := l.Extent(); x.End-x.Base != n {
			t.Errorf("extent %+v, %d records", x, n)
		}
		must(t, l.Close())
	})
}

func BenchmarkAppendSync(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "log"), Options{Shard: "00"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	payload := make([]byte, 1<<10)
	b.SetBytes(1 << 10)
	b.ReportAllocs()
	seq := uint64(0)
	for b.Loop() {
		seq++
		if err := l.Append(Record{Seq: seq, Epoch: 1, Kind: Put, Payload: payload}); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
