package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/extract"
	"concordat/extract/sandbox"
)

// input is a file to be read: its place on disk and its name below the path that was given.
type input struct {
	path     string
	name     string // slash-separated, relative to a given folder; the base name of a given file
	size     int64
	modified time.Time
	err      error // a folder below that cannot be listed
}

// walk returns the regular files of paths, folders read recursively in order of name; below folders,
// names that begin with a dot are left out unless hidden is set, and symbolic links are not
// followed. A folder below that cannot be listed is an input with an error. A path that is not there
// is a usage error.
func walk(paths []string, hidden bool) ([]input, error) {
	var out []input
	for _, root := range paths {
		info, err := os.Stat(root)
		if err != nil {
			return nil, cli.Usage(err)
		}
		if !info.IsDir() {
			if !info.Mode().IsRegular() {
				return nil, cli.Usagef("%s is neither a file nor a folder", root)
			}
			out = append(out, input{path: root, name: filepath.Base(root), size: info.Size(), modified: info.ModTime()})
			continue
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil && (path == root || errors.Is(err, fs.ErrNotExist)) {
				return err
			}
			if err != nil {
				out = append(out, input{path: path, name: path, err: err})
				return nil
			}
			if !hidden && path != root && strings.HasPrefix(d.Name(), ".") {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() {
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone meanwhile
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			out = append(out, input{path: path, name: filepath.ToSlash(name), size: info.Size(), modified: info.ModTime()})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// failure is one input that gave no text.
type failure struct {
	Type   string `json:"type"` // error
	Path   string `json:"path"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	Advice string `json:"advice,omitempty"`
}

func failed(path string, err error) failure {
	var e *extract.Error
	if errors.As(err, &e) {
		e = e.WithAdvice()
		return failure{"error", path, e.Code, e.Detail, e.Advice}
	}
	if errors.Is(err, concordat.ErrInvalid) {
		return failure{Type: "error", Path: path, Code: "invalid", Detail: err.Error()}
	}
	return failure{Type: "error", Path: path, Code: extract.Unreadable, Detail: err.Error()}
}

func (f failure) String() string {
	s := f.Path + ": " + f.Code
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	if f.Advice != "" {
		s += " (" + f.Advice + ")"
	}
	return s
}

// failures counts and prints what could not be read.
type failures struct {
	a *app
	n int
}

func (f *failures) add(e failure) error {
	f.n++
	if f.a.JSON {
		return f.a.Line(e)
	}
	f.a.Warn("%s", e)
	return nil
}

// err is the exit of a command that has done the rest.
func (f *failures) err() error {
	if f.n == 0 {
		return nil
	}
	return &cli.Exit{Code: cli.Unreadable}
}

// reader extracts files, in children that are started when the first file comes.
type reader struct {
	// own says that the files are the site's own: plain text and Markdown are then read in this process,
	// twenty times as fast. Their readers decode and do not parse; whatever has a structure, and whatever
	// comes from outside, goes to a child.
	own     bool
	options sandbox.Options
	once    sync.Once
	runner  *sandbox.Runner
	err     error
}

// reader returns the extractor of the program for so many files: compiled parts are kept in the user's
// cache folder.
func (a *app) reader(limits sandbox.Options, files int) *reader {
	r := &reader{options: limits}
	r.options.Files = files
	if cache, err := os.UserCacheDir(); err == nil {
		r.options.CacheDir = filepath.Join(cache, "concordat")
	}
	return r
}

// read returns the texts of one file: one, or those of an archive's members, or its failure.
func (r *reader) read(ctx context.Context, f input) ([]sandbox.Item, error) {
	if f.err != nil {
		e := &extract.Error{Code: extract.Unreadable, Detail: f.err.Error()}
		return []sandbox.Item{{Path: f.path, Err: e.WithAdvice()}}, nil
	}
	if item, ok := r.readPlain(f.path); ok {
		return []sandbox.Item{item}, nil
	}
	runner, err := r.start()
	if err != nil {
		return nil, err
	}
	return runner.File(ctx, f.path)
}

// start returns the extractor in children, started with the first file.
func (r *reader) start() (*sandbox.Runner, error) {
	r.once.Do(func() { r.runner, r.err = sandbox.New(r.options) })
	if r.err != nil {
		return nil, fmt.Errorf("start extraction: %w", r.err)
	}
	return r.runner, nil
}

// open returns the texts of an open file of the given name and size, as read does, in a child.
func (r *reader) open(ctx context.Context, name string, f *os.File, size int64) ([]sandbox.Item, error) {
	runner, err := r.start()
	if err != nil {
		return nil, err
	}
	return runner.Stream(ctx, name, f, size)
}

// mostPlain bounds the plain text that is read in this process, in bytes.
const mostPlain = 8 << 20

// readPlain reads a plain-text file of the site's own and reports whether it was one.
func (r *reader) readPlain(path string) (sandbox.Item, bool) {
	item := sandbox.Item{Path: path}
	info, err := os.Stat(path)
	if !r.own || err != nil || info.Size() > mostPlain {
		return item, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return item, false // the child says why
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

func (r *reader) close() error {
	if r.runner == nil {
		return nil
	}
	return r.runner.Close()
}

// flags converts what extraction noticed.
func flags(in []extract.Flag) []concordat.Flag {
	var out []concordat.Flag
	for _, f := range in {
		g := concordat.Flag{Code: f.Code, Detail: f.Detail, Count: f.Count}
		if f.End > f.Start {
			g.Span = &concordat.Span{Start: f.Start, End: f.End}
		}
		out = append(out, g)
	}
	return out
}
