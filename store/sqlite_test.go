package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

func TestSQLite(t *testing.T) {
	runSuite(t, func(t *testing.T) place {
		path := storetest.SQLitePath(t)
		return func(o store.Options) (*store.DB, error) { return o.Open(t.Context(), path) }
	})
}

// If childPath is in the environment, the test binary runs as the writer that TestKilled kills.
const childPath = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		writeForEver(path)
	}
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}

// writeForEver writes documents endlessly and prints each number once it is acknowledged.
func writeForEver(path string) {
	ctx := context.Background()
	db, err := store.Open(ctx, path)
	for i := 0; err == nil; i++ {
		rows := []store.DocumentRow{document(fmt.Sprintf("%06d-a", i)), document(fmt.Sprintf("%06d-b", i))}
		if err = db.Catalogue.PutDocuments(ctx, rows); err == nil {
			_, err = db.Audit.AppendAudit(ctx, "child", "put", nil)
		}
		if err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func document(id string) store.DocumentRow {
	return store.DocumentRow{Library: "a", ID: concordat.DocumentID(id), Title: "Title", Hash: "h" + id,
		Source: "in/" + id, Bytes: 9000, Sentences: 60, Characters: 8000, Scheme: "natural@0123456789abcdef",
		Added: time.Unix(1_780_000_000, 0)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want one that is %q", err, want)
	}
}

// open opens a store with one library, a, and closes it when the test ends.
func open(t testing.TB, path string, o store.Options) *store.DB {
	t.Helper()
	db, err := o.Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "a"}); err != nil && !errors.Is(err, concordat.ErrExists) {
		t.Fatal(err)
	}
	return db
}

// engines runs f with the location of a new store of each engine.
func engines(t *testing.T, f func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) { f(t, storetest.SQLitePath(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, postgres(t).Database(t)) })
}

// postgres returns the server of the tests, or skips the test if only short tests run.
func postgres(t testing.TB) *storetest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: needs a PostgreSQL server")
	}
	return storetest.Postgres(t)
}

// behind opens a store's database, bypassing the store.
func behind(t *testing.T, place string) *sql.DB {
	t.Helper()
	driver := "sqlite3"
	if store.IsURL(place) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, place)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// raw runs statements on the database, bypassing the store.
func raw(t *testing.T, place string, statements ...string) {
	t.Helper()
	db := behind(t, place)
	defer db.Close()
	for _, s := range statements {
		_, err := db.Exec(s)
		must(t, err)
	}
}

// TestKilled: everything acknowledged before a kill is there afterwards and complete, and the store can still be used.
func TestKilled(t *testing.T) { engines(t, testKilled) }

func testKilled(t *testing.T, path string) {
	must(t, open(t, path, store.Options{}).Close())
	acknowledged := -1
	for round := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		said := 0
		for lines.Scan() { // read to the end, because everything that it printed before it died counts
			if said++; said == 20+13*round {
				must(t, cmd.Process.Kill())
			}
			_, err := fmt.Sscan(lines.Text(), &acknowledged)
			must(t, err)
		}
		if err := cmd.Wait(); said < 20 {
			t.Fatalf("the child acknowledged %d writes: %v", said, err)
		}
		checkPairs(t, path, acknowledged)
	}
}

func checkPairs(t *testing.T, path string, acknowledged int) {
	t.Helper()
	db, err := store.Open(t.Context(), path)
	must(t, err)
	defer db.Close()
	ds, err := db.Catalogue.Documents(t.Context(), "a", "", 0)
	must(t, err)
	if len(ds)%2 != 0 || len(ds) < 2*(acknowledged+1) {
		t.Errorf("got %d documents, want pairs and at least %d", len(ds), 2*(acknowledged+1))
	}
	head, err := db.Audit.VerifyAudit(t.Context())
	must(t, err)
	if head.Seq <= int64(acknowledged) {
		t.Errorf("got %d audit entries, want more than %d", head.Seq, acknowledged)
	}
}

func TestNewerSchema(t *testing.T) { engines(t, testNewerSchema) }

func testNewerSchema(t *testing.T, path string) {
	must(t, open(t, path, store.Options{}).Close())
	applied := "1"
	if store.IsURL(path) {
		applied = "true"
	}
	raw(t, path, `INSERT INTO schema_version (version_id, is_applied) VALUES (4711, `+applied+`)`)
	before, _ := os.ReadFile(path) // a database has no file to read
	_, err := store.Open(t.Context(), path)
	wantErr(t, err, concordat.ErrInvalid)
	if !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "supports only versions up to ") ||
		!strings.Contains(err.Error(), "restore a backup made before the upgrade") {
		t.Errorf("got %q, want both versions named", err)
	}
	after, _ := os.ReadFile(path)
	if string(before) != string(after) {
		t.Error("a refused file was changed")
	}
}

func TestOtherPrograms(t *testing.T) {
	for _, place := range []string{filepath.Join(t.TempDir(), "store.db"), postgres(t).Schema(t)} {
		raw(t, place, `CREATE TABLE bookmark (url TEXT)`)
		_, err := store.Open(t.Context(), place)
		wantErr(t, err, concordat.ErrInvalid)
	}
}

func TestCorrupt(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	must(t, os.WriteFile(garbage, []byte(strings.Repeat("no database. ", 1000)), 0o600))
	_, err := store.Open(t.Context(), garbage)
	wantErr(t, err, concordat.ErrCorrupt)

	path := filepath.Join(dir, "store.db")
	db := open(t, path, store.Options{})
	for i := range 20 {
		var rows []store.DocumentRow
		for j := range 100 {
			rows = append(rows, document(fmt.Sprint(i, "-", j)))
		}
		must(t, db.Catalogue.PutDocuments(t.Context(), rows))
	}
	must(t, db.Check(t.Context()))
	must(t, db.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	for i := len(file) / 4; i < len(file)*3/4; i++ { // whole pages after the schema's
		file[i] = 0xa5
	}
	must(t, os.WriteFile(path, file, 0o600))
	db, err = store.Open(t.Context(), path)
	if err == nil {
		defer db.Close()
		_, err = db.Catalogue.Documents(t.Context(), "a", "", 0)
		wantErr(t, err, concordat.ErrCorrupt)
		err = db.Check(t.Context())
	}
	wantErr(t, err, concordat.ErrCorrupt)
}

func TestTampered(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: migrates a store for each change")
	}
	ctx := t.Context()
	for _, tt := range []struct{ name, change string }{
		{"change", `UPDATE audit SET actor = 'other' WHERE seq = 3`},
		{"time", `UPDATE audit SET at = at + 1 WHERE seq = 3`},
		{"detail", `UPDATE audit SET detail = 'false' WHERE seq = 3`},
		{"hash", `UPDATE audit SET hash = prev WHERE seq = 3`},
		{"prev", `UPDATE audit SET prev = 'zz' WHERE seq = 3`},
		{"delete", `DELETE FROM audit WHERE seq = 3`},
		{"first", `DELETE FROM audit WHERE seq = 1`},
		{"swap", `UPDATE audit SET seq = CASE seq WHEN 3 THEN -4 WHEN 4 THEN -3 END WHERE seq IN (3, 4); UPDATE audit SET seq = -seq WHERE seq < 0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engines(t, func(t *testing.T, path string) {
				if store.IsURL(path) && tt.name != "change" && tt.name != "delete" {
					return // the tables' guard differs between engines, but the chain does not
				}
				db := open(t, path, store.Options{})
				for i := range 5 {
					_, err := db.Audit.AppendAudit(ctx, fmt.Sprint("actor", i), "action", nil)
					must(t, err)
				}
				if _, err := behind(t, path).Exec(tt.change); err == nil {
					t.Error("the audit can be changed without removing its guard")
				}
				_, err := db.Audit.VerifyAudit(ctx)
				must(t, err)
				guards := []string{`DROP TRIGGER audit_no_update`, `DROP TRIGGER audit_no_delete`}
				if store.IsURL(path) {
					guards = []string{`DROP TRIGGER audit_no_change ON audit`}
				}
				raw(t, path, append(guards, tt.change)...)
				_, err = db.Audit.VerifyAudit(ctx)
				wantErr(t, err, concordat.ErrCorrupt)
				if !strings.Contains(err.Error(), "entry ") {
					t.Errorf("got %q, want the entry named", err)
				}
			})
		})
	}
}

func TestFindingsTampered(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "store.db")
	db := open(t, path, store.Options{})
	for _, tt := range []struct {
		change string
		want   error
	}{
		{`UPDATE findings SET data = substr(data, 1, length(data) - 1)`, concordat.ErrCorrupt},
		{`UPDATE findings SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)`, concordat.ErrCorrupt},
		{`UPDATE findings SET data = x''`, concordat.ErrCorrupt},
		{`UPDATE findings SET length = length - 1`, concordat.ErrCorrupt},
		{`UPDATE findings SET length = 1 << 60`, concordat.ErrCorrupt},
		{`UPDATE findings SET format = 2`, concordat.ErrInvalid},
	} {
		id := concordat.TaskID(tt.change)
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: id}}))
		must(t, db.Checks.PutFindings(ctx, id, []byte("what was found, and some more words of no great length")))
		raw(t, path, tt.change)
		_, err := db.Checks.Findings(ctx, id)
		wantErr(t, err, tt.want)
		must(t, db.Checks.DeleteTask(ctx, id))
	}
}

// TestUnknownPolicy: a policy with a rule from a newer program is not read as if the rule were missing.
func TestUnknownPolicy(t *testing.T) {
	engines(t, testUnknownPolicy)
}

func testUnknownPolicy(t *testing.T, path string) {
	db := open(t, path, store.Options{})
	raw(t, path, `UPDATE library SET policy = '{"deny":["south"]}'`)
	_, err := db.Catalogue.Library(t.Context(), "a")
	wantErr(t, err, concordat.ErrCorrupt)
}

func TestMaxBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	fill(t, path, store.Options{MaxBytes: 1 << 20})
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
		t.Errorf("got a file of %d bytes, %v; want at most %d", info.Size(), err, 1<<20)
	}
}

// fill writes until the disk is full, then checks that every acknowledged change is there and that writing works again after space is
// freed.
func fill(t *testing.T, path string, o store.Options) {
	t.Helper()
	ctx := t.Context()
	db := open(t, path, o)
	put := 0
	var err error
	for ; err == nil && put < 1000; put++ {
		var rows []store.DocumentRow
		for j := range 100 {
			rows = append(rows, document(fmt.Sprintf("%04d-%02d", put, j)))
		}
		err = db.Catalogue.PutDocuments(ctx, rows)
	}
	put--
	wantErr(t, err, concordat.ErrDiskFull)
	if put == 0 {
		t.Fatal("nothing could be written")
	}
	l, err := db.Catalogue.Library(ctx, "a")
	must(t, err)
	if l.Documents != 100*put {
		t.Errorf("got %d documents, want the %d that were acknowledged", l.Documents, 100*put)
	}
	must(t, db.Check(ctx))
	must(t, db.Close())
	db = open(t, path, store.Options{MaxBytes: 1 << 30})
	l, err = db.Catalogue.Library(ctx, "a")
	must(t, err)
	if l.Documents != 100*put {
		t.Errorf("after reopening got %d documents, want %d", l.Documents, 100*put)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := open(t, path, store.Options{Busy: time.Millisecond})
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate")
	must(t, err)
	defer other.Close()
	tx, err := other.Begin()
	must(t, err)
	wantErr(t, db.SetSetting(t.Context(), "a", "b"), concordat.ErrUnavailable)
	_, err = db.Catalogue.Libraries(t.Context()) // reads still work
	must(t, err)
	must(t, tx.Rollback())
	must(t, db.SetSetting(t.Context(), "a", "b"))
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	other, err := sql.Open("sqlite3", "file:"+path+"?_txlock=exclusive")
	must(t, err)
	defer other.Close()
	tx, err := other.Begin()
	must(t, err)
	_, err = store.Options{Busy: time.Millisecond}.Open(t.Context(), path)
	wantErr(t, err, concordat.ErrLocked)
	must(t, tx.Rollback())
	open(t, path, store.Options{})
}

// TestOpenTogether: several processes can open a new store at the same time.
func TestOpenTogether(t *testing.T) {
	for range 3 {
		engines(t, func(t *testing.T, path string) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					db, err := store.Open(t.Context(), path)
					if err != nil {
						t.Error(err)
						return
					}
					if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
						t.Error(err)
					}
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?%41#&_txlock=x.db")
	db := open(t, path, store.Options{})
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("file %q has mode %o, want 600", suffix, info.Mode().Perm())
		}
	}
	must(t, db.Close())
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 {
		t.Errorf("a closed store has %d files, want 1", len(files))
	}
	_, err = store.Open(t.Context(), filepath.Join(dir, "missing", "store.db"))
	wantErr(t, err, os.ErrNotExist)
}

// backup copies the state of the store into a new file.
func backup(t *testing.T, db *store.DB, path string) error {
	t.Helper()
	s, err := db.Snapshot(t.Context())
	must(t, err)
	return errors.Join(s.CopyTo(t.Context(), path), s.Close())
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	db := open(t, filepath.Join(dir, "store.db"), store.Options{})
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{document("1")}))
	copied := filepath.Join(dir, "it's a copy.db")
	must(t, backup(t, db, copied))
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{document("2")}))
	wantErr(t, backup(t, db, copied), concordat.ErrExists)
	info, err := os.Stat(copied)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %o, want 600", info.Mode().Perm())
	}
	back := open(t, copied, store.Options{})
	l, err := back.Catalogue.Library(ctx, "a")
	must(t, err)
	if l.Documents != 1 {
		t.Errorf("the copy holds %d documents, want the one of its moment", l.Documents)
	}
}
