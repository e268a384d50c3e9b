//go:build linux

package program

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/backups"
	"concordat/instance"
	"concordat/store"
)

// found runs doctor and returns its finding for a check, the worst if there are several, and all states.
func found(t *testing.T, code int, data, check string, args ...string) (finding, map[string]string) {
	t.Helper()
	return foundWith(t, "CONCORDAT_SERVE_LISTEN=127.0.0.1:0", code, data, check, args...)
}

// foundWith is like found, with an environment variable.
func foundWith(t *testing.T, env string, code int, data, check string, args ...string) (finding, map[string]string) {
	t.Helper()
	c := program(t, data, append([]string{"doctor", "--json"}, args...)...)
	c.Env = append(c.Env, "CONCORDAT_SERVE_LISTEN=127.0.0.1:0", env)
	b, err := c.Output()
	if got := c.ProcessState.ExitCode(); got != code {
		t.Fatalf("doctor %v: exit code %d, want %d (%v)\n%s", args, got, code, err, b)
	}
	out := string(b)
	states := map[string]string{}
	var one finding
	rank := map[string]int{findingSkipped: 1, findingOK: 2, findingWarning: 3, findingFault: 4}
	for line := range strings.Lines(out) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if rank[f.State] > rank[states[f.Check]] {
			states[f.Check] = f.State
			if f.Check == check {
				one = f
			}
		}
	}
	return one, states
}

// editStore changes a site's store without the program.
func editStore(t *testing.T, data string, now func() time.Time, f func(*store.DB) error) {
	t.Helper()
	db, err := store.Options{Now: now}.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte in the middle of the largest file that matches.
func flip(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(pattern, err)
	}
	var largest string
	var size int
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && len(b) > size {
			largest, size = n, len(b)
		}
	}
	b, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(largest, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDoctor: doctor finds and names each kind of damage, and reports nothing else.
func TestDoctor(t *testing.T) {
	t.Parallel()
	whole := newSite(t)
	addAll(t, whole, bigTable(t, 20))
	if _, _, err := store.OpenFiles(filepath.Join(whole, instance.OriginalsName)).Put(t.Context(), strings.NewReader("an original"),
		100); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	if _, states := found(t, cli.Done, whole, ""); states["index"] != findingOK || states["store"] != findingOK ||
		states["originals"] != findingOK || states["extraction"] == findingFault {
		t.Fatalf("a site in order: %v", states)
	}
	for name, c := range map[string]struct {
		check, state, words string
		env                 string
		harm                func(t *testing.T, data string)
	}{
		"no site": {"folder", findingFault, "site.db is missing, although", "", func(t *testing.T,
			data string) {
			must(t, os.Remove(filepath.Join(data, instance.StoreName)))
		}},
		"open store": {"permissions", findingFault, "0644", "", func(t *testing.T,
			data string) {
			must(t, os.Chmod(filepath.Join(data, instance.StoreName), 0o644))
		}},
		"bad configuration": {"config", findingFault, "unknown", "", func(t *testing.T, data string) {
			must(t, os.WriteFile(filepath.Join(data, instance.ConfigName), []byte("unknown: 1\n"), 0o600))
		}},
		"shown without https": {check: "config", state: findingWarning, words: "without https", env: "CONCORDAT_SERVE_LISTEN=0.0.0.0:0"},
		"low disk":            {check: "disk", state: findingFault, words: "below serve.low_water", env: "CONCORDAT_SERVE_LOW_WATER=1024GiB"},
		"no ocr":              {check: "ocr", state: findingFault, words: "", env: "CONCORDAT_EXTRACT_OCR=klingon"},
		"port taken":          {check: "ports", state: findingFault, words: "in use", env: "CONCORDAT_SERVE_LISTEN=" + l.Addr().String()},
		"damaged store":       {"store", findingFault, "", "", func(t *testing.T, data string) { flipStore(t, data) }},
		"damaged segment": {"index", findingFault, "checksum", "", func(t *testing.T, data string) {
			flip(t, filepath.Join(data, instance.IndexName, "00", "store", "*.zap"))
		}},
		"lost index": {"index", findingFault, "20 documents", "",
			func(t *testing.T, data string) { must(t, os.RemoveAll(filepath.Join(data, instance.IndexName))) }},
		"lost key": {"index", findingFault, "scheme", "", func(t *testing.T,
			data string) {
			must(t, os.Remove(filepath.Join(data, instance.IndexKeyName)))
		}},
		"changed original": {"originals", findingFault, "differs from the submitted file", "",
			func(t *testing.T, data string) { flip(t, filepath.Join(data, instance.OriginalsName, "*", "*", "*")) }},
		"missing document": {"index", findingFault, "l/ghost", "", func(t *testing.T, data string) {
			editStore(t, data, nil, func(db *store.DB) error {
				r, err := db.Catalogue.DocumentRow(t.Context(), "l", "doc-00001")
				r.ID, r.Short = "ghost", nil
				return errors.Join(err, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{r}))
			})
		}},
		"clock went back": {"clock", findingFault, "behind", "", func(t *testing.T, data string) {
			editStore(t, data, func() time.Time { return time.Now().Add(time.Hour) }, func(db *store.DB) error {
				_, err := db.Audit.AppendAudit(t.Context(), "x", "y", json.RawMessage(`{}`))
				return err
			})
		}},
		"restore cut short": {"folder", findingFault, "interrupted", "", func(t *testing.T, data string) {
			must(t, os.WriteFile(filepath.Join(data, backups.RestoringName), []byte("x"), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "site")
			must(t, os.CopyFS(data, os.DirFS(whole)))
			must(t, os.Chmod(data, 0o700))
			tighten(t, data)
			if c.harm != nil {
				c.harm(t, data)
			}
			code := cli.Done
			if c.state == findingFault {
				code = cli.Failed
			}
			f, states := foundWith(t, c.env, code, data, c.check)
			if f.State != c.state || !strings.Contains(f.Detail, c.words) || f.Advice == "" && c.check != "ports" {
				t.Errorf("%+v, want %s with %q; all %v", f, c.state, c.words, states)
			}
			for check, state := range states {
				if check != c.check && (state == findingFault || state == findingWarning && check != "extraction" && check != "root key") {
					t.Errorf("%s is a %s too", check, state)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tighten removes the permissions that CopyFS grants to others.
func tighten(t *testing.T, data string) {
	t.Helper()
	must(t, filepath.WalkDir(data, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Type()&os.ModeSymlink != 0 {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}))
}

// flipStore damages the page of the catalogue's index.
func flipStore(t *testing.T, data string) {
	t.Helper()
	path := filepath.Join(data, instance.StoreName)
	b, err := os.ReadFile(path)
	must(t, err)
	for page := 4096; page+4096 <= len(b); page += 4096 {
		if strings.Contains(string(b[page:page+4096]), "doc-00007") {
			for i := range 64 {
				b[page+8+i] ^= 0x55 // positions of the cells
			}
		}
	}
	must(t, os.WriteFile(path, b, 0o600))
}

// TestDoctorFix: --fix only reports, and --yes acts.
func TestDoctorFix(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: runs dozens of commands in a row")
	}
	data := newSite(t)
	path := filepath.Join(data, instance.StoreName)
	must(t, os.Chmod(path, 0o644))
	for _, args := range [][]string{nil, {"--fix"}} {
		f, _ := found(t, cli.Failed, data, "permissions", args...)
		if info, err := os.Stat(path); f.Fix == "" || f.Fixed || err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%v: %+v, %v", args, f, err)
		}
	}
	output(t, cli.Misused, data, "doctor", "--yes")
	f, _ := found(t, cli.Done, data, "permissions", "--fix", "--yes")
	if info, err := os.Stat(path); !f.Fixed || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestDoctorServed: if the site is running, the serving process examines the index.
func TestDoctorServed(t *testing.T) {
	t.Parallel()
	data := newSite(t)
	addAll(t, data, bigTable(t, 20))
	serveSite(t, data)
	f, states := found(t, cli.Done, data, "index")
	if f.State != findingOK || !strings.Contains(f.Detail, "20 documents") || states["serve"] != findingOK {
		t.Errorf("%+v; %v", f, states)
	}
	editStore(t, data, nil, func(db *store.DB) error {
		r, err := db.Catalogue.DocumentRow(t.Context(), "l", "doc-00001")
		r.ID, r.Short = concordat.DocumentID("ghost"), nil
		return errors.Join(err, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{r}))
	})
	if f, _ := found(t, cli.Failed, data, "index", "--quick"); f.State != findingFault || !strings.Contains(f.Detail, "l/ghost") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorMeaning: documents that lack cells are reported apart from those that an earlier version indexed.
func TestDoctorMeaning(t *testing.T) {
	const lack, stale = "3 documents lack meaning cells, and 1 have superfluous cells", "4 documents were indexed by an earlier version"
	for _, c := range []struct {
		state instance.IndexState
		want  []string // beginnings of the findings
	}{
		{instance.IndexState{}, []string{"ok every document"}},
		{instance.IndexState{Lacking: 3, Superfluous: 1}, []string{"warning " + lack}},
		{instance.IndexState{Stale: 4}, []string{"warning " + stale}},
		{instance.IndexState{Lacking: 3, Superfluous: 1, Stale: 4}, []string{"warning " + lack, "warning " + stale}},
		{instance.IndexState{Disagree: "node b"}, []string{"warning node b"}},
	} {
		d := &doctor{}
		d.meaning(&c.state)
		if len(d.findings) != len(c.want) {
			t.Errorf("%+v: %+v", c.state, d.findings)
			continue
		}
		for i, f := range d.findings {
			if got := f.State + " " + f.Detail; f.Check != "meaning" || !strings.HasPrefix(got, c.want[i]) {
				t.Errorf("%+v: %s, want %s", c.state, got, c.want[i])
			}
		}
	}
}
