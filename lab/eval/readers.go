package eval

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"concordat/extract"
)

// ReaderFigures compares the letters that three readers take from one PDF: this project's, poppler's pdftotext and MuPDF's mutool.
// Letters are letters and digits in compatibility form, without regard to capitals.
type ReaderFigures struct {
	File           string   `json:"file"`
	Letters        int      `json:"letters"` // ours
	Poppler        int      `json:"poppler"`
	MuPDF          int      `json:"mupdf"`
	Found          float64  `json:"found"`            // of the letters that both others have, counted as a multiset, those that we have
	Known          float64  `json:"known"`            // of our letters, those that one of the others has
	OrderPoppler   float64  `json:"order_poppler"`    // of poppler's runs of eight letters, those that we have
	OrderMuPDF     float64  `json:"order_mupdf"`      // of MuPDF's
	PopplerInMuPDF float64  `json:"poppler_in_mupdf"` // of poppler's, those that MuPDF has: how far the two agree
	Error          string   `json:"error,omitempty"`  // code of ours
	Flags          []string `json:"flags,omitempty"`
}

// orderRun is the number of letters of a run by which order is compared.
const orderRun = 8

// CompareReaders reads one PDF three times.
func CompareReaders(ctx context.Context, pdf *extract.PDF, file string) (ReaderFigures, error) {
	f := ReaderFigures{File: file}
	data, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	ours := ""
	r, err := extract.Bytes(file, data, extract.Options{PDF: pdf})
	if err != nil {
		f.Error = err.Error()
	} else {
		ours = r.Text
		for _, x := range r.Flags {
			if n := len(f.Flags); n == 0 || f.Flags[n-1] != x.Code {
				f.Flags = append(f.Flags, x.Code)
			}
		}
	}
	poppler, err := readWith(ctx, "pdftotext", "-q", file, "-")
	if err != nil {
		return f, err
	}
	mupdf, err := readWith(ctx, "mutool", "draw", "-q", "-F", "txt", "-o", "-", file)
	if err != nil {
		return f, err
	}
	o, p, m := onlyLetters(ours), onlyLetters(poppler), onlyLetters(mupdf)
	f.Letters, f.Poppler, f.MuPDF = len(o), len(p), len(m)
	co, cp, cm := runsOf(o, 1), runsOf(p, 1), runsOf(m, 1)
	f.Found = shareIn(combined(cp, cm, func(a, b int) int { return min(a, b) }), co)
	f.Known = shareIn(co, combined(cp, cm, func(a, b int) int { return max(a, b) }))
	ro, rp, rm := runsOf(o, orderRun), runsOf(p, orderRun), runsOf(m, orderRun)
	f.OrderPoppler, f.OrderMuPDF, f.PopplerInMuPDF = shareIn(rp, ro), shareIn(rm, ro), shareIn(rp, rm)
	return f, nil
}

// readerTime bounds the time that another reader has for one file: some do not end.
const readerTime = 20 * time.Second

// readWith gives what a program prints. What it could not read it says by an exit code, and has printed the rest; so has one that
// takes too long.
func readWith(ctx context.Context, name string, args ...string) (string, error) {
	within, cancel := context.WithTimeout(ctx, readerTime)
	defer cancel()
	out, err := exec.CommandContext(within, name, args...).Output()
	if _, exited := err.(*exec.ExitError); err != nil && (!exited || ctx.Err() != nil) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(out), nil
}

func onlyLetters(s string) []rune {
	var out []rune
	for _, r := range norm.NFKC.String(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			out = append(out, unicode.ToLower(r))
		}
	}
	return out
}

// runsOf counts the runs of n letters.
func runsOf(letters []rune, n int) map[string]int {
	out := map[string]int{}
	for i := 0; i+n <= len(letters); i++ {
		out[string(letters[i:i+n])]++
	}
	return out
}

func combined(a, b map[string]int, of func(a, b int) int) map[string]int {
	out := map[string]int{}
	for k, n := range a {
		out[k] = of(n, b[k])
	}
	for k, n := range b {
		out[k] = of(a[k], n)
	}
	return out
}

// shareIn is the share of the runs of a that b has, as multisets; 1 if a has none.
func shareIn(a, b map[string]int) float64 {
	all, in := 0, 0
	for k, n := range a {
		all, in = all+n, in+min(n, b[k])
	}
	if all == 0 {
		return 1
	}
	return float64(in) / float64(all)
}
