package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/internal/suite"
)

// formatsSet unpacks the development set of documents, or skips the test if there is none.
func formatsSet(t *testing.T) []string {
	t.Helper()
	root := os.Getenv("CONCORDAT_CORPORA")
	if root == "" {
		t.Skip("CONCORDAT_CORPORA is not set: no evaluation data")
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-x", "--zstd", "-f", filepath.Join(root, "formats", "formats.tar.zst"), "-C",
		dir).CombinedOutput(); err != nil {
		t.Skipf("cannot unpack formats: %v %s", err, out)
	}
	var all []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(p) != ".native" {
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(all)
	return all
}

// tally counts the outcomes for the files of one kind.
type tally struct{ files, text, partial, errors int }

// TestFormats sends the development set through children. Every file ends as text, as text marked as partial, or as a typed error, and no
// child crashes or reaches the time limit. It tests all files if CONCORDAT_LONG is set, one in 36 in make test, and otherwise one in
// twelve.
func TestFormats(t *testing.T) {
	all := formatsSet(t)
	step := suite.Rounds(36, 12)
	if os.Getenv("CONCORDAT_LONG") != "" {
		step = 1
	}
	r := newRunner(t, sandbox.Options{Warm: 2, Wall: time.Minute})
	rows, codes := map[string]*tally{}, map[string]int{}
	var slowest time.Duration
	for i := 0; i < len(all); i += step {
		p := all[i]
		begin := time.Now()
		items, err := r.File(context.Background(), p)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		slowest = max(slowest, time.Since(begin))
		if len(items) == 0 {
			t.Errorf("%s: no answer", p)
		}
		kind := strings.ToLower(strings.TrimPrefix(filepath.Ext(p), "."))
		for _, it := range items[:min(1, len(items))] {
			row := rows[kind]
			if row == nil {
				row = &tally{}
				rows[kind] = row
			}
			row.files++
			switch {
			case it.Err != nil:
				row.errors++
				codes[it.Err.Code]++
				if it.Err.Code == extract.Crashed || it.Err.Code == extract.Timeout {
					t.Errorf("%s: %v", filepath.Base(p), it.Err)
				}
			case strings.TrimSpace(it.Result.Text) == "":
				t.Errorf("%s: empty text without an error", p)
			case it.Result.Partial:
				row.partial++
				if len(it.Result.Flags) == 0 {
					t.Errorf("%s: partial without a flag", p)
				}
			default:
				row.text++
			}
		}
	}
	report(t, rows, codes, slowest)
}

func report(t *testing.T, rows map[string]*tally, codes map[string]int, slowest time.Duration) {
	var kinds []string
	for k := range rows {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	var s strings.Builder
	s.WriteString("| extension | files | text | partial | error |\n|---|---|---|---|---|\n")
	var sum tally
	for _, k := range kinds {
		v := rows[k]
		fmt.Fprintf(&s, "| %s | %d | %d | %d | %d |\n", k, v.files, v.text, v.partial, v.errors)
		sum = tally{sum.files + v.files, sum.text + v.text, sum.partial + v.partial, sum.errors + v.errors}
	}
	fmt.Fprintf(&s, "| all | %d | %d | %d | %d |\n", sum.files, sum.text, sum.partial, sum.errors)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
	t.Logf("\n%serrors by code: %v\nslowest file %v, largest child %d MiB, children's CPU %.1f s",
		s.String(), codes, slowest.Round(time.Millisecond), u.Maxrss>>10,
		float64(u.Utime.Sec+u.Stime.Sec)+float64(u.Utime.Usec+u.Stime.Usec)/1e6)
}
