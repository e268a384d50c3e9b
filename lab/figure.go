package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

// figures is the file that receives results in the format of Go's benchmarks.
type figures struct {
	path string

	mu   sync.Mutex // guards told
	told map[string]bool
}

// figure prints a benchmark result like report, and adds it to the file of --benchfmt, if any.
func (l *lab) figure(name string, r any, format string, args ...any) error {
	return errors.Join(l.Report(r, format, args...), l.figures.add(name, r))
}

func (f *figures) add(name string, r any) (err error) {
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	if f.told == nil {
		f.told = map[string]bool{}
		fmt.Fprintln(&b, "pkg: concordat/bench")
	}
	line, higher := bench.Benchmark(name, r)
	for _, unit := range higher {
		if !f.told[unit] {
			f.told[unit] = true
			fmt.Fprintf(&b, "Unit %s better=higher\n", unit)
		}
	}
	fmt.Fprintln(&b, line)
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return cli.Usage(err)
	}
	_, err = out.WriteString(b.String())
	return errors.Join(err, out.Close())
}
