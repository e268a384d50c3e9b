// Package tables reads tables of documents in .tsv and .jsonl files, compressed or not.
package tables

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"concordat"
	"concordat/extract"
	"concordat/site"
)

const (
	// longestLine is the maximum length in bytes of a table's line, and therefore of a document.
	longestLine = 64 << 20
	// maxUnpacked is the maximum size in bytes of a decompressed table.
	maxUnpacked = 64 << 30
)

// Kind returns tsv or jsonl for a table of documents, compressed or not, and "" for any other file name.
func Kind(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".tsv":
		return "tsv"
	case ".jsonl":
		return "jsonl"
	}
	return ""
}

// Read calls each with every document of a table. A .tsv file has two columns (id, text), three columns (id, title, text), or a first
// line that names its columns in any order: id and text, and optionally title, author and date. A .jsonl file has the keys id, title,
// author, text and date. Files ending in .gz or .zst are decompressed. A faulty line or a repeated ID is an error that wraps
// concordat.ErrInvalid and names the lines. A table without documents is an *extract.Error. In either case, Read passes on no documents,
// which is why it reads the table twice.
func Read(path string, each func(site.Incoming) error) error {
	n := 0
	if err := scan(path, func(site.Incoming) error { n++; return nil }); err != nil {
		return err
	}
	if n == 0 {
		return &extract.Error{Code: extract.Empty, Detail: "the table has no rows"}
	}
	return scan(path, each)
}

// scan is Read in a single pass, so it has already passed on the documents before a fault.
func scan(path string, each func(site.Incoming) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, closer, err := unpack(path, f)
	if err != nil {
		return fmt.Errorf("%s: %w: %v", path, concordat.ErrInvalid, err)
	}
	defer closer()
	columns := &tsvColumns{}
	parse := columns.parse
	if Kind(path) == "jsonl" {
		parse = parseJSONL
	}
	sc := bufio.NewScanner(io.LimitReader(in, maxUnpacked))
	sc.Buffer(make([]byte, 0, 1<<20), longestLine)
	seen := map[concordat.DocumentID]int{}
	n := 0
	for sc.Scan() {
		n++
		line := sc.Bytes()
		if n == 1 {
			line = []byte(strings.TrimPrefix(string(line), "\ufeff"))
		}
		if len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return fmt.Errorf("%s line %d: %w: not valid UTF-8", path, n, concordat.ErrInvalid)
		}
		d, err := parse(line)
		if errors.Is(err, errHeader) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w: %v", path, n, concordat.ErrInvalid, err)
		}
		if first, twice := seen[d.ID]; twice {
			return fmt.Errorf("%s: %w: duplicate id %q on lines %d and %d", path, concordat.ErrInvalid, d.ID, first, n)
		}
		seen[d.ID] = n
		d.Source = concordat.EscapeName(Absolute(path))
		if err := each(d); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%s after line %d: %w: %v", path, n, concordat.ErrInvalid, err)
	}
	return nil
}

func unpack(path string, f io.Reader) (io.Reader, func(), error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		z, err := gzip.NewReader(f)
		return z, func() {}, err
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return f, func() {}, nil
}

// tsvColumns contains the columns of a .tsv file, as defined by its first line. The zero value has not yet seen a line.
type tsvColumns struct {
	begun bool
	named []string // nil for id, text or id, title, text
}

// errHeader means that the line is a header row.
var errHeader = errors.New("a header row")

// columnNames contains the names allowed in a header row.
var columnNames = []string{"id", "title", "text", "author", "date"}

func (c *tsvColumns) parse(line []byte) (site.Incoming, error) {
	field := strings.Split(string(line), "\t")
	if !c.begun {
		c.begun = true
		named, err := header(field)
		if err != nil {
			return site.Incoming{}, err
		}
		if c.named = named; named != nil {
			return site.Incoming{}, errHeader
		}
	}
	if c.named != nil {
		return c.parseNamed(field)
	}
	var d site.Incoming
	switch len(field) {
	case 2:
		d = site.Incoming{ID: concordat.DocumentID(field[0]), Text: field[1]}
	case 3:
		d = site.Incoming{ID: concordat.DocumentID(field[0]), Title: field[1], Text: field[2]}
	default:
		return d, fmt.Errorf("found %d columns: the columns must be id, title, text or id, text, or be named in the first line", len(field))
	}
	return d, site.CheckName(field[0])
}

// header returns the column names if the first line is a header row, in upper or lower case. A header row names id and text, or consists
// only of column names. It refuses a header row that lacks id or text, or contains a repeated or unknown name.
func header(field []string) (named []string, err error) {
	known := 0
	for _, f := range field {
		name := strings.ToLower(strings.Trim(strings.TrimSpace(f), `"`))
		if slices.Contains(columnNames, name) {
			known++
		}
		named = append(named, name)
	}
	id, text := slices.Contains(named, "id"), slices.Contains(named, "text")
	if !(id && text) && known < len(field) {
		return nil, nil
	}
	if !id || !text {
		return nil, fmt.Errorf("columns %s: id and text are required; title, author and date are optional", strings.Join(named, ", "))
	}
	for i, n := range named {
		if !slices.Contains(columnNames, n) || slices.Contains(named[:i], n) {
			return nil, fmt.Errorf("unknown or repeated column %q: valid columns are id, text, title, author and date", n)
		}
	}
	return named, nil
}

func (c *tsvColumns) parseNamed(field []string) (d site.Incoming, err error) {
	if len(field) != len(c.named) {
		return d, fmt.Errorf("found %d columns, but the first line has %d", len(field), len(c.named))
	}
	for i, name := range c.named {
		switch name {
		case "id":
			d.ID = concordat.DocumentID(field[i])
		case "title":
			d.Title = field[i]
		case "text":
			d.Text = field[i]
		case "author":
			d.Author = field[i]
		case "date":
			if field[i] != "" {
				d.Dated, d.DatedBy = concordat.Date(field[i]), concordat.DateGiven
			}
		}
	}
	return d, errors.Join(site.CheckName(string(d.ID)), d.Dated.Validate())
}

func parseJSONL(line []byte) (site.Incoming, error) {
	var row struct {
		ID     *string `json:"id"`
		Title  string  `json:"title"`
		Author string  `json:"author"`
		Text   *string `json:"text"`
		Date   string  `json:"date"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return site.Incoming{}, err
	}
	if row.ID == nil || row.Text == nil {
		return site.Incoming{}, fmt.Errorf("the keys id and text are required")
	}
	d := site.Incoming{ID: concordat.DocumentID(*row.ID), Title: row.Title, Author: row.Author, Text: *row.Text}
	if row.Date != "" {
		d.Dated, d.DatedBy = concordat.Date(row.Date), concordat.DateGiven
	}
	return d, errors.Join(site.CheckName(*row.ID), d.Dated.Validate())
}

// Absolute returns the absolute form of a path, or the path unchanged on failure.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
