package profile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/profile"
	"concordat/segment"
)

const sample = `Grant text

The committee found that merchants counted barrels of salt fish throughout the long winter. It was cold.

Too short.

委员会认定，商人在整个漫长的冬季清点了成桶的咸鱼，并且向城市的居民出售了它们。

References

Smith J. A history of salted fish in northern markets and the merchants who sold it. 1999.`

func profiler(tb testing.TB, o profile.Options) *profile.Profiler {
	tb.Helper()
	p, err := profile.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestUnknownRecipe(t *testing.T) {
	if _, err := profile.New(profile.Options{Recipe: "best"}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestSchemesDiffer(t *testing.T) {
	seen := map[concordat.Scheme]bool{}
	for _, name := range profile.Names() {
		for _, key := range []string{"", "federation"} {
			s := profiler(t, profile.Options{Recipe: name, Key: []byte(key)}).Scheme()
			if seen[s] {
				t.Errorf("scheme %s twice", s)
			}
			if s.Name() != name {
				t.Errorf("scheme %s names %q, want %q", s, s.Name(), name)
			}
			seen[s] = true
		}
	}
}

// TestScheme fixes the digest of the default scheme: if it changes, every index must be rebuilt.
func TestScheme(t *testing.T) {
	const want = "natural@4122353cee0a0ff4"
	if got := profiler(t, profile.Options{}).Scheme(); got != want {
		t.Errorf("default scheme is %s, want %s: fingerprints of existing sites no longer fit", got, want)
	}
}

func TestProfile(t *testing.T) {
	p := profiler(t, profile.Options{})
	got, err := p.Profile(concordat.Document{ID: "d", Text: sample}, segment.Templates()["thesis"])
	if err != nil {
		t.Fatal(err)
	}
	var gates []int
	for _, s := range got.Indexed {
		gates = append(gates, s.Gate)
		if s.Fingerprint == (concordat.Fingerprint{}) {
			t.Errorf("no fingerprint for %q", s.Span.In(sample))
		}
	}
	if want := []int{26, 22}; !slices.Equal(gates, want) {
		t.Errorf("gates %v, want %v", gates, want)
	}
	var skipped []string
	for _, s := range got.Skipped {
		skipped = append(skipped, string(s.Reason)+": "+strings.TrimSpace(s.Span.In(sample)))
	}
	want := []string{"short: Grant text", "features: It was cold.", "short: Too short.", "short: References",
		"section: Smith J. A history of salted fish in northern markets and the merchants who sold it.", "section: 1999."}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
	forIndex, err := p.ForIndex(concordat.Document{ID: "d", Text: sample})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := p.Profile(concordat.Document{ID: "d", Text: sample}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(forIndex.Indexed, whole.Indexed) || forIndex.Asked != nil {
		t.Errorf("ForIndex differs from Profile")
	}
}

// TestAsked: the spans found without fingerprinting equal the spans of the profile's questions, both for all sentences and for a
// selection.
func TestAsked(t *testing.T) {
	for _, recipe := range profile.Names() {
		p := profiler(t, profile.Options{Recipe: recipe})
		for _, text := range []string{"", "It was cold.", sample, sample + "\n\n" + strings.Repeat("因此，研究人员在不同的地区收集了大量样本，并且分析了它们的成分和来源。", 5)} {
			d, err := p.Profile(concordat.Document{ID: "d", Text: text}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]func(concordat.Span) bool{"all": func(concordat.Span) bool { return true },
				"some": func(s concordat.Span) bool { return s.Start%2 == 0 }, "none": func(concordat.Span) bool { return false }} {
				var spans []concordat.Span
				for _, s := range d.Questions() {
					if want(s.Span) {
						spans = append(spans, s.Span)
					}
				}
				got, err := p.Asked(text, want)
				if err != nil || !slices.Equal(got, spans) {
					t.Errorf("%s, %s of %.20q: got %v, %v, want %v", recipe, name, text, got, err, spans)
				}
			}
		}
	}
}

func TestSimilarity(t *testing.T) {
	if got := profiler(t, profile.Options{}).Similarity(10); got != 0.8 {
		t.Errorf("minwise at 10 bits: %v, want 0.8", got)
	}
	if got := profiler(t, profile.Options{Recipe: profile.NaturalSimhash}).Similarity(100); got != 0 {
		t.Errorf("simhash at 100 bits: %v, want 0", got)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add(sample)
	f.Add("\x00\xff臺灣 一二三四五六七八九十一二三四五六七八九十")
	p := profiler(f, profile.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		got, err := p.Profile(concordat.Document{Text: text}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(got.Indexed, got.Asked...) {
			if s.Span.Start < 0 || s.Span.End > len(text) || s.Span.Len() <= 0 {
				t.Fatalf("span %v of %d bytes", s.Span, len(text))
			}
		}
	})
}
