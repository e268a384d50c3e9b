//go:build linux && (amd64 || arm64)

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/site"
	"concordat/store"
)

// standIn is the program name of LibreOffice; under this name, the test binary acts as LibreOffice.
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

// TestFailedPages: a file that LibreOffice cannot lay out is not retried with the same program, and a file on which it ran out of time is
// not retried for an hour. If the machine could not start LibreOffice, this is not held against the file.
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
	for i, c := range []struct {
		how      string
		mode     os.FileMode // mode of the program file
		file     bool        // the file is at fault
		problem  string
		recovers bool
	}{
		{"crash", 0o700, true, "LibreOffice produced no PDF", false},
		{"well", 0o600, false, "start LibreOffice", true},
		{"hang", 0o700, true, "not finished within", false},
	} {
		t.Run(c.how, func(t *testing.T) {
			files := store.OpenFiles(filepath.Join(t.TempDir(), "originals"))
			hash, _, err := files.Put(t.Context(), strings.NewReader("PK\x03\x04 "+c.how), 100)
			if err != nil {
				t.Fatal(err)
			}
			o := newOriginals(files, nil, sandbox.Options{Wall: 2 * time.Minute})
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
			patient := o.office.Wall
			if c.how == "hang" {
				o.office.Wall = time.Second
			}
			err = pages(c.how, c.mode)
			o.office.Wall = patient
			if err == nil || errors.Is(err, concordat.ErrInvalid) != c.file || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("the first time: %v", err)
			}
			if late := errors.Is(err, context.DeadlineExceeded); late != (c.how == "hang") {
				t.Errorf("took too long: %v", late)
			}
			if err := pages("well", 0o700); (err == nil) != c.recovers {
				t.Errorf("the second time: %v", err)
			}
			for key, one := range o.unmade.why {
				if hour := time.Now().Add(lateAgain); (o.unmade.get(key, hour) == nil) != (c.how == "hang") {
					t.Errorf("after an hour: %v", one)
				}
			}
			if err := os.Chtimes(filepath.Join(program, standIn), time.Time{}, time.Unix(1e9+int64(i), 0)); err != nil {
				t.Fatal(err)
			}
			if err := pages("well", 0o700); err != nil {
				t.Errorf("by another program: %v", err)
			}
		})
	}
}

// TestUnmadeBounded: the record of failures keeps the newest ones.
func TestUnmadeBounded(t *testing.T) {
	var u unmade
	now := time.Now()
	for i := range maxUnmade + 1 {
		u.put(fmt.Sprint(i), &extract.Error{Code: extract.Damaged}, now)
	}
	u.put("canceled", context.Canceled, now)
	if len(u.why) != maxUnmade || len(u.order) != maxUnmade ||
		u.get("0", now) != nil || u.get("1", now) == nil || u.get("canceled", now) != nil {
		t.Errorf("%d failures, the first %v, the second %v", len(u.why), u.get("0", now), u.get("1", now))
	}
}
