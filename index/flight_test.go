package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// TestFlights asks the same questions together and one by one, of a shard with several levels, fresh sentences and deleted documents, and
// expects the same answers.
func TestFlights(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	r := rand.New(rand.NewPCG(12, 1))
	var all []concordat.Fingerprint
	put := func(round, documents int) {
		var ps []*concordat.Profile
		for d := range documents {
			p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{Library: "l",
				ID: concordat.DocumentID(fmt.Sprint(round, "-", d))}}
			for range 50 {
				f := randomFingerprint(r)
				if len(all) > 0 && r.IntN(4) == 0 {
					f = all[r.IntN(len(all))] // the same fingerprint again
				}
				all = append(all, f)
				p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: f})
			}
			ps = append(ps, p)
		}
		if err := s.Put(t.Context(), ps...); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 80)
	s.state.consolidate()
	put(1, 10)
	s.state.mu.Lock()
	v := s.state.view
	s.state.mu.Unlock()
	s.state.building.Lock()
	s.state.rebuild(v, false) // a second level
	s.state.building.Unlock()
	put(2, 3)
	put(0, 5) // documents of round 0 are replaced
	if n := len(s.state.view.levels); n != 2 || len(s.state.view.fresh) == 0 {
		t.Fatalf("%d levels and %d fresh sentences, want 2 and some", n, len(s.state.view.fresh))
	}
	var asked []concordat.Fingerprint
	for i := range 16*7 + 5 {
		f := randomFingerprint(r)
		if i%3 > 0 {
			f = all[r.IntN(len(all))]
			bit := r.IntN(concordat.Bits)
			f[bit/60] ^= 1 << (bit % 60)
		}
		asked = append(asked, f)
	}
	for _, n := range []int{0, 1, 15, 16, 17, len(asked)} {
		for _, probe := range benchProbes {
			q := concordat.Query{Scheme: testOptions.Scheme, Fingerprints: asked[:n], MaxDistance: 20, Probe: probe}
			got, err := s.Match(t.Context(), &q)
			if err != nil {
				t.Fatal(err)
			}
			var want []concordat.Match
			for i := range n {
				q.Fingerprints = asked[i : i+1]
				a, err := s.Match(t.Context(), &q)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range a.Matches {
					m.Sentence = i
					want = append(want, m)
				}
			}
			if n > 3 && len(want) == 0 {
				t.Error("nothing found")
			}
			if d := cmp.Diff(want, got.Matches); d != "" {
				t.Errorf("%d questions, probe %v (-one by one +together):\n%s", n, probe, d)
			}
		}
	}
}

// TestFlightsBounded: a look-up's memory does not grow with the number of questions in a query, so one query can cover thousands of
// documents.
func TestFlightsBounded(t *testing.T) {
	fps, occs := randomOccurrences(20_000)
	v := &view{levels: []*level{newLevel(fps, occs)}}
	for range 100 {
		v.docs = append(v.docs, &document{sentences: 200})
	}
	held := func(n int) int {
		k := &lookup{probe: concordat.ProbeExact, most: 12, cap: defaultBandCap}
		for from := 0; from < n; from += 100_000 {
			q := make([]concordat.Fingerprint, 0, 100_000)
			for i := from; i < min(n, from+100_000); i++ {
				q = append(q, fps[i%len(fps)])
			}
			m := matcher{query: &concordat.Query{Fingerprints: q, MaxDistance: 12, Limit: 1}, view: v}
			if err := m.fly(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			if len(m.matches) != len(q) {
				t.Fatalf("%d matches of %d questions", len(m.matches), len(q))
			}
		}
		size := 0
		for i := range k.flights {
			size += cap(k.flights[i].out) + cap(k.flights[i].spans)
		}
		return size
	}
	few, many := held(2_000), held(300_000)
	if many > 2*few {
		t.Errorf("buffers hold %d after 300,000 questions, %d after 2,000", many, few)
	}
}
