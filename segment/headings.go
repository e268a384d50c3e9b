package segment

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A form makes a template by itself: its headings stand on lines of their own in the form and in every document that is written on it.

const (
	longestTitle   = 90 // code points of a line that is taken for a heading
	leastDocuments = 3  // that hold a line before it can be a heading of theirs
	leastHeadings  = 2  // of a form: one heading alone makes no sections
	mostHeadings   = 200
)

// FormTemplate returns a template of the headings of forms, whose texts are given: their short lines that do not end as sentences do.
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

// Headings finds the headings that documents have in common. The zero value has seen none; it is not safe for concurrent use.
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

// Template returns a template of the lines that at least half of the documents, and at least three, have in common, or nil if there
// are fewer than two.
func (h *Headings) Template() *Template {
	return h.lines.template(max(leastDocuments, (h.documents+1)/2))
}

// headingLines counts lines, which are the same in other case, with other spaces and under another number.
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

// template returns a template of the lines that were noted so often.
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

// number is the number of a heading, such as 3, 3.1, (a), IV. or 二、, with what follows it.
const number = `(?:(?:§\s*|第\s*)?\(?(?:[0-9]{1,3}(?:\.[0-9]{1,3}){0,4}|[ivxlIVXL]{1,6}|[a-zA-Z]|[一二三四五六七八九十]{1,3})(?:[.)、．）:：]\s*|[章节条]\s*|\s+))?`

var headingNumber = regexp.MustCompile(`^` + number)

// headingKey is the same for the lines of one heading.
func headingKey(line string) string {
	line = strings.TrimRight(headingNumber.ReplaceAllString(line, ""), ":：")
	return strings.ToLower(strings.Join(strings.Fields(line), " "))
}

// titles yields the lines of a text that may be headings: short, with a letter, and not ending as a sentence does.
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

// titled reports whether a line has a word in addition to its number and does not end like a
// sentence.
func titled(line string) bool {
	last, _ := utf8.DecodeLastRuneInString(line)
	return !strings.ContainsRune(".!?。！？,;，；…", last) && strings.IndexFunc(headingKey(line), unicode.IsLetter) >= 0
}
