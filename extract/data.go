package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"
)

// readJSON reads the strings in JSON, either a single value or several in succession. Values, and keys of several words, become one
// paragraph each. It leaves out pictures and other packed data, which are strings without blanks.
func readJSON(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var object []bool // for each open value, whether it is an object
	key := false      // the next string is a member name
	for !b.full {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !b.any() {
			b.plainParagraphs(s) // only the name suggests that it is JSON
			return nil
		}
		if err != nil {
			return &Error{Code: Damaged, Detail: "JSON: " + err.Error()}
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				object = append(object, t == '{')
			} else {
				object = object[:max(0, len(object)-1)]
			}
			if len(object) > 16*b.opt.MaxDepth {
				return limitError("JSON nesting", "MaxDepth", "too many open values")
			}
			key = len(object) > 0 && object[len(object)-1]
			continue
		case string:
			if !key || strings.ContainsFunc(t, unicode.IsSpace) {
				b.jsonString(t)
			}
		}
		key = len(object) > 0 && object[len(object)-1] && !key
	}
	return nil
}

func (b *builder) jsonString(s string) {
	switch {
	case isPacked(s):
		b.flag(Flag{Code: FlagPictures, Detail: "encoded data in strings, such as pictures, is not read", Missing: true, Bytes: int64(len(s))})
	case strings.Contains(s, "</"):
		title := b.res.Title
		b.htmlText(s)
		b.res.Title = title
	case strings.ContainsFunc(s, unicode.IsSpace) || !isASCII([]byte(s)):
		b.plainParagraphs(s)
	case !strings.ContainsAny(s, "_:/\\") && strings.IndexFunc(s, unicode.IsLetter) >= 0:
		b.plainParagraphs(s)
	}
}

// leastPacked is the length in bytes at which a string without blanks is considered packed data.
const leastPacked = 256

func isPacked(s string) bool {
	return len(s) >= leastPacked && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\r\n") == "" &&
		len(strings.Fields(s)) <= len(s)/60+1
}

// isJSON reports whether data is a single JSON value, an object or an array.
func isJSON(data []byte) bool {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	return len(data) > 1 && (data[0] == '{' || data[0] == '[') && json.Valid(data)
}

// notebook is a Jupyter notebook (nbformat 4; in nbformat 3 the cells are in worksheets).
type notebook struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title   string `json:"title"`
		Authors []struct {
			Name string `json:"name"`
		} `json:"authors"`
	} `json:"metadata"`
}

type notebookCell struct {
	Kind        string                     `json:"cell_type"`
	Source      notebookText               `json:"source"`
	Input       notebookText               `json:"input"`
	Attachments map[string]json.RawMessage `json:"attachments"`
	Outputs     []struct {
		Text      notebookText               `json:"text"`
		Data      map[string]json.RawMessage `json:"data"`
		Traceback notebookText               `json:"traceback"`
	} `json:"outputs"`
}

// notebookText is a text given as one string or as a list of lines with their line ends.
type notebookText string

// UnmarshalJSON accepts a string or a list of strings; anything else is not text.
func (t *notebookText) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = notebookText(one)
		return nil
	}
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = notebookText(strings.Join(lines, ""))
	}
	return nil
}

// readNotebook reads a Jupyter notebook's cells in order, prose as Markdown and code as is, and its textual outputs.
func readNotebook(b *builder, data []byte) error {
	s, err := b.decodeText(data)
	if err != nil {
		return err
	}
	var n notebook
	if err := json.Unmarshal([]byte(s), &n); err != nil {
		return &Error{Code: Damaged, Detail: "notebook: " + err.Error()}
	}
	cells := n.Cells
	for _, w := range n.Worksheets {
		cells = append(cells, w.Cells...)
	}
	if len(cells) == 0 {
		return readJSON(b, data)
	}
	b.res.Title = n.Metadata.Title
	for _, a := range n.Metadata.Authors {
		b.res.Author = strings.TrimPrefix(b.res.Author+"; "+a.Name, "; ")
	}
	for _, c := range cells {
		if err := b.notebookCell(c); err != nil {
			return err
		}
		b.end()
	}
	return nil
}

func (b *builder) notebookCell(c notebookCell) error {
	source := string(c.Source + c.Input)
	if len(c.Attachments) > 0 {
		b.pictures(len(c.Attachments), 0)
	}
	switch c.Kind {
	case "markdown", "heading":
		if err := b.markdownText(source); err != nil {
			return err
		}
	default:
		b.plainParagraphs(source)
	}
	for _, o := range c.Outputs {
		b.plainParagraphs(withoutColours(string(o.Text)))
		b.plainParagraphs(withoutColours(string(o.Traceback)))
		b.notebookOutput(o.Data)
	}
	return nil
}

// notebookOutput writes what an output displays, in its richest textual form.
func (b *builder) notebookOutput(data map[string]json.RawMessage) {
	shown := false
	for _, kind := range []string{"text/html", "text/markdown", "text/latex", "text/plain"} {
		var t notebookText
		if raw, ok := data[kind]; !ok || shown || json.Unmarshal(raw, &t) != nil || t == "" {
			continue
		}
		shown = true
		if kind == "text/html" {
			title := b.res.Title
			b.htmlText(string(t))
			b.res.Title = title
			continue
		}
		b.plainParagraphs(string(t))
	}
	for kind, raw := range data {
		if strings.HasPrefix(kind, "image/") {
			b.pictures(1, int64(len(raw)))
		}
	}
}

// withoutColours removes the escape sequences that colour text in a terminal.
func withoutColours(s string) string {
	for {
		from := strings.Index(s, "\x1b[")
		if from < 0 {
			return s
		}
		to := strings.IndexFunc(s[from+2:], unicode.IsLetter)
		if to < 0 {
			return s[:from]
		}
		s = s[:from] + s[from+2+to+1:]
	}
}
