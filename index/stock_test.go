package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
	"concordat/internal/indextest"
)

// TestStockSegments runs the contract on a shard whose segments are written alternately by Bleve and by this package, with merges of both
// kinds by either.
func TestStockSegments(t *testing.T) {
	o := testOptions
	o.StockSegments = true
	indextest.Run(t, indextest.Subject{
		Open: func(t *testing.T) concordat.Index { return open(t, t.TempDir(), o) },
		Reopen: func(t *testing.T, x concordat.Index) concordat.Index {
			s := x.(*Shard)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			o := s.opt
			o.StockSegments = !o.StockSegments
			return open(t, s.dir, o)
		},
		Disturb: func(t *testing.T, x concordat.Index) {
			if err := x.(*Shard).Merge(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		Also: func(x concordat.Index) concordat.Matcher { return stored{x.(*Shard)} },
	})
}

// TestStockSetting: the setting determines who writes new segments and who merges.
func TestStockSetting(t *testing.T) {
	sizes := map[bool][2]int64{} // before and after a merge
	for _, stock := range []bool{false, true} {
		o := testOptions
		o.StockSegments = stock
		s := open(t, t.TempDir(), o)
		g := indextest.NewGenerator(9, 1000)
		var got [2]int64
		for i := range 4 {
			if err := s.Put(t.Context(), g.Profile("l", concordat.DocumentID(fmt.Sprint(i)), 400)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range got {
			snapshot, err := s.engine.snapshot()
			if err != nil {
				t.Fatal(err)
			}
			for _, seg := range snapshot.Segments() {
				size, _, err := segmentSum(seg.Segment().(segment.PersistedSegment).Path())
				if err != nil {
					t.Fatal(err)
				}
				got[i] += size
			}
			if err := errors.Join(snapshot.Close(), s.Merge(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		sizes[stock] = got
	}
	for i, when := range []string{"new", "merged"} {
		if own, stock := sizes[false][i], sizes[true][i]; own >= stock {
			t.Errorf("%s segments: %d bytes of our own, %d with the setting", when, own, stock)
		}
	}
	o := testOptions
	o.StockSegments = true
	if err := Build(filepath.Join(t.TempDir(), "built"), o, sound(slices.Values([]*concordat.Profile{}))); !errors.Is(err,
		concordat.ErrInvalid) {
		t.Errorf("Build: %v, want ErrInvalid", err)
	}
}

// TestStockBleve kills a writing process and passes its files to another that uses only Bleve. That process opens the store, finds every
// band value implied by the fingerprints, adds, replaces, removes, merges and copies. Afterwards, both store and copy open as shards
// again.
func TestStockBleve(t *testing.T) {
	dir, copied := filepath.Join(t.TempDir(), "shard"), filepath.Join(t.TempDir(), "copy")
	c, lines := startChild(t, dir, "0")
	last := -1
	for last < 8 && lines.Scan() {
		var err error
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		last, _ = strconv.Atoi(lines.Text())
	}
	_ = c.Wait()                                                 // the process was killed, so the error is never nil
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // if Bleve's goroutines have died, it waits forever
	defer cancel()
	c = exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+dir, childRole+"=stock", childCopy+"="+copied)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("Bleve alone: %v\n%s", err, out)
	}
	t.Logf("after batch %d: %s", last, out)
	header, err := os.ReadFile(filepath.Join(dir, headerName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, headerName), header, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, copied} {
		s := open(t, d, testOptions)
		for _, id := range []concordat.DocumentID{"added", "replaced"} {
			if _, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "stock", Document: id}); err != nil {
				t.Errorf("what Bleve alone stored: %v", err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkAfterKill(t, d, last, map[int]bool{last: true, last - 1: true}, d)
	}
}

// childCopy is the environment variable that names the folder for a copy made by the child process that uses only Bleve.
const childCopy = "CONCORDAT_INDEX_COPY"

// stockChild works on a store with unmodified Bleve.
func stockChild(dir, copied string) error {
	if scorch.RegistryAsyncErrorCallbacks[asyncCallback] != nil {
		return errors.New("the plug-in is registered")
	}
	queue := bleve.NewAnalysisQueue(1)
	defer queue.Close()
	x, err := scorch.NewScorch("scorch", map[string]any{"path": filepath.Join(dir, storeName)}, queue)
	if err != nil {
		return err
	}
	s := x.(*scorch.Scorch)
	if err := s.Open(); err != nil {
		return err
	}
	check := func(when string) error {
		n, err := checkStore(s)
		fmt.Printf("%s: %d values; ", when, n)
		if err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
		return nil
	}
	err = check("as found")
	for i, work := range []func() error{
		func() error { return stockChange(s) },
		func() error { return s.ForceMerge(context.Background(), nil) },
		func() error { return s.CopyReader().CopyTo(directory{context.Background(), copied}) },
	} {
		if err == nil {
			err = work()
		}
		if err == nil {
			err = check(fmt.Sprint("step ", i))
		}
	}
	return errors.Join(err, s.Close())
}

// stockChange writes two documents, one of them twice, and deletes its first number, as Put would.
func stockChange(s *scorch.Scorch) error {
	c := new(sharedCounters)
	g := indextest.NewGenerator(77, 50)
	batch, a := bleve.NewBatch(), new(arena)
	for i, id := range []concordat.DocumentID{"added", "replaced", "replaced"} {
		a.add(uint32(1<<30+i), g.Profile("stock", id, 70), c)
		if i == 1 {
			for _, e := range a.entries[:a.used] {
				batch.Update(e)
			}
			if err := s.Batch(batch); err != nil {
				return err
			}
			batch, a = bleve.NewBatch(), new(arena)
			for b := range blockCount(70) {
				batch.Delete(blockID(1<<30+1, b))
			}
			batch.Delete(textID(1<<30 + 1))
		}
	}
	for _, e := range a.entries[:a.used] {
		batch.Update(e)
	}
	return s.Batch(batch)
}

// checkStore compares, for each band value, the blocks found by Bleve with the blocks whose stored fingerprints have the value, and
// returns the number of values.
func checkStore(s *scorch.Scorch) (values int, err error) {
	r, err := s.Reader()
	if err != nil {
		return 0, err
	}
	snapshot := r.(*scorch.IndexSnapshot)
	defer snapshot.Close()
	var want [concordat.Bands]map[string][]string // by the value's term without k
	for band := range want {
		want[band] = map[string][]string{}
	}
	err = visitStored(snapshot, func(id []byte, fields map[string][]byte) error {
		fps, err := decodeFingerprints(nil, fields[fieldFingerprints])
		for _, f := range fps {
			for band := range want {
				v := string(appendTerm(nil, f.Band(band), 0))
				want[band][v] = append(want[band][v], string(id))
			}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for band, name := range bandFields {
		got, err := holders(snapshot, name)
		if err != nil {
			return 0, err
		}
		for _, m := range []map[string][]string{got, want[band]} {
			for v := range m {
				slices.Sort(m[v])
				m[v] = slices.Compact(m[v])
			}
		}
		if !maps.EqualFunc(got, want[band], slices.Equal) {
			return 0, fmt.Errorf("band %d: the dictionary has %d values, the fingerprints %d, or other blocks", band, len(got), len(want[band]))
		}
		values += len(got)
	}
	return values, nil
}

// holders returns the identities found for each term, by the term without k.
func holders(snapshot *scorch.IndexSnapshot, field string) (map[string][]string, error) {
	dict, err := snapshot.FieldDict(field)
	if err != nil {
		return nil, err
	}
	defer dict.Close()
	out := map[string][]string{}
	for {
		e, err := dict.Next()
		if err != nil || e == nil {
			return out, err
		}
		r, err := snapshot.TermFieldReader(context.Background(), []byte(e.Term), field, true, true, false)
		if err != nil {
			return nil, err
		}
		v := e.Term[:2] + string([]byte{e.Term[2] &^ lastK})
		for {
			p, err := r.Next(nil)
			if err != nil {
				return nil, err
			}
			if p == nil {
				break
			}
			id, err := snapshot.ExternalID(p.ID)
			if err != nil {
				return nil, err
			}
			if p.Freq != 1 || p.Norm != 1 {
				return nil, fmt.Errorf("term %x of %x has frequency %d, norm %v", e.Term, id, p.Freq, p.Norm)
			}
			out[v] = append(out[v], id)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
}

// TestPinned: the modules on whose internals this package relies have the tested versions, which DESIGN.md lists. For other versions, run
// the tests listed there, then record the new versions.
func TestPinned(t *testing.T) {
	design, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(design), "## What is pinned\n\n")
	list, _, _ = strings.Cut(list, ". ")
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	pins := strings.Split(list, ", ")
	if len(pins) != 5 {
		t.Errorf("DESIGN.md pins %q", list)
	}
	for _, pin := range pins {
		name, version, _ := strings.Cut(pin, " ")
		if !regexp.MustCompile(`(?m)/` + regexp.QuoteMeta(name) + `(/v\d+)? ` + regexp.QuoteMeta(version) + `( //.*)?$`).Match(mod) {
			t.Errorf("go.mod has another version than %q", pin)
		}
	}
}
