package segment

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A form can supply a template, because its headings are separate lines in the form and in every document written with it.

const (
	longestTitle   = 90 // maximum code points in a heading line
	leastDocuments = 3  // minimum number of documents that contain a heading line
	leastHeadings  = 2  // minimum number of headings in a form, since a single heading defines no sections
	mostHeadings   = 200
)

// FormTemplate returns a template of the headings in the given forms' texts, which are their short lines that do not end like a sentence.
// It returns nil if there are fewer than two.
func FormTemplate(forms ...string) *Template {
	var h headingLines
	for _, form := range forms {
		for line := range titles(form) {
			h.note(line)
		}
	}
	return h.template(1)
}

// Headings finds the headings that documents share. The zero value is empty. It is not safe for concurrent use.
type Headings struct {
	lines     headingLines
	documents int
}

// Add counts the lines of a document.
func (h *Headings) Add(text string) {
	h.documents++
	seen := map[string]bool{}
	for line := range titles(text) {
		if key := headingKey(line); !seen[key] {
			seen[key] = true
			h.lines.note(line)
		}
	}
}

// Template returns a template of the lines shared by at least half of the documents, and at least three, or nil if there are fewer than
// two such lines.
func (h *Headings) Template() *Template {
	return h.lines.template(max(leastDocuments, (h.documents+1)/2))
}

// headingLines counts lines. Lines that differ only in case, spaces or number count as the same.
type headingLines struct {
	count map[string]int
	order []string // as first seen
}

func (h *headingLines) note(line string) {
	if h.count == nil {
		h.count = map[string]int{}
	}
	key := headingKey(line)
	if h.count[key] == 0 {
		h.order = append(h.order, line)
	}
	h.count[key]++
}

// template returns a template of the lines counted at least the given number of times.
func (h *headingLines) template(least int) *Template {
	t := &Template{}
	for _, line := range h.order {
		words := strings.Fields(headingKey(line))
		if h.count[strings.Join(words, " ")] < least || len(t.Headings) == mostHeadings {
			continue
		}
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		t.Headings = append(t.Headings, Heading{Section: strings.TrimRight(headingNumber.ReplaceAllString(line, ""), ":："),
			Pattern: regexp.MustCompile(`(?i)^` + number + strings.Join(words, `\s+`) + `[:：]?$`)})
	}
	if len(t.Headings) < leastHeadings {
		return nil
	}
	return t
}

// number matches the number of a heading, for example 3, 3.1, (a), IV. or 二、, and the text after it.
const number = `(?:(?:§\s*|第\s*)?\(?(?:[0-9]{1,3}(?:\.[0-9]{1,3}){0,4}|[ivxlIVXL]{1,6}|[a-zA-Z]|[一二三四五六七八九十]{1,3})(?:[.)、．）:：]\s*|[章节条]\s*|\s+))?`

var headingNumber = regexp.MustCompile(`^` + number)

// headingKey returns a key shared by all lines of one heading.
func headingKey(line string) string {
	line = strings.TrimRight(headingNumber.ReplaceAllString(line, ""), ":：")
	return strings.ToLower(strings.Join(strings.Fields(line), " "))
}

// titles yields the lines of a text that could be headings, which are short, have a letter, and do not end like a sentence.
func titles(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if line == "" || len(line) > longestHeading || utf8.RuneCountInString(line) > longestTitle || !titled(line) {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}

// titled reports whether a line has a word besides its number and does not end like a sentence.
func titled(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(line)
	return !strings.ContainsRune(".!?。！？,;，；…", last) && strings.IndexFunc(headingKey(line), unicode.IsLetter) >= 0
}
