package eval

import (
	"fmt"
	"math"
	"os"
	"slices"
)

// Measure holds PAN's text alignment measures (Potthast, Stein, Barrón-Cedeño and Rosso 2010, section 3), macro averaged: all cases and
// all detections have the same weight.
type Measure struct {
	Cases, Detections int
	Precision, Recall float64 // 0 to 1, over characters of both sides
	Granularity       float64 // detections per detected case, 1 or more
	Plagdet           float64 // F1 / log2(1 + granularity)
}

func (m Measure) String() string {
	return fmt.Sprintf("plagdet %.4f  precision %.4f  recall %.4f  granularity %.4f  cases %d  detections %d",
		m.Plagdet, m.Precision, m.Recall, m.Granularity, m.Cases, m.Detections)
}

// Result is the measure over everything and over each kind of obfuscation, given by the truth's sub-folders.
type Result struct {
	Measure
	Groups map[string]Measure
}

// Score compares the detections below detectionsDir with the cases below truthDir; both contain PAN's XML files directly or one level
// below. A detection belongs to the truth's group with a file for its pair of documents; without such a group, it counts only in the
// whole.
func Score(truthDir, detectionsDir string, o ScoreOptions) (Result, error) {
	truth, err := readFolder(truthDir, truthFeature)
	if err != nil {
		return Result{}, fmt.Errorf("truth: %w", err)
	}
	found, err := readFolder(detectionsDir, detectionsName)
	if err != nil {
		return Result{}, fmt.Errorf("detections: %w", err)
	}
	if found.all, err = o.counted(found.all); err != nil {
		return Result{}, err
	}
	return score(truth, found.all), nil
}

// ScoreOptions determine which detections count. With the zero value, all count.
type ScoreOptions struct {
	// Ignore is a file of document pairs, lines "susp source", whose detections do not count: PAN 2013 contains real reuse that is
	// annotated in another part of the corpus.
	Ignore string
	// Pairs is a file of the pairs that were judged. Detections in other pairs do not count, since it is unknown whether they are right.
	Pairs string
}

// counted returns the detections that count.
func (o ScoreOptions) counted(found []Annotation) ([]Annotation, error) {
	for _, file := range []struct {
		path string
		keep bool
	}{{o.Ignore, false}, {o.Pairs, true}} {
		if file.path == "" {
			continue
		}
		listed, err := pairsOf(file.path)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(a Annotation) bool { return listed[DocumentPair{a.Susp, a.Source}] != file.keep })
	}
	return found, nil
}

func pairsOf(path string) (map[DocumentPair]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pairs, err := ReadPairs(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := make(map[DocumentPair]bool, len(pairs))
	for _, p := range pairs {
		out[p] = true
	}
	return out, nil
}

func score(truth *annotations, detections []Annotation) Result {
	res := Result{Measure: Measured(truth.all, detections), Groups: map[string]Measure{}}
	split := func(as []Annotation) map[string][]Annotation {
		out := map[string][]Annotation{}
		for _, a := range as {
			if g, ok := truth.groups[DocumentPair{a.Susp, a.Source}]; ok {
				out[g] = append(out[g], a)
			}
		}
		return out
	}
	cases, found := split(truth.all), split(detections)
	for _, g := range truth.groups {
		if _, done := res.Groups[g]; !done && g != "" {
			res.Groups[g] = Measured(cases[g], found[g])
		}
	}
	return res
}

// Measured returns PAN's measures of detections against cases. Remove duplicates first.
func Measured(cases, detections []Annotation) Measure {
	m := Measure{Cases: len(cases), Detections: len(detections), Granularity: 1}
	byPair := map[DocumentPair]*[2][]Annotation{}
	for side, as := range [][]Annotation{cases, detections} {
		for _, a := range as {
			k := DocumentPair{a.Susp, a.Source}
			if byPair[k] == nil {
				byPair[k] = &[2][]Annotation{}
			}
			byPair[k][side] = append(byPair[k][side], a)
		}
	}
	m.Recall = macro(cases, detections, byPair, 1)
	m.Precision = macro(detections, cases, byPair, 0)
	detected, parts := 0, 0
	for _, c := range cases {
		n := 0
		for _, d := range byPair[DocumentPair{c.Susp, c.Source}][1] {
			if overlap(c, d) {
				n++
			}
		}
		if n > 0 {
			detected++
			parts += n
		}
	}
	if detected > 0 {
		m.Granularity = float64(parts) / float64(detected)
	}
	m.Plagdet = plagdet(m.Precision, m.Recall, m.Granularity)
	return m
}

// macro returns the mean, over as, of the proportion of characters on both sides together that annotations of the other kind (0 cases, 1
// detections) cover.
func macro(as, others []Annotation, byPair map[DocumentPair]*[2][]Annotation, side int) float64 {
	if len(as) == 0 && len(others) == 0 {
		return 1
	}
	if len(as) == 0 || len(others) == 0 {
		return 0
	}
	sum := 0.0
	for _, a := range as {
		if total := a.Length + a.SourceSize; total > 0 {
			sum += float64(covered(a, byPair[DocumentPair{a.Susp, a.Source}][side])) / float64(total)
		}
	}
	return sum / float64(len(as))
}

func plagdet(precision, recall, granularity float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall) / math.Log2(1+granularity)
}

// overlap reports whether x and y share a character on both sides.
func overlap(x, y Annotation) bool {
	return x.Susp == y.Susp && x.Source == y.Source &&
		x.Offset < y.Offset+y.Length && y.Offset < x.Offset+x.Length &&
		x.SourceOffset < y.SourceOffset+y.SourceSize && y.SourceOffset < x.SourceOffset+x.SourceSize
}

// covered returns how many characters of a, on both sides, are in annotations that overlap it.
func covered(a Annotation, others []Annotation) int {
	var here, there [][2]int
	for _, o := range others {
		if overlap(a, o) {
			here = append(here, [2]int{max(a.Offset, o.Offset), min(a.Offset+a.Length, o.Offset+o.Length)})
			there = append(there, [2]int{max(a.SourceOffset, o.SourceOffset), min(a.SourceOffset+a.SourceSize, o.SourceOffset+o.SourceSize)})
		}
	}
	return union(here) + union(there)
}

// union returns the length of the union of half-open ranges.
func union(rs [][2]int) int {
	slices.SortFunc(rs, func(x, y [2]int) int { return x[0] - y[0] })
	n, end := 0, math.MinInt
	for _, r := range rs {
		if from := max(r[0], end); r[1] > from {
			n += r[1] - from
			end = r[1]
		}
	}
	return n
}
