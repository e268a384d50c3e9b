package report

import (
	"fmt"
	"math"
)

// Rate is how many measured documents of one kind have a document score of a tenth, and of three
// tenths, or more.
type Rate struct {
	Language  string // of the documents: en or zh
	Class     string // clean, near, reworded or condensed; see Calibration
	Documents int
	Tenth     int // documents with 0.1 or more
	Third     int // documents with 0.3 or more
}

// Calibration is what was measured of the document score on documents of which is known whether they
// reuse text of the library: clean ones were made without reuse and share no long run of words with
// it; near are those of them that have the library's subjects and kind of page, the hard cases; at least a tenth of the reworded ones is copied, edited, translated there and back or reworded;
// of the condensed ones a tenth to three tenths is a summary of a source. doc/evaluation-score.md has the corpora
// and the command, which a test compares with this table.
func Calibration() []Rate {
	return []Rate{
		{"en", "clean", 1492, 7, 4},
		{"en", "near", 119, 5, 3},
		{"en", "reworded", 497, 496, 483},
		{"en", "condensed", 148, 74, 0},
		{"zh", "clean", 288, 0, 0},
		{"zh", "reworded", 102, 101, 94},
	}
}

// Wilson returns the 95 % interval of a rate of k in n by the score of Wilson (1927): honest also
// for rates at or near 0 and 1. Without documents it is 0 to 1.
func Wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	middle := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-half)/(1+z*z/m)), min(1, (middle+half)/(1+z*z/m))
}

// percent1 prints a rate with one decimal, as a small rate needs.
func percent1(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// classWords says a class of documents of Calibration; the number stands before it.
func (l Language) classWords(r Rate) string {
	return l.Say(map[string]string{
		"en clean": "English documents without reuse", "en near": "of these, pages on the very subjects of the library", "en reworded": "English documents with copied or reworded parts",
		"en condensed": "English documents with a condensed source", "zh clean": "Chinese documents without reuse",
		"zh reworded": "Chinese documents with copied or reworded parts",
	}[r.Language+" "+r.Class])
}

// Meaning says in plain words what may be concluded from a document score, and what not: for a tenth
// and three tenths, how many of the documents measured reach it.
func (l Language) Meaning() []string {
	var out []string
	for _, at := range []struct {
		share string
		count func(Rate) int
	}{{Percent(0.1), func(r Rate) int { return r.Tenth }}, {Percent(0.3), func(r Rate) int { return r.Third }}} {
		s := l.Say("%s or more is reached by: ", at.share)
		for i, r := range Calibration() {
			if i > 0 {
				s += l.Say("; ")
			}
			k := at.count(r)
			low, high := Wilson(k, r.Documents)
			s += l.Say("%s of %s %s (%s; between %s and %s)", Thousands(k), Thousands(r.Documents), l.classWords(r),
				percent1(float64(k)/float64(r.Documents)), percent1(low), percent1(high))
		}
		out = append(out, s+l.Say("."))
	}
	return append(out,
		l.Say("The figures are those of the development texts, with 95 % intervals. How many of your documents with such a share reuse text depends on how common reuse is among them, so no probability is given."),
		l.Say("A share below 10 % does not show that a text is free of reuse: condensed sources and sources outside the libraries are missed."))
}

// Conclusion says in one or two sentences what may be concluded from this report's share, by the
// measured rates; "" where nothing was compared.
func (r *Report) Conclusion() string {
	l := r.Language
	if !r.Scores.Measured() {
		return ""
	}
	var clean, reused [2]int // at the threshold, of all; of both languages
	third := r.Scores.Covered >= 0.3
	for _, x := range Calibration() {
		k := x.Tenth
		if third {
			k = x.Third
		}
		switch x.Class {
		case "clean":
			clean[0], clean[1] = clean[0]+k, clean[1]+x.Documents
		case "reworded":
			reused[0], reused[1] = reused[0]+k, reused[1]+x.Documents
		}
	}
	if r.Scores.Covered < 0.1 {
		return l.Say("In measurements %s of the documents with at least a tenth copied or reworded had more than this, and most of those with a condensed source had as little: little was found, and that is no proof of originality.",
			percent1(float64(reused[0])/float64(reused[1])))
	}
	at := Percent(0.1)
	if third {
		at = Percent(0.3)
	}
	_, falseHigh := Wilson(clean[0], clean[1])
	trueLow, _ := Wilson(reused[0], reused[1])
	return l.Say("In measurements %s of %s documents without reuse reached %s (at most %s of such documents, with 95 %% certainty), and %s of %s with copied or reworded parts did: such a share is at least %s times as frequent with reuse as without. Read the passages before concluding anything about a person.",
		Thousands(clean[0]), Thousands(clean[1]), at, percent1(falseHigh), Thousands(reused[0]), Thousands(reused[1]), Thousands(int(trueLow/falseHigh)))
}
