// Package cli contains the code that this project's commands share: exit codes and the errors that carry them, the execution of a command
// line, and a command's terminal ([Terminal]) and site ([Site]).
package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/instance"
	"concordat/site/compare"
)

// Exit codes. Programs rely on them.
const (
	Done       = 0
	Failed     = 1
	Misused    = 2 // wrong command line or configuration
	Unreadable = 3 // some inputs were unreadable; the rest is done
	Threshold  = 4 // --fail-on was reached
	Incomplete = 5 // with --require-complete: a partner or shard did not answer
	Restart    = 6 // serve exited so that its service manager restarts it
)

// Exit ends the program with the given exit code. If err is nil, nothing more is printed.
type Exit struct {
	Code int
	Err  error
}

// Error returns Err's message or, without Err, the code.
func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Exit) Unwrap() error { return e.Err }

// Usage marks err as a usage error.
func Usage(err error) error { return &Exit{Misused, err} }

// Usagef returns a usage error with a formatted message.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Execute runs the command line and returns the exit code. It prints an error to standard error, with advice on how to fix it.
func Execute(ctx context.Context, root *cobra.Command, args []string, t *Terminal) int {
	root.SetArgs(args)
	root.SetIn(t.Stdin)
	root.SetOut(t.Stdout)
	root.SetErr(t.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return Done
	}
	complain := func(what any) { fmt.Fprintln(t.Stderr, Printable(fmt.Sprintf("%s: %v", root.Name(), what))) }
	var exit *Exit
	var misuse *instance.UsageError
	switch {
	case errors.As(err, &exit):
		if exit.Err != nil {
			complain(exit.Err)
		}
		return exit.Code
	case errors.As(err, &misuse):
		complain(misuse)
		return Misused
	case errors.Is(err, context.Canceled):
		complain("interrupted; finished work is kept: run the same command again to continue")
		return Failed
	}
	complain(explain(err))
	return Failed
}

// explain adds advice to an error.
func explain(err error) string {
	for _, e := range []struct {
		is     error
		advice string
	}{
		{concordat.ErrLocked, "another concordat process is using this site; wait for it to end, or stop concordat serve"},
		{concordat.ErrScheme, "run concordat reindex, or restore the previous scheme in the configuration"},
		{concordat.ErrCorrupt, "restore the site from a backup, or run concordat reindex"},
		{concordat.ErrDiskFull, "free some disk space and run the same command again; no acknowledged write is lost"},
	} {
		if errors.Is(err, e.is) {
			return fmt.Sprintf("%v (%s)", err, e.advice)
		}
	}
	return err.Error()
}

// parsing matches the standard library's errors about malformed numbers, which repeat the input.
var parsing = regexp.MustCompile(`strconv\.\w+: parsing ".*": |time: `)

// plainFlag describes a flag error without the name of the function that found it.
func plainFlag(err error) error {
	return errors.New(parsing.ReplaceAllString(err.Error(), ""))
}

// channels maps flag values to the ways in which a check nominates source documents.
var channels = map[string]compare.Channel{"both": compare.ChannelBoth, "fingerprints": compare.ChannelFingerprints,
	"text": compare.ChannelText}

// ChannelFlag returns the channel named by --channel, or a usage error.
func ChannelFlag(name string) (compare.Channel, error) {
	if c, ok := channels[name]; ok {
		return c, nil
	}
	return "", Usagef("--channel %s: valid values are both, fingerprints and text", name)
}

// Parse validates a command line without running it. Unless whole is set, arguments may be missing.
func Parse(root *cobra.Command, args []string, whole bool) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return Usagef("unknown command %s", args[0])
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if left := c.Flags().Args(); whole && c.Name() != "help" {
		return c.ValidateArgs(left)
	}
	return nil
}
