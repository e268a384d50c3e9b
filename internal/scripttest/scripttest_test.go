package scripttest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	Commands(program)
	testscript.Main(m, map[string]func(){"concordat": func() {
		os.Exit(program(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}})
}

// program prints how it was called: the process, the folder, a variable, and the input.
func program(_ context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch args[0] {
	case "process":
		fmt.Fprintln(stdout, os.Getpid())
	case "folder":
		dir, _ := os.Getwd()
		fmt.Fprintln(stdout, filepath.Base(dir), filepath.Base(os.Getenv("PWD")))
	case "variable":
		value, is := os.LookupEnv("GIVEN")
		fmt.Fprintf(stdout, "%q %t\n", value, is)
	case "input":
		b, _ := io.ReadAll(stdin)
		fmt.Fprintf(stdout, "%q\n", b)
	case "directly":
		fmt.Println("past the writer")
		fmt.Fprintln(os.Stderr, "past the other")
	case "fail":
		fmt.Fprintln(stderr, "failed")
		return 3
	case "end":
		os.Exit(9)
	}
	return 0
}

// TestScripts: commands of a script share a process but nothing else. Each has its own input, streams, folder and variables.
func TestScripts(t *testing.T) {
	t.Parallel()
	Run(t, "testdata/script", nil)
}

// TestWithin: a command that serves, continues in the background, or requests it gets its own process; the files of a script are not
// changed.
func TestWithin(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"exec concordat init":                   "command init",
		"! exec concordat init 'a b'":           "! command init 'a b'",
		"[short] [exec:zstd] exec concordat x":  "[short] [exec:zstd] command x",
		"exits 2 concordat init":                "exits 2 command init",
		"until concordat status":                "until command status",
		"exec concordat serve --listen x":       "exec concordat serve --listen x",
		"exec concordat add x &":                "exec concordat add x &",
		"exec concordat add x &name&":           "exec concordat add x &name&",
		"exec env concordat init":               "exec env concordat init",
		"exec concordat-lab bench":              "exec concordat-lab bench",
		"stdin a\nexec concordat check -":       "given a\ncommand check -",
		"stdin a\nexec sort":                    "stdin a\nexec sort",
		"env A=b":                               "set A=b",
		"[short] env A='b c'":                   "[short] set A='b c'",
		"env":                                   "env",
		"# exec concordat init":                 "# exec concordat init",
		"cmp a b\n-- a --\nexec concordat init": "cmp a b\n-- a --\nexec concordat init",
	} {
		if got := within(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

// TestCommandEnds: a command that ends the process fails its script and reports this.
func TestCommandEnds(t *testing.T) {
	t.Parallel()
	s := new(shell)
	if err := s.start(os.Environ()); err != nil {
		t.Fatal(err)
	}
	defer s.end()
	var r result
	if err := s.send.Encode(order{Args: []string{"end"}, Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if err := s.out.Decode(&r); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("error %v, want the end of the process", err)
	}
}
