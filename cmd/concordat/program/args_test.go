package program

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
)

// TestMissingArguments: whoever omits an argument of a command, or gives one too many, is told which and how to write the command.
func TestMissingArguments(t *testing.T) {
	ownWords := []string{"concordat batch", "concordat reveal"} // flags change what these require
	tried := 0
	var try func(c *cobra.Command)
	try = func(c *cobra.Command) {
		for _, s := range c.Commands() {
			try(s)
		}
		path := c.CommandPath()
		if c.HasSubCommands() || c.Args == nil || c.Name() == "help" || slices.Contains(ownWords, path) {
			return
		}
		tried++
		_, rest, _ := strings.Cut(c.Use, " ")
		usage := "; usage: " + strings.TrimSpace(path+" "+rest) + "; see " + path + " --help"
		var named []string // the arguments in the Use line that are not optional
		for i, w := range strings.Fields(rest) {
			if before := strings.Fields(path + " " + rest)[len(strings.Fields(path))+i-1]; !strings.HasPrefix(w, "--") &&
				!strings.HasPrefix(w, "[") && !strings.HasPrefix(before, "--") {
				named = append(named, strings.TrimSuffix(strings.TrimSuffix(w, "[,NODE...]"), "..."))
			}
		}
		least, tooMany := len(named), false
		for n := range 6 {
			args := slices.Repeat([]string{"x"}, n)
			err := c.Args(c, args)
			var exit *cli.Exit
			switch {
			case err == nil && n < least:
				t.Errorf("%s accepts %d arguments, but its usage line names %q", path, n, named)
			case err == nil:
				if tooMany {
					t.Errorf("%s accepts %d arguments, but not fewer", path, n)
				}
				continue
			case !errors.As(err, &exit) || exit.Code != cli.Misused:
				t.Errorf("%s with %d arguments: %v is no usage error", path, n, err)
			case n < least:
				if want := strings.Join(named[n:], " and "); !strings.HasPrefix(err.Error(), want+" is missing"+usage) &&
					!strings.HasPrefix(err.Error(), want+" are missing"+usage) {
					t.Errorf("%s with %d arguments: got %q, want %q", path, n, err, want)
				}
			default:
				if tooMany = true; err.Error() != `unexpected argument "x"`+usage {
					t.Errorf("%s with %d arguments: got %q", path, n, err)
				}
			}
		}
	}
	try((&app{}).command())
	if tried < 100 {
		t.Errorf("tried only %d commands", tried)
	}
	for _, c := range []struct{ line, want string }{
		{"alert handle", "concordat: NUMBER is missing; usage: concordat alert handle NUMBER...; see concordat alert handle --help\n"},
		{"login link ada", "concordat: PROVIDER and SUBJECT are missing; usage: concordat login link ACCOUNT PROVIDER SUBJECT; " +
			"see concordat login link --help\n"},
		{"status now", "concordat: unexpected argument \"now\"; usage: concordat status; see concordat status --help\n"},
		{"batch", "concordat: name at least one file or folder; see concordat batch --help\n"},
	} {
		var complaint strings.Builder
		if code := Run(context.Background(), strings.Fields(c.line), strings.NewReader(""), io.Discard, &complaint); code != cli.Misused ||
			complaint.String() != c.want {
			t.Errorf("%s: exit %d, %q", c.line, code, &complaint)
		}
	}
}
