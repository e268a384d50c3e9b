package wire_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"concordat"
	"concordat/federation/wire"
)

func TestPadded(t *testing.T) {
	for n, want := range map[int]int{1: 64, 64: 64, 65: 80, 81: 96, 113: 128, 128: 128, 129: 160, 200: 224, 225: 256,
		1100: 1280, 4000: 4096, 4097: 5120, 8192: 8192} {
		if got := concordat.Padded(n); got != want {
			t.Errorf("Padded(%d) = %d, want %d", n, got, want)
		}
	}
	a := &concordat.Ask{Sentences: make([]concordat.AskedSentence, concordat.MaxAsked+1)}
	for _, n := range []int{0, concordat.MaxAsked + 1} {
		a.Sentences = a.Sentences[:n]
		if _, _, err := wire.Pad(a, [32]byte{}, nil); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%d sentences: error %v, want ErrInvalid", n, err)
		}
	}
}

// TestOrder: a key always yields the same permutation, and other keys yield different ones.
func TestOrder(t *testing.T) {
	seen := map[int]bool{}
	for k := range 50 {
		order := wire.Order([32]byte{byte(k)}, 128)
		if !slices.Equal(order, wire.Order([32]byte{byte(k)}, 128)) {
			t.Fatal("one key gives two orders")
		}
		sorted := slices.Sorted(slices.Values(order))
		for i, v := range sorted {
			if i != v {
				t.Fatalf("no permutation: %v", order)
			}
		}
		seen[order[0]*128+order[1]] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 keys give %d beginnings", len(seen))
	}
}

// TestRestore: removing the dummies from a random answer yields the answer without them.
func TestRestore(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		n := 1 + r.IntN(100)
		order := wire.Order([32]byte{byte(seed)}, concordat.Padded(n))
		place := make([]int, len(order))
		for p, i := range order {
			place[i] = p
		}
		want := concordat.SiteAnswer{Libraries: make([]concordat.LibraryAnswer, 2)}
		for l := range want.Libraries {
			want.Libraries[l].LeftSentences = r.IntN(100)
		}
		got := concordat.SiteAnswer{Libraries: slices.Clone(want.Libraries)}
		inLibrary := [2]map[int]bool{{}, {}}
		chance := [2]map[int]bool{{}, {}}
		for d := range r.IntN(6) {
			document := concordat.DocumentAnswer{Handle: concordat.Handle{byte(d)}, Library: r.IntN(2)}
			genuine, dummies := r.IntN(4), r.IntN(3)
			if n == len(order) {
				dummies = 0
			}
			if genuine+dummies == 0 {
				continue
			}
			l := document.Library
			sentences, dummy := map[int]bool{}, map[int]bool{}
			for range genuine {
				i := r.IntN(n)
				h := concordat.Hit{Sentence: i, Document: len(want.Documents), Ordinal: r.IntN(1 << 20), Closeness: concordat.Closeness(r.IntN(3))}
				want.Hits = append(want.Hits, h)
				h.Sentence, h.Document = place[i], len(got.Documents)
				got.Hits = append(got.Hits, h)
				sentences[i], inLibrary[l][i] = true, true
			}
			for range dummies {
				i := n + r.IntN(len(order)-n)
				got.Hits = append(got.Hits, concordat.Hit{Sentence: place[i], Document: len(got.Documents), Ordinal: r.IntN(1 << 20)})
				dummy[i], chance[l][i] = true, true
			}
			document.Matches = len(sentences) + len(dummy)
			got.Documents = append(got.Documents, document)
			got.Libraries[l].Documents++
			if document.Matches = len(sentences); document.Matches > 0 {
				want.Documents = append(want.Documents, document)
				want.Libraries[l].Documents++
			}
		}
		for l := range want.Libraries {
			want.Libraries[l].Sentences = len(inLibrary[l])
			got.Libraries[l].Sentences = len(inLibrary[l]) + len(chance[l])
			want.Libraries[l].Exists, got.Libraries[l].Exists = want.Libraries[l].Documents > 0, got.Libraries[l].Documents > 0
		}
		r.Shuffle(len(got.Hits), func(i, j int) { got.Hits[i], got.Hits[j] = got.Hits[j], got.Hits[i] })
		if err := wire.Restore(&got, order, n); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want.Hits, func(a, b concordat.Hit) int {
			for _, d := range []int{a.Sentence - b.Sentence, int(b.Closeness) - int(a.Closeness), a.Document - b.Document, a.Ordinal - b.Ordinal} {
				if d != 0 {
					return d
				}
			}
			return 0
		})
		if len(got.Hits) == 0 {
			got.Hits = nil
		}
		if len(got.Documents) == 0 {
			got.Documents = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got %+v\nwant %+v", seed, got, want)
		}
	}
	bad := concordat.SiteAnswer{Libraries: make([]concordat.LibraryAnswer, 1), Documents: make([]concordat.DocumentAnswer, 1),
		Hits: []concordat.Hit{{Sentence: 64}}}
	if err := wire.Restore(&bad, wire.Order([32]byte{}, 64), 3); !errors.Is(err, wire.ErrFormat) {
		t.Errorf("a sentence that was not asked: error %v, want ErrFormat", err)
	}
}
