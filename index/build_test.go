package index

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/indextest"
)

// someProfiles returns documents of all sizes.
func someProfiles(n int) []*concordat.Profile {
	g := indextest.NewGenerator(21, 20)
	var ps []*concordat.Profile
	for i := range n {
		ps = append(ps, g.Profile(concordat.LibraryID(fmt.Sprintf("lib%d", i%3)), concordat.DocumentID(fmt.Sprint(i)), i%90))
	}
	return ps
}

// sameAnswers compares a shard with an oracle that has the same profiles.
func sameAnswers(t *testing.T, s *Shard, ps []*concordat.Profile) {
	t.Helper()
	o := &indextest.Oracle{Site: indextest.Site, Scheme: indextest.Scheme}
	if err := o.Put(t.Context(), ps...); err != nil {
		t.Fatal(err)
	}
	g := indextest.NewGenerator(21, 20)
	for range 5 {
		q := g.Query(6)
		want, err := o.Match(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []concordat.Matcher{s, stored{s}} {
			got, err := m.Match(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("(-oracle +%T):\n%s", m, diff)
			}
		}
	}
}

func TestBuild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	ps := someProfiles(200)
	if err := Build(dir, testOptions, sound(slices.Values(ps))); err != nil {
		t.Fatal(err)
	}
	if err := Build(dir, testOptions, sound(slices.Values(ps))); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("building where a shard is: %v, want ErrExists", err)
	}
	s := open(t, dir, testOptions)
	if n := s.Stats().Segments; n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
	sameAnswers(t, s, ps)
	// The built shard behaves like any other.
	if err := s.Delete(t.Context(), concordat.Ref{Site: indextest.Site, Library: "lib0", Document: "3"}); err != nil {
		t.Fatal(err)
	}
	more := someProfiles(210)[200:]
	if err := s.Put(t.Context(), more...); err != nil {
		t.Fatal(err)
	}
	ps = append(slices.Delete(ps, 3, 4), more...)
	sameAnswers(t, s, ps)
	if err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, s, ps)
	if leftovers, _ := filepath.Glob(dir + ".building*"); len(leftovers) > 0 {
		t.Errorf("left: %v", leftovers)
	}
}

func TestBuildNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	if err := Build(dir, testOptions, sound(slices.Values([]*concordat.Profile(nil)))); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, testOptions)
	if err := s.Put(t.Context(), someProfiles(3)...); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, s, someProfiles(3))
}

// sound yields profiles without errors.
func sound(ps iter.Seq[*concordat.Profile]) iter.Seq2[*concordat.Profile, error] {
	return func(yield func(*concordat.Profile, error) bool) {
		for p := range ps {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	ps := someProfiles(30)
	if err := Build(dir, testOptions, sound(slices.Values(append(ps, ps[7])))); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a document twice: %v, want ErrInvalid", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused build left a folder: %v", err)
	}
	// One error occurs among the first profiles, and one after the ones that a build examines before it starts.
	cause := errors.New("no more")
	for _, n := range []int{5, 300} {
		err := Build(dir, testOptions, func(yield func(*concordat.Profile, error) bool) {
			for _, p := range someProfiles(n) {
				if !yield(p, nil) {
					return
				}
			}
			yield(nil, cause)
		})
		if _, e := os.Stat(dir); !errors.Is(err, cause) || !errors.Is(e, os.ErrNotExist) {
			t.Errorf("an error after %d profiles: %v, folder %v", n, err, e)
		}
	}
	if err := Build(dir, testOptions, sound(slices.Values(ps))); err != nil {
		t.Errorf("after a refused build: %v", err)
	}
}

// TestFeederReuse uses small batches, so that entries are reused many times.
func TestFeederReuse(t *testing.T) {
	var a arena
	for i := range 10 {
		a.next(fmt.Sprint(i))
	}
	a.keepLast(3)
	for i, e := range a.entries[:a.used] {
		if want := fmt.Sprint(7 + i); e.id != want {
			t.Errorf("entry %d is %s, want %s", i, e.id, want)
		}
	}
	if len(a.entries) != 10 {
		t.Errorf("%d entries, want 10", len(a.entries))
	}
}

func TestCopyTo(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	ps := someProfiles(60)
	if err := s.Put(t.Context(), ps...); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // writers continue
		defer close(stopped)
		g := indextest.NewGenerator(5, 1)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Put(t.Context(), g.Profile("later", concordat.DocumentID(fmt.Sprint(i)), 3)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	dir := filepath.Join(t.TempDir(), "copy")
	err := s.CopyTo(t.Context(), dir)
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CopyTo(t.Context(), dir); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("copying onto a shard: %v, want ErrExists", err)
	}
	c := open(t, dir, Options{})
	var refs []concordat.Ref
	for d, err := range c.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Library == "later" {
			refs = append(refs, concordat.Ref{Site: indextest.Site, Library: d.Library, Document: d.ID})
		}
	}
	if err := c.Delete(t.Context(), refs...); err != nil {
		t.Fatal(err)
	}
	sameAnswers(t, c, ps)
}

func TestDocuments(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	ps := someProfiles(40)
	if err := s.Put(t.Context(), ps...); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(ps, func(a, b *concordat.Profile) int {
		x, y := a.Document, b.Document
		return slices.Compare([]string{string(x.Library), string(x.ID)}, []string{string(y.Library), string(y.ID)})
	})
	i := 0
	for d, err := range s.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&ps[i].Document, d); diff != "" {
			t.Fatalf("document %d (-put +got):\n%s", i, diff)
		}
		i++
	}
	if i != len(ps) {
		t.Errorf("%d documents, want %d", i, len(ps))
	}
	lib := ps[len(ps)-1].Document.Library
	var want, got []concordat.DocumentID
	for _, p := range ps {
		if p.Document.Library == lib {
			want = append(want, p.Document.ID)
		}
	}
	for d, err := range s.LibraryDocuments(t.Context(), lib) {
		if err != nil || d.Library != lib {
			t.Fatalf("document of library %s: %v", d.Library, err)
		}
		got = append(got, d.ID)
	}
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("library %s has %q, want %q", lib, got, want)
	}
	for range s.LibraryDocuments(t.Context(), "none") {
		t.Error("a library that is not there has a document")
	}
}
