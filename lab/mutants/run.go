package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// State is the outcome of a change.
type State string

// These are the states.
const (
	Killed    State = "killed"
	TimedOut  State = "timeout"   // counts as killed
	Survived  State = "survived"  // tests ran its line and passed
	Uncovered State = "uncovered" // no test runs its line, so it survives without being run
	Broken    State = "broken"    // it does not compile and does not count
	Apart     State = "apart"     // it compiles, but not together with others, and was not run
)

// tester runs tests with one change at a time.
type tester struct {
	root    string
	pkgs    []string // the changed packages: one, unless several are built together
	tests   []string // packages whose tests are run
	only    string   // value of -run
	dir     string   // folder for overlays and binaries
	limit   time.Duration
	short   bool // whether the tests run with -short
	blind   bool // coverage is unknown, so every change is run
	covered map[string][]span
	log     io.Writer // reports progress
}

// span is a range of lines that a test runs, including both ends.
type span struct{ from, to int }

// prepare runs the tests without a change. They must pass; their time determines the time limit of a mutant, and their coverage shows
// which mutants need no run.
func (t *tester) prepare(ctx context.Context) error {
	profile := filepath.Join(t.dir, "cover")
	began := time.Now()
	var cover []string
	if !t.blind {
		cover = []string{"-coverprofile=" + profile, "-coverpkg=./" + t.pkgs[0]}
	}
	out, err := t.gotest(ctx, 10*time.Minute, cover...)
	if err != nil {
		return fmt.Errorf("tests of %s fail even without a change: %w\n%s", t.pkgs[0], err, out)
	}
	if t.limit <= 0 {
		t.limit = 3*time.Since(began) + 20*time.Second
	}
	t.limit = t.limit.Round(time.Second)
	if t.blind {
		return nil
	}
	b, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	t.covered, err = readCover(string(b))
	return err
}

// readCover reads a profile of go test: "module/file.go:line.column,line.column statements count".
func readCover(profile string) (map[string][]span, error) {
	out := map[string][]span{}
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		name, rest, ok := strings.Cut(line, ".go:")
		fields := strings.Fields(rest)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("invalid coverage line %q", line)
		}
		if fields[2] == "0" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], ",")
		a, errA := strconv.Atoi(before(from, "."))
		b, errB := strconv.Atoi(before(to, "."))
		if err := errors.Join(errA, errB); err != nil {
			return nil, fmt.Errorf("parse coverage line %q: %w", line, err)
		}
		_, file, _ := strings.Cut(name, "/")
		out[file+".go"] = append(out[file+".go"], span{a, b})
	}
	return out, nil
}

func before(s, sep string) string {
	a, _, _ := strings.Cut(s, sep)
	return a
}

func (t *tester) covers(c Change) bool {
	for _, s := range t.covered[c.File] {
		if s.from <= c.Line && c.Line <= s.to {
			return true
		}
	}
	return false
}

// try runs the tests with the change through an overlay, without modifying the tree.
func (t *tester) try(ctx context.Context, c Change) (State, error) {
	if !t.blind && !c.InCase && !t.covers(c) {
		return Uncovered, nil
	}
	list, err := t.overlay(c)
	if err != nil {
		return "", err
	}
	return stateBy(ctx, t.limit, func(limit time.Duration) (string, error) { return t.gotest(ctx, limit, "-overlay="+list) })
}

// stateBy returns the outcome of a change from the tests that run starts. If they exceed the limit, they are run again with three times
// the limit, since the machine might have been busy.
func stateBy(ctx context.Context, limit time.Duration, run func(limit time.Duration) (string, error)) (State, error) {
	out, err := run(limit)
	if late(out, err) && ctx.Err() == nil {
		out, err = run(3 * limit)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return Survived, nil
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return Broken, nil
	case late(out, err):
		return TimedOut, nil
	}
	return Killed, nil
}

// overlay writes the file with the change applied, and returns the path of the overlay that passes it to the Go command.
func (t *tester) overlay(c Change) (string, error) {
	path := filepath.Join(t.root, c.File)
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed, err := c.apply(src)
	if err != nil {
		return "", err
	}
	with := filepath.Join(t.dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: with}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(t.dir, "overlay.json")
	return list, errors.Join(os.WriteFile(with, changed, 0o600), os.WriteFile(list, overlay, 0o600))
}

// late reports whether the limit ended the tests.
func late(out string, err error) bool {
	return strings.Contains(out, "panic: test timed out") || errors.Is(err, context.DeadlineExceeded)
}

// gotest runs go test and returns its output.
func (t *tester) gotest(ctx context.Context, limit time.Duration, more ...string) (string, error) {
	args := append([]string{"test", "-failfast", "-count=1", "-vet=off", "-timeout=" + limit.String()}, more...)
	if t.short {
		args = append(args, "-short")
	}
	if t.only != "" {
		args = append(args, "-run="+t.only)
	}
	for _, pkg := range t.tests {
		args = append(args, "./"+pkg)
	}
	return t.command(ctx, limit+time.Minute, t.root, nil, "go", args...) // with a minute for building
}

// command runs a command and returns its output. The command, and everything that it started, end at the
// limit.
func (t *tester) command(ctx context.Context, limit time.Duration, dir string, env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Leftovers of interrupted tests are removed with the folder.
	cmd.Env = append(append(os.Environ(), "TMPDIR="+t.dir), env...)
	endTogether(cmd)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}
