package batch

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"concordat"
	"concordat/store"
)

// ManifestLine is a submitter's declaration about one file. Empty fields do not override the file's own data.
type ManifestLine struct {
	File    string         `json:"file"` // full name in the batch, or its last part
	Title   string         `json:"title,omitempty"`
	Author  string         `json:"author,omitempty"` // multiple authors are separated by semicolons
	Group   string         `json:"group,omitempty"`
	DraftOf string         `json:"draft_of,omitempty"` // the file that it is an earlier or later version of
	Date    concordat.Date `json:"date,omitempty"`
	// Time is the date with its time of day, if the table contains it.
	Time concordat.Instant `json:"time,omitempty"`
}

const (
	maxManifest = 100_000 // in lines
	// maxManifestBytes is the maximum size of a manifest.
	maxManifestBytes = 16 << 20
)

// manifestColumns maps column headings to fields.
var manifestColumns = map[string]func(*ManifestLine) *string{
	"file":     func(l *ManifestLine) *string { return &l.File },
	"title":    func(l *ManifestLine) *string { return &l.Title },
	"author":   func(l *ManifestLine) *string { return &l.Author },
	"group":    func(l *ManifestLine) *string { return &l.Group },
	"draft_of": func(l *ManifestLine) *string { return &l.DraftOf },
	"date":     func(l *ManifestLine) *string { return (*string)(&l.Date) },
}

// ManifestError describes a fault in a manifest. It wraps concordat.ErrInvalid.
type ManifestError struct {
	Line   int    // from 1; 0 for the whole manifest
	Code   string // large, empty, table, column, file, twice, date or many
	Detail string // for example the word that is not a date
}

func (e *ManifestError) Error() string {
	what := map[string]string{"large": "larger than " + e.Detail, "empty": "the manifest is empty", "table": e.Detail,
		"column": "the first line has no column named file",
		"file":   "missing file name", "twice": e.Detail + " already appears in an earlier line", "date": e.Detail +
			" is not a date: want YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD HH:MM",
		"many": "more than " + e.Detail + " lines"}[e.Code]
	if e.Line > 0 {
		return fmt.Sprintf("manifest, line %d: %v: %s", e.Line, concordat.ErrInvalid, what)
	}
	return fmt.Sprintf("manifest: %v: %s", concordat.ErrInvalid, what)
}

func (e *ManifestError) Unwrap() error { return concordat.ErrInvalid }

// ParseManifest parses a table in CSV (RFC 4180) or separated by tabs. The first line names the columns: file, and any of title, author,
// group, draft_of and date; other columns are ignored. It fails with ManifestError.
func ParseManifest(r io.Reader) ([]ManifestLine, error) {
	in := bufio.NewReader(io.LimitReader(r, maxManifestBytes+1))
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3) // these bytes were just peeked at
	}
	// The manifest is read whole, since its size is bounded and its first line reveals the separator.
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if len(data) > maxManifestBytes {
		return nil, &ManifestError{0, "large", fmt.Sprintf("%d MiB", maxManifestBytes>>20)}
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	c := csv.NewReader(bytes.NewReader(data))
	c.FieldsPerRecord = -1
	switch {
	case bytes.ContainsRune(first, '\t'):
		c.Comma, c.LazyQuotes = '\t', true
	case bytes.ContainsRune(first, ';') && !bytes.ContainsRune(first, ','):
		c.Comma = ';'
	}
	heads, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &ManifestError{0, "empty", ""}
	}
	if err != nil {
		return nil, &ManifestError{0, "table", err.Error()}
	}
	columns := make([]func(*ManifestLine) *string, len(heads))
	named := false
	for i, h := range heads {
		h = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(h)), "-", "_")
		columns[i] = manifestColumns[h]
		named = named || h == "file"
	}
	if !named {
		return nil, &ManifestError{0, "column", ""}
	}
	return manifestLines(c, columns)
}

func manifestLines(c *csv.Reader, columns []func(*ManifestLine) *string) ([]ManifestLine, error) {
	var out []ManifestLine
	seen := map[string]bool{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, &ManifestError{0, "table", err.Error()}
		}
		n, _ := c.FieldPos(0)
		var l ManifestLine
		for i, v := range row {
			if i < len(columns) && columns[i] != nil {
				*columns[i](&l) = strings.ToValidUTF8(strings.TrimSpace(v), "\ufffd")
			}
		}
		if l.File == "" {
			return nil, &ManifestError{n, "file", ""}
		}
		if seen[l.File] {
			return nil, &ManifestError{n, "twice", l.File}
		}
		if i, err := concordat.ParseInstant(string(l.Date)); err == nil {
			l.Date, l.Time = i.Date(), i
		}
		if err := l.Date.Validate(); err != nil {
			return nil, &ManifestError{n, "date", string(l.Date)}
		}
		if len(out) == maxManifest {
			return nil, &ManifestError{n, "many", strconv.Itoa(maxManifest)}
		}
		seen[l.File] = true
		out = append(out, l)
	}
}

// declare overrides a member's own data with the manifest. A line with the full name overrides one with only the last part.
func declare(manifest []ManifestLine, m *store.BatchMember) {
	var line *ManifestLine
	for i := range manifest {
		if SameFile(manifest[i].File, m.Name) && (line == nil || manifest[i].File == m.Name) {
			line = &manifest[i]
		}
	}
	if line == nil {
		return
	}
	if line.Title != "" {
		m.Title = line.Title
	}
	if line.Author != "" {
		m.Author, m.AuthorBy = line.Author, store.AuthorDeclared
	}
	if line.Date != "" {
		m.Dated, m.DatedBy, m.Timed = line.Date, concordat.DateGiven, line.Time
	}
	m.Group, m.DraftOf = line.Group, line.DraftOf
}

// Strays returns the files in a manifest that are not members.
func Strays(manifest []ManifestLine, members []store.BatchMember) []string {
	known := map[string]bool{}
	for _, m := range members {
		known[m.Name], known[lastPart(m.Name)] = true, true
	}
	var out []string
	for _, l := range manifest {
		if !known[strings.ReplaceAll(l.File, `\`, "/")] {
			out = append(out, l.File)
		}
	}
	return out
}
