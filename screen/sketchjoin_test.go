package screen_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/minhash"
	"concordat/screen"
)

// memory is a Space that counts, and is full after a given number of bytes.
type memory struct{ open, created, left int }

var errFull = errors.New("no room")

func (m *memory) Create() (screen.Spill, error) {
	m.open++
	m.created++
	return &memorySpill{m: m}, nil
}

type memorySpill struct {
	m *memory
	b []byte
}

func (s *memorySpill) Write(b []byte) (int, error) {
	if s.m.left -= len(b); s.m.left < 0 {
		return 0, errFull
	}
	s.b = append(s.b, b...)
	return len(b), nil
}

func (s *memorySpill) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(s.b)) {
		return 0, io.EOF
	}
	n := copy(b, s.b[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (s *memorySpill) Close() error { s.m.open--; return nil }

// TestSketchJoinIsSketchPairs compares the external join with the in-memory join, by values and by super-shingles, with and without
// values that are too common, and with much, little or no space.
func TestSketchJoinIsSketchPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	s := minhash.NewShingler(nil)
	var sketches []minhash.MinSketch
	for i, set := range library(rng, 3000) {
		if i%3 == 0 {
			set = append(set, 1, 2, 3)
		}
		sketches = append(sketches, s.Min(set, 20))
	}
	for _, o := range []screen.SketchOptions{{Threshold: 0.3}, {Threshold: 0.6, Contained: true}, {Threshold: 0.2, Common: 5000},
		{Threshold: 0.3, Super: 3}, {Threshold: 0.1, Common: 3}} {
		var want, got []screen.SketchPair
		common, err := screen.SketchPairs(sketches, o, 0, 0, func(p screen.SketchPair) bool { want = append(want, p); return true })
		if err != nil {
			t.Fatal(err)
		}
		space := &memory{left: 1 << 30}
		join := screen.SketchJoin{Options: o, Space: space, Documents: len(sketches),
			Sketch: func(i int) (minhash.MinSketch, error) { return sketches[i], nil }}
		n, err := join.Run(t.Context(), func(p screen.SketchPair) error { got = append(got, p); return nil })
		if err != nil || n.Common != common || n.Measured < len(got) || n.Noted < n.Measured || !slices.Equal(got, want) || len(want) < 100 ||
			space.open != 0 || space.created < 2 {
			t.Errorf("%+v: %d pairs, %d common, want %d, %d; %d of %d spills left: %v", o, len(got), n.Common, len(want), common, space.open,
				space.created, err)
		}
		space.left = 100_000
		if _, err := join.Run(t.Context(), func(screen.SketchPair) error { return nil }); !errors.Is(err, errFull) || space.open != 0 {
			t.Errorf("%+v: full space: %v, %d spills left", o, err, space.open)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := join.Run(ctx, func(screen.SketchPair) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: cancelled: %v", o, err)
		}
	}
}
