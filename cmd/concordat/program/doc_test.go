package program

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/internal/doctest"
	"concordat/internal/scripttest"
)

// TestDocumentedCommands: every command line of this program in the documents is valid. The command and every flag exist, each flag has a
// value of its type, and the command takes that number of arguments.
func TestDocumentedCommands(t *testing.T) {
	all := doctest.Commands(t, "../../..", "concordat")
	for _, c := range all {
		a := &app{cli.Site{Terminal: cli.Terminal{Stdout: io.Discard, Stderr: io.Discard}}}
		if err := cli.Parse(a.command(), c.Args, c.Whole); err != nil {
			t.Errorf("%s: concordat %s: %v", c.Page, strings.Join(c.Args, " "), err)
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d command lines were found", len(all))
	}
}

// TestHelp: every command and flag has a line of help, and every command can be documented under its own name.
func TestHelp(t *testing.T) {
	root := (&app{}).command()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.CommandPath(), c.Short)
		}
		for _, s := range c.Commands() {
			visit(s)
		}
		var out strings.Builder
		cc := (&app{cli.Site{Terminal: cli.Terminal{Stdout: &out}}}).command()
		cc.SetOut(&out)
		cc.SetArgs(append(strings.Fields(c.CommandPath())[1:], "--help"))
		if err := cc.Execute(); err != nil || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s --help: %v", c.CommandPath(), err)
		}
	}
	visit(root)
}

// TestReadmeExample: the example in the README and in doc/start.md runs as written.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: adds a library to a site")
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	start, err := os.ReadFile("../../../doc/start.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "set -eu\n"
	for _, block := range append(doctest.Blocks(string(readme))[1:], doctest.Blocks(string(start))...) {
		script += block
	}
	for _, change := range [][2]string{
		{"make build\n", ""}, {"bin/concordat", "concordat"}, {"$PWD", dir},
		{"--out report.", "--out " + dir + "/report."},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("README.md and doc/start.md have no %q", change[0])
		}
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", script)
	run.WaitDelay = time.Second
	run.Dir = "../../.."
	run.Env = append(os.Environ(), "XDG_CACHE_HOME="+scripttest.CacheDir(), "GORACE="+scripttest.RaceOptions)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"calls: 52 added, 0 replaced, 0 unchanged, 0 unreadable", "exit code 4", "  done  ", "report: " + dir +
		"/report.html"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not print %q", want)
		}
	}
	for _, name := range []string{"report.html", "report.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks: every link from a document to a project file has a target.
func TestLinks(t *testing.T) {
	n := 0
	for path, text := range doctest.Pages(t, "../../..") {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d links were found", n)
	}
}
