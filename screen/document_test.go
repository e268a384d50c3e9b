package screen_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/profile"
	"concordat/screen"
	"concordat/segment"
)

func TestDocumentRoundTrip(t *testing.T) {
	p := screen.Passage{Fingerprint: concordat.Fingerprint{1 << 59, 77}, Start: 3, End: 90, Gate: 27}
	for _, d := range []screen.Document{
		{}, {Characters: 9, Indexed: []screen.Passage{p, p}}, {Indexed: []screen.Passage{}, Asked: []screen.Passage{p}, Runs: []screen.Run{}},
		{Characters: 1 << 30, Indexed: []screen.Passage{p}, Runs: []screen.Run{{Hash: 1 << 63, Start: 1, End: 1<<31 - 1}},
			Sections: []screen.Section{{Name: "方法", Start: 1, End: 2}, {}}},
	} {
		b, err := d.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := screen.ParseDocument(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&d, got); diff != "" {
			t.Error(diff)
		}
		for cut := range b {
			if _, err := screen.ParseDocument(b[:cut]); !errors.Is(err, screen.ErrDocument) {
				t.Fatalf("%d of %d bytes: %v", cut, len(b), err)
			}
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	d := screen.Document{Indexed: []screen.Passage{{Start: 1, End: 5}}, Runs: []screen.Run{{Hash: 5}}, Sections: []screen.Section{{Name: "a"}}}
	b, _ := d.AppendBinary(nil)
	f.Add(b)
	f.Add(slices.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := screen.ParseDocument(b)
		if err != nil {
			return
		}
		if again, _ := d.AppendBinary(nil); !slices.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

// TestCompareSections moves a paragraph from the method of one document to the results of another.
func TestCompareSections(t *testing.T) {
	const (
		x = "The river carried heavy logs from the northern forests down to the old harbour every spring. "
		y = "A committee of engineers measured seven bridges and found rust beneath fresh paint on four of them. "
		z = "Nobody remembered which scholar had donated the brass telescope standing beside the library window. "
	)
	profiler, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := func(method, results string) *screen.Document {
		text := "Method\n" + method + "\nResults\n" + results
		p, err := profiler.Profile(concordat.Document{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := len("Method\n" + method + "\n")
		p.Sections = []concordat.Section{{Name: "method", Span: concordat.Span{End: at}},
			{Name: "results", Span: concordat.Span{Start: at, End: len(text)}}}
		cut, err := segment.Split(text)
		if err != nil {
			t.Fatal(err)
		}
		d := screen.NewDocument(p, cut)
		return &d
	}
	got := screen.CompareSections(doc(x+y, z), doc(z, x))
	if len(got) != 2 || got[0].A != "method" || got[0].B != "results" || got[1].A != "results" || got[1].B != "method" {
		t.Fatalf("got %+v", got)
	}
	if o := got[0]; o.ContainedA < 0.3 || o.ContainedA > 0.6 || o.ContainedB < 0.8 {
		t.Errorf("method in results: %+v", o.Overlap)
	}
}

// TestCandidatesAcross joins two parts with each other and within each part. Together, the results equal the result for the whole.
func TestCandidatesAcross(t *testing.T) {
	docs := printed(rand.New(rand.NewPCG(8, 8)), 300)
	const split = 120
	o := screen.JoinOptions{Probe: concordat.ProbeOne}
	want := candidates(t, docs, o).Pairs
	got := slices.Concat(candidates(t, docs[:split], o).Pairs)
	for _, p := range candidates(t, docs[split:], o).Pairs {
		got = append(got, [2]int{p[0] + split, p[1] + split})
	}
	o.Split = split
	got = append(got, candidates(t, docs, o).Pairs...)
	slices.SortFunc(got, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	if !slices.Equal(got, want) {
		t.Errorf("%d pairs in parts, want %d", len(got), len(want))
	}
	if _, err := screen.Candidates(docs, screen.JoinOptions{Probe: concordat.ProbeOne, Most: len(want) / 2}); !errors.Is(err,
		screen.ErrMemory) {
		t.Errorf("more pairs than allowed: %v", err)
	}
}
