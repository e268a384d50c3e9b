package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"concordat"
)

// TestExchange: what WritePrints writes, ReadPrints reads, and the same seed gives the same questions.
func TestExchange(t *testing.T) {
	for _, c := range []struct{ prints, questions int }{{0, 0}, {0, 3}, {1, 2}, {500, 101}} {
		prints, qs := Prints(c.prints, c.questions, 7)
		var b bytes.Buffer
		if err := WritePrints(&b, prints, qs); err != nil {
			t.Fatal(err)
		}
		if want := 16 + 16*c.prints + 32*c.questions; b.Len() != want {
			t.Errorf("%+v: %d bytes, want %d", c, b.Len(), want)
		}
		gotPrints, gotQuestions, err := ReadPrints(bytes.NewReader(b.Bytes()))
		if err != nil || len(gotPrints) != c.prints || len(gotQuestions) != c.questions {
			t.Fatalf("%+v: %d fingerprints, %d questions: %v", c, len(gotPrints), len(gotQuestions), err)
		}
		if !slices.Equal(gotPrints, prints) || !slices.Equal(gotQuestions, qs) {
			t.Errorf("%+v: read something other than was written", c)
		}
		for cut := range b.Len() {
			if _, _, err := ReadPrints(bytes.NewReader(b.Bytes()[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%+v: the first %d bytes: got %v, want io.ErrUnexpectedEOF", c, cut, err)
			}
			if cut > 200 {
				break
			}
		}
	}
}

// TestExchangeRefused: a number that is out of range is refused before memory is allocated for it.
func TestExchangeRefused(t *testing.T) {
	file := func(vs ...int64) (b []byte) {
		for _, v := range vs {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	for name, b := range map[string][]byte{
		"too many fingerprints": file(maxPrints+1, 0),
		"too many questions":    file(0, maxPrints+1),
		"no such target":        file(1, 1, 0, 0, 0, 0, 1, 0),
		"target below -1":       file(1, 1, 0, 0, 0, 0, -2, 0),
		"negative bits":         file(1, 1, 0, 0, 0, 0, 0, -1),
		"too many bits":         file(1, 1, 0, 0, 0, 0, 0, concordat.Bits+1),
	} {
		if _, _, err := ReadPrints(bytes.NewReader(b)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v, want concordat.ErrInvalid", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"last target": file(1, 1, 0, 0, 0, 0, 0, concordat.Bits),
		"not planted": file(1, 1, 0, 0, 0, 0, -1, 0),
	} {
		if _, _, err := ReadPrints(bytes.NewReader(b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlanted: a planted question is as far from its target as it says; every second question is planted.
func TestPlanted(t *testing.T) {
	prints, qs := Prints(200, 400, 3)
	planted, far := 0, 0
	for i, q := range qs {
		if q.Target < 0 {
			continue
		}
		planted++
		if d := prints[q.Target].Distance(q.Print); d != q.Bits {
			t.Fatalf("question %d is %d bits from its target, and says %d", i, d, q.Bits)
		}
		far = max(far, q.Bits)
	}
	if planted != 200 || far != 12 {
		t.Errorf("%d of 400 questions are planted, at most %d bits away; want 200 and 12", planted, far)
	}
}

// TestFlat: the plain table examines the entries that share a band's value with the question, counted here one by one.
func TestFlat(t *testing.T) {
	prints, qs := Prints(300, 40, 5)
	for i := range prints[:100] { // so that buckets hold more than one entry
		prints[i] = prints[i%10]
	}
	f := newFlat(prints)
	for _, q := range qs {
		exact, one, near := 0, 0, 0
		for _, p := range prints {
			for b := range concordat.Bands {
				changed := 0 // groups of four bits that differ
				for x := p.Band(b) ^ q.Print.Band(b); x != 0; x >>= 4 {
					if x&15 != 0 {
						changed++
					}
				}
				if changed == 0 {
					exact++
				}
				if changed <= 1 {
					one++
					if p.Distance(q.Print) <= reportDistance {
						near++
					}
				}
			}
		}
		f.near = 0
		if n := f.ask(q.Print, concordat.ProbeExact); n != exact {
			t.Errorf("exact: %d entries, want %d", n, exact)
		}
		f.near = 0
		if n := f.ask(q.Print, concordat.ProbeOne); n != one || f.near != near {
			t.Errorf("one: %d entries of which %d near, want %d and %d", n, f.near, one, near)
		}
	}
}

// TestMissed counts planted questions whose original is not among the matches, if the probe guarantees to find it.
func TestMissed(t *testing.T) {
	qs := []Question{{Target: 3, Bits: 0}, {Target: perDocument + 1, Bits: concordat.Complete}, {Target: 5, Bits: concordat.Complete + 1},
		{Target: -1}}
	match := func(sentence int, document concordat.DocumentID, ordinal int) concordat.Match {
		m := concordat.Match{Sentence: sentence}
		m.Source.Document, m.Ordinal = document, ordinal
		return m
	}
	for _, c := range []struct {
		name    string
		matches []concordat.Match
		want    int
	}{
		{"nothing found", nil, 2},
		{"all found", []concordat.Match{match(0, "0", 3), match(1, "1", 1)}, 0},
		{"found for another question", []concordat.Match{match(1, "0", 3), match(0, "1", 1)}, 2},
		{"another sentence found", []concordat.Match{match(0, "0", 4), match(1, "1", 1)}, 1},
	} {
		if n := missed(&concordat.Answer{Matches: c.matches}, qs, concordat.ProbeExact); n != c.want {
			t.Errorf("%s: %d missed, want %d", c.name, n, c.want)
		}
	}
	if n := missed(&concordat.Answer{}, qs, concordat.ProbeOne); n != 3 {
		t.Errorf("near values: %d missed, want 3", n)
	}
}
