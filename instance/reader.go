package instance

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/extract/sandbox"
)

// DateOf returns the date of a document: the given date or, if none is given, the date in its file. It ignores a date in the future,
// since the clock was wrong or someone chose the date.
func DateOf(given string, r *extract.Result) (concordat.Date, concordat.DateOrigin) {
	if given != "" {
		return concordat.Date(given), concordat.DateGiven
	}
	tomorrow := concordat.Date(time.Now().AddDate(0, 0, 1).Format(time.DateOnly))
	if d, err := concordat.ParseDate(r.Date); err == nil && d != "" && !tomorrow.Before(d) {
		return d, concordat.DateOfFile
	}
	return "", ""
}

// TimeOf returns the time of day at which a document was made, if DateOf took its date from a file that includes the time.
func TimeOf(by concordat.DateOrigin, r *extract.Result) concordat.Instant {
	if i, err := concordat.ParseInstant(r.Time); err == nil && by == concordat.DateOfFile {
		return i
	}
	return ""
}

// TitleOf returns a title for a document without one: the name of its file or, in an archive, of the member.
func TitleOf(id string) string {
	name := path.Base(strings.ReplaceAll(id, "!/", "/"))
	return strings.TrimSuffix(name, path.Ext(name))
}

// NameOf returns the identity of the document at itemPath of a named file: the file's name followed, for an archive, by the member's
// name.
func NameOf(name, itemPath string) string {
	if _, member, ok := strings.Cut(itemPath, "!/"); ok {
		name += "!/" + member
	}
	return concordat.ShortName(name)
}

// Reader extracts files in child processes, which start with the first file.
type Reader struct {
	// Own means that the files are the site's own. Plain text and Markdown are then read in this process, which is twenty times as fast.
	// Their readers only decode; a child reads anything with a structure and anything from outside.
	Own     bool
	options sandbox.Options
	once    sync.Once
	runner  *sandbox.Runner
	err     error
}

// NewReader returns a Reader for the given number of files. Compiled parts are cached in the user's cache folder.
func NewReader(limits sandbox.Options, files int) *Reader {
	r := &Reader{options: limits}
	r.options.Files = files
	if cache, err := os.UserCacheDir(); err == nil {
		r.options.CacheDir = filepath.Join(cache, "concordat")
	}
	return r
}

// Read returns the texts of a file: a single text, the texts of an archive's members, or a failure. Paths have the form of
// concordat.EscapeName.
func (r *Reader) Read(ctx context.Context, path string) ([]sandbox.Item, error) {
	if item, ok := r.readPlain(path); ok {
		return []sandbox.Item{item}, nil
	}
	runner, err := r.Start()
	if err != nil {
		return nil, err
	}
	return runner.File(ctx, path)
}

// Start returns the extractor in child processes, which starts with the first file.
func (r *Reader) Start() (*sandbox.Runner, error) {
	r.once.Do(func() { r.runner, r.err = sandbox.New(r.options) })
	if r.err != nil {
		return nil, fmt.Errorf("start extraction: %w", r.err)
	}
	return r.runner, nil
}

// Open is like Read for an open file with the given name and size; a child process extracts its texts.
func (r *Reader) Open(ctx context.Context, name string, f *os.File, size int64) ([]sandbox.Item, error) {
	runner, err := r.Start()
	if err != nil {
		return nil, err
	}
	return runner.Stream(ctx, name, f, size)
}

// maxPlain is the maximum size of plain text read in this process, in bytes.
const maxPlain = 8 << 20

// readPlain reads one of the site's own plain-text files and reports whether it was one.
func (r *Reader) readPlain(path string) (sandbox.Item, bool) {
	item := sandbox.Item{Path: concordat.EscapeName(path)}
	info, err := os.Stat(path)
	if !r.Own || err != nil || info.Size() > maxPlain {
		return item, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return item, false // the child process reports the reason
	}
	format, err := extract.Sniff(filepath.Base(path), data)
	if err != nil || format != extract.Text && format != extract.Markdown {
		return item, false
	}
	item.Result, err = extract.Bytes(filepath.Base(path), data, r.options.Extract)
	if err != nil {
		return item, false
	}
	return item, true
}

// Close stops the child processes.
func (r *Reader) Close() error {
	if r.runner == nil {
		return nil
	}
	return r.runner.Close()
}

// FlagsOf converts the flags of extraction.
func FlagsOf(in []extract.Flag) []concordat.Flag {
	var out []concordat.Flag
	for _, f := range in {
		g := concordat.Flag{Code: f.Code, Detail: f.Detail, Count: f.Count, Missing: f.Missing, Letters: f.Letters, Bytes: f.Bytes}
		if f.End > f.Start {
			g.Span = &concordat.Span{Start: f.Start, End: f.End}
		}
		out = append(out, g)
	}
	return out
}
