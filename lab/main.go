// Command concordat-lab measures detection on documents with known reuse, and the speed of the parts. It is not part
// of an installation. "concordat-lab help" lists its commands.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/extract/sandbox"
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
	root.AddCommand(l.evalCommand(), l.benchCommand(), l.piecesCommand(), l.cellsCommand(), l.likelihoodCommand(),
		l.screenCommand())
	cli.Strict(root)
	return root
}
