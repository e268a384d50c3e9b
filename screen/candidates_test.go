package screen_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"concordat"
	"concordat/internal/cputime"
	"concordat/profile"
	"concordat/screen"
	"concordat/segment"
)

func randomPrint(rng *rand.Rand) concordat.Fingerprint {
	return concordat.Fingerprint{rng.Uint64() >> 4, rng.Uint64() >> 24}
}

// near changes nibbles of f.
func near(rng *rand.Rand, f concordat.Fingerprint, nibbles int) concordat.Fingerprint {
	for range nibbles {
		n := rng.IntN(concordat.Nibbles)
		f[n/15] ^= (1 + rng.Uint64N(15)) << (4 * (n % 15))
	}
	return f
}

func printed(rng *rand.Rand, n int) []screen.Document {
	docs := make([]screen.Document, n)
	var all []concordat.Fingerprint
	for i := range docs {
		at := int32(0)
		for range rng.IntN(20) {
			f := randomPrint(rng)
			if len(all) > 0 && rng.IntN(4) == 0 {
				f = near(rng, all[rng.IntN(len(all))], rng.IntN(12))
			}
			all = append(all, f)
			p := screen.Passage{Fingerprint: f, Start: at, End: at + 100, Gate: 26}
			docs[i].Indexed = append(docs[i].Indexed, p)
			at += 120
		}
		docs[i].Characters = int(at)
	}
	return docs
}

// reaches implements the definition of the probe.
func reaches(probe concordat.Probe, f, g concordat.Fingerprint) bool {
	for b := range concordat.Bands {
		x, differing := f.Band(b)^g.Band(b), 0
		for ; x != 0; x >>= 4 {
			if x&15 != 0 {
				differing++
			}
		}
		if differing == 0 || probe == concordat.ProbeOne && differing == 1 {
			return true
		}
	}
	return false
}

func candidates(tb testing.TB, docs []screen.Document, o screen.JoinOptions) screen.Joined {
	tb.Helper()
	j, err := screen.Candidates(docs, o)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// TestCandidatesIsBruteForce compares the join with a comparison of all sentences.
func TestCandidatesIsBruteForce(t *testing.T) {
	docs := printed(rand.New(rand.NewPCG(1, 2)), 300)
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		var want [][2]int
		for a := range docs {
			for b := a + 1; b < len(docs); b++ {
				if slices.ContainsFunc(docs[a].Indexed, func(p screen.Passage) bool {
					return slices.ContainsFunc(docs[b].Indexed, func(q screen.Passage) bool {
						return p.Fingerprint.Distance(q.Fingerprint) <= 26 && reaches(probe, p.Fingerprint, q.Fingerprint)
					})
				}) {
					want = append(want, [2]int{a, b})
				}
			}
		}
		got := candidates(t, docs, screen.JoinOptions{Probe: probe})
		if !slices.Equal(got.Pairs, want) || len(want) < 100 {
			t.Errorf("probe %v: got %d pairs, want %d, at least 100", probe, len(got.Pairs), len(want))
		}
	}
}

// TestCandidatesOfCopies: more copies than Common stay connected without all their pairs.
func TestCandidatesOfCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	one := printed(rng, 1)[0]
	one.Indexed = append(one.Indexed, screen.Passage{Fingerprint: randomPrint(rng), Start: 9000, End: 9100, Gate: 26})
	docs := slices.Repeat([]screen.Document{one}, 200)
	j := candidates(t, docs, screen.JoinOptions{Common: 5})
	c := screen.NewClusters(len(docs))
	for _, p := range j.Pairs {
		c.Join(p[0], p[1])
	}
	if g := c.Groups(); len(g) != 1 || len(g[0]) != 200 || len(j.Pairs) > 1000 || j.Common == 0 {
		t.Errorf("%d groups, %d pairs, %d common", len(g), len(j.Pairs), j.Common)
	}
}

// TestJoinSideBySide: passes in any order, several at once, yield the same result as consecutive ones.
func TestJoinSideBySide(t *testing.T) {
	docs := printed(rand.New(rand.NewPCG(7, 8)), 400)
	docs = append(docs, slices.Repeat(docs[:1], 150)...) // a common fingerprint
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		o := screen.JoinOptions{Probe: probe}
		want := candidates(t, docs, o)
		j, err := screen.NewJoin(docs, o)
		if err != nil {
			t.Fatal(err)
		}
		passes := rand.Perm(j.Passes())
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for i := w; i < len(passes); i += 3 {
					if err := j.Pass(passes[i]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		got, err := j.Joined()
		if err != nil || !reflect.DeepEqual(got, want) || want.Common == 0 {
			t.Errorf("probe %v: got %d pairs, %d common, %v, want %d pairs, %d common", probe, len(got.Pairs), got.Common, err, len(want.Pairs),
				want.Common)
		}
	}
}

// TestManyPairs: a pass emits pairs before it ends, and stops if there are too many.
func TestManyPairs(t *testing.T) {
	const n = 800
	p := screen.Passage{Fingerprint: randomPrint(rand.New(rand.NewPCG(9, 9))), End: 100, Gate: 26}
	docs := slices.Repeat([]screen.Document{{Indexed: []screen.Passage{p}}}, n)
	if j := candidates(t, docs, screen.JoinOptions{Common: n}); len(j.Pairs) != n*(n-1)/2 {
		t.Errorf("%d pairs of %d documents, want each with each", len(j.Pairs), n)
	}
	if _, err := screen.Candidates(docs, screen.JoinOptions{Common: n, Most: n*(n-1)/2 - 1}); !errors.Is(err, screen.ErrMemory) {
		t.Errorf("one pair too many: %v", err)
	}
}

func TestCompare(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := func(text string, runs bool) *screen.Document {
		q, err := p.Profile(concordat.Document{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var cut *segment.Text
		if runs {
			if cut, err = segment.Split(text); err != nil {
				t.Fatal(err)
			}
		}
		d := screen.NewDocument(q, cut)
		return &d
	}
	const (
		x = "The river carried heavy logs from the northern forests down to the old harbour every spring. "
		y = "A committee of engineers measured seven bridges and found rust beneath fresh paint on four of them. "
		z = "Nobody remembered which scholar had donated the brass telescope standing beside the library window. "
	)
	for _, c := range []struct {
		a, b                  string
		resemblance, inA, inB float64
	}{
		{x + y + z, x + y + z, 1, 1, 1},
		{x, y, 0, 0, 0},
		{"", x, 0, 0, 0},
		{y, x + y + z, 0.5, 1, 0.34},
		{x + y, y + z, 0.5, 0.5, 0.5},
	} {
		for _, runs := range []bool{false, true} {
			o := screen.Compare(doc(c.a, runs), doc(c.b, runs))
			for i, v := range [][2]float64{{o.Resemblance, c.resemblance}, {o.ContainedA, c.inA}, {o.ContainedB, c.inB}} {
				if math.Abs(v[0]-v[1]) > 0.03 {
					t.Errorf("%.20q and %.20q, runs %v: measure %d is %.3f, want about %.3f", c.a, c.b, runs, i, v[0], v[1])
				}
			}
		}
	}
}

func BenchmarkCandidates(b *testing.B) {
	docs := printed(rand.New(rand.NewPCG(5, 6)), 10_000)
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		b.Run("probe="+probe.String(), func(b *testing.B) {
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				candidates(b, docs, screen.JoinOptions{Probe: probe})
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
