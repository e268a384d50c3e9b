//go:build linux && (amd64 || arm64)

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/extract/sandbox"
	"concordat/site"
	"concordat/store"
)

// standIn is the name of LibreOffice's program, under which the test binary stands in for it.
const standIn = "soffice.bin"

func init() {
	if sandbox.IsWorker() {
		sandbox.Main()
	}
	if filepath.Base(os.Args[0]) != standIn {
		return
	}
	how, err := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), "how"))
	if err != nil || string(how) == "crash" {
		os.Exit(3)
	}
	if string(how) == "hang" {
		time.Sleep(time.Hour)
	}
	out := filepath.Join(os.Args[len(os.Args)-2], "in.pdf")
	if os.WriteFile(out, []byte("%PDF-1.7"), 0o600) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// TestFailedPages: a file that LibreOffice cannot lay out is not tried again; if the machine could not start LibreOffice, or it took
// too long, that says nothing about the file.
func TestFailedPages(t *testing.T) {
	program := t.TempDir()
	put := func(name string, content []byte, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(program, name), content, mode); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	put("soffice", nil, 0o700)
	put(standIn, own, 0o700)
	for _, c := range []struct {
		how      string
		mode     os.FileMode // of the program
		file     bool        // it is the file's fault
		problem  string
		recovers bool
	}{
		{"crash", 0o700, true, "LibreOffice made no PDF", false},
		{"well", 0o600, false, "start LibreOffice", true},
		{"hang", 0o700, true, "not done within", true},
	} {
		t.Run(c.how, func(t *testing.T) {
			files := store.OpenFiles(filepath.Join(t.TempDir(), "originals"))
			hash, _, err := files.Put(t.Context(), strings.NewReader("PK\x03\x04 "+c.how), 100)
			if err != nil {
				t.Fatal(err)
			}
			o := newOriginals(files, nil, sandbox.Options{Wall: 2 * time.Second})
			o.office.Command = filepath.Join(program, "soffice")
			if _, err := sandbox.FindOffice(o.office); errors.Is(err, sandbox.ErrUnconfined) {
				t.Skip(err)
			}
			pages := func(how string, mode os.FileMode) error {
				put("how", []byte(how), 0o600)
				if err := os.Chmod(filepath.Join(program, standIn), mode); err != nil {
					t.Fatal(err)
				}
				_, err := o.pdf(t.Context(), site.Part{Name: "a.docx", File: hash})
				return err
			}
			err = pages(c.how, c.mode)
			if err == nil || errors.Is(err, concordat.ErrInvalid) != c.file || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("the first time: %v", err)
			}
			if err := pages("well", 0o700); (err == nil) != c.recovers {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}
