// Package doctest reads the project's documents and finds command lines in them.
package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// Command is a command line in a document.
type Command struct {
	Page  string   // path of the document
	Args  []string // arguments after the program's name
	Whole bool     // whether the command is alone on a line of a block; running text can omit arguments
}

// Pages returns the project's documents by path; root is the path of the project's folder.
func Pages(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "library" || name == "site" && filepath.Base(filepath.Dir(path)) == "demo" || name == "bin" ||
				strings.HasPrefix(name, ".") && name != ".." {
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
		t.Fatalf("found only %d pages", len(out))
	}
	return out
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```(?:sh|console)\n(.*?)^```")
	codeSpan  = regexp.MustCompile("`([a-z-]+) ([a-z][^`]*)`")
	variable  = regexp.MustCompile(`^[A-Z_]+=`)
)

// Blocks returns a document's blocks of commands.
func Blocks(text string) []string {
	var out []string
	for _, m := range codeBlock.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// Commands returns the program's command lines in all documents below root.
func Commands(t *testing.T, root, program string) []Command {
	t.Helper()
	var out []Command
	for path, text := range Pages(t, root) {
		for _, block := range Blocks(text) {
			for line := range strings.Lines(block) {
				if args, ok := commandLine(t, program, line); ok {
					out = append(out, Command{path, args, true})
				}
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
			if span[1] == program {
				out = append(out, Command{path, words(t, span[2]), false})
			}
		}
	}
	return out
}

// commandLine returns the arguments in a line that runs the program.
func commandLine(t *testing.T, program, line string) ([]string, bool) {
	t.Helper()
	all := words(t, line)
	for len(all) > 0 && (all[0] == "$" || variable.MatchString(all[0])) {
		all = all[1:]
	}
	if len(all) == 0 || filepath.Base(all[0]) != program {
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

// words splits a line like a shell, but supports only quotes.
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
		t.Errorf("quotation mark without its counterpart: %s", line)
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}
