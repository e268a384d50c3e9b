package eval

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"concordat/align"
)

// folds is the number of parts of the cross-validation; a suspicious document with all its pairs
// belongs to one.
const folds = 3

// TestPAN13CrossValidated says what parameters are worth on text they were not chosen on: for each
// third of the suspicious documents, those that score best on the other two. CONCORDAT_EVAL=cv asks
// for it; it takes some minutes.
func TestPAN13CrossValidated(t *testing.T) {
	if os.Getenv("CONCORDAT_EVAL") != "cv" {
		t.Skip("CONCORDAT_EVAL is not cv: cross-validation takes minutes")
	}
	dir := pan13(t, 1)
	truth, err := readFolder(dir, truthFeature)
	if err != nil {
		t.Fatal(err)
	}
	candidates := candidateOptions(40)
	found := alignAll(t, dir, candidates)
	cases := byFold(truth.all)
	var pooled []Annotation
	for f := range folds {
		best, bestScore := 0, 0.0
		for i := range candidates {
			if s := Measured(others(cases, f), others(found[i], f)).Plagdet; s > bestScore {
				best, bestScore = i, s
			}
		}
		t.Logf("third %d: %.4f on the others, %.4f on itself, %+v", f, bestScore, Measured(cases[f], found[best][f]).Plagdet, candidates[best])
		pooled = append(pooled, found[best][f]...)
	}
	r := score(truth, pooled)
	t.Logf("%-28s %v", "all", r.Measure)
	for _, g := range []string{"01-no-plagiarism", "02-no-obfuscation", "03-random-obfuscation", "04-translation-obfuscation", "05-summary-obfuscation"} {
		t.Logf("%-28s %v", g, r.Groups[g])
	}
	if r.Plagdet < 0.945 {
		t.Errorf("plagdet %.4f, want at least 0.945", r.Plagdet)
	}
}

// candidateOptions returns n settings, the defaults first, the others drawn around the middle of
// what is reasonable.
func candidateOptions(n int) []align.Options {
	r := rand.New(rand.NewPCG(2013, 0))
	pick := func(v ...float64) float64 { return v[r.IntN(len(v))] }
	out := []align.Options{{}}
	for len(out) < n {
		out = append(out, align.Options{
			Background: pick(5, 10, 20, 30), Floor: pick(0.12, 0.15, 0.18),
			Seed: pick(0.35, 0.36, 0.37, 0.38, 0.39, 0.40), Support: pick(0.3, 0.35, 0.4, 0.45),
			SupportFar: pick(0.6, 0.8, 1), SupportOffset: pick(0.05, 0.1, 0.15), SupportInOrder: r.IntN(4) == 0,
			Gap: int(pick(4, 5, 6, 7)), Trim: pick(0.15, 0.17, 0.19, 0.21), Evidence: pick(10.5, 11, 11.5, 12, 12.5),
			LeastChars: int(pick(80, 90, 100, 110, 120)), SummaryGap: int(pick(60, 80, 120)),
			SummaryAccept: pick(0.1, 0.15, 0.2), SummaryRatio: pick(2.3, 2.6, 3), SummaryOutside: pick(0.1, 0.13, 0.16, 0.2),
		})
	}
	return out
}

// alignAll returns what each setting finds in the pairs below dir, by fold.
func alignAll(t *testing.T, dir string, candidates []align.Options) [][folds][]Annotation {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "pairs"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := ReadPairs(f)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]Annotation, len(candidates))
	var mu sync.Mutex
	err = overPairs(t.Context(), pairs, filepath.Join(dir, "src"), filepath.Join(dir, "susp"), func(p DocumentPair, susp, source *Side) error {
		for i, o := range candidates {
			x := annotated(p, susp, source, align.Pair(susp.Text, source.Text, AsPAN(o)))
			mu.Lock()
			all[i] = append(all[i], x...)
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([][folds][]Annotation, len(all))
	for i := range all {
		out[i] = byFold(all[i])
	}
	return out
}

func byFold(as []Annotation) (out [folds][]Annotation) {
	for _, a := range as {
		sum := 0
		for i := range len(a.Susp) {
			sum = sum*10 + int(a.Susp[i]&15)
		}
		f := sum % folds
		if f < 0 {
			f += folds
		}
		out[f] = append(out[f], a)
	}
	return out
}

func others(as [folds][]Annotation, f int) []Annotation {
	var out []Annotation
	for i := range as {
		if i != f {
			out = slices.Concat(out, as[i])
		}
	}
	return out
}
