package eval

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"concordat/extract"
)

// otherReader is another program that prints the text of files in one format.
type otherReader struct {
	Name string
	args []string // arguments before the file
}

// OtherReaders are the programs to compare this project's extraction with, by file extension. There are two, or one if there is no second
// free program.
var OtherReaders = map[string][]otherReader{
	".pdf": {{"pdftotext", []string{"-q"}}, {"mutool", []string{"draw", "-q", "-F", "txt", "-o", "-"}}},
	".doc": {{"antiword", []string{"-m", "UTF-8.txt", "-w", "0"}}, {"catdoc", []string{"-d", "utf-8", "-w"}}},
	".ppt": {{"catppt", []string{"-d", "utf-8"}}},
}

// ReaderFigures compares the letters that this project and other readers extract from one file. Letters means letters and digits in
// compatibility form, ignoring case. Figures for "both" others use the only one if there is no second.
type ReaderFigures struct {
	File    string    `json:"file"`
	Readers []string  `json:"readers"`
	Letters int       `json:"letters"`         // number that we extract
	Others  []int     `json:"others"`          // number per reader
	Found   float64   `json:"found"`           // proportion of the letters found by both others, counted as a multiset, that we find too
	Known   float64   `json:"known"`           // proportion of our letters that at least one of the others finds
	Order   []float64 `json:"order"`           // proportion of each reader's runs of eight letters that we find too
	Agree   *float64  `json:"agree,omitempty"` // proportion of its runs that the second reader finds too; nil if there is no second
	Error   string    `json:"error,omitempty"` // code of our error
	Flags   []string  `json:"flags,omitempty"`
}

// Both is the maximum number of letters that both others can have.
func (f ReaderFigures) Both() int {
	if len(f.Others) == 0 {
		return 0
	}
	return slices.Min(f.Others)
}

// orderRun is the number of letters per run for comparing order.
const orderRun = 8

// CompareReaders reads one file with this project and with the other programs for its format.
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
	o := onlyLetters(ours)
	f.Letters = len(o)
	var letters, runs []map[string]int
	for _, other := range OtherReaders[strings.ToLower(filepath.Ext(file))] {
		text, err := readWith(ctx, other.Name, append(slices.Clone(other.args), file)...)
		if err != nil {
			return f, err
		}
		l := onlyLetters(text)
		f.Readers, f.Others = append(f.Readers, other.Name), append(f.Others, len(l))
		letters, runs = append(letters, runsOf(l, 1)), append(runs, runsOf(l, orderRun))
		f.Order = append(f.Order, shareIn(runs[len(runs)-1], runsOf(o, orderRun)))
	}
	if len(letters) == 0 {
		return f, fmt.Errorf("%s: no other program can read this file", file)
	}
	first, last := letters[0], letters[len(letters)-1]
	f.Found = shareIn(combined(first, last, func(a, b int) int { return min(a, b) }), runsOf(o, 1))
	f.Known = shareIn(runsOf(o, 1), combined(first, last, func(a, b int) int { return max(a, b) }))
	if len(runs) > 1 {
		agree := shareIn(runs[0], runs[len(runs)-1])
		f.Agree = &agree
	}
	return f, nil
}

// readerTime is the time limit for another reader to read one file, since some never end.
const readerTime = 20 * time.Second

// readWith returns the output of a program. If the program could not read everything, or takes too long, it still returns what was
// printed.
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

// shareIn returns the proportion of a's runs that b has, as multisets, or 1 if a has none.
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
