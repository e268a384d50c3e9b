// Package scripttest runs command-line scripts, and adds script commands for the output of this project's commands: JSON lines and exit
// codes.
package scripttest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"concordat/extract/sandbox"
	"concordat/internal/ports"
	"concordat/internal/suite"
)

// CacheDir is the folder that preserves the compiled PDF reader between runs, because compiling takes seconds.
func CacheDir() string { return filepath.Join(os.TempDir(), "concordat-test-cache") }

// RaceOptions saves each process of a race build the second that it would otherwise wait before exiting. A race still ends the process
// with exit code 66.
const RaceOptions = "atexit_sleep_ms=0"

// rest begins a script that runs in make rest rather than in make test; the reason follows it.
const rest = "# rest: "

// Main runs the tests of a package whose scripts run the program concordat: p runs a command line in this process, and main is its main
// function, for commands that need their own process. others are further programs of the scripts, by name.
func Main(m testscript.TestingM, p Program, main func(), others map[string]func()) {
	if sandbox.IsWorker() {
		sandbox.Main() // the test binary acts as the program, and thus also as the extraction worker
	}
	Commands(p)
	programs := map[string]func(){"concordat": main}
	maps.Copy(programs, others)
	testscript.Main(m, programs)
}

// Lines returns the JSON lines of a command's output by their type.
func Lines(t *testing.T, out string) map[string][]map[string]any {
	t.Helper()
	all := map[string][]map[string]any{}
	for line := range strings.Lines(out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind, _ := v["type"].(string)
		all[kind] = append(all[kind], v)
	}
	return all
}

// Run runs the scripts in dir, a folder of txtar files. In make test, it runs the scripts that do not begin with "# rest: WHY"; in make
// rest, it runs the others (package suite); with testing.Short, it runs only the scripts that serve a site. Besides the commands of
// testscript, scripts have
//
//	exec concordat ...   runs in a process that runs all such commands of the script, if TestMain calls [Commands]; one that serves
//	                     or continues in the background (&) has its own process, and so has "exec env concordat ..."
//	exits N COMMAND...   run a command and want exit code N
//	json [!] KEY=VALUE...    want a JSON value on stdout in which all the keys have these values
//	field FILE KEY=VALUE KEY NAME   set the variable NAME from the JSON value in FILE that matches
//	until COMMAND...         repeat a command until it succeeds
//	zip FILE.zip FILE...     pack files
//	write FILE REPEAT TEXT   write TEXT many times; \n and \xNN are understood
//
// CONCORDAT_DATA is the script's own folder, and PORT a free loopback port. setup may be nil.
func Run(t *testing.T, dir string, setup func(*testscript.Env) error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	files = slices.DeleteFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && !runs(b)
	})
	if len(files) == 0 {
		t.Skip("none of these scripts is part of the current run (make test, make rest or -short)")
	}
	files, err = rewritten(files, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", CacheDir())
			e.Setenv("CONCORDAT_DATA", filepath.Join(e.WorkDir, "site"))
			e.Setenv("GORACE", RaceOptions)
			e.Setenv("GOGC", "400") // garbage collection takes a third of the startup time of a short command
			newShell(e)
			if setup != nil {
				if err := setup(e); err != nil {
					return err
				}
			}
			free, release, err := ports.Take(1) // for addresses that must be known before serve starts
			if err != nil {
				return err
			}
			e.Defer(release)
			e.Setenv("PORT", strconv.Itoa(free[0]))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"command": command,
			"given":   given,
			"set":     set,
			"exits":   exits,
			"until":   until,
			"json":    wantJSON,
			"field":   setField,
			"zip":     zipFiles,
			"write":   writeRepeated,
		},
	})
}

// runs reports whether the script belongs to the current part of the tests.
func runs(script []byte) bool {
	if bytes.HasPrefix(script, []byte(rest)) {
		return suite.Running() != suite.Usual
	}
	// Short tests skip the scripts that do not serve a site, because these only run one command after another.
	return suite.Running() != suite.RestOnly && (!testing.Short() || bytes.Contains(script, []byte("concordat serve")))
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, show := codeOf(ts, args[1:])
	show()
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// until repeats a command until it succeeds, to wait for another process of the script.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until COMMAND...")
	}
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		code, show := codeOf(ts, args)
		if code == 0 || time.Now().After(deadline) {
			show()
		}
		if code == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: exit code %d", args, code)
		}
	}
}

// wantJSON looks for one JSON value on stdout, or in the file named before the pairs, in which every KEY (a path with dots; numbers are
// indexes) equals VALUE. VALUE is JSON, or plain text for a string; ~REGEXP matches a string.
func wantJSON(ts *testscript.TestScript, neg bool, args []string) {
	file := "stdout"
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		file, args = args[0], args[1:]
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	found := false
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			ts.Fatalf("%s is not JSON: %v", file, err)
		}
		found = found || hasAll(ts, v, args)
	}
	if found == neg {
		ts.Fatalf("JSON value with %q in %s: %v, want %v", args, file, found, !neg)
	}
}

func setField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: field FILE KEY=VALUE KEY NAME")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for d.More() {
		var v any
		ts.Check(d.Decode(&v))
		if got, err := lookUp(v, args[2]); err == nil && hasAll(ts, v, args[1:2]) {
			shellOf(ts).set(ts, args[3], fmt.Sprint(got))
			return
		}
	}
	ts.Fatalf("found no value with %s in %s", args[1], args[0])
}

func hasAll(ts *testscript.TestScript, v any, pairs []string) bool {
	for _, p := range pairs {
		key, want, ok := strings.Cut(p, "=")
		if !ok {
			ts.Fatalf("%q does not have the form KEY=VALUE", p)
		}
		got, err := lookUp(v, key)
		if err != nil || !same(ts, got, want) {
			return false
		}
	}
	return true
}

func lookUp(v any, key string) (any, error) {
	for part := range strings.SplitSeq(key, ".") {
		switch x := v.(type) {
		case map[string]any:
			got, ok := x[part]
			if !ok {
				return nil, fmt.Errorf("no key %s", part)
			}
			v = got
		case []any:
			if part == "len" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("no element %s", part)
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("cannot select %s in a value that is neither an object nor an array", part)
		}
	}
	return v, nil
}

func same(ts *testscript.TestScript, got any, want string) bool {
	if pattern, ok := strings.CutPrefix(want, "~"); ok {
		s, isString := got.(string)
		re, err := regexp.Compile(pattern)
		ts.Check(err)
		return isString && re.MatchString(s)
	}
	if s, ok := got.(string); ok {
		return s == want
	}
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return false
	}
	return fmt.Sprint(got) == fmt.Sprint(w)
}

func zipFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: zip FILE.zip FILE...")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	z := zip.NewWriter(f)
	for _, name := range args[1:] {
		w, err := z.Create(name)
		ts.Check(err)
		_, err = io.WriteString(w, ts.ReadFile(name))
		ts.Check(err)
	}
	ts.Check(errors.Join(z.Close(), f.Close()))
}

func writeRepeated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: write FILE REPEAT TEXT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := bufio.NewWriter(f)
	for range n {
		_, err = w.WriteString(text)
		ts.Check(err)
	}
	ts.Check(errors.Join(w.Flush(), f.Close()))
}
