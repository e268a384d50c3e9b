package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
)

// TestRename: a copy under another path builds, its import table holds, and another module can import its client.
func TestRename(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a copy of the module")
	}
	const name = "example.org/integrity/concordat"
	dir := t.TempDir()
	copied := filepath.Join(dir, "copy")
	list, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("there is no checkout to copy: ", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed and not yet committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(copied, filepath.Dir(path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, path), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := rename(copied, name)
	if err != nil || files < 500 {
		t.Fatalf("%d files, %v", files, err)
	}
	run := func(dir string, args ...string) {
		t.Helper()
		c := exec.Command("go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%.2000s", strings.Join(args, " "), err, out)
		}
	}
	run(copied, "vet", "./client", "./report", "./segment/...")
	run(copied, "test", "./internal/layers")

	other := filepath.Join(dir, "other")
	for path, text := range map[string]string{
		"go.mod":  "module example.org/portal\n\ngo 1.26.0\n\nrequire " + name + " v0.0.0\n\nreplace " + name + " => ../copy\n",
		"main.go": "package main\n\nimport \"" + name + "/client\"\n\nfunc main() { _ = client.Options{} }\n",
	} {
		if err := errors.Join(os.MkdirAll(other, 0o755), os.WriteFile(filepath.Join(other, path), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run(other, "build", "-o", os.DevNull, ".")
}

// TestRenameRefuses: a path that nobody could import changes nothing.
func TestRenameRefuses(t *testing.T) {
	dir := t.TempDir()
	mod := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(mod, []byte("module concordat\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "concordat", "has space.org/x", "example.org/../x", "-x.org/y"} {
		if _, err := rename(dir, name); err == nil {
			t.Errorf("%q is taken", name)
		} else if invalid := (*module.InvalidPathError)(nil); !errors.As(err, &invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if text, err := os.ReadFile(mod); err != nil || string(text) != "module concordat\n" {
		t.Errorf("go.mod is %q, %v", text, err)
	}
}

func TestRenamed(t *testing.T) {
	const text = `// Package a is like [concordat/site/ask] and [concordat.Span], unlike [concordatx/y].
package a

import (
	"fmt"

	"concordat"
	ask "concordat/site/ask"
	"concordatx/y"
)

var program = "concordat" // and "concordat/site"
`
	got, err := renamed("a.go", []byte(text), "concordat", "example.org/c")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("[concordat/site/ask]", "[example.org/c/site/ask]", "[concordat.Span]", "[example.org/c.Span]",
		"\t\"concordat\"", "\t\"example.org/c\"", "ask \"concordat", "ask \"example.org/c").Replace(text)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
