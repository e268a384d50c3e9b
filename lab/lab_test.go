package main

import (
	"io"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/extract/sandbox"
	"concordat/internal/doctest"
	"concordat/internal/scripttest"
)

func TestMain(m *testing.M) {
	if sandbox.IsWorker() {
		sandbox.Main() // the test binary serves as the program, and so also as the extraction worker
	}
	testscript.Main(m, map[string]func(){"concordat-lab": main, "screening": screenMain})
}

// TestScripts runs the commands in testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata/script", nil)
}

// Every command line of this program in the documents must parse.
func TestDocumentedCommands(t *testing.T) {
	all := doctest.Commands(t, "..", "concordat-lab")
	for _, c := range all {
		l := &lab{Site: cli.Site{Terminal: cli.Terminal{Stdout: io.Discard, Stderr: io.Discard}}}
		if err := cli.Parse(l.command(), c.Args, c.Whole); err != nil {
			t.Errorf("%s: concordat-lab %s: %v", c.Page, strings.Join(c.Args, " "), err)
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d command lines were found", len(all))
	}
}

// Every command must have a line of help.
func TestHelp(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		for _, s := range c.Commands() {
			visit(s)
		}
	}
	visit((&lab{}).command())
}
