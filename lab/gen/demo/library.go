package main

import (
	"fmt"
	"html"
	"io/fs"
	"math"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var tag = regexp.MustCompile(`(?s)<head>.*?</head>|<[^>]*>`)

// loadLibrary returns the text of each document by path, with white space folded; rows of a table have the path path#id.
func loadLibrary(library fs.FS) (map[string]string, error) {
	docs := map[string]string{}
	err := fs.WalkDir(library, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(library, name)
		if err != nil {
			return err
		}
		text := string(b)
		switch path.Ext(name) {
		case ".tsv":
			for line := range strings.Lines(text) {
				cells := strings.Split(strings.TrimSpace(line), "\t")
				if len(cells) != 3 {
					return fmt.Errorf("%s: got %d cells, want 3", name, len(cells))
				}
				docs[name+"#"+cells[0]] = fold(cells[2])
			}
		case ".html":
			docs[name] = fold(html.UnescapeString(tag.ReplaceAllString(text, " ")))
		case ".txt", ".md":
			docs[name] = fold(text)
		default:
			return fmt.Errorf("%s: unknown file type", name)
		}
		return nil
	})
	return docs, err
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// tokens returns the words of s in lower case, with each Han character as a separate word.
func tokens(s string) []string {
	var all []string
	word := ""
	flush := func() {
		if word != "" {
			all = append(all, word)
		}
		word = ""
	}
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			flush()
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word += string(unicode.ToLower(r))
		default:
			flush()
		}
	}
	flush()
	return all
}

// overlap returns the proportion of pairs of neighbouring tokens of s that t also contains, to 2 digits.
func overlap(s, t string) float64 {
	have := map[string]bool{}
	for _, g := range grams(t, 2) {
		have[g] = true
	}
	all := grams(s, 2)
	common := 0
	for _, g := range all {
		if have[g] {
			common++
		}
	}
	return math.Round(100*float64(common)/float64(max(1, len(all)))) / 100
}

// grams returns the runs of n tokens of s.
func grams(s string, n int) []string {
	ts := tokens(s)
	var all []string
	for i := 0; i+n <= len(ts); i++ {
		all = append(all, strings.Join(ts[i:i+n], " "))
	}
	return all
}
