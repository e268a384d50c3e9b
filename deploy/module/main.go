// Command module gives the module another path, for example that of the place where its code has a home, so that other
// modules can import package client:
//
//	make module NAME=example.org/integrity/concordat
//
// It changes go.mod and, in every Go file of the folder it is run in, imports and links of comments. Nothing else names
// the module's path.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: make module NAME=HOST/PATH")
		os.Exit(2)
	}
	files, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
	fmt.Printf("the module is %s; %d files changed\n", os.Args[1], files)
}

// rename gives the module in dir the path name, and returns how many Go files changed. A name that no other module could
// import is refused, and then nothing changes.
func rename(dir, name string) (files int, err error) {
	if err := module.CheckPath(name); err != nil {
		return 0, err
	}
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	mod, err := modfile.Parse(path, text, nil)
	if err != nil {
		return 0, err
	}
	old := mod.Module.Mod.Path
	changed := map[string][]byte{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || !d.Type().IsRegular() {
			return nil
		}
		was, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		is, err := renamed(path, was, old, name)
		if err == nil && !bytes.Equal(is, was) {
			changed[path] = is
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := mod.AddModuleStmt(name); err != nil {
		return 0, err
	}
	if changed[path], err = mod.Format(); err != nil {
		return 0, err
	}
	var errs []error
	for path, text := range changed {
		errs = append(errs, os.WriteFile(path, text, 0o644)) // keeps the mode of a file that is there
	}
	return len(changed) - 1, errors.Join(errs...)
}

// renamed returns the text of a Go file with imports of the module's packages, and links to them, under another path.
func renamed(path string, text []byte, old, name string) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	at := 0
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		rest, ok := strings.CutPrefix(imported, old)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		from := set.Position(i.Path.Pos()).Offset
		out.Write(text[at:from])
		out.WriteString(strconv.Quote(name + rest))
		at = from + len(i.Path.Value)
	}
	out.Write(text[at:])
	comment := regexp.MustCompile(`(?m)^\s*//.*$`)
	link := regexp.MustCompile(`\[` + regexp.QuoteMeta(old) + `(/[a-z/]+\]|\.[A-Z])`)
	to := []byte("[" + strings.ReplaceAll(name, "$", "$$") + "${1}")
	return comment.ReplaceAllFunc(out.Bytes(), func(line []byte) []byte { return link.ReplaceAll(line, to) }), nil
}
