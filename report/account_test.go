package report_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// TestAccountAddsUp adds up the letters of random findings. Letters compared, left out and not read must make up the whole file, and the
// report says "100%" only then.
func TestAccountAddsUp(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 35))
		text := strings.Repeat("Seven words that stand in a row. ", 1+rng.IntN(20))
		f := &report.Findings{Submission: concordat.Document{Text: text}, Checked: []concordat.Span{}}
		for at := 0; at < len(text); at += 33 {
			span := concordat.Span{Start: at, End: at + 33}
			switch rng.IntN(3) {
			case 0:
				f.Skipped = append(f.Skipped, concordat.Skipped{Span: span, Reason: concordat.SkipShort})
			case 1: // not mentioned in the findings
			default:
				f.Checked = append(f.Checked, span)
			}
		}
		left, missing, uncounted := 0, 0, false
		for range rng.IntN(5) {
			one := concordat.Flag{Code: fmt.Sprintf("code%d", rng.IntN(3)), Detail: "x", Letters: rng.IntN(100), Missing: rng.IntN(2) == 0}
			switch {
			case !one.Missing:
				left += one.Letters
			case rng.IntN(3) == 0:
				one.Letters, one.Bytes, uncounted = 0, 1000, true
			default:
				one.Letters++
				missing += one.Letters
			}
			f.Flags = append(f.Flags, one)
		}
		r := report.Build(f, report.Rules{})
		a := r.Account
		inText := 0
		sum := a.Compared
		for _, x := range a.LeftOut {
			sum += x.Letters
			if x.InText {
				inText += x.Letters
			}
		}
		if sum != a.Read || a.Read != r.Scores.Characters+left || a.Compared+inText != r.Scores.Characters || a.File != a.Read+missing {
			t.Fatalf("seed %d: %+v of a text of %d letters, %d left out, %d not read", seed, a, r.Scores.Characters, left, missing)
		}
		whole := left == 0 && missing == 0 && !uncounted && a.Compared == r.Scores.Characters
		first := r.Statement()[0]
		if a.Whole() != whole || strings.HasPrefix(first, "Compared: 100%") != whole {
			t.Fatalf("seed %d: %q, whole: %v, want %v", seed, first, a.Whole(), whole)
		}
	}
}

// TestAccountIsTold: everything that was not compared is named with its size.
func TestAccountIsTold(t *testing.T) {
	text := strings.Repeat("letters ", 10)
	flags := []concordat.Flag{{Code: "comments", Letters: 1200}, {Code: "part", Missing: true, Detail: "word/stray.xml", Letters: 40},
		{Code: "part", Missing: true, Detail: "sheet.xls", Bytes: 12034},
		{Code: "pictures", Missing: true, Detail: "pictures on page 2", Count: 3}}
	r := report.Build(&report.Findings{Submission: concordat.Document{Text: text}, Checked: []concordat.Span{{End: len(text)}},
		Flags: flags}, report.Rules{})
	want := []string{"Compared: 70 of 1,310 letters and digits that can be counted. The file contains more, which was not read.",
		"Left out, comments: 1,200 letters.", "Not read, part: word/stray.xml (40 letters).",
		"Not read, part: sheet.xls (12,034 bytes).",
		"Not read, pictures: pictures on page 2 (3 times)."}
	if got := r.Statement()[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	seen := report.ScoreOnly(r)
	if seen.Account.File != r.Account.File || seen.Statement()[0] != want[0] {
		t.Errorf("who sees the scores alone reads %q", seen.Statement()[0])
	}
}
