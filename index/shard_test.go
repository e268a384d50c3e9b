package index

import (
	"context"
	"testing"

	"concordat"
	"concordat/internal/indextest"
)

var testOptions = Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme}

// open opens a shard that is closed when the test ends.
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

// stored asks a shard by MatchStored.
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
			s.mu.Lock()
			s.scanned = 2 * levelCost // the next query builds a level
			s.mu.Unlock()
		},
		Also: func(x concordat.Index) concordat.Matcher { return stored{x.(*Shard)} },
	})
}
