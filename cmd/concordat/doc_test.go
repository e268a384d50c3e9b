package main

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// pages returns the documents of the project by path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "library" || name == "site" && filepath.Dir(path) == "../../demo" || name == "bin" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 8 {
		t.Fatalf("only %d pages were found", len(out))
	}
	return out
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```(?:sh|console)\n(.*?)^```")
	codeSpan  = regexp.MustCompile("`concordat ([a-z][^`]*)`")
	variable  = regexp.MustCompile(`^[A-Z_]+=`)
)

// Every command line of this program in the documents parses: the command is there, and so is every
// flag, with a value of its type and as many arguments as the command takes.
func TestDocumentedCommands(t *testing.T) {
	n := 0
	for path, text := range pages(t) {
		for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				if args, ok := commandLine(t, line); ok {
					n++
					if err := parses(args, true); err != nil {
						t.Errorf("%s: %s: %v", path, strings.TrimSpace(line), err)
					}
				}
			}
		}
		// In running text arguments may be left out.
		for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
			n++
			if err := parses(words(t, span[1]), false); err != nil {
				t.Errorf("%s: concordat %s: %v", path, span[1], err)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d command lines were found", n)
	}
}

// commandLine returns the arguments of a line that runs this program.
func commandLine(t *testing.T, line string) ([]string, bool) {
	t.Helper()
	all := words(t, line)
	for len(all) > 0 && (all[0] == "$" || variable.MatchString(all[0])) {
		all = all[1:]
	}
	if len(all) == 0 || filepath.Base(all[0]) != "concordat" {
		return nil, false
	}
	args := all[1:]
	for i, a := range args {
		if a == "||" || a == "&&" || a == "|" || a == ">" || strings.HasPrefix(a, "#") {
			return args[:i], true
		}
	}
	return args, true
}

// words splits a line as a shell does, with quotes and without anything else.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				out = append(out, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		t.Errorf("an open quotation mark: %s", line)
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

// parses returns what is wrong with a command line.
func parses(args []string, whole bool) error {
	a := &app{stdout: io.Discard, stderr: io.Discard}
	root := a.command()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return usagef("no command %s", args[0])
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if left := c.Flags().Args(); whole && c.Name() != "help" {
		return c.ValidateArgs(left)
	}
	return nil
}

// Every command and every flag of it has a line of help, and every command can be documented as it
// names itself.
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
		cc := (&app{stdout: &out}).command()
		cc.SetOut(&out)
		cc.SetArgs(append(strings.Fields(c.CommandPath())[1:], "--help"))
		if err := cc.Execute(); err != nil || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s --help: %v", c.CommandPath(), err)
		}
	}
	visit(root)
}

// The example of the README runs as it is written.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes in a library")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "set -eu\n"
	for _, block := range codeBlock.FindAllStringSubmatch(string(readme), -1)[1:] {
		script += block[1]
	}
	for _, change := range [][2]string{
		{"make build\n", ""}, {"bin/concordat", "concordat"}, {"$PWD", dir},
		{"--out report.", "--out " + dir + "/report."},
	} {
		if !strings.Contains(script, change[0]) {
			t.Fatalf("the README has no %q", change[0])
		}
		script = strings.ReplaceAll(script, change[0], change[1])
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", script)
	run.WaitDelay = time.Second
	run.Dir = "../.."
	run.Env = append(os.Environ(), "XDG_CACHE_HOME="+cacheDir(), "GORACE="+raceOptions)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"calls: 52 added, 0 replaced, 0 unchanged, 0 unreadable", "exit code 4", "  done  ", "report: " + dir + "/report.html"} {
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

// Every link from a document to a file of the project leads somewhere.
func TestLinks(t *testing.T) {
	n := 0
	for path, text := range pages(t) {
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
