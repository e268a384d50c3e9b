package cluster

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/cluster/wal"
	"concordat/index"
)

func sample() *concordat.Profile {
	return &concordat.Profile{
		Scheme:   "s@1",
		Document: concordat.Document{Library: "lib", ID: "id\x00x", Title: "T", Added: time.Unix(1700000000, 12345).UTC(), Text: "one two three"},
		Indexed: []concordat.Sentence{
			{Span: concordat.Span{Start: 0, End: 3}, Fingerprint: concordat.FingerprintFromHalves(1, 2), Section: -1},
			{Span: concordat.Span{Start: 4, End: 13}, Fingerprint: concordat.FingerprintFromHalves(1<<36-1, 1<<63), Section: -1},
		},
		Terms: []concordat.TermCount{{Term: 3, Count: 1}, {Term: 1 << 31, Count: 70000}},
	}
}

// meant returns a sample with known cells.
func meant(cells ...concordat.Cell) *concordat.Profile {
	p := sample()
	p.Cells = append([]concordat.Cell{}, cells...)
	return p
}

// TestChangeVersions: a document without cells has the same encoding as before cells existed, and cells only add bytes.
func TestChangeVersions(t *testing.T) {
	plain, with := appendProfile(nil, sample()), appendProfile(nil, meant(5, 300))
	want := append(append([]byte{2}, plain[1:]...), 2, 5, 0xa7, 0x02)
	if plain[0] != 1 || !bytes.Equal(with, want) {
		t.Errorf("got %x, want %x", with, want)
	}
}

func TestChange(t *testing.T) {
	for _, want := range []index.Change{
		{Put: sample()},
		{Put: &concordat.Profile{Scheme: "s@1", Document: concordat.Document{Library: "l", ID: "d", Added: time.Time{}}}},
		{Put: meant(1, 2<<20, concordat.Cells-1)},
		{Put: meant()},
		{Put: &concordat.Profile{Scheme: "s@1", Document: concordat.Document{Library: "l", ID: "d", Added: time.Time{}},
			Terms: []concordat.TermCount{{Term: 1, Count: 1}, {Term: 2, Count: 1}, {Term: 3, Count: 1}}}}, // in as few bytes as possible
		{Delete: concordat.Ref{Site: "here", Library: "l", Document: "d"}},
	} {
		r, err := record(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := change(&r, "here")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, ok, err := change(&wal.Record{Kind: wal.Noop}, "here"); ok || err != nil {
		t.Error(ok, err)
	}
	for _, bad := range []wal.Record{{Kind: wal.Put, ID: "l\x00d"}, {Kind: wal.Put, ID: "ld"}, {Kind: 77, ID: "l\x00d"}} {
		if _, _, err := change(&bad, "here"); err == nil {
			t.Errorf("%+v was read", bad)
		}
	}
}

// TestSlot fixes the placement, which must never change.
func TestSlot(t *testing.T) {
	if a, b := Slot("papers", "a"), Slot("papers", "b"); a != 126 || b != 186 {
		t.Errorf("got %d and %d", a, b)
	}
	seen := map[int]int{}
	for slot := range 256 {
		seen[ShardOf(uint8(slot), 8)]++
	}
	if len(seen) != 8 || seen[0] != 32 || seen[7] != 32 {
		t.Errorf("got %v", seen)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add(appendProfile(nil, sample()))
	f.Add(appendProfile(nil, meant(5, 300)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parseProfile(b)
		if !ok {
			return
		}
		again, ok := parseProfile(appendProfile(nil, p))
		if !ok || !cmp.Equal(p, again) {
			t.Errorf("%x reads as %+v and then as %+v", b, p, again)
		}
		if c := appendProfile(nil, p); !bytes.Equal(c, appendProfile(nil, again)) {
			t.Errorf("%x", b)
		}
	})
}
