package stage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat/minhash"
	"concordat/screen"
	"concordat/screen/stage"
	"concordat/segment"
)

// memory is a screen.Space in memory.
type memory struct{ open int }

type spill struct {
	bytes.Buffer
	of *memory
}

func (m *memory) Create() (screen.Spill, error) { m.open++; return &spill{of: m}, nil }
func (s *spill) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.Bytes()).ReadAt(b, at)
}
func (s *spill) Close() error { s.of.open--; return nil }

type step func(in io.Reader, out io.Writer) error

// job is a map and its reduce; sum adds up counts between the two passes of a two-pass job.
type job struct {
	mapper, reducer step
	sum             bool // the reducer's output is added up and then goes through last
	last            step
}

// run divides the input into splits and the keys into parts, at random, does some of the work twice, and returns the merged output.
func (j job) run(t *testing.T, rng *rand.Rand, lines []string, splits, parts int) string {
	t.Helper()
	in := make([]string, splits)
	for _, i := range rng.Perm(len(lines)) {
		in[rng.IntN(splits)] += lines[i] + "\n"
	}
	out := j.shuffled(t, rng, j.mapper, j.reducer, in, parts, !j.sum)
	if j.sum {
		out = []string{merge(t, true, out...)}
		for i := range out {
			out[i] = do(t, j.last, out[i])
		}
	}
	return merge(t, false, out...)
}

func (j job) shuffled(t *testing.T, rng *rand.Rand, mapper, reducer step, in []string, parts int, twice bool) []string {
	t.Helper()
	between := make([]bytes.Buffer, parts)
	w := make([]io.Writer, parts)
	for i := range w {
		w[i] = &between[i]
	}
	for _, s := range in {
		mapped := do(t, mapper, s)
		for range 1 + rng.IntN(2) { // a map that ran twice
			if err := stage.Split(strings.NewReader(mapped), w); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out []string
	seen := map[string]bool{}
	for i := range between {
		reduced := do(t, reducer, merge(t, false, between[i].String()))
		for l := range strings.Lines(reduced) {
			if seen[l] && !j.sum {
				t.Fatalf("%q is written twice", l)
			}
			seen[l] = true
		}
		for range 1 + rng.IntN(2) {
			if out = append(out, reduced); !twice {
				break
			}
		}
	}
	return out
}

func do(t *testing.T, s step, in string) string {
	t.Helper()
	var out strings.Builder
	if err := s(strings.NewReader(in), &out); err != nil {
		t.Fatalf("%v in\n%.300s", err, in)
	}
	return out.String()
}

func merge(t *testing.T, sum bool, in ...string) string {
	t.Helper()
	m := &memory{}
	var r []io.Reader
	for _, s := range in {
		r = append(r, strings.NewReader(s))
	}
	var out strings.Builder
	if err := (&stage.Merge{Space: m, Bytes: 1, Sum: sum}).Run(r, &out); err != nil {
		t.Fatal(err)
	}
	if m.open != 0 {
		t.Fatalf("%d spills are left open", m.open)
	}
	return out.String()
}

// same compares the output of a job, divided at random, with the wanted lines.
func same(t *testing.T, j job, lines, want []string) {
	t.Helper()
	slices.Sort(want)
	all := strings.Join(want, "\n") + "\n"
	for n := range 4 {
		rng := rand.New(rand.NewPCG(uint64(n), 5))
		if got := j.run(t, rng, lines, 1+4*n, 1+3*n); got != all {
			t.Fatalf("%d splits, %d parts: got %d lines, want %d\n%s\nwant\n%s", 1+4*n, 1+3*n, strings.Count(got, "\n"), len(want),
				head(got), head(all))
		}
	}
}

func head(s string) string { return s[:min(len(s), 600)] }

func randomPrints(rng *rand.Rand, n int) map[string]uint64 {
	out := map[string]uint64{}
	var old []uint64
	for i := range n {
		p := rng.Uint64()
		if i > 0 && rng.IntN(3) == 0 {
			p = old[rng.IntN(len(old))]
			for range rng.IntN(6) {
				p ^= 1 << rng.IntN(64)
			}
		}
		old = append(old, p)
		out[fmt.Sprintf("d%d", i)] = p
	}
	return out
}

func TestPairs(t *testing.T) {
	prints := randomPrints(rand.New(rand.NewPCG(1, 1)), 3000)
	var lines, ids []string
	for id, p := range prints {
		lines, ids = append(lines, fmt.Sprintf("%s\t%016x", id, p)), append(ids, id)
	}
	slices.Sort(ids)
	slices.Sort(lines)
	first := map[uint64]string{}
	var want []string
	var kept []string
	for _, id := range ids {
		p := prints[id]
		if of, ok := first[p]; ok {
			want = append(want, of+"\t"+id+"\t0")
			continue
		}
		first[p] = id
		kept = append(kept, id)
	}
	for i, a := range kept {
		for _, b := range kept[i+1:] {
			if n := bits.OnesCount64(prints[a] ^ prints[b]); n <= 3 {
				want = append(want, fmt.Sprintf("%s\t%s\t%d", a, b, n))
			}
		}
	}
	if len(want) < 100 {
		t.Fatalf("only %d pairs", len(want))
	}
	for _, levels := range [][]int{{4}, {5}, {4, 4}} {
		d, err := screen.NewDesign(64, 3, levels...)
		if err != nil {
			t.Fatal(err)
		}
		same(t, job{
			mapper:  func(in io.Reader, out io.Writer) error { return stage.Buckets(in, out, d) },
			reducer: func(in io.Reader, out io.Writer) error { return stage.Pairs(in, out, d) },
		}, lines, slices.Clone(want))
	}
}

func TestNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	prints := randomPrints(rng, 2000)
	var stored, queries, want []string
	for id, p := range prints {
		line := fmt.Sprintf("%s\t%016x", id, p)
		if stored = append(stored, line); rng.IntN(10) == 0 {
			queries = append(queries, line)
			for other, q := range prints {
				if n := bits.OnesCount64(p ^ q); n <= 3 {
					want = append(want, fmt.Sprintf("%s\t%s\t%d", id, other, n))
				}
			}
		}
	}
	d, err := screen.NewDesign(64, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	same(t, job{
		mapper: func(in io.Reader, out io.Writer) error {
			return stage.Near(in, out, d, strings.NewReader(strings.Join(queries, "\n")))
		},
		reducer: func(in io.Reader, out io.Writer) error { _, err := io.Copy(out, in); return err },
	}, stored, want)
}

// randomTexts returns texts of few words, some of them edited copies.
func randomTexts(rng *rand.Rand, n, words int) (ids, texts []string) {
	vocabulary := strings.Fields("amber birch copper delta ember fjord glacier harbour island juniper kestrel lagoon meadow nettle orchid " +
		"pebble quartz rapids saffron thistle umber valley willow yarrow zephyr 水 井 的 价格 边界")
	for i := range n {
		var w []string
		for range words {
			w = append(w, vocabulary[rng.IntN(len(vocabulary))])
		}
		if i > 0 && rng.IntN(2) == 0 {
			w = strings.Fields(texts[rng.IntN(len(texts))])
			w[rng.IntN(len(w))] = vocabulary[rng.IntN(len(vocabulary))]
		}
		ids, texts = append(ids, fmt.Sprintf("t%03d", i)), append(texts, strings.Join(w, " "))
	}
	return ids, texts
}

func cut(t *testing.T, text string) *segment.Text {
	t.Helper()
	c, err := segment.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResemblance(t *testing.T) {
	ids, texts := randomTexts(rand.New(rand.NewPCG(1, 3)), 120, 60)
	s := screen.Shingling{Width: 3}
	var lines, want []string
	var sketches []minhash.MinSketch
	for i, text := range texts {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"text":%q}`, ids[i], text))
		sketches = append(sketches, minhash.NewShingler(nil).Mod(s.Append(cut(t, text), nil), 4).Unbounded())
	}
	for i, a := range sketches {
		for j, b := range sketches[:i] {
			r, inB, inA := minhash.MinEstimates(b, a)
			if r.Value() >= 0.3 {
				want = append(want, fmt.Sprintf("%s\t%s\t%v\t%v\t%v", ids[j], ids[i], r.Value(), inB.Value(), inA.Value()))
			}
		}
	}
	if len(want) < 20 {
		t.Fatalf("only %d pairs", len(want))
	}
	same(t, job{
		mapper:  func(in io.Reader, out io.Writer) error { return stage.Shingles(in, out, s, 4) },
		reducer: func(in io.Reader, out io.Writer) error { return stage.Shared(in, out, 200) },
		sum:     true,
		last:    func(in io.Reader, out io.Writer) error { return stage.Resemblance(in, out, 0.3, false) },
	}, lines, want)
}

func TestAlike(t *testing.T) {
	ids, texts := randomTexts(rand.New(rand.NewPCG(1, 4)), 300, 5)
	var lines, want []string
	var grams []screen.Grams
	for i, text := range texts {
		lines = append(lines, ids[i]+"\ta title\t"+text)
		grams = append(grams, screen.GramsOf(screen.Letters(cut(t, text))))
	}
	for i := range grams {
		for j := range grams[:i] {
			if v := grams[i].Jaccard(grams[j]); v >= 0.6 {
				want = append(want, fmt.Sprintf("%s\t%s\t%v", ids[j], ids[i], v))
			}
		}
	}
	if len(want) < 50 {
		t.Fatalf("only %d pairs", len(want))
	}
	counted := merge(t, true, do(t, stage.GramCounts, strings.Join(lines, "\n")))
	known, err := stage.ReadCounts(strings.NewReader(counted))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*stage.Counts{{}, known} {
		same(t, job{
			mapper:  func(in io.Reader, out io.Writer) error { return stage.Grams(in, out, 0.6, c) },
			reducer: func(in io.Reader, out io.Writer) error { return stage.Alike(in, out, 0.6, c) },
		}, lines, slices.Clone(want))
	}
}

func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	var in []string
	sums, lines := map[string]int{}, map[string]bool{}
	for range 5 {
		var b strings.Builder
		for range 40000 {
			key := fmt.Sprintf("key %d\t%x", rng.IntN(20000), rng.IntN(3))
			n := rng.IntN(9)
			fmt.Fprintf(&b, "%s\t%d\n", key, n)
			sums[key] += n
			lines[fmt.Sprintf("%s\t%d", key, n)] = true
		}
		in = append(in, b.String())
	}
	var once, added []string
	for l := range lines {
		once = append(once, l)
	}
	for k, n := range sums {
		added = append(added, fmt.Sprintf("%s\t%d", k, n))
	}
	slices.Sort(once)
	slices.Sort(added)
	if got := merge(t, false, in...); got != strings.Join(once, "\n")+"\n" {
		t.Errorf("merged %d lines, want %d", strings.Count(got, "\n"), len(once))
	}
	if got := merge(t, true, in...); got != strings.Join(added, "\n")+"\n" {
		t.Errorf("added up %d lines, want %d", strings.Count(got, "\n"), len(added))
	}
}

// TestFaults: invalid input to a stage is refused with its line number.
func TestFaults(t *testing.T) {
	d, _ := screen.NewDesign(64, 3, 4)
	other, _ := screen.NewDesign(64, 3, 5)
	for _, c := range []struct {
		name string
		do   step
		in   string
		line int
	}{
		{"no tab", func(in io.Reader, out io.Writer) error { return stage.Buckets(in, out, d) }, "a\t0000000000000000\nb\n", 2},
		{"no print", func(in io.Reader, out io.Writer) error { return stage.Buckets(in, out, d) }, "a\t00\n", 1},
		{"empty line", func(in io.Reader, out io.Writer) error { return stage.Buckets(in, out, d) }, "\n", 1},
		{"not sorted", func(in io.Reader, out io.Writer) error { return stage.Pairs(in, out, d) },
			"0.1\t0000000000000001\ta\n0.0\t0000000000000000\ta\n", 2},
		{"another design", func(in io.Reader, out io.Writer) error { return stage.Pairs(in, out, other) },
			"0.1234\t1234000000000001\ta\n", 1},
		{"no JSON", func(in io.Reader, out io.Writer) error { return stage.GramCounts(in, out) }, "{\"id\":\n", 1},
		{"no identifier", func(in io.Reader, out io.Writer) error { return stage.GramCounts(in, out) }, "\ttext\n", 1},
		{"another threshold", func(in io.Reader, out io.Writer) error { return stage.Alike(in, out, 0.9, &stage.Counts{}) },
			"0000000000000001\ta\tamber\n", 1},
		{"added up twice", func(in io.Reader, out io.Writer) error { return stage.Resemblance(in, out, 0.1, false) }, "a\tb\t3\t4\t5\n", 1},
	} {
		var fault *stage.InputError
		if err := c.do(strings.NewReader(c.in), io.Discard); !errors.As(err, &fault) || fault.Line != c.line {
			t.Errorf("%s: %v, want a fault of line %d", c.name, err, c.line)
		}
	}
	broken := func(in io.Reader, out io.Writer) error { return stage.Buckets(in, failing{}, d) }
	var fault *stage.InputError
	if err := broken(strings.NewReader("a\t0000000000000000\n"), nil); err == nil || errors.As(err, &fault) {
		t.Errorf("a full disk is %v, want an error that is no fault of the input", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func FuzzStages(f *testing.F) {
	for _, s := range []string{"a\t0000000000000000\n", "0.0\t0000000000000000\ta\n0.0\t0000000000000000\tb\n",
		`{"id":"a","text":"some words"}`, "a\tb\t3\t4\t2\n",
		"0000000000000001\ta\tamber\n", "0000000000000001\ta\t3\n0000000000000001\tb\t3\n", "x\ty\tone two three"} {
		f.Add([]byte(s))
	}
	d, _ := screen.NewDesign(64, 3, 4)
	f.Fuzz(func(t *testing.T, in []byte) {
		for i, s := range []step{
			func(in io.Reader, out io.Writer) error { return stage.Buckets(in, out, d) },
			func(in io.Reader, out io.Writer) error { return stage.Pairs(in, out, d) },
			func(in io.Reader, out io.Writer) error { return stage.Shingles(in, out, screen.Shingling{Width: 2}, 2) },
			func(in io.Reader, out io.Writer) error { return stage.Shared(in, out, 10) },
			func(in io.Reader, out io.Writer) error { return stage.Resemblance(in, out, 0.1, true) },
			func(in io.Reader, out io.Writer) error { return stage.Grams(in, out, 0.5, &stage.Counts{}) },
			func(in io.Reader, out io.Writer) error { return stage.Alike(in, out, 0.5, &stage.Counts{}) },
			func(in io.Reader, out io.Writer) error {
				return (&stage.Merge{Space: &memory{}}).Run([]io.Reader{in}, out)
			},
		} {
			var a, b bytes.Buffer
			errA, errB := s(bytes.NewReader(in), &a), s(bytes.NewReader(in), &b)
			if !bytes.Equal(a.Bytes(), b.Bytes()) || (errA == nil) != (errB == nil) {
				t.Errorf("stage %d writes %q, then %q", i, a.Bytes(), b.Bytes())
			}
		}
	})
}
