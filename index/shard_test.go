package index

import (
	"context"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/internal/indextest"
)

var testOptions = Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme}

// open opens a shard and closes it when the test ends.
func open(t testing.TB, dir string, o Options) *Shard {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stored queries a shard through MatchStored.
type stored struct{ *Shard }

func (s stored) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	return s.MatchStored(ctx, q)
}

func TestContract(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Open: func(t *testing.T) concordat.Index { return open(t, t.TempDir(), testOptions) },
		Reopen: func(t *testing.T, x concordat.Index) concordat.Index {
			s := x.(*Shard)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, s.dir, testOptions)
		},
		Disturb: func(t *testing.T, x concordat.Index) {
			s := x.(*Shard)
			if s.Stats().Sentences%2 == 0 {
				if err := s.Merge(t.Context()); err != nil {
					t.Fatal(err)
				}
				return
			}
			s.state.mu.Lock()
			s.state.scanned = 2 * levelCost // the next query builds a level
			s.state.mu.Unlock()
		},
		Also: func(x concordat.Index) concordat.Matcher { return stored{x.(*Shard)} },
	})
}

// TestRebuilding runs the contract while levels are rebuilt constantly.
func TestRebuilding(t *testing.T) {
	indextest.Run(t, indextest.Subject{
		Open: func(t *testing.T) concordat.Index {
			s := open(t, t.TempDir(), testOptions)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-stop:
						return
					case <-tick.C:
						s.state.consolidate()
					}
				}
			}()
			t.Cleanup(func() {
				close(stop)
				<-stopped
			})
			return s
		},
	})
}

// TestChurn replaces and deletes documents many times. Memory contains little more than the live documents.
func TestChurn(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	g := indextest.NewGenerator(6, 100)
	for round := range 12 {
		var ps []*concordat.Profile
		for i := range 20 {
			ps = append(ps, g.Profile("l", concordat.DocumentID(fmt.Sprint(i)), 100))
		}
		if err := s.Put(t.Context(), ps...); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 {
			if _, err := s.Match(t.Context(), g.Query(3)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Match(t.Context(), g.Query(3)); err != nil {
		t.Fatal(err)
	}
	if s.state.waste > maxFresh+4000 || len(s.state.view.docs) > 120 {
		t.Errorf("%d dead sentences, %d documents kept of 20", s.state.waste, len(s.state.view.docs))
	}
	if n, sum := s.state.countWaste(), s.state.waste; n != sum {
		t.Errorf("%d dead sentences counted, %d there", sum, n)
	}
	s.state.consolidate()
	if s.state.waste != 0 || len(s.state.view.docs) != 20 || s.state.sentences != 2000 {
		t.Errorf("after a rebuild: %d dead sentences, %d documents, %d sentences", s.state.waste, len(s.state.view.docs), s.state.sentences)
	}
}
