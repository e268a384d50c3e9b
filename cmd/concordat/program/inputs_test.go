package program

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"concordat"
	"concordat/instance"
	"concordat/site/batch"
)

// TestWalkTakesAnyName adds files with every kind of name that a file system allows, under names that can be stored, and finds the files
// by those names.
func TestWalkTakesAnyName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can store a file name that is not UTF-8")
	}
	dir := t.TempDir()
	for _, name := range []string{"b\xe4r.txt", "tab\there.txt", "line\nend.txt", "m.txt", "~$m.docx", "Thumbs.db", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("The tide tables were kept by hand."), 0o600); err != nil {
			t.Skipf("this file system keeps no such name: %v", err)
		}
	}
	files, leftOut, err := walk([]string{dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if want := []string{`b\xE4r.txt`, `line\x0Aend.txt`, "m.txt", `tab\x09here.txt`}; !slices.Equal(names, want) || leftOut != 3 {
		t.Errorf("got %q and %d left out, want %q and 3", names, leftOut, want)
	}
	inputs, _, err := batchInputs(files, batch.Job{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range inputs {
		if _, err := os.Stat(concordat.UnescapeName(in.Place)); err != nil {
			t.Errorf("the file of %s is not found again: %v", in.Name, err)
		}
	}
	if got := instance.NameOf("a.zip", "/x/a.zip!/b/c.txt"); got != "a.zip!/b/c.txt" {
		t.Errorf("the member is named %s", got)
	}
}
