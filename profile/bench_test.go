package profile_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/internal/corpora"
	"concordat/internal/cputime"
	"concordat/profile"
)

// BenchmarkProfile measures indexing, from text to fingerprints, on one core, in MB/s of text.
func BenchmarkProfile(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"english", english(b)},
		{"chinese", chinese(b)},
	} {
		for _, recipe := range []string{profile.Packed, profile.Natural, profile.PackedSimhash} {
			b.Run("text="+c.name+"/recipe="+recipe, func(b *testing.B) {
				p, err := profile.New(profile.Options{Recipe: recipe})
				if err != nil {
					b.Fatal(err)
				}
				d := concordat.Document{ID: "d", Text: c.text}
				if _, err := p.ForIndex(d); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(c.text)))
				b.ReportAllocs()
				start := cputime.Used()
				for b.Loop() {
					if _, err := p.ForIndex(d); err != nil {
						b.Fatal(err)
					}
				}
				cputime.Report(b, start, b.N, "op")
			})
		}
	}
}

func english(tb testing.TB) string {
	var out strings.Builder
	for _, d := range corpora.Reviews(tb, 1000) {
		out.WriteString(d.Text)
		out.WriteString("\n\n")
	}
	return out.String()
}

func chinese(tb testing.TB) string {
	var out strings.Builder
	for _, d := range corpora.Histories(tb, 400) {
		out.WriteString(d.Text)
		out.WriteString("\n\n")
	}
	return out.String()
}
