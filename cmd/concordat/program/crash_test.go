package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/internal/scripttest"
	"concordat/internal/suite"
)

// program returns a command that runs the program under test, which is the test binary under the program's name.
func program(t *testing.T, data string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("concordat") // testscript.Main has installed it
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, append([]string{"--data", data}, args...)...)
	c.Env = append(os.Environ(), "XDG_CACHE_HOME="+scripttest.CacheDir(), "GORACE="+scripttest.RaceOptions)
	return c
}

// output runs the program, requires the exit code, and returns what was printed.
func output(t *testing.T, code int, data string, args ...string) (stdout, stderr string) {
	t.Helper()
	c := program(t, data, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("concordat %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, errs.String())
	}
	return out.String(), errs.String()
}

// bigTable writes a table of n documents of random words, each of several sentences.
func bigTable(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		fmt.Fprintf(&b, "doc-%05d\tDocument %d\t", i, i)
		for range 40 {
			for range 12 {
				fmt.Fprintf(&b, "w%x ", r.IntN(1<<16))
			}
			b.WriteString("end. ")
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "big.tsv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newSite(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "site")
	output(t, 0, data, "init", "--site", "uni")
	output(t, 0, data, "library", "create", "l")
	return data
}

// totals are the counts that add prints at the end.
type totals struct{ Added, Replaced, Unchanged, Sentences int }

func addAll(t *testing.T, data, table string) totals {
	t.Helper()
	out, _ := output(t, 0, data, "add", "-l", "l", table, "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var sum totals
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// interruptAdd starts add and signals it once it has acknowledged the first documents. It returns the total number acknowledged and add's
// final error.
func interruptAdd(t *testing.T, data, table string, sig os.Signal) (acknowledged map[string]bool, stderr string, err error) {
	t.Helper()
	c := program(t, data, "add", "-l", "l", table, "--json")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged = map[string]bool{}
	d := json.NewDecoder(out)
	for sent := false; ; {
		var line struct{ Type, ID string }
		if d.Decode(&line) != nil {
			break
		}
		if line.Type == "summary" {
			t.Errorf("the run ended before the signal: it shows nothing")
		}
		acknowledged[line.ID] = true
		if !sent {
			sent = true
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = c.Wait() // standard error is complete only then
	return acknowledged, errs.String(), err
}

const bigDocuments = 2000

// TestInterruptedAdd: if add is interrupted or killed in the middle of a big table, the site is consistent and has every acknowledged
// document. The same command then completes the site, with the same contents as after an uninterrupted run.
func TestInterruptedAdd(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "takes in a big table seven times")
	table := bigTable(t, bigDocuments)
	whole := addAll(t, newSite(t), table)
	if whole.Added != bigDocuments || whole.Sentences < bigDocuments {
		t.Fatalf("a run in one piece: %+v", whole)
	}
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			data := newSite(t)
			done, stderr, err := interruptAdd(t, data, table, sig)
			if err == nil {
				t.Fatal("the run ended well in spite of the signal")
			}
			if len(done) == 0 || len(done) >= bigDocuments {
				t.Fatalf("%d documents were acknowledged before the signal: it shows nothing", len(done))
			}
			if sig == syscall.SIGINT {
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != cli.Failed || !strings.Contains(stderr, "run the same command again to continue") {
					t.Errorf("ended with %v and %q", err, stderr)
				}
			}
			sum := addAll(t, data, table)
			if sum.Unchanged < len(done) {
				t.Errorf("%d documents were acknowledged, the next run found %d", len(done), sum.Unchanged)
			}
			if sum.Replaced != 0 || sum.Added+sum.Unchanged != bigDocuments || sum.Sentences != whole.Sentences {
				t.Errorf("the repeated run: %+v, in one piece: %+v", sum, whole)
			}
			if again := addAll(t, data, table); again.Added != 0 || again.Replaced != 0 {
				t.Errorf("a third run changed something: %+v", again)
			}
			out, _ := output(t, 0, data, "reindex", "--dry-run", "--json")
			if want := fmt.Sprintf(`"documents":%d,`, bigDocuments); !strings.Contains(out, want) {
				t.Errorf("the index says %s, want %s", out, want)
			}
		})
	}
}

// TestSecondProcess: a second process that needs a site's index is refused at once, and one that needs only the store works.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	data := newSite(t)
	lock, err := instance.LockIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	table := filepath.Join(t.TempDir(), "one.tsv")
	if err := os.WriteFile(table, []byte("a\tSome words.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "-l", "l", table}, {"check", table}, {"library", "delete", "l"}, {"reindex"}} {
		began := time.Now()
		_, stderr := output(t, cli.Failed, data, args...)
		if !strings.Contains(stderr, "another concordat process is using this site") {
			t.Errorf("concordat %s says %q", args[0], stderr)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("concordat %s took %v to say so", args[0], took)
		}
	}
	output(t, 0, data, "library", "list")
	output(t, 0, data, "report", "list")
	output(t, 0, data, "library", "create", "m")
}
