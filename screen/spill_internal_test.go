package screen

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

type plainSpace struct{}

func (plainSpace) Create() (Spill, error) { return &plainSpill{}, nil }

type plainSpill struct{ b []byte }

func (s *plainSpill) Write(b []byte) (int, error) { s.b = append(s.b, b...); return len(b), nil }
func (s *plainSpill) Close() error                { return nil }
func (s *plainSpill) ReadAt(b []byte, at int64) (int, error) {
	if n := copy(b, s.b[min(at, int64(len(s.b))):]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}

// TestSorter sorts with so little memory that the spills themselves must be merged.
func TestSorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{2, 10, 100_000} {
		plain, adding := newSorter(plainSpace{}, 0, false), newSorter(plainSpace{}, 0, true)
		plain.most, adding.most = most, most
		var want []sortRecord
		sums := map[uint64]uint64{}
		for range 5000 {
			r := sortRecord{rng.Uint64N(1000), rng.Uint64N(100)}
			want = append(want, r)
			sums[r.key] += r.value
			if plain.add(r.key, r.value) != nil || adding.add(r.key, r.value) != nil {
				t.Fatal("add failed")
			}
		}
		slices.SortFunc(want, compareRecords)
		var got []sortRecord
		for r := range plain.all() {
			got = append(got, r)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d in memory: %d records, want %d", most, len(got), len(want))
		}
		gotSums := map[uint64]uint64{}
		last := -1
		for r := range adding.all() {
			if int(r.key) <= last {
				t.Fatalf("key %d after %d", r.key, last)
			}
			last = int(r.key)
			gotSums[r.key] = r.value
		}
		if !maps.Equal(gotSums, sums) {
			t.Errorf("%d in memory: sums differ", most)
		}
	}
}

// TestSelfJoinParts: for any number of prints and any design, no two parts have prints with the same leading bits.
func TestSelfJoinParts(t *testing.T) {
	few := 0
	for k := 1; k <= 12; k++ {
		d, err := NewDesign(64, k, k+1)
		if err != nil {
			t.Fatal(err)
		}
		s := SelfJoin{Design: d, Bytes: selfLeast}
		parts := s.parts(maxSelfJoin)
		if parts > 1<<d.Lead() || parts&(parts-1) != 0 {
			t.Errorf("k %d: %d parts of tables by %d bits", k, parts, d.Lead())
		}
		if parts < maxParts {
			few++
		}
	}
	if few == 0 {
		t.Error("no design was bounded")
	}
}
