package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measured holds the measurements of one test binary, stored between runs in a file of JSON lines, one per test, each preceded by a line
// break. A test is added as soon as it is measured, so that the next run continues where an interrupted one stopped.
type measured struct {
	path  string // empty if nothing is stored
	tests map[string]measurement
}

// measurement is a test's duration without a change, and the changes that it reaches, by their numbers in the binary.
type measurement struct {
	Test    string        `json:"test"`
	Took    time.Duration `json:"took_ns"`
	Reaches []int         `json:"reaches"`
}

// keepMeasured is how long a measurement is kept without being used by a run.
const keepMeasured = 14 * 24 * time.Hour

// openMeasured reads the stored measurements for a binary of tests that run in a folder. The binary contains the package with its
// changes, its tests and everything that they use. There are no measurements if any of these, the folder's testdata, or a CONCORDAT_*
// variable of the environment differs. Other files read by tests are not considered.
func openMeasured(cache, binary, folder string) (*measured, error) {
	if cache == "" {
		return &measured{}, nil
	}
	key, err := measuredKey(binary, folder)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, err
	}
	if err := forget(cache, time.Now().Add(-keepMeasured)); err != nil {
		return nil, err
	}
	m := &measured{path: filepath.Join(cache, key+".jsonl"), tests: map[string]measurement{}}
	b, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := os.Chtimes(m.path, now, now); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		var one measurement
		if err := json.Unmarshal([]byte(line), &one); err == nil { // otherwise the line is incomplete
			m.tests[one.Test] = one
		}
	}
	return m, nil
}

// add stores a test's measurement.
func (m *measured) add(one measurement) error {
	if m.path == "" {
		return nil
	}
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(m.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append([]byte{'\n'}, line...)) // the previous line might be incomplete
	return errors.Join(err, f.Close())
}

// measuredKey identifies the content of a binary and of what its tests read.
func measuredKey(binary, folder string) (string, error) {
	h := sha256.New()
	paths := []string{binary}
	err := filepath.WalkDir(filepath.Join(folder, "testdata"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, path := range paths {
		if err := hashFile(h, path); err != nil {
			return "", err
		}
	}
	vars := slices.DeleteFunc(os.Environ(), func(s string) bool { return !strings.HasPrefix(s, "CONCORDAT_") })
	slices.Sort(vars)
	for _, s := range vars {
		fmt.Fprintf(h, "%q\n", s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func hashFile(h io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	n, err := io.Copy(h, f)
	fmt.Fprintf(h, "%d %s\n", n, filepath.Base(path))
	return errors.Join(err, f.Close())
}

// forget removes the measurements last used before a given time.
func forget(cache string, before time.Time) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), ".jsonl") && info.ModTime().Before(before) {
			err = os.Remove(filepath.Join(cache, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
