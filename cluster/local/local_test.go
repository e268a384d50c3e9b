package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/internal/coordtest"
)

func TestContract(t *testing.T) {
	for _, kind := range []string{"memory", "file"} {
		t.Run(kind, func(t *testing.T) {
			var h *local.Hub
			coordtest.Run(t, coordtest.Subject{
				New: func(t *testing.T) func(coord.NodeID) coordtest.Session {
					h = new(local.Hub)
					if kind == "file" {
						var err error
						if h, err = local.Open(filepath.Join(t.TempDir(), "cluster.json")); err != nil {
							t.Fatal(err)
						}
					}
					return func(node coord.NodeID) coordtest.Session {
						s, err := h.Join(node)
						if err != nil {
							t.Fatal(err)
						}
						return s
					}
				},
				Expire: func(t *testing.T, node coord.NodeID) {
					if err := h.Expire(node); err != nil {
						t.Fatal(err)
					}
				},
				Cut: func(_ *testing.T, node coord.NodeID, cut bool) { h.Cut(node, cut) },
			})
		})
	}
}

func joined(t *testing.T, path string) *local.Session {
	t.Helper()
	h, err := local.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Join("a")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReopen finds the earlier content in the file, and never hands out an incarnation twice.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.json")
	seen := map[coord.Incarnation]bool{}
	for round := range int64(3) {
		s := joined(t, path)
		v := <-s.View()
		if seen[v.Me] {
			t.Errorf("incarnation %s again", v.Me)
		}
		seen[v.Me] = true
		var err error
		st := coord.State{Epoch: uint64(round), ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
		if round == 0 {
			err = s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": st})
		} else {
			if got := v.Shards["00"]; got.Version != round-1 || got.Epoch != uint64(round-1) {
				t.Errorf("round %d: got %+v", round, got)
			}
			_, err = s.CAS(t.Context(), "00", round-1, st, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCorrupt(t *testing.T) {
	for name, content := range map[string]string{
		"cut": `{"format": 1, "shards": {"00`, "empty": "",
		"state": `{"format": 1, "shards": {"00": {"version": 1, "state": {"epoch": 1}}}}`,
	} {
		path := filepath.Join(t.TempDir(), "cluster.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := local.Open(path); !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestFolderGone: without its folder, the coordinator changes nothing and lets no one in, and a call whose context has ended does nothing.
func TestFolderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coordinator")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := local.Open(filepath.Join(dir, "cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Join("a")
	if err != nil {
		t.Fatal(err)
	}
	only := []coord.NodeID{"a"}
	st := coord.State{ISR: only, Replicas: only}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.Create(ended, map[concordat.ShardID]coord.State{"00": st}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: got %v", err)
	}
	if err := s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": st}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	st.Epoch = 7
	if _, err := s.CAS(t.Context(), "00", 0, st, ""); !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("a change that cannot be stored: got %v, want %v", err, coord.ErrUnknown)
	}
	if got, err := s.Read(t.Context(), "00"); err != nil || got.Version != 0 || got.Epoch != 0 {
		t.Errorf("afterwards: got %+v, %v", got, err)
	}
	if _, err := h.Join("b"); !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("a session that cannot be stored: got %v, want %v", err, coord.ErrUnknown)
	}
	if err := h.Expire("a"); !errors.Is(err, coord.ErrUnknown) {
		t.Errorf("an incarnation that cannot be stored: got %v, want %v", err, coord.ErrUnknown)
	}
}
