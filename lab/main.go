// Command concordat-lab measures detection on documents with known reuse, and the speed of the parts. It is not part
// of an installation. "concordat-lab help" lists its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/extract/sandbox"
	"concordat/lab/bench"
)

// lab is the state shared by all commands.
type lab struct {
	cli.Site // for screen; nothing else uses a site
	figures  figures
}

func main() {
	if sandbox.IsWorker() {
		sandbox.Main() // for a child process that extracts one file, it does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	l := &lab{Site: cli.Site{Terminal: cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr}}}
	return cli.Execute(ctx, l.command(), args, &l.Terminal)
}

// command builds the tree of commands.
func (l *lab) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "concordat-lab",
		Short: "Measure Concordat's detection and speed",
		Long: `Concordat-lab measures Concordat: eval measures detection on documents with known reuse, and bench measures speed.
Neither touches a site. The experiments under screen read a library of a site.

Exit codes: 0 success, 1 failure or a figure out of bounds, 2 incorrect usage.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().BoolVar(&l.JSON, "json", false, "print one JSON object per line to stdout")
	root.AddCommand(l.evalCommand(), l.benchCommand(), l.piecesCommand(), l.cellsCommand(), l.centresCommand(), l.likelihoodCommand(),
		l.screenCommand())
	cli.Strict(root)
	return root
}

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

// screenCommand returns screen with its subcommands.
func (l *lab) screenCommand() *cobra.Command {
	c := &cobra.Command{Use: "screen", Short: "Reproduce the experiments of the papers behind concordat screen", Args: cobra.NoArgs,
		Long: `Screen measures how well the prints of concordat screen identify near-duplicates. Sweep measures labelled pairs at
every distance; sample draws pairs from a library for people to label, and precision evaluates their labels.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&l.Data, "data", "", "folder of the site (default: $CONCORDAT_DATA, or the user's data folder)")
	c.AddCommand(l.sweepCommand(), l.sampleCommand(), l.precisionCommand())
	return c
}
