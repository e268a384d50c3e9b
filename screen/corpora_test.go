package screen_test

import (
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/corpora"
	"concordat/profile"
	"concordat/screen"
	"concordat/segment"
)

// TestGrants checks the join against the listed Jaccard resemblance of word 5-grams: of the pairs with at least 0.2, 98 % are found at a
// resemblance of 0.3, and no pair below 0.05 is.
func TestGrants(t *testing.T) {
	profiler, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"nih-awards", "nih-calls"} {
		var docs []screen.Document
		number := map[string]int{}
		corpora.Lines(t, "grants/"+set+".tsv.gz", func(line string) bool {
			f := strings.SplitN(line, "\t", 3)
			p, err := profiler.Profile(concordat.Document{ID: concordat.DocumentID(f[0]), Text: f[2]}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cut, err := segment.Split(f[2])
			if err != nil {
				t.Fatal(err)
			}
			number[f[0]] = len(docs)
			docs = append(docs, screen.NewDocument(p, cut))
			return true
		})
		found := map[[2]int]bool{}
		for _, p := range candidates(t, docs, screen.JoinOptions{Probe: concordat.ProbeOne}).Pairs {
			if screen.Compare(&docs[p[0]], &docs[p[1]]).Resemblance >= 0.3 {
				found[p] = true
			}
		}
		wanted, hit := 0, 0
		corpora.Lines(t, "grants/"+set+".word5gram-jaccard.tsv.gz", func(line string) bool {
			f := strings.Split(line, "\t")
			jaccard, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			a, b := number[f[0]], number[f[1]]
			pair := [2]int{min(a, b), max(a, b)}
			if jaccard >= 0.2 {
				wanted++
				if found[pair] {
					hit++
				}
			}
			if jaccard >= 0.05 {
				delete(found, pair)
			}
			return true
		})
		t.Logf("%s: %d of %d pairs found, %d reported below 0.05", set, hit, wanted, len(found))
		if float64(hit) < 0.98*float64(wanted) || len(found) > 0 {
			t.Errorf("%s: %d of %d pairs found, %d reported below 0.05", set, hit, wanted, len(found))
		}
	}
}
