package layers

import (
	"bufio"
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxCode is the maximum number of characters in a line of code, counting columns aligned by gofmt as one space, unless a literal
	// longer than maxLiteral makes the line longer.
	maxCode = 140
	maxPage = 400 // maximum number of lines of a page in doc
	// maxWords is the maximum number of words on all pages of doc, counted like wc -w. A newcomer should find what they need in an
	// evening, and a subject explained twice soon has two explanations. To add a page, shorten others: omit program output and earlier
	// values of a figure, and link to a subject instead of repeating it.
	maxWords = 65000
	maxProse = 120 // for a line of a document, unless it is a table row, code, or a single word
	// maxLiteral is the minimum length in characters of a string that may stay on one line, because it is read as a whole.
	maxLiteral = 50
)

// columns matches the spaces that gofmt uses for alignment.
var columns = regexp.MustCompile(`  +`)

// TestLines: no line of code or prose is too wide to read.
func TestLines(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == filepath.Join("demo", "library") || rel == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".go":
			wideCode(t, rel, text)
		case ".md":
			wideProse(t, rel, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWords: the documents stay short enough to read.
func TestWords(t *testing.T) {
	words := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "doc"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		words += len(bytes.Fields(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if words == 0 || words > maxWords {
		t.Errorf("the pages of doc have %d words, at most %d", words, maxWords)
	}
}

func wideCode(t *testing.T, path string, text []byte) {
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	literal := map[int]bool{} // lines that contain a long literal
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.STRING && utf8.RuneCountInString(lit) > maxLiteral {
			first := file.Line(pos)
			for n := range strings.Count(lit, "\n") + 1 {
				literal[first+n] = true
			}
		}
	}
	module, err := modulePath()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), module+"/", "concordat/")) { // whatever its path
		n++
		if w := utf8.RuneCountInString(columns.ReplaceAllString(strings.TrimRight(line, "\n"), " ")); w > maxCode && !literal[n] {
			t.Errorf("%s:%d has %d characters, at most %d", path, n, w, maxCode)
		}
	}
}

func wideProse(t *testing.T, path string, text []byte) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	code := false
	n := 1
	defer func() {
		if strings.HasPrefix(path, "doc") && n-1 > maxPage {
			t.Errorf("%s has %d lines, at most %d", path, n-1, maxPage)
		}
	}()
	for ; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if code || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "    ") {
			continue
		}
		if w := utf8.RuneCountInString(line); w > maxProse && len(strings.Fields(line)) > 3 {
			t.Errorf("%s:%d has %d characters, at most %d", path, n, w, maxProse)
		}
	}
}
