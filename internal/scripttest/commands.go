package scripttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// A Program runs a command line like its main function and returns the exit code.
type Program func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// variable makes a test binary run the commands of scripts.
const variable = "CONCORDAT_SCRIPT_COMMANDS"

// Commands runs the commands of one script, one after another, and does not return, if [Run] started this process for that purpose. [Main]
// calls it. A separate process for each command would spend most of its time starting up. Commands reuse what earlier ones
// compiled and unpacked, but each has its own working directory, environment and streams.
func Commands(p Program) {
	if os.Getenv(variable) == "" {
		return
	}
	if err := serve(p, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "run the commands of a script:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// order is a command to run, and result is its outcome.
type order struct {
	Args  []string
	Dir   string
	Env   []string
	Stdin []byte
}

type result struct {
	Code           int
	Stdout, Stderr []byte
}

func serve(p Program, in io.Reader, out io.Writer) error {
	d, e := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := d.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r, err := execute(p, o)
		if err != nil {
			return err
		}
		if err := e.Encode(r); err != nil {
			return err
		}
	}
}

// execute runs a command as if in its own process. It includes output that bypasses the given writers, to os.Stdout and os.Stderr.
func execute(p Program, o order) (r result, err error) {
	os.Clearenv()
	for _, v := range o.Env {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return r, err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return r, err
	}
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	var readers sync.WaitGroup
	caught := func(to *[]byte) (*os.File, error) {
		rd, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		readers.Go(func() {
			defer rd.Close()
			*to, _ = io.ReadAll(rd) // unreadable output counts as not written
		})
		return w, nil
	}
	if os.Stdout, err = caught(&r.Stdout); err != nil {
		return r, err
	}
	if os.Stderr, err = caught(&r.Stderr); err != nil {
		return r, err
	}
	r.Code = p(context.Background(), o.Args, bytes.NewReader(o.Stdin), os.Stdout, os.Stderr)
	err = errors.Join(os.Stdout.Close(), os.Stderr.Close())
	readers.Wait()
	return r, err
}

// A shell is the process that runs the commands of one script. The first command starts it.
type shell struct {
	names []string // names of its environment variables
	stdin []byte   // input for the next command
	in    io.WriteCloser
	send  *json.Encoder
	out   *json.Decoder
	err   *bytes.Buffer
	cmd   *exec.Cmd
}

// start starts the process with the script's environment.
func (s *shell) start(env []string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(slices.Clone(env), variable+"=1")
	s.err = new(bytes.Buffer)
	s.cmd.Stderr = s.err
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.send, s.out = json.NewEncoder(s.in), json.NewDecoder(out)
	return s.cmd.Start()
}

// end stops the process.
func (s *shell) end() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.in.Close()
	_ = s.cmd.Wait() // if the process failed, one of its commands has failed, too
}

// run runs a command line.
func (s *shell) run(ts *testscript.TestScript, args []string) result {
	o := order{Args: args, Dir: ts.MkAbs("."), Stdin: s.stdin}
	s.stdin = nil
	for _, name := range s.names {
		o.Env = append(o.Env, name+"="+ts.Getenv(name))
	}
	o.Env = append(o.Env, "PWD="+o.Dir)
	if s.cmd == nil {
		ts.Check(s.start(o.Env))
	}
	var r result
	if err := errors.Join(s.send.Encode(o), s.out.Decode(&r)); err != nil {
		_ = s.in.Close()
		_ = s.cmd.Wait()
		ts.Fatalf("%s: the process that runs the command has ended: %v\n%s", args, err, s.err)
	}
	return r
}

// set sets a variable of the script.
func (s *shell) set(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// show makes a command's output available to the script.
func (r result) show(ts *testscript.TestScript) {
	_, err := ts.Stdout().Write(r.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(r.Stderr)
	ts.Check(err)
}

// shellKey is the key of the shell among a script's values.
type shellKey struct{}

// shellOf returns the shell of a script.
func shellOf(ts *testscript.TestScript) *shell { return ts.Value(shellKey{}).(*shell) }

// newShell creates a script's shell.
func newShell(e *testscript.Env) {
	s := new(shell)
	for _, v := range e.Vars {
		name, _, _ := strings.Cut(v, "=")
		s.names = append(s.names, name)
	}
	e.Values[shellKey{}] = s
	e.Defer(s.end)
}

var (
	// setting matches a script line that sets a variable.
	setting = regexp.MustCompile(`^((?:\[[^\]]*\] )*)env (\w+)=(.*)$`)
	// calling matches a line that calls a program and waits for it to end.
	calling = regexp.MustCompile(`^((?:\[[^\]]*\] )*(?:! )?)(exec|exits \d+|until) concordat (.*)$`)
	// giving matches a line that provides the next command's input.
	giving = regexp.MustCompile(`^stdin (.*)$`)
)

// within rewrites a script so that one process runs its program's commands, except commands that serve or continue in the background. Use
// "exec env concordat" for a command that needs its own process.
func within(script string) string {
	commands, files, _ := strings.Cut(script, "\n-- ")
	lines := strings.Split(commands, "\n")
	for i, line := range lines {
		lines[i] = setting.ReplaceAllString(line, "${1}set $2=$3")
		m := calling.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[3], "serve") || strings.HasSuffix(m[3], "&") {
			continue
		}
		how := m[2] + " command "
		if m[2] == "exec" {
			how = "command "
		}
		lines[i] = m[1] + how + m[3]
		if i > 0 {
			lines[i-1] = giving.ReplaceAllString(lines[i-1], "given $1")
		}
	}
	out := strings.Join(lines, "\n")
	if len(files) > 0 {
		out += "\n-- " + files
	}
	return out
}

// rewritten writes the scripts, rewritten by within, to a folder and returns their new paths.
func rewritten(files []string, dir string) (out []string, err error) {
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, filepath.Base(f))
		if err := os.WriteFile(to, []byte(within(string(b))), 0o600); err != nil {
			return nil, err
		}
		out = append(out, to)
	}
	return out, nil
}

// command runs a command of the program in the script's shell.
func command(ts *testscript.TestScript, neg bool, args []string) {
	r := shellOf(ts).run(ts, args)
	r.show(ts)
	if (r.Code != 0) != neg {
		ts.Fatalf("unexpected exit code %d", r.Code)
	}
}

// given sets the input of the next command: a file, stdout or stderr.
func given(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: given FILE")
	}
	shellOf(ts).stdin = []byte(ts.ReadFile(args[0]))
}

// set sets environment variables, each as NAME=VALUE.
func set(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if neg || !ok {
			ts.Fatalf("usage: set NAME=VALUE...")
		}
		shellOf(ts).set(ts, name, value)
	}
}

// codeOf runs a command, in the shell if the command requests it, and returns its exit code. If there are several commands, the script
// sees the output of the last.
func codeOf(ts *testscript.TestScript, args []string) (code int, show func()) {
	if args[0] == "command" {
		r := shellOf(ts).run(ts, args[1:])
		return r.Code, func() { r.show(ts) }
	}
	err := ts.Exec(args[0], args[1:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode(), func() {}
	}
	ts.Check(err)
	return 0, func() {}
}
