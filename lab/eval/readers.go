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

// OtherReaders are the programs with which this project's extraction is compared, by file extension: two, or one if there is no
// second free program.
var OtherReaders = map[string][]otherReader{
	".pdf": {{"pdftotext", []string{"-q"}}, {"mutool", []string{"draw", "-q", "-F", "txt", "-o", "-"}}},
	".doc": {{"antiword", []string{"-m", "UTF-8.txt", "-w", "0"}}, {"catdoc", []string{"-d", "utf-8", "-w"}}},
	".ppt": {{"catppt", []string{"-d", "utf-8"}}},
}

// ReaderFigures compares the letters that this project and other readers take from one file. Letters are letters and digits in
// compatibility form, without regard to capitals. Figures for "both" others use the only one if there is no second.
type ReaderFigures struct {
	File    string    `json:"file"`
	Readers []string  `json:"readers"`
	Letters int       `json:"letters"`         // ours
	Others  []int     `json:"others"`          // of each reader
	Found   float64   `json:"found"`           // share of the letters found by both others, counted as a multiset, that we also have
	Known   float64   `json:"known"`           // share of our letters that one of the others also has
	Order   []float64 `json:"order"`           // share of each reader's runs of eight letters that we also have
	Agree   *float64  `json:"agree,omitempty"` // share of the first reader's runs that the second also has; nil: there is no second
	Error   string    `json:"error,omitempty"` // code of our error
	Flags   []string  `json:"flags,omitempty"`
}

// Both is the largest possible number of letters that both others have.
func (f ReaderFigures) Both() int {
	if len(f.Others) == 0 {
		return 0
	}
	return slices.Min(f.Others)
}

// orderRun is the number of letters in the runs by which order is compared.
const orderRun = 8

// CompareReaders reads one file by this project and by the programs of its format.
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
		return f, fmt.Errorf("%s: no other program reads it", file)
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

// readerTime bounds the time that another reader has for one file: some never end.
const readerTime = 20 * time.Second

// readWith returns what a program prints. If it could not read everything, its exit code says so, but it has printed the rest;
// the same is true if it takes too long.
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

// shareIn returns the share of the runs of a that b has, as multisets; 1 if a has none.
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
