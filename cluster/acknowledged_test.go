package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"concordat"
)

// slowNotes is a catalogue that fails as the script says, call by call, and then records.
type slowNotes struct {
	mu     sync.Mutex
	script []error
	calls  int
	kept   map[concordat.ShardID]Position
}

func (s *slowNotes) Note(_ context.Context, _ string, at map[concordat.ShardID]Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if len(s.script) > 0 {
		err := s.script[0]
		s.script = s.script[1:]
		return err
	}
	for id, p := range at {
		s.kept[id] = p
	}
	return nil
}

func (s *slowNotes) Noted(context.Context, string) (map[concordat.ShardID]Position, error) {
	return s.kept, nil
}

// TestNotesTakeLong: a completed write is not refused because the catalogue was slow once or twice while its caller waits. It is refused
// the third time, and at once if the catalogue fails in another way or its caller has gone.
func TestNotesTakeLong(t *testing.T) {
	late := fmt.Errorf("note what was acknowledged: %w", context.DeadlineExceeded)
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		script []error
		gone   bool
		want   error
		calls  int
	}{
		{"on time", nil, false, nil, 1},
		{"late once", []error{late}, false, nil, 2},
		{"late twice", []error{late, late}, false, nil, 3},
		{"late three times", []error{late, late, late}, false, context.DeadlineExceeded, 3},
		{"broken", []error{broken}, false, broken, 1},
		{"late, and the caller has gone", []error{late, late}, true, context.Canceled, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wg sync.WaitGroup
			kept := &slowNotes{script: c.script, kept: map[concordat.ShardID]Position{}}
			n := notes{kept: kept, ctx: t.Context(), wg: &wg}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.gone {
				cancel()
			}
			err := n.note(ctx, "01", Position{Epoch: 1, Seq: 7})
			wg.Wait()
			if c.gone && errors.Is(err, context.DeadlineExceeded) { // both were true
				err = context.Canceled
			}
			if !errors.Is(err, c.want) || err != nil && !errors.Is(err, concordat.ErrUnavailable) && !c.gone {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if want := (Position{Epoch: 1, Seq: 7}); kept.calls != c.calls || c.want == nil && kept.kept["01"] != want {
				t.Errorf("%d calls, %v recorded; want %d calls", kept.calls, kept.kept, c.calls)
			}
		})
	}
}
