package index

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"concordat"
)

func writeBytes(dir string, b []byte) error {
	return os.WriteFile(filepath.Join(dir, headerName), b, 0o600)
}

// skewedOccurrences returns n sentences, some in very large groups and buckets.
func skewedOccurrences(seed uint64, n int) ([]concordat.Fingerprint, []occurrence) {
	r := rand.New(rand.NewPCG(seed, 5))
	roots := make([]concordat.Fingerprint, 8)
	for i := range roots {
		roots[i] = randomFingerprint(r)
	}
	fps, occs := make([]concordat.Fingerprint, n), make([]occurrence, n)
	for i := range fps {
		fps[i] = randomFingerprint(r)
		if r.IntN(2) == 0 {
			f := roots[r.IntN(len(roots))]
			for range r.IntN(8) {
				nibble := r.IntN(concordat.Nibbles)
				f[nibble/15] ^= uint64(1+r.IntN(15)) << (4 * (nibble % 15))
			}
			fps[i] = f
		}
		occs[i] = occurrence{uint32(i / 10), uint32(i % 10)}
	}
	return fps, occs
}

// TestTable compares look-ups in a level with a comparison of all entries.
func TestTable(t *testing.T) {
	sizes, queries := []int{0, 1, 300, 6000}, 60
	if testing.Short() {
		sizes[3], queries = 1500, 6
	}
	for _, n := range sizes {
		fps, occs := skewedOccurrences(uint64(n), n)
		l := newLevel(fps, occs)
		if got := l.sentences; got != n {
			t.Fatalf("%d occurrences, want %d", got, n)
		}
		held := 0
		var all []concordat.Fingerprint // by entry, to compare the level's look-ups with a full scan
		for e, f := range l.all() {
			if int(e) != len(all) {
				t.Fatalf("entry %d after %d", e, len(all))
			}
			all = append(all, f)
			for _, o := range l.occs(e) {
				held++
				if fps[o.doc*10+o.ordinal] != f {
					t.Fatalf("entry %d holds a sentence of another fingerprint", e)
				}
			}
		}
		if held != n {
			t.Fatalf("entries hold %d sentences, want %d", held, n)
		}
		r := rand.New(rand.NewPCG(9, 9))
		for i := range queries {
			q := randomFingerprint(r)
			if n > 0 && i%2 == 0 {
				q = fps[r.IntN(n)]
			}
			for _, p := range benchProbes {
				for _, most := range []int{0, 9, 27, 100} {
					checkLookup(t, l, all, q, p, most, 0)
				}
				for _, hashes := range []int{1, 8, 14, 25} {
					checkLookup(t, l, all, q, p, 100, hashes)
				}
			}
		}
	}
}

// checkLookup compares a look-up with the near fingerprints in all, which holds them by entry.
func checkLookup(t *testing.T, l *level, all []concordat.Fingerprint, q concordat.Fingerprint, p concordat.Probe, most, hashes int) {
	t.Helper()
	k := &lookup{probe: p, most: most, hashes: hashes, cap: 1 << 30}
	k.search(l, q, 0)
	k.resolve(k.out, []*level{l})
	type row struct {
		entry    uint32
		distance int
		fp       concordat.Fingerprint
	}
	var got, want []row
	for _, f := range k.out {
		got = append(got, row{f.entry, f.distance, f.fp})
	}
	for e, f := range all {
		if d := q.Distance(f); d <= most && (hashes == 0 || q.NibbleDistance(f) <= hashes) && reaches(p, q, f) {
			want = append(want, row{uint32(e), d, f})
		}
	}
	byEntry := func(a, b row) int { return cmp.Compare(a.entry, b.entry) }
	slices.SortFunc(got, byEntry)
	slices.SortFunc(want, byEntry)
	if !slices.Equal(got, want) {
		t.Fatalf("probe %v, %d bits, %d hashes: %d entries, want %d", p, most, hashes, len(got), len(want))
	}
	if k.capped != 0 {
		t.Errorf("%d look-ups capped without a cap", k.capped)
	}
}

// TestCap: a truncated look-up is counted, reads at most the cap, and loses nothing else.
func TestCap(t *testing.T) {
	fps, occs := skewedOccurrences(3, 6000)
	l := newLevel(fps, occs)
	for _, p := range benchProbes {
		free := &lookup{probe: p, most: 20, cap: 1 << 30}
		cut := &lookup{probe: p, most: 20, cap: 5}
		for _, q := range fps[:200] {
			free.search(l, q, 0)
			cut.search(l, q, 0)
		}
		free.resolve(free.out, []*level{l})
		cut.resolve(cut.out, []*level{l})
		if cut.capped == 0 || cut.candidates >= free.candidates || len(cut.out) >= len(free.out) {
			t.Errorf("probe %v: %d capped, %d of %d candidates, %d of %d found", p, cut.capped, cut.candidates, free.candidates, len(cut.out),
				len(free.out))
		}
		byEntry := func(a, b found) int { return cmp.Or(compareFingerprints(a.fp, b.fp), cmp.Compare(a.entry, b.entry)) }
		slices.SortFunc(free.out, byEntry)
		for _, f := range cut.out {
			if _, ok := slices.BinarySearchFunc(free.out, f, byEntry); !ok {
				t.Fatalf("probe %v: a capped look-up finds what a free one does not", p)
			}
		}
	}
}

// TestCappedAnswer: truncated look-ups are counted in Answer.Capped.
func TestCappedAnswer(t *testing.T) {
	o := testOptions
	o.BandCap = 3
	s := open(t, t.TempDir(), o)
	p := &concordat.Profile{Scheme: o.Scheme, Document: concordat.Document{Library: "l", ID: "d"}}
	for i := range uint32(10) {
		p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: concordat.FingerprintOf([concordat.Bands]uint32{7, i << 8, i << 9,
			i << 10, i << 11})})
	}
	if err := s.Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	s.state.consolidate()
	q := &concordat.Query{Scheme: o.Scheme, Fingerprints: []concordat.Fingerprint{concordat.FingerprintOf([concordat.Bands]uint32{7, 1, 2,
		3, 4})}, MaxDistance: 100}
	a, err := s.Match(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if a.Capped != 1 || len(a.Matches) != 3 {
		t.Errorf("capped %d with %d matches, want 1 with 3", a.Capped, len(a.Matches))
	}
	b, err := s.MatchStored(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if b.Capped != 0 || len(b.Matches) != 10 {
		t.Errorf("stored: capped %d with %d matches, want 0 with 10", b.Capped, len(b.Matches))
	}
}
