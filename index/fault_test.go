package index

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
	"concordat/internal/indextest"
)

// The test binary also serves as the child process that is killed.
const (
	childEnv  = "CONCORDAT_INDEX_CHILD" // folder of the child process's shard
	childRole = "CONCORDAT_INDEX_ROLE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir, os.Getenv(childRole)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes documents forever and prints a line for each batch reported as durable; as "holder" it only keeps the shard open,
// and as "stock" it uses only Bleve.
func child(dir, role string) error {
	if role == "stock" {
		return stockChild(dir, os.Getenv(childCopy))
	}
	s, err := Open(dir, warmOptions())
	if err != nil {
		return err
	}
	if role == "holder" {
		fmt.Println("open")
		select {}
	}
	first, err := strconv.Atoi(role)
	if err != nil {
		return err
	}
	for batch := first; ; batch++ {
		if err := s.Put(context.Background(), crashBatch(batch)...); err != nil {
			return err
		}
		if batch%3 == 2 {
			if err := s.Delete(context.Background(), crashRef(batch-1, 0)); err != nil {
				return err
			}
		}
		fmt.Println(batch)
	}
}

// crashBatch returns batch n, which has ten new documents and a new version of document "latest".
func crashBatch(n int) []*concordat.Profile {
	g := indextest.NewGenerator(uint64(n), 50)
	var ps []*concordat.Profile
	for i := range 10 {
		ps = append(ps, g.Profile("crash", crashRef(n, i).Document, 25))
	}
	latest := g.Profile("crash", "latest", 70)
	latest.Document.Title = strconv.Itoa(n)
	return append(ps, latest)
}

func crashRef(n, i int) concordat.Ref {
	return concordat.Ref{Site: indextest.Site, Library: "crash", Document: concordat.DocumentID(fmt.Sprintf("%d-%d", n, i))}
}

func startChild(t *testing.T, dir, role string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+dir, childRole+"="+role)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewScanner(out)
}

// TestKill kills a writing process at random moments. Nothing acknowledged is lost, no document is partially present, and the answers
// agree with the store, even if an earlier table file has reappeared, as after a power failure.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	next, acknowledged := 0, make(map[int]bool)
	var table []byte // from the previous round
	for round := range 4 {
		c, lines := startChild(t, dir, strconv.Itoa(next))
		wait, last := 2+r.IntN(15), -1
		for last < next+wait && lines.Scan() {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			last = n
			acknowledged[n] = true
		}
		// The process is killed at some point during the next batch.
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // acknowledged before the process ended
			last, _ = strconv.Atoi(lines.Text())
			acknowledged[last] = true
		}
		_ = c.Wait() // the process was killed, so the error is never nil
		if last < next {
			t.Fatal("the child acknowledged nothing")
		}
		if table != nil {
			if err := os.WriteFile(filepath.Join(dir, tableName), table, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkAfterKill(t, dir, last, acknowledged, fmt.Sprintf("round %d", round))
		var err error
		if table, err = os.ReadFile(filepath.Join(dir, tableName)); err != nil {
			t.Fatal(err)
		}
		next = last + 2 // the next batch might be there, too
	}
}

func checkAfterKill(t *testing.T, dir string, last int, acknowledged map[int]bool, when string) {
	t.Helper()
	s, err := Open(dir, warmOptions())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}()
	if s.engine.warm.Load() {
		t.Errorf("%s: the table of an earlier state is taken", when)
	}
	latest, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "crash", Document: "latest"})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if n, err := strconv.Atoi(latest.Title); err != nil || n != last && n != last+1 {
		t.Errorf("%s: latest is version %s, acknowledged was %d", when, latest.Title, last)
	}
	for batch := range acknowledged {
		for i, p := range crashBatch(batch)[:10] {
			d, err := s.Document(t.Context(), crashRef(batch, i))
			if i == 0 && batch%3 == 1 {
				// The next batch deletes it; unless that batch was acknowledged, either state is valid.
				if acknowledged[batch+1] && !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("%s: deleted document of batch %d: %v, want ErrNotFound", when, batch, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: batch %d document %d: %v", when, batch, i, err)
			}
			if d.Text != p.Document.Text {
				t.Errorf("%s: batch %d document %d has another text", when, batch, i)
			}
		}
	}
	q := indextest.NewGenerator(uint64(last), 50).Query(20)
	q.Libraries, q.Exclude, q.Limit = nil, nil, 0
	a, err := s.Match(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.MatchStored(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%s: table and store differ:\n%v\n%v", when, a, b)
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	c, lines := startChild(t, dir, "holder")
	defer func() {
		c.Process.Kill()
		c.Wait()
	}()
	if !lines.Scan() {
		t.Fatal("the child did not open the shard")
	}
	for _, o := range []Options{testOptions, {ReadOnly: true}} { // if these waited, they would wait forever
		if _, err := Open(dir, o); !errors.Is(err, concordat.ErrLocked) {
			t.Errorf("Open beside another process: %v, want ErrLocked", err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	g := indextest.NewGenerator(3, 3)
	if _, err := Open(filepath.Join(dir, "none"), Options{ReadOnly: true}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("nothing opened for reading: %v, want ErrNotFound", err)
	}
	w := open(t, dir, testOptions)
	p := g.Profile("l", "d", 30)
	if err := w.Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.Close()
	a, b := open(t, dir, Options{ReadOnly: true}), open(t, dir, Options{ReadOnly: true})
	for _, s := range []*Shard{a, b} {
		if s.Scheme() != indextest.Scheme {
			t.Errorf("scheme %q", s.Scheme())
		}
		if d, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "d"}); err != nil ||
			d.Text != p.Document.Text {
			t.Errorf("Document: %v", err)
		}
		if err := errors.Join(s.Put(t.Context(), p)); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("Put: %v, want ErrRefused", err)
		}
		if err := s.Merge(t.Context()); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("Merge: %v, want ErrRefused", err)
		}
	}
	if _, err := Open(dir, testOptions); !errors.Is(err, concordat.ErrLocked) {
		t.Errorf("a writer beside readers: %v, want ErrLocked", err)
	}
}

func TestOtherScheme(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, testOptions).Close()
	o := testOptions
	o.Scheme = "other@1"
	_, err := Open(dir, o)
	if !errors.Is(err, concordat.ErrScheme) || !strings.Contains(err.Error(), "other@1") ||
		!strings.Contains(err.Error(), string(indextest.Scheme)) {
		t.Errorf("got %v, want ErrScheme naming both", err)
	}
	o = testOptions
	o.Site = "elsewhere"
	if _, err := Open(dir, o); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("another site: %v, want ErrInvalid", err)
	}
}

// TestCorrupt damages one file at a time; Open must name it and must not cause further damage.
func TestCorrupt(t *testing.T) {
	zap := func(t *testing.T, dir string) string {
		m, err := filepath.Glob(filepath.Join(dir, storeName, "*.zap"))
		if err != nil || len(m) == 0 {
			t.Fatal("no segment", err)
		}
		return m[0]
	}
	root := func(_ *testing.T, dir string) string { return filepath.Join(dir, storeName, "root.bolt") }
	head := func(_ *testing.T, dir string) string { return filepath.Join(dir, headerName) }
	truncate := func(share float64) func(string) error {
		return func(path string) error {
			fi, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, int64(float64(fi.Size())*share))
		}
	}
	overwrite := func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := range b {
			b[i] ^= 0x5a
		}
		return os.WriteFile(path, b, 0o600)
	}
	for _, c := range []struct {
		name   string
		file   func(*testing.T, string) string
		damage func(string) error
	}{
		{"segment missing", zap, os.Remove},
		{"segment empty", zap, truncate(0)},
		{"segment cut", zap, truncate(0.6)},
		{"segment overwritten", zap, overwrite},
		{"root missing", root, os.Remove},
		{"root empty", root, truncate(0)},
		{"root cut", root, truncate(0.4)},
		{"root cut early", root, truncate(0.2)},
		{"root overwritten", root, overwrite},
		{"header missing", head, os.Remove},
		{"header cut", head, truncate(0.5)},
		{"header edited", head, func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Replace(string(b), "test@", "best@", 1)), 0o600)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			g := indextest.NewGenerator(1, 3)
			s := open(t, dir, testOptions)
			if err := s.Put(t.Context(), g.Profile("l", "d", 30), g.Profile("l", "e", 100)); err != nil {
				t.Fatal(err)
			}
			s.Close()
			path := c.file(t, dir)
			if err := c.damage(path); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first refusal must not remove what the second needs
				_, err := Open(dir, testOptions)
				if !errors.Is(err, concordat.ErrCorrupt) {
					t.Fatalf("got %v, want ErrCorrupt", err)
				}
				if !strings.Contains(err.Error(), filepath.Dir(path)) || !strings.Contains(err.Error(), restoreHint) {
					t.Errorf("the error does not name the place and the way out: %v", err)
				}
			}
		})
	}
}

// TestVerify: a single changed byte anywhere in a segment is found.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, testOptions)
	if err := s.Put(t.Context(), indextest.NewGenerator(1, 3).Profile("l", "d", 400)); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := filepath.Glob(filepath.Join(dir, storeName, "*.zap"))
	if err != nil || len(m) != 1 {
		t.Fatal(m, err)
	}
	f, err := os.OpenFile(m[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{0, 1000, 3000} {
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{b[0] ^ 1}, at); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(t.Context()); !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), m[0]) {
			t.Errorf("byte %d changed: %v, want ErrCorrupt naming the file", at, err)
		}
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// changeByte changes a byte in the file at path, whose content is b.
func changeByte(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{b[len(b)/3] ^ 4}, int64(len(b)/3))
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a background merge might have removed it
		t.Fatal(err)
	}
}

// TestDamagedWhileOpen: if a byte of a segment changes while the shard is open, background verification finds it, and so does a merge,
// which does not give it a valid checksum. From then on, the shard answers nothing and reports the reason each time it is opened.
func TestDamagedWhileOpen(t *testing.T) {
	for name, find := range map[string]func(context.Context, *Shard) error{
		"merge": func(ctx context.Context, s *Shard) error { return s.Merge(ctx) },
		"scrub": func(_ context.Context, s *Shard) error { return s.engine.scrubOnce(s.engine.pace) },
	} {
		t.Run(name, func(t *testing.T) {
			for tries := 1; !foundWhileOpen(t, find); tries++ {
				if tries == 10 {
					t.Fatalf("a merge replaced the damaged segment in all %d tries", tries)
				}
			}
		})
	}
}

// foundWhileOpen damages a segment until find reports it, and checks the shard afterwards. It returns false if a background merge that had
// read the segment before it was damaged replaced it, so that the shard is undamaged when it is opened again.
func foundWhileOpen(t *testing.T, find func(context.Context, *Shard) error) bool {
	t.Helper()
	dir := t.TempDir()
	g := indextest.NewGenerator(1, 3)
	s := open(t, dir, testOptions)
	for _, id := range []concordat.DocumentID{"d", "e", "f"} {
		if err := s.Put(t.Context(), g.Profile("l", id, 300)); err != nil {
			t.Fatal(err)
		}
	}
	if err := find(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	documents := 3
	var path string
	var b []byte
	for err := error(nil); err == nil; {
		if err := s.Put(t.Context(), g.Profile("l", concordat.DocumentID(fmt.Sprint("g", documents)), 300)); err != nil {
			t.Fatal(err)
		}
		documents++
		paths, failed := s.engine.segmentPaths()
		if failed != nil {
			t.Fatal(failed)
		}
		path = paths[0]
		if b, failed = os.ReadFile(path); errors.Is(failed, fs.ErrNotExist) {
			continue // a background merge replaced it
		} else if failed != nil {
			t.Fatal(failed)
		}
		changeByte(t, path, b)
		if err = find(t.Context(), s); err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want an error naming %s", err, path)
			}
			continue
		}
		// A background merge might already have read all of it and replaced it.
		if paths, failed = s.engine.segmentPaths(); failed != nil || slices.Contains(paths, path) || documents > 20 {
			t.Fatalf("got no error (%v), want one naming %s", failed, path)
		}
	}
	if _, err := s.Match(t.Context(), g.Query(3)); !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(err.Error(), path) {
		t.Errorf("a question: %v, want ErrUnavailable naming %s", err, path)
	}
	s.Close()
	for range 2 {
		opened, err := Open(dir, testOptions)
		if err == nil {
			defer opened.Close()
			paths, err := opened.engine.segmentPaths()
			if err != nil || slices.Contains(paths, path) {
				t.Fatalf("opened (%v), want ErrCorrupt naming %s", err, path)
			}
			return false
		}
		if !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("opening: %v, want ErrCorrupt naming %s", err, path)
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, testOptions)
	if n := s.Stats().Documents; n != documents {
		t.Errorf("mended, it has %d documents, want %d", n, documents)
	}
	return true
}

// TestUnreadNotDamaged: a segment that cannot be opened for another reason, for example too many open files, is not considered damaged,
// and the shard continues.
func TestUnreadNotDamaged(t *testing.T) {
	dir := t.TempDir()
	g := indextest.NewGenerator(1, 3)
	s := open(t, dir, testOptions)
	if err := s.Put(t.Context(), g.Profile("l", "d", 300)); err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := 0; len(paths) < 2; i++ { // a merge in the background can join the two segments at once
		if i == 50 {
			t.Fatal(paths)
		}
		if err := s.Put(t.Context(), g.Profile("l", "e", 300)); err != nil {
			t.Fatal(err)
		}
		var err error
		if paths, err = s.engine.segmentPaths(); err != nil {
			t.Fatal(err)
		}
	}
	snapshot, err := s.engine.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var segs []segment.Segment
	for _, one := range snapshot.Segments() {
		segs = append(segs, one.Segment())
	}
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := errors.Join(os.Rename(path, path+".away"), os.Symlink(path, path)); err != nil { // ELOOP
			t.Fatal(err)
		}
	}
	for name, find := range map[string]func() error{
		"merge":  func() error { return verifySegments(segs) },
		"scrub":  func() error { return s.engine.scrubOnce(s.engine.pace) },
		"verify": func() error { return s.Verify(t.Context()) },
	} {
		if err := find(); err == nil || errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%s: %v, want an error other than ErrCorrupt", name, err)
		}
	}
	for _, path := range paths {
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Merge(t.Context()), s.engine.scrubOnce(s.engine.pace), s.Verify(t.Context())); err != nil {
		t.Error(err)
	}
	if n := s.Stats().Documents; n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
}

// TestPurgeBesideScrub: deletions remove bytes from the disk while segments are being verified, however long that takes.
func TestPurgeBesideScrub(t *testing.T) {
	g := indextest.NewGenerator(1, 3)
	s := open(t, t.TempDir(), testOptions)
	for _, id := range []concordat.DocumentID{"d", "e"} {
		if err := s.Put(t.Context(), g.Profile("l", id, 300)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "l", Document: "d"}); err != nil {
		t.Fatal(err)
	}
	purged := false
	err := s.engine.scrubOnce(func(int) error {
		if purged {
			return nil
		}
		purged = true
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		return s.Purge(ctx)
	})
	if err != nil || !purged {
		t.Errorf("purged: %v, %v", purged, err)
	}
}

// TestVerifiedAtOpening: opening a shard verifies as many segments as its byte limit allows, including small ones after a big one, and
// always the suspect one.
func TestVerifiedAtOpening(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		b := binary.BigEndian.AppendUint32(make([]byte, size), crc32.ChecksumIEEE(make([]byte, size))+1)
		path := filepath.Join(dir, storeName, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	big, small := file("1.zap", 5000), file("2.zap", 500)
	for _, c := range []struct {
		most     int64
		suspects string
		want     string
	}{
		{most: 400},
		{most: 4000, want: small},
		{most: 6000, want: big},
		{suspects: "1.zap", want: big},
		{suspects: "2.zap", want: small},
	} {
		if err := os.WriteFile(filepath.Join(dir, suspectName), []byte(c.suspects), 0o600); err != nil {
			t.Fatal(err)
		}
		err := verifyOpening(filepath.Join(dir, storeName), []string{big, small}, c.most)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestFoolishFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, testOptions); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("a folder of other things: %v, want ErrCorrupt", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "letter.txt")); err != nil {
		t.Error(err)
	}
}

// TestInterruptedCreation: what a killed first Open leaves behind counts as an empty folder.
func TestInterruptedCreation(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, testOptions).Close()
	if err := os.Rename(filepath.Join(dir, headerName), filepath.Join(dir, headerName+".tmp")); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, testOptions)
	if err := s.Put(t.Context(), indextest.NewGenerator(1, 1).Profile("l", "d", 1)); err != nil {
		t.Error(err)
	}
}

// TestBackgroundPanic: after a goroutine of Bleve has died, every further call fails immediately.
func TestBackgroundPanic(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	g := indextest.NewGenerator(1, 1)
	if err := s.Put(t.Context(), g.Profile("l", "d", 3)); err != nil {
		t.Fatal(err)
	}
	asyncError(scorch.NewScorchError("merger", "panic: test", scorch.ErrAsyncPanic), s.engine.dir)
	if err := s.Put(t.Context(), g.Profile("l", "e", 3)); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("Put: %v, want ErrUnavailable", err)
	}
	if _, err := s.Match(t.Context(), g.Query(1)); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("Match: %v, want ErrUnavailable", err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	s.Close()
	g := indextest.NewGenerator(1, 1)
	if err := s.Put(t.Context(), g.Profile("l", "d", 3)); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("Put: %v, want ErrUnavailable", err)
	}
	if _, err := s.MatchStored(t.Context(), g.Query(1)); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("MatchStored: %v, want ErrUnavailable", err)
	}
}
