package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"concordat/bench"
)

// figures is the file to which results are added in the format of Go's benchmarks.
type figures struct {
	path string

	mu   sync.Mutex // guards told
	told map[string]bool
}

// figure prints a result of the bench as report does, and adds it to the file of --benchfmt, if there is one.
func (a *app) figure(name string, r any, format string, args ...any) error {
	return errors.Join(a.report(r, format, args...), a.figures.add(name, r))
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
		return usage(err)
	}
	_, err = out.WriteString(b.String())
	return errors.Join(err, out.Close())
}

func (a *app) benchRun() *cobra.Command {
	var times int
	var name string
	c := &cobra.Command{Use: "run -- COMMAND [ARGUMENT]...", Short: "Run a command: its processor time and memory", Args: cobra.MinimumNArgs(1),
		Long: `Run starts a command so many times, one after the other, and measures the processor time of its processes, the time
on the clock and the largest memory of one process. What it writes goes to standard error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return usagef("--rounds %d: must be at least 1", times)
			}
			if name == "" {
				name = strings.Join(append([]string{filepath.Base(args[0])}, args[1:min(2, len(args))]...), " ")
			}
			r, err := bench.Process(cmd.Context(), name, args, times, a.stderr)
			if err != nil {
				return err
			}
			return a.figure("Run", r, "%s: %.2f s of processor time, the least %.2f, %.2f s on the clock, %d rounds; peak %.0f MB", r.Command, r.CPU, r.Best, r.Wall, r.Rounds, r.Peak)
		}}
	c.Flags().IntVar(&times, "rounds", 1, "how often it is run; the median is taken")
	c.Flags().StringVar(&name, "name", "", "what the figure is called; the command and its first word if not given")
	return c
}
