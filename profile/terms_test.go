package profile_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/profile"
	"concordat/segment"
)

// TestForLibrary: the cells of every document are known on a site that indexes by meaning; documents of a library excluded from the index
// have no cells.
func TestForLibrary(t *testing.T) {
	d := concordat.Document{Text: "The merchants counted the barrels of salted fish that had come up the river before the ice closed it."}
	for _, c := range []struct{ site, library, known, some bool }{
		{true, true, true, true}, {true, false, true, false}, {false, true, false, false}, {false, false, false, false},
	} {
		got, err := profiler(t, profile.Options{Meaning: c.site}).ForLibrary(d, c.library)
		if err != nil || (got.Cells != nil) != c.known || (len(got.Cells) > 0) != c.some || len(got.Terms) == 0 {
			t.Errorf("%+v: cells %v, terms %v, %v", c, got.Cells, got.Terms, err)
		}
	}
}

// TestTerms: an index stores the stems that a check asks for, whatever the inflection; stop words have no stems.
func TestTerms(t *testing.T) {
	p := profiler(t, profile.Options{})
	for _, c := range []struct{ stored, asked string }{
		{"The merchants counted barrels of the salted fish.", "A merchant who was counting a barrel: fishes!"},
		{"委员会认定，商人清点了成桶的咸鱼。", "商人的咸鱼，委员会认定。"},
		{"東京都の図書館で本を読みました。", "図書館で読みました"},
		{"ห้องสมุดแห่งชาติ", "ห้องสมุดแห่งชาติ"},
	} {
		stored, err := p.ForIndex(concordat.Document{Text: c.stored})
		if err != nil {
			t.Fatal(err)
		}
		asked, err := p.Profile(concordat.Document{Text: c.asked}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(asked.Windows) != 1 || len(asked.Windows[0]) < 3 {
			t.Fatalf("%s: windows %v", c.asked, asked.Windows)
		}
		for _, ts := range [][]concordat.TermCount{stored.Terms, asked.Windows[0]} {
			if !slices.IsSortedFunc(ts, func(a, b concordat.TermCount) int { return int(int64(a.Term) - int64(b.Term)) }) {
				t.Errorf("%s: terms are not ascending", c.stored)
			}
		}
		common := 0
		for _, a := range asked.Windows[0] {
			if slices.ContainsFunc(stored.Terms, func(s concordat.TermCount) bool { return s.Term == a.Term }) {
				common++
			}
		}
		if common < min(4, len(asked.Windows[0])) {
			t.Errorf("%q and %q share %d terms", c.stored, c.asked, common)
		}
	}
}

// TestWindows: windows cover the text, overlap by a third, omit the excluded sections, and remain few.
func TestWindows(t *testing.T) {
	p := profiler(t, profile.Options{})
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprintf("qword%05d", i)) // 10 letters each
	}
	got, err := p.Profile(concordat.Document{Text: strings.Join(words, " ")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	occurrences := 0
	for _, w := range got.Windows {
		occurrences += len(w)
	}
	if n := len(got.Windows); n != 33 || occurrences != 1000+32*15 {
		t.Errorf("%d windows with %d terms, want 33 of 45 words, 15 shared by neighbours", n, occurrences)
	}
	template := &segment.Template{Headings: []segment.Heading{{Section: "references", Pattern: regexp.MustCompile("^References$"),
		Skip: true}}}
	cut, err := p.Profile(concordat.Document{Text: "Alpha beta gamma delta.\n\nReferences\n\nEpsilon zeta eta theta."}, template)
	if err != nil {
		t.Fatal(err)
	}
	if len(cut.Windows) != 1 || len(cut.Windows[0]) != 4 {
		t.Errorf("windows %v, want the four words before the section", cut.Windows)
	}
}

// TestSortTerms sorts slices of all lengths around the change of method.
func TestSortTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var room []uint32
	for n := range 400 {
		ts := make([]uint32, n)
		for i := range ts {
			ts[i] = rng.Uint32() >> (rng.UintN(4) * 8)
		}
		want := slices.Sorted(slices.Values(ts))
		if room = profile.SortTerms(ts, room); !slices.Equal(ts, want) {
			t.Fatalf("%d terms: %v, want %v", n, ts, want)
		}
	}
}
