// Command concordat runs one site: it keeps libraries of documents, checks submissions against
// them, and writes evidence reports. "concordat help" lists the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/extract/sandbox"
)

// Exit codes; programs rely on them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitUnreadable = 3 // some inputs unreadable, the rest done
	exitThreshold  = 4 // --fail-on reached
	exitIncomplete = 5 // something asked did not answer, with --require-complete
	exitRestart    = 6 // serve ended to be started again by its service manager
)

// exitError ends the program with a code of its own. A nil err prints nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as the caller's mistake.
func usage(err error) error { return &exitError{exitUsage, err} }

// usagef is usage of a formatted message.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

func main() {
	if sandbox.IsWorker() {
		sandbox.Main() // a child that extracts one file; it does not return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(stderr, "concordat:", exit.err)
		}
		return exit.code
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "concordat: interrupted; what was done is kept, the same command goes on from there")
		return exitFailed
	}
	fmt.Fprintln(stderr, "concordat:", explain(err))
	return exitFailed
}

// explain adds to an error what a person can do about it.
func explain(err error) string {
	for _, e := range []struct {
		is     error
		advice string
	}{
		{concordat.ErrLocked, "another concordat process works on this site; wait for it to end, or stop concordat serve"},
		{concordat.ErrScheme, "run concordat reindex, or set the scheme back"},
		{concordat.ErrCorrupt, "restore the folder from a backup, or run concordat reindex"},
		{concordat.ErrDiskFull, "free some space and run the same command again; nothing acknowledged is lost"},
	} {
		if errors.Is(err, e.is) {
			return fmt.Sprintf("%v (%s)", err, e.advice)
		}
	}
	return err.Error()
}

// command builds the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "concordat",
		Short: "Find reused text, here and at partner sites, without giving the text away",
		Long: `Concordat keeps libraries of documents and checks submissions against them.

Start with:
  concordat init
  concordat library create theses
  concordat add --library theses FOLDER
  concordat check submission.docx --out report.html

Exit codes: 0 done, 1 failed, 2 usage, 3 some inputs unreadable (the rest done),
4 the share of --fail-on was reached, 5 incomplete answer with --require-complete,
6 serve ended by an order of cluster restart, to be started again by its service manager.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(plainFlag(err)) })
	f := root.PersistentFlags()
	f.StringVar(&a.data, "data", "", "folder of the site (default $CONCORDAT_DATA, else the user's data folder)")
	f.BoolVar(&a.json, "json", false, "print JSON lines on stdout")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	root.AddCommand(a.initCommand(), a.libraryCommand(), a.addCommand(), a.checkCommand(), a.batchCommand(), a.recheckCommand(), a.reportCommand(),
		a.fingerprintCommand(), a.extractCommand(), a.reindexCommand(), a.benchCommand(), a.evalCommand(), a.screenCommand(), a.siteCommand(), a.peerCommand(), a.federationCommand(), a.auditCommand(), a.revealCommand(), a.alertCommand(), a.mirrorCommand(), a.deleteCommand(), a.retentionCommand(), a.serveCommand(), a.statusCommand(), a.backupCommand(), a.restoreCommand(), a.doctorCommand(), a.loginCommand(), a.ltiCommand(), a.configCommand(), a.versionCommand())
	root.AddCommand(a.storeCommand(), a.clusterCommand())
	a.answerCommands(root)
	requireArgs(root)
	return root
}

// requireArgs makes wrong arguments of c and its subcommands a usage error.
func requireArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w; see %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, s := range c.Commands() {
		requireArgs(s)
	}
}

// parsing is what the standard library says of text that is no number, which names the text twice.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing ".*": |time: `)

// plainFlag says what is wrong with a flag without the name of the function that found it.
func plainFlag(err error) error {
	return errors.New(parsing.ReplaceAllString(err.Error(), ""))
}
