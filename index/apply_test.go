package index_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/internal/indextest"
)

func logged(t *testing.T, dir string) *index.Shard {
	t.Helper()
	s, err := index.Open(dir, index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme, Logged: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(id string, text string) index.Change {
	return index.Change{Put: &concordat.Profile{Scheme: indextest.Scheme,
		Document: concordat.Document{Library: "l", ID: concordat.DocumentID(id), Text: text}}}
}

func del(id string) index.Change {
	return index.Change{Delete: concordat.Ref{Site: indextest.Site, Library: "l", Document: concordat.DocumentID(id)}}
}

func text(t *testing.T, s *index.Shard, id string) string {
	t.Helper()
	d, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: concordat.DocumentID(id)})
	if errors.Is(err, concordat.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Text
}

func TestApply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	s := logged(t, dir)
	apply := func(seq uint64, cs ...index.Change) {
		t.Helper()
		if err := s.Apply(t.Context(), cs, index.Applied{Seq: seq, Epoch: 3}); err != nil {
			t.Fatal(err)
		}
	}
	apply(2, put("a", "one"), put("b", "one"))
	apply(6, put("a", "two"), del("a"), put("a", "three"), put("b", "two"), del("b")) // the last change counts
	apply(7)                                                                          // a record without documents
	if got := text(t, s, "a") + "/" + text(t, s, "b"); got != "three/" {
		t.Errorf("got %q", got)
	}
	if err := s.Apply(t.Context(), nil, index.Applied{Seq: 6, Epoch: 3}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("going back: %v", err)
	}
	if err := s.Put(t.Context(), put("c", "").Put); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("put: %v", err)
	}
	if err := s.Delete(t.Context(), del("a").Delete); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("delete: %v", err)
	}
	if err := s.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Persisted(); got != (index.Applied{Seq: 7, Epoch: 3}) {
		t.Errorf("persisted %+v", got)
	}
	backup := filepath.Join(t.TempDir(), "copy")
	if err := s.CopyTo(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, backup} {
		s = logged(t, d)
		if got := s.Applied(); got != (index.Applied{Seq: 7, Epoch: 3}) || s.Persisted() != got {
			t.Errorf("%s: opened at %+v, %+v", d, got, s.Persisted())
		}
		if got := text(t, s, "a"); got != "three" {
			t.Errorf("%s: got %q", d, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestApplyReads reads a document while others replace it. Each read finds it whole or not at all.
func TestApplyReads(t *testing.T) {
	s := logged(t, filepath.Join(t.TempDir(), "shard"))
	done := make(chan struct{})
	defer func() {
		<-done
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	go func() {
		defer close(done)
		for seq := uint64(1); seq <= 400; seq++ {
			c := put("a", fmt.Sprint(seq))
			if seq%3 == 0 {
				c = del("a")
			}
			if err := s.Apply(t.Context(), []index.Change{c}, index.Applied{Seq: seq}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for n := 0; ; n++ {
		_, err := s.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "a"})
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			t.Fatal(err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestApplyWithoutPersist closes a shard in the middle of many batches. It reopens at the end of one of them.
func TestApplyWithoutPersist(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	last := uint64(0)
	for range 3 {
		s := logged(t, dir)
		at := s.Applied().Seq
		for seq := at + 1; seq <= at+60; seq++ {
			if err := s.Apply(t.Context(), []index.Change{put(fmt.Sprint(seq), "x"), put("last", fmt.Sprint(seq))},
				index.Applied{Seq: seq}); err != nil {
				t.Fatal(err)
			}
		}
		persisted := s.Persisted().Seq
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = logged(t, dir)
		now := s.Applied().Seq
		if now < persisted || now < last {
			t.Errorf("opened at %d, persisted were %d and before %d", now, persisted, last)
		}
		last = now
		if n := s.Stats().Documents; now > 0 && n != int(now)+1 {
			t.Errorf("%d documents at %d", n, now)
		}
		if now > 0 && text(t, s, "last") != fmt.Sprint(now) {
			t.Errorf("at %d the last document says %q", now, text(t, s, "last"))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestApplyNeedsLog(t *testing.T) {
	s, err := index.Open(filepath.Join(t.TempDir(), "shard"), index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(context.Background(), nil, index.Applied{}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
