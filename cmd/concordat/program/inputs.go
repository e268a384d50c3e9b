package program

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/tables"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/instance"
	"concordat/report"
)

// input is a file to read, with its path on disk and its name below the given path.
type input struct {
	path     string
	name     string // slash-separated and escaped (concordat.EscapeName): relative to the folder; for a file, its base name
	size     int64
	modified time.Time
	err      error // the reason why a subfolder cannot be listed
}

// walk returns the regular files of paths. It walks folders recursively, in order of name. In folders, it skips names that begin with a
// dot, unless hidden is set, and it does not follow symbolic links. It also skips lock files and system files; leftOut counts everything
// skipped. A subfolder that cannot be listed yields an input with an error. A missing path is a usage error.
func walk(paths []string, hidden bool) (out []input, leftOut int, err error) {
	for _, root := range paths {
		info, err := os.Stat(root)
		if err != nil {
			return nil, 0, cli.Usagef("cannot read %s: %w", root, errors.Unwrap(err))
		}
		if !info.IsDir() {
			if !info.Mode().IsRegular() {
				return nil, 0, cli.Usagef("%s is neither a file nor a folder", root)
			}
			out = append(out, input{path: root, name: concordat.EscapeName(filepath.Base(root)), size: info.Size(), modified: info.ModTime()})
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
			if !hidden && path != root && (strings.HasPrefix(d.Name(), ".") || extract.IsClutter(d.Name())) {
				leftOut++
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
				return nil // removed in the meantime
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			out = append(out, input{path: path, name: concordat.EscapeName(filepath.ToSlash(name)), size: info.Size(), modified: info.ModTime()})
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return out, leftOut, nil
}

// failure is an input that yielded no text.
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

// failures counts and prints inputs that could not be read.
type failures struct {
	a       *app
	n       int
	leftOut int // hidden, lock and system files, which are not failures
}

// tellLeftOut prints the number of hidden, lock and system files that were skipped.
func (f *failures) tellLeftOut() error {
	switch {
	case f.leftOut == 0:
	case f.a.JSON:
		return f.a.Line(map[string]any{"type": "left_out", "files": f.leftOut})
	default:
		f.a.Warn("left out: %s", report.Plural(f.leftOut, "hidden, lock or system file",
			"hidden, lock or system files"))
	}
	return nil
}

func (f *failures) add(e failure) error {
	f.n++
	if f.a.JSON {
		return f.a.Line(e)
	}
	f.a.Warn("%s", e)
	return nil
}

// err returns an error with the exit code for unreadable inputs, or nil if all inputs could be read.
func (f *failures) err() error {
	if f.n == 0 {
		return nil
	}
	return &cli.Exit{Code: cli.Unreadable}
}

// place returns the absolute path of a file in its stored and displayed form.
func (f input) place() string { return concordat.EscapeName(tables.Absolute(f.path)) }

// readInput returns the texts in a file.
func readInput(ctx context.Context, r *instance.Reader, f input) ([]sandbox.Item, error) {
	if f.err != nil {
		e := &extract.Error{Code: extract.Unreadable, Detail: f.err.Error()}
		return []sandbox.Item{{Path: concordat.EscapeName(f.path), Err: e.WithAdvice()}}, nil
	}
	return r.Read(ctx, f.path)
}
