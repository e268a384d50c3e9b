package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"concordat/align"
)

// folds is the number of parts for cross-validation; a suspicious document and all its pairs belong to one part.
const folds = 3

// settings is the number of settings that cross-validation tries.
const settings = 40

// panCrossValidated measures parameters on text that did not serve to choose them. For each third of the suspicious documents, it uses
// the parameters that score best on the other two.
func panCrossValidated(r *run) error {
	p, err := loadPAN(r.corpora, 1)
	if err != nil {
		return err
	}
	candidates := candidateOptions(settings)
	all := make([]detected, len(candidates))
	err = overPairs(r.ctx, p.pairs, textsOf(p.src), textsOf(p.susp), func(x DocumentPair, susp, source *Side) error {
		for i, o := range candidates {
			all[i].add(annotated(x, susp, source, align.Pair(susp.Text, source.Text, AsPAN(o))))
		}
		return nil
	})
	if err != nil {
		return err
	}
	found := make([][folds][]Annotation, len(candidates))
	for i := range all {
		found[i] = byFold(all[i].all)
	}
	cases := byFold(p.truth.all)
	var pooled []Annotation
	for f := range folds {
		best, bestScore := 0, 0.0
		for i := range candidates {
			if s := Measured(others(cases, f), others(found[i], f)).Plagdet; s > bestScore {
				best, bestScore = i, s
			}
		}
		r.figure(fmt.Sprintf("third %d", f+1), "setting chosen (1 is the defaults)", float64(best+1))
		pooled = append(pooled, found[best][f]...)
	}
	r.plagdets("pooled", score(p.truth, pooled)).least(0.945, none)
	return nil
}

// candidateOptions returns n settings: first the defaults, then others drawn around the middle of the reasonable range.
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
