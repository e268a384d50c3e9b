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

// by returns the profile with cells by another definition.
func by(definition string, p *concordat.Profile) *concordat.Profile {
	p.CellsBy = definition
	return p
}

const otherDigest = "0123456789abcdef"

// TestChangeVersions: a document without cells has the same encoding as before cells existed, cells by an unknown definition have the
// same as before it was recorded, and both cells and their definition only add bytes.
func TestChangeVersions(t *testing.T) {
	plain := appendProfile(nil, sample())
	two := append(append([]byte{2}, plain[1:]...), 2, 5, 0xa7, 0x02)
	three := append([]byte{3}, two[1:]...)
	if plain[0] != 1 {
		t.Errorf("without cells: version %d", plain[0])
	}
	for _, c := range []struct {
		definition string
		want       []byte
	}{
		{index.UnknownCells, two},
		{"", append(three[:len(three):len(three)], index.PresentCells...)},
		{otherDigest, append(three[:len(three):len(three)], otherDigest...)},
	} {
		want := by(c.definition, meant(5, 300))
		b := appendProfile(nil, want)
		if !bytes.Equal(b, c.want) {
			t.Errorf("definition %q: got %x, want %x", c.definition, b, c.want)
		}
		got, ok := parseProfile(c.want)
		want.Document.Library, want.Document.ID = "", ""
		if d := cmp.Diff(want, got); !ok || d != "" {
			t.Errorf("definition %q: read %v: %s", c.definition, ok, d)
		}
	}
	for _, bad := range []string{"", otherDigest[1:], otherDigest + "0", "0123456789ABCDEF", "0123456789abcdeg"} {
		if p, ok := parseProfile(append(three[:len(three):len(three)], bad...)); ok {
			t.Errorf("digest %q is read as %+v", bad, p)
		}
	}
	if _, ok := parseProfile(append([]byte{4}, three[1:]...)); ok {
		t.Error("version 4 is read")
	}
}

// TestReadable: for programs that read only version 2, cells are written in this version, and nothing else changes.
func TestReadable(t *testing.T) {
	for _, c := range []struct {
		put     *concordat.Profile
		payload int
		want    byte
	}{
		{sample(), 2, 1},
		{meant(5), 2, 2},
		{by(otherDigest, meant(5)), 2, 2},
		{meant(), 2, 2},
		{meant(5), 3, 3},
		{by(otherDigest, meant(5)), 3, 3},
		{by(index.UnknownCells, meant(5)), 3, 2},
	} {
		before := *c.put
		ch := readable(index.Change{Put: c.put}, c.payload)
		b := appendProfile(nil, ch.Put)
		if b[0] != c.want {
			t.Errorf("%+v for version %d: written as version %d, want %d", c.put, c.payload, b[0], c.want)
		}
		if !cmp.Equal(before, *c.put) {
			t.Errorf("the caller's profile became %+v", c.put)
		}
		if p, ok := parseProfile(b); !ok || p.CellsBy != ch.Put.CellsBy {
			t.Errorf("%+v for version %d: the record is by %q, the change by %q", c.put, c.payload, p.CellsBy, ch.Put.CellsBy)
		}
	}
}

func TestChange(t *testing.T) {
	for _, want := range []index.Change{
		{Put: sample()},
		{Put: &concordat.Profile{Scheme: "s@1", Document: concordat.Document{Library: "l", ID: "d", Added: time.Time{}}}},
		{Put: meant(1, 2<<20, concordat.Cells-1)},
		{Put: meant()},
		{Put: by(otherDigest, meant(5))},
		{Put: by(index.UnknownCells, meant(5))},
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
	f.Add(appendProfile(nil, by(otherDigest, meant(5, 300))))
	f.Add(appendProfile(nil, by(index.UnknownCells, meant(5, 300))))
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
