package meaning

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

func table(t testing.TB) *Table {
	t.Helper()
	tb, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// samples are the sentences of the golden file.
var samples = []string{
	"Parliament raised the taxes on tea in 1767.",
	"In 1767 the British legislature made tea dearer by a levy.",
	"一七六七年，英国议会提高了茶叶税。",
	"Das Parlament erhöhte 1767 die Steuern auf Tee.",
	"ﬁne　Ｆｕｌｌ　ｗｉｄｔｈ ½ été",
	"", "\xff\xfe", "Привет",
}

// TestGolden: pieces and vectors equal the ones in testdata/golden.txt, which other implementations can use.
func TestGolden(t *testing.T) {
	tb := table(t)
	e := NewEncoder(tb)
	var b strings.Builder
	fmt.Fprintf(&b, "table %s\n", tb.Digest())
	for _, text := range samples {
		var s Sentence
		e.Encode(text, &s)
		fmt.Fprintf(&b, "%q\n pieces %v\n words", text, e.pieces)
		for _, p := range s.Pieces {
			fmt.Fprintf(&b, " %d:%.3f", p.Piece, p.Weight)
		}
		fmt.Fprintf(&b, "\n vector %.3f\n", s.Mean[:12])
	}
	golden(t, "testdata/golden.txt", b.String())
}

// golden compares a text with a file's content, or writes it there with -rewrite.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestOracle: the trie divides words exactly like trying every piece at every position.
func TestOracle(t *testing.T) {
	pieces := []Piece{{" a", -2}, {" ab", -3.5}, {"b", -2.5}, {"bc", -3}, {"c", -3}, {" abc", -9}, {"é", -4}, {" ", -5}}
	b, err := Encode(Parts{Pieces: pieces, Vectors: make([][Dimensions]float32, len(pieces)), Unknown: -30})
	if err != nil {
		t.Fatal(err)
	}
	tb, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEncoder(tb)
	for _, c := range []struct {
		text string
		want []int32 // computed from the end
	}{{"abc", []int32{3, 0}}, {"ab b", []int32{2, 7, 1}}, {"éa", []int32{6, 7}}, {"xab", []int32{2, 7}}, {"", nil}} {
		var s Sentence
		e.Encode(c.text, &s)
		if got, want := fmt.Sprint(e.pieces), fmt.Sprint(sorted(c.want)); got != want {
			t.Errorf("%q: got %v, want %v", c.text, got, want)
		}
	}
}

func sorted(x []int32) []int32 {
	out := append([]int32{}, x...)
	for i := range out {
		for k := i; k > 0 && out[k] < out[k-1]; k-- {
			out[k], out[k-1] = out[k-1], out[k]
		}
	}
	return out
}

// TestPiecesTwice: a table must not contain a piece twice.
func TestPiecesTwice(t *testing.T) {
	if _, err := Encode(Parts{Pieces: []Piece{{"a", -1}, {"a", -2}}, Vectors: make([][Dimensions]float32, 2)}); err == nil {
		t.Error("a piece that occurs twice was taken")
	}
}

// TestDamage: a table with a changed byte is refused.
func TestDamage(t *testing.T) {
	b, err := Encode(Parts{Pieces: []Piece{{"a", -1}}, Vectors: make([][Dimensions]float32, 1), Norms: map[rune]string{'ﬁ': "fi"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(b); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 1
		if _, err := Decode(c); err == nil {
			t.Errorf("byte %d changed, and the table was taken", i)
		}
		if _, err := Decode(b[:i]); err == nil {
			t.Errorf("a table of %d bytes was taken", i)
		}
	}
}

// TestNoAllocation: encoding allocates nothing once its buffers have grown.
func TestNoAllocation(t *testing.T) {
	e := NewEncoder(table(t))
	var s Sentence
	text := strings.Repeat(samples[0]+" "+samples[2], 2)
	e.Encode(text, &s)
	if n := testing.AllocsPerRun(100, func() { e.Encode(text, &s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestKnownWords: words that an encoder remembers have the pieces that a new encoder finds, also if they replaced each other in its
// memory or were too long for it.
func TestKnownWords(t *testing.T) {
	tb := table(t)
	e, plain := NewEncoder(tb), NewEncoder(tb)
	words := []string{strings.Repeat("x", knownLength-1), strings.Repeat("x", knownLength), strings.Repeat("qz", 12), "a", "é"}
	for i := range 1 << (knownBits + 1) {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	for range 2 {
		for i, w := range words {
			if i >= 5 && i%16 != 0 {
				e.Cut(w) // only to fill the memory
				continue
			}
			if got, want := fmt.Sprint(e.Cut(w)), fmt.Sprint(cutPlain(plain, w)); got != want {
				t.Fatalf("%q: pieces %v, want %v", w, got, want)
			}
		}
	}
}

// cutPlain cuts one word without the memory of words.
func cutPlain(e *Encoder, word string) []int32 {
	e.normalise(word)
	e.pieces = e.pieces[:0]
	e.cut(e.text)
	return e.pieces
}

func TestSentences(t *testing.T) {
	text := "A heading\n" + "The first sentence is about this long, and says something of no importance. " +
		"Short one. The next one has e.g. an abbreviation and is long enough to stand by itself here.\n" +
		"这是第一句话，它有足够的长度，可以单独成为一个句子而不必合并。“这是第二句话，它也有足够的长度，可以独立。”这是第三句。"
	var got []string
	for _, s := range Sentences(text) {
		got = append(got, s.In(text))
	}
	want := []string{"A heading",
		"The first sentence is about this long, and says something of no importance. Short one.",
		"The next one has e.g. an abbreviation and is long enough to stand by itself here.",
		"这是第一句话，它有足够的长度，可以单独成为一个句子而不必合并。",
		"“这是第二句话，它也有足够的长度，可以独立。”这是第三句。"}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// FuzzEncode: any bytes yield sentences in order, and a vector.
func FuzzEncode(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	tb := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		e := NewEncoder(tb)
		var s Sentence
		end := 0
		for _, sp := range Sentences(text) {
			if sp.Start < end || sp.End <= sp.Start || sp.End > len(text) {
				t.Fatalf("sentence %v after %d in %d bytes", sp, end, len(text))
			}
			end = sp.End
			e.Encode(sp.In(text), &s)
			if n := Shared(s.Pieces, s.Pieces); n != 0 && (n < 0.999 || n > 1.001) {
				t.Fatalf("words of length %v", n)
			}
			c := Centred(&s.Mean, &Vector{})
			if n := Dot(&c, &c); n != 0 && (n < 0.999 || n > 1.001) {
				t.Fatalf("vector of length %v", n)
			}
		}
	})
}

// FuzzDecode: no bytes decode to a table that fails later.
func FuzzDecode(f *testing.F) {
	b, err := Encode(Parts{Pieces: []Piece{{" a", -1}, {"b", -2}}, Vectors: make([][Dimensions]float32, 2), Norms: map[rune]string{'ﬁ': "fi"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:len(b)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		tb, err := Decode(seal(body))
		if err != nil {
			return
		}
		var s Sentence
		NewEncoder(tb).Encode("ab ﬁ 中", &s)
	})
}

func BenchmarkEncode(b *testing.B) {
	e := NewEncoder(table(b))
	var s Sentence
	text := "In 1767 the British legislature made tea dearer by a levy, which the colonies, who had no seat in it, would not pay for long at all."
	b.ReportAllocs()
	for b.Loop() {
		e.Encode(text, &s)
	}
}

func BenchmarkEncodeChinese(b *testing.B) {
	e := NewEncoder(table(b))
	var s Sentence
	text := "一七六七年，英国议会提高了茶叶税，而在议会中没有席位的殖民地不愿意长期缴纳这项税款。"
	for b.Loop() {
		e.Encode(text, &s)
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		table, err := unpacked(embedded)
		if err == nil {
			_, err = Decode(table)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
