package align

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"concordat"
	"concordat/internal/cputime"
)

const (
	essay = `The motion of the tides was long held to be a matter of the moon alone. Careful records at
Brest, kept for more than a century, show how wind and pressure shift the height of a single tide by
half a metre. When the harbour engineers compared their tables with these records, they found that the
largest errors came in winter, during the passage of deep depressions from the west. A table that
ignores the weather is therefore correct on average and wrong whenever it matters.`
	before = `This paper deals with something else at first. Many readers will know the old harbour
museum and its collection of brass instruments. `
	behind = ` Nothing that follows has been taken from anywhere. The museum closes at five o'clock on
weekdays, and visitors are asked to leave their umbrellas at the door.`
	other = `Bread has been baked in village ovens since the early middle ages. Each family kept its own
sourdough and brought the loaves to the baker on Saturday morning, marked with a wooden stamp. The
baker's share was one loaf in twenty, and disputes about it fill the court rolls.`
	chinese = `潮汐的涨落长期以来被认为只与月球有关。布列斯特港一百多年的观测记录表明，风和气压可以使一次潮汐的高度改变半米。
港口工程师把潮汐表与这些记录比较之后发现，最大的误差出现在冬季，也就是低气压从西面经过的时候。`
)

func only(t *testing.T, ps []Passage) Passage {
	t.Helper()
	if len(ps) != 1 {
		t.Fatalf("got %d passages, want 1: %+v", len(ps), ps)
	}
	return ps[0]
}

func TestVerbatim(t *testing.T) {
	for _, text := range []string{essay, chinese} {
		a, b := before+text+behind, other+"\n\n"+text+"\n\n"+other
		for _, o := range []Options{{}, {VerbatimReplaces: true, VerbatimChars: 100, VerbatimWords: 10}} {
			p := only(t, Pair(Prepare(a), Prepare(b), o))
			want := text
			if got := p.A.In(a); got != want {
				t.Errorf("A: got %q, want %q", got, want)
			}
			if got := p.B.In(b); got != want {
				t.Errorf("B: got %q, want %q", got, want)
			}
			if p.Kind != concordat.KindVerbatim || p.Similarity != 1 {
				t.Errorf("got %s %v, want verbatim 1", p.Kind, p.Similarity)
			}
			if len(p.Words) != 1 || p.Words[0].Span.Len() < p.A.Len()-3 || p.Words[0].Source.Len() < p.B.Len()-3 {
				t.Errorf("words %v, want the whole passage", p.Words)
			}
		}
	}
}

func TestOneCopiedSentence(t *testing.T) {
	const sentence = "wind and pressure shift the height of a single tide by half a metre"
	a := before + "It is known how " + sentence + "." + behind
	p := only(t, Pair(Prepare(a), Prepare(essay), Options{}))
	if got := p.A.In(a); !strings.Contains(got, sentence) || len(got) > len(sentence)+20 {
		t.Errorf("got %q, want about %q", got, sentence)
	}
}

func TestReworded(t *testing.T) {
	a := before + `For a long time the motion of tides was held to be the work of the moon alone. Careful
records kept at Brest for over a century show that wind and air pressure shift the height of one tide
by half a metre. The harbour engineers compared their tables with the records and found the largest
errors in winter, when deep depressions pass from the west. So a table ignoring the weather is correct
on average, and wrong when it matters.` + behind
	p := only(t, Pair(Prepare(a), Prepare(essay), Options{}))
	if got := p.A.In(a); !strings.HasPrefix(got, "For a long time") || !strings.HasSuffix(got, "when it matters.") {
		t.Errorf("got %q", got)
	}
	if p.Kind != concordat.KindParaphrase && p.Kind != concordat.KindNear {
		t.Errorf("got kind %s", p.Kind)
	}
}

func TestUnrelated(t *testing.T) {
	for _, ab := range [][2]string{{essay, other}, {before + behind, other}, {essay, ""}, {"", essay}, {"", ""}, {"。。!?", " \n"}} {
		if ps := Pair(Prepare(ab[0]), Prepare(ab[1]), Options{}); len(ps) != 0 {
			t.Errorf("got %+v, want nothing", ps)
		}
	}
}

// words returns a text of n random words from a vocabulary of the given size.
func words(r *rand.Rand, n, vocabulary int) string {
	var b strings.Builder
	for i := range n {
		w := r.IntN(vocabulary)
		for k := 0; k < 2+w%4; k++ {
			b.WriteByte(byte('a' + (w*7+k*k*11+w/26*3)%26))
		}
		if i%12 == 11 {
			b.WriteByte('.')
		}
		b.WriteByte(" \n"[r.IntN(2)])
	}
	return b.String()
}

func TestDeterministicAndInBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		a, b := words(r, r.IntN(600), 5+r.IntN(300)), words(r, r.IntN(600), 5+r.IntN(300))
		ta, tb := Prepare(a), Prepare(b)
		first := Pair(ta, tb, Options{})
		if again := Pair(Prepare(a), Prepare(b), Options{}); !reflect.DeepEqual(first, again) {
			t.Fatal("two runs differ")
		}
		last := 0
		for _, p := range first {
			if p.A.Start < last || p.A.Len() <= 0 || p.B.Len() <= 0 || p.A.End > len(a) || p.B.End > len(b) || p.B.Start < 0 {
				t.Fatalf("passage out of order or range: %+v", p)
			}
			last = p.A.Start
			for _, w := range p.Words {
				if !strings.EqualFold(strings.Join(strings.Fields(w.Span.In(a)), " "), strings.Join(strings.Fields(w.Source.In(b)), " ")) &&
					strings.Join(split(w.Span.In(a)), " ") != strings.Join(split(w.Source.In(b)), " ") {
					t.Fatalf("unequal words %q and %q", w.Span.In(a), w.Source.In(b))
				}
			}
		}
	}
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// TestAdversarial: texts designed to be expensive cost about as much as plain text of the same size.
func TestAdversarial(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sentence := "The quick brown fox jumps over the lazy dog near the quiet river bank. "
	second := "Every harbour keeps a table of the tides for the year to come, and errs. "
	cost := func(text string) (time.Duration, []Passage) {
		start := cputime.Used()
		p := Prepare(text)
		ps := Pair(p, p, Options{})
		return cputime.Used() - start, ps
	}
	plain, _ := cost(words(r, 50000, 20000))
	for name, text := range map[string]string{
		"one sentence":     strings.Repeat(sentence, 4000),
		"two sentences":    strings.Repeat(sentence+second, 2000),
		"one word":         strings.Repeat("word ", 60000),
		"small vocabulary": words(r, 50000, 8),
		"random words":     words(r, 50000, 2000),
		"no sentences":     strings.Repeat("x", 300000),
		"clauses":          strings.Repeat("a, ", 100000),
		"numbers":          strings.Repeat("1 2 3 4 5. ", 20000),
	} {
		if testing.Short() {
			text = text[:len(text)/8]
		}
		took, ps := cost(text)
		if limit := 40*plain + time.Second; took > limit {
			t.Errorf("%s: %v for %d bytes, a plain text takes %v", name, took, len(text), plain)
		}
		if name == "two sentences" && len(ps) == 0 {
			t.Errorf("%s: a text was not found in itself", name)
		}
	}
}

// TestManyQuotations: with thousands of quotations between the writer's own words, the cost stays linear and the quotations are
// separated.
func TestManyQuotations(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	var a, b strings.Builder
	const n = 2000
	for range n {
		quoted := words(r, 12, 5000)
		own := strings.ReplaceAll(words(r, 12, 5000), " ", "9 ")
		a.WriteString(quoted + strings.ReplaceAll(own, "\n", "9\n"))
		b.WriteString(quoted)
	}
	start := cputime.Used()
	ps := Pair(Prepare(a.String()), Prepare(b.String()), Options{})
	if took := cputime.Used() - start; took > 20*time.Second {
		t.Errorf("%v for %d quotations", took, n)
	}
	if len(ps) < n*9/10 {
		t.Errorf("got %d passages, want about %d", len(ps), n)
	}
}

// lcs returns the length of the longest common subsequence, computed by the textbook algorithm.
func lcs(a, b []token) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			up := row[j+1]
			if a[i].hash == b[j].hash {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], up)
			}
			diagonal = up
		}
	}
	return row[len(b)]
}

func TestMyersIsLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		a, _ := tokens(words(r, r.IntN(60), 2+r.IntN(20)))
		b, _ := tokens(words(r, r.IntN(60), 2+r.IntN(20)))
		n, li, lj := 0, int32(-1), int32(-1)
		myers(a, b, func(i, j int32) {
			if i <= li || j <= lj || a[i].hash != b[j].hash {
				t.Fatalf("pair %d %d after %d %d", i, j, li, lj)
			}
			li, lj = i, j
			n++
		})
		if want := lcs(a, b); n != want {
			t.Fatalf("got %d pairs, want %d", n, want)
		}
	}
}

func TestDiffIncreases(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		a, b := words(r, r.IntN(80), 40), words(r, r.IntN(80), 40)
		last := concordat.SpanPair{}
		for _, p := range Diff(a, b) {
			if p.Span.Start < last.Span.End || p.Source.Start < last.Source.End {
				t.Fatalf("%v after %v", p, last)
			}
			last = p
		}
	}
	if got := Diff("one two three four", "One, two or four."); len(got) != 2 || got[0].Span != (concordat.Span{Start: 0, End: 7}) {
		t.Errorf("got %v", got)
	}
}

func FuzzPair(f *testing.F) {
	f.Add(before+essay, essay+other)
	f.Add(chinese, chinese+essay)
	f.Add("a. b. c.", "\xff\xfe a. b")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, p := range Pair(Prepare(a), Prepare(b), Options{}) {
			_, _ = p.A.In(a), p.B.In(b)
		}
		Diff(a, b)
	})
}

func BenchmarkPair(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 9))
	x := words(r, 3000, 2000)
	y := words(r, 1400, 2000) + x[:len(x)/10] + words(r, 1300, 2000)
	b.Run("prepare", func(b *testing.B) {
		b.SetBytes(int64(len(x)))
		b.ReportAllocs()
		start := cputime.Used()
		for b.Loop() {
			Prepare(x)
		}
		cputime.Report(b, start, b.N, "op")
	})
	p, q := Prepare(x), Prepare(y)
	b.Run("pair", func(b *testing.B) {
		b.ReportAllocs()
		start := cputime.Used()
		for b.Loop() {
			Pair(p, q, Options{})
		}
		cputime.Report(b, start, b.N, "op")
	})
}

// TestEnds: a passage begins and ends with a word that has a counterpart; a neighbouring sentence that repeats its words is not part of
// it, on either side.
func TestEnds(t *testing.T) {
	const reworded = `For a long time the motion of tides was held to be the work of the moon alone. Careful
records kept at Brest for over a century show that wind and air pressure shift the height of one tide
by half a metre. The harbour engineers compared their tables with the records and found the largest
errors in winter, when deep depressions pass from the west. So a table ignoring the weather is correct
on average, and wrong when it matters.`
	for name, c := range map[string]struct{ before, behind string }{
		"behind": {"", " Whether a table is correct on average or ignores the weather is a matter of taste, " +
			"as the museum explains to visitors."},
		"before": {"Whoever asks a sailor about the moon hears of motion, of work and of a long time alone, " +
			"as the museum explains to visitors. ", ""},
	} {
		a := before + c.before + reworded + c.behind + behind
		p := only(t, Pair(Prepare(a), Prepare(essay), Options{}))
		if got := p.A.In(a); got != reworded {
			t.Errorf("%s: got %q", name, got)
		}
		p = only(t, Pair(Prepare(essay), Prepare(a), Options{}))
		if got := p.B.In(a); !strings.Contains(reworded, got) || len(got) < len(reworded)-20 {
			t.Errorf("%s, on the other side: got %q", name, got)
		}
	}
}
