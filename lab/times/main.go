// Times measures the processor time of each package's tests, in the usual form and with -short. It measures the tests that go test
// ./PACKAGE runs, including the processes that they start but not the build.
//
//	bin/times index site/...
//
// Without arguments, it measures all packages. Exit status 1 means that tests failed, or that a package is over its bound.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// These are bounds for one package.
const (
	usualBound = 60 * time.Second
	shortBound = 15 * time.Second
)

func main() {
	over, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "times:", err)
		os.Exit(2)
	}
	if over > 0 {
		os.Exit(1)
	}
}

// run measures packages, by patterns relative to the folder, and returns how many of them failed or are over a bound.
func run(patterns []string, out io.Writer) (over int, err error) {
	if len(patterns) == 0 {
		patterns = []string{"..."}
	}
	args := []string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}"}
	for _, p := range patterns {
		args = append(args, "./"+filepath.ToSlash(filepath.Clean(p)))
	}
	list := exec.Command("go", args...)
	list.Stderr = os.Stderr
	dirs, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("list packages: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	temp, err := os.MkdirTemp("", "times-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := adopt(); err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%-32s %8s %8s\n", "package", "usual", "-short")
	for dir := range strings.FieldsSeq(string(dirs)) {
		name, err := filepath.Rel(root, dir)
		if err != nil {
			return over, err
		}
		usual, short, said, err := measure(dir, temp)
		if err != nil {
			return over, fmt.Errorf("%s: %w", name, err)
		}
		if usual > usualBound || short > shortBound {
			said += " (over the limit)"
		}
		if said != "" {
			over++
		}
		fmt.Fprintf(out, "%-32s %8.1f %8.1f%s\n", name, usual.Seconds(), short.Seconds(), said)
	}
	return over, nil
}

// measure returns the cost of the tests of the package in dir in both forms; said is empty if they passed.
func measure(dir, temp string) (usual, short time.Duration, said string, err error) {
	binary := filepath.Join(temp, "tests")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", binary, ".")
	build.Dir, build.Stderr = dir, os.Stderr
	if err := build.Run(); err != nil {
		return 0, 0, "", fmt.Errorf("build the tests: %w", err)
	}
	usual, passed, err := cost(dir, binary, "-test.timeout=1h")
	if err != nil {
		return 0, 0, "", err
	}
	short, passedShort, err := cost(dir, binary, "-test.timeout=1h", "-test.short")
	if err != nil {
		return 0, 0, "", err
	}
	if !passed || !passedShort {
		said = " failed"
	}
	return usual, short, said, os.Remove(binary)
}
