// Command demo creates from submission.txt the submission of the demonstration, a DOCX file, and truth.json, which lists the passages
// that it reuses. Run go -C lab run ./gen/demo
//
// In submission.txt, "# " begins the title and "## " a heading; every other line is a paragraph. A passage taken from the library is
// between [[kind document]] and [[/]]; if its wording was changed, the document is followed by the original's first and last words:
// "from" ... "to". The kinds are verbatim; quote, which is verbatim in quotation marks; near, with some words changed; and paraphrase,
// with the order of the clauses also changed.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"

	"concordat/demo"
)

//go:embed submission.txt
var manuscript string

const (
	submissionPath = "submission/shared-evidence-commons.docx"
	truthPath      = "truth.json"
)

// paragraph is a paragraph of the submission with its reused passages.
type paragraph struct {
	style    string // Title, Heading1 or empty
	text     string
	passages []demo.Passage
}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	docx, truth, err := generate(os.DirFS("../demo/library"))
	if err != nil {
		return err
	}
	if err := os.WriteFile("../demo/"+submissionPath, docx, 0o644); err != nil {
		return err
	}
	return os.WriteFile("../demo/"+truthPath, truth, 0o644)
}

// generate returns the two files. It reports all faults of the manuscript together.
func generate(library fs.FS) (docx, truth []byte, err error) {
	docs, err := loadLibrary(library)
	if err != nil {
		return nil, nil, err
	}
	paragraphs, own, err := parse(manuscript, docs)
	if err != nil {
		return nil, nil, err
	}
	t := demo.Truth{Submission: submissionPath, Title: paragraphs[0].text, Own: own}
	for _, p := range paragraphs {
		t.Passages = append(t.Passages, p.passages...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(t); err != nil {
		return nil, nil, err
	}
	docx, err = writeDocx(paragraphs)
	return docx, b.Bytes(), err
}

var (
	passagePattern = regexp.MustCompile(`\[\[(\w+) (\S+?)(?: "([^"]*)" \.\.\. "([^"]*)")?\]\](.*?)\[\[/\]\]`)
	markPattern    = regexp.MustCompile(`\[\[|\]\]`)
)

func parse(text string, docs map[string]string) (all []paragraph, own []string, err error) {
	var faults []error
	references := false // text after that heading was written by others
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var p paragraph
		if rest, ok := strings.CutPrefix(line, "## "); ok {
			p.style, line = "Heading1", rest
			references = references || strings.HasPrefix(line, "References")
		} else if rest, ok := strings.CutPrefix(line, "# "); ok {
			p.style, line = "Title", rest
		}
		end := 0
		for _, m := range passagePattern.FindAllStringSubmatchIndex(line, -1) {
			own = appendOwn(own, line[end:m[0]])
			p.text += line[end:m[0]]
			end = m[1]
			group := func(i int) string {
				if m[2*i] < 0 {
					return ""
				}
				return line[m[2*i]:m[2*i+1]]
			}
			one, err := resolve(group(1), group(2), group(3), group(4), group(5), docs)
			if err != nil {
				faults = append(faults, fmt.Errorf("%q: %w", line[m[0]:m[1]], err))
			}
			p.text += one.Text
			p.passages = append(p.passages, one)
		}
		if !references {
			own = appendOwn(own, line[end:])
		}
		p.text += line[end:]
		if markPattern.MatchString(p.text) {
			faults = append(faults, fmt.Errorf("%q: a placeholder was not replaced", p.text))
		}
		all = append(all, p)
	}
	return all, own, errors.Join(faults...)
}

// appendOwn adds s unless it is only the text around a quotation.
func appendOwn(own []string, s string) []string {
	if s = strings.TrimSpace(s); len(tokens(s)) < 8 {
		return own
	}
	return append(own, s)
}

// resolve finds the original of a passage in its document.
func resolve(kind, document, from, to, text string, docs map[string]string) (demo.Passage, error) {
	p := demo.Passage{Kind: kind, Text: text, Document: document, SourceText: text, Overlap: 1}
	source, ok := docs[document]
	if !ok {
		return p, errors.New("document not found")
	}
	switch kind {
	case "quote":
		p.Kind, p.Quoted = "verbatim", true
		fallthrough
	case "verbatim":
		if !strings.Contains(source, text) {
			return p, errors.New("text not found in the document")
		}
		for name, other := range docs {
			if name != document && strings.Contains(other, text) {
				p.Also = append(p.Also, name)
			}
		}
		slices.Sort(p.Also)
	case "near", "paraphrase":
		start := strings.Index(source, from)
		if from == "" || start < 0 {
			return p, errors.New("the first words of the original are missing")
		}
		length := strings.Index(source[start:], to)
		if to == "" || length < 0 {
			return p, errors.New("the last words of the original are missing")
		}
		p.SourceText = source[start : start+length+len(to)]
		p.Overlap = overlap(text, p.SourceText)
	default:
		return p, errors.New("unknown kind")
	}
	return p, nil
}
