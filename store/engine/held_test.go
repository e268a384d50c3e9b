package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store/engine"
)

// engines runs f with the location of a new database of each engine.
func engines(t *testing.T, f func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "store.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, storetest.Postgres(t).Database(t)) })
}

// change runs statements in one transaction until one fails.
func change(t *testing.T, db *engine.DB, statements ...string) {
	t.Helper()
	if err := db.Write(t.Context(), func(c engine.Conn) error {
		for _, s := range statements {
			if _, err := c.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// value returns the value in a query's single row.
func value[T any](t *testing.T, db *engine.DB, query string, args ...any) (v T) {
	t.Helper()
	if err := db.Read().Row(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestMigrationThatFails: if one statement of a migration fails, the store does not open and the migration counts as not applied. Once
// the cause is gone, the next opening applies it.
func TestMigrationThatFails(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		forbid, allow, empty := `CREATE TRIGGER held BEFORE UPDATE ON task BEGIN SELECT RAISE(ABORT, 'held'); END`, `DROP TRIGGER held`,
			`x''`
		if engine.IsURL(place) {
			forbid, allow, empty = `ALTER TABLE task ADD CONSTRAINT held CHECK (cause NOT LIKE '{%')`,
				`ALTER TABLE task DROP CONSTRAINT held`, `''`
		}
		db := open(t, place)
		change(t, db, `INSERT INTO task (id, state, title, cause, request, made, started, finished, attempts, worker, lease_until)
			VALUES ('x', 'cancelled', '', 'cancelled by ada', `+empty+`, 0, 0, 0, 0, '', 0)`,
			`DELETE FROM schema_version WHERE version_id = 115`, forbid)
		if again, err := (engine.Options{}).Open(t.Context(), place); err == nil {
			_ = again.Close()
			t.Errorf("opened, and the cause is %q", value[string](t, db, `SELECT cause FROM task`))
		}
		if got := value[string](t, db, `SELECT cause FROM task`); got != "cancelled by ada" {
			t.Errorf("the cause is %q", got)
		}
		change(t, db, allow)
		if got := value[string](t, open(t, place), `SELECT cause FROM task`); !strings.HasPrefix(got, "{") {
			t.Errorf("opened again, and the cause is %q", got)
		}
	})
}

// TestMigrationsWait: two processes that start together do not migrate a PostgreSQL database at the same time.
func TestMigrationsWait(t *testing.T) {
	place := storetest.Postgres(t).Database(t)
	first := open(t, place)
	if err := first.Write(t.Context(), func(c engine.Conn) error {
		if _, err := c.Exec(t.Context(), `SELECT pg_advisory_xact_lock(?)`, engine.MigrationLock(first)); err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		opened := make(chan error, 1)
		go func() {
			db, err := engine.Options{}.Open(ctx, place)
			if err == nil {
				err = db.Close()
			}
			opened <- err
		}()
		for waiting := false; !waiting; {
			select {
			case err := <-opened:
				t.Errorf("it did not wait, error %v", err)
				return nil
			default:
			}
			if err := c.Row(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)`).Scan(&waiting); err != nil {
				return err
			}
		}
		stop()
		if err := <-opened; err == nil {
			t.Error("opened in spite of the lock")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationLockFails: a PostgreSQL database is not migrated without the lock that keeps other processes from migrating it.
func TestMigrationLockFails(t *testing.T) {
	place := storetest.Postgres(t).Database(t)
	first := open(t, place)
	if err := first.Write(t.Context(), func(c engine.Conn) error {
		if _, err := c.Exec(t.Context(), `SELECT pg_advisory_xact_lock(?)`, engine.MigrationLock(first)); err != nil {
			return err
		}
		opened := make(chan error, 1)
		go func() {
			db, err := engine.Options{}.Open(t.Context(), place)
			if err == nil {
				err = db.Close()
			}
			opened <- err
		}()
		for n := 0; n == 0; { // until it waits for the lock and its statement is cancelled
			select {
			case err := <-opened:
				opened <- err
				n = 1
			default:
				if err := c.Row(t.Context(), `SELECT count(pg_cancel_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).
					Scan(&n); err != nil {
					return err
				}
			}
		}
		if err := <-opened; !errors.Is(err, concordat.ErrUnavailable) {
			t.Errorf("opened without the lock: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestSizeLimit: a PostgreSQL store at its limit can be written, and one above it cannot.
func TestSizeLimit(t *testing.T) {
	place := storetest.Postgres(t).Database(t)
	info, err := open(t, place).Info(t.Context())
	if err != nil || info.Bytes == 0 {
		t.Fatalf("%d bytes, %v", info.Bytes, err)
	}
	for _, over := range []int64{-1, 0, 1} {
		db, err := engine.Options{Busy: time.Minute, MaxBytes: info.Bytes - over}.Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(engine.Conn) error { return nil })
		if errors.Is(err, concordat.ErrDiskFull) != (over > 0) || over <= 0 && err != nil {
			t.Errorf("%d bytes above the limit: %v", over, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckFindsDangling: a row that refers to one that does not exist is found, and its table is named.
func TestCheckFindsDangling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := open(t, path)
	other, err := sql.Open("sqlite3", path) // does not enforce foreign keys
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.ExecContext(t.Context(), `INSERT INTO findings (task, format, length, data) VALUES ('gone', 1, 0, x'')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Check(t.Context()); !errors.Is(err, concordat.ErrCorrupt) || !strings.Contains(err.Error(), "table findings") {
		t.Errorf("got %v, want %v", err, concordat.ErrCorrupt)
	}
}

// TestInterruptedCalls: a purge or copy that was interrupted is not reported as done, and leaves no copy behind.
func TestInterruptedCalls(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "store.db"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, whole := range []bool{false, true} {
		if purged, err := db.Purge(ctx, whole); purged || !errors.Is(err, context.Canceled) {
			t.Errorf("whole %v: purged %v, %v", whole, purged, err)
		}
	}
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := s.CopyTo(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("copy: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a copy, %v", err)
	}
}

// TestCheckReadsRows: the check reads the rows of a PostgreSQL table, and so finds a damaged page.
func TestCheckReadsRows(t *testing.T) {
	s := storetest.Postgres(t)
	db := open(t, s.Database(t))
	change(t, db, `INSERT INTO setting (name, value) VALUES ('a', 'b')`)
	if err := db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(s.Tables()), value[string](t, db, `SELECT pg_relation_filepath('setting')`))
	if err := s.Stop(syscall.SIGINT); err != nil { // a clean shutdown writes everything to its file
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil || len(page) == 0 {
		t.Fatalf("a table of %d bytes, %v", len(page), err)
	}
	for i := range page {
		page[i] ^= 0xff
	}
	if err := errors.Join(os.WriteFile(file, page, 0), s.Start()); err != nil {
		t.Fatal(err)
	}
	if err := db.Check(t.Context()); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("got %v, want %v", err, concordat.ErrCorrupt)
	}
}

// TestAfterRestart: a check, a copy and a snapshot succeed after a restart of the database server.
func TestAfterRestart(t *testing.T) {
	s := storetest.Postgres(t)
	db, to := open(t, s.Database(t)), open(t, filepath.Join(t.TempDir(), "copy.db"))
	for name, call := range map[string]func() error{
		"check": func() error { return db.Check(t.Context()) },
		"copy":  func() error { _, err := db.CopyTo(t.Context(), to, engine.Copy{}); return err },
		"snapshot": func() error {
			x, err := db.Snapshot(t.Context())
			if err == nil {
				err = x.Close()
			}
			return err
		},
	} {
		value[int](t, db, `SELECT 1`) // opens a connection before the restart
		if err := errors.Join(s.Stop(syscall.SIGINT), s.Start()); err != nil {
			t.Fatal(err)
		}
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPurgeRewrites: a full purge rewrites each PostgreSQL table, and a small purge rewrites none.
func TestPurgeRewrites(t *testing.T) {
	db := open(t, storetest.Postgres(t).Database(t))
	files := func() map[string]int64 {
		t.Helper()
		out := map[string]int64{}
		rows, err := db.Read().Query(t.Context(), `SELECT tablename, pg_relation_filenode(quote_ident(tablename)::regclass)::bigint
			FROM pg_tables WHERE schemaname = current_schema()`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var table string
			var file int64
			if err := rows.Scan(&table, &file); err != nil {
				t.Fatal(err)
			}
			out[table] = file
		}
		if err := rows.Err(); err != nil || len(out) < 50 {
			t.Fatalf("%d tables, %v", len(out), err)
		}
		return out
	}
	before := files()
	for _, whole := range []bool{false, true} {
		if purged, err := db.Purge(t.Context(), whole); purged || err != nil {
			t.Errorf("whole %v: purged %v, %v", whole, purged, err)
		}
		for table, file := range files() {
			if (file != before[table]) != whole {
				t.Errorf("whole %v: table %s was in file %d and is in %d", whole, table, before[table], file)
			}
		}
	}
}

// TestTablesAlike: rows are copied only into a table with the same columns, types and collations.
func TestTablesAlike(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		changes := []string{`ALTER TABLE setting ADD COLUMN extra TEXT`}
		if engine.IsURL(place) {
			changes = []string{`ALTER TABLE setting ALTER COLUMN value TYPE TEXT COLLATE "default"`,
				`ALTER TABLE setting ALTER COLUMN value TYPE JSON USING '{}'`}
		}
		from, to := open(t, filepath.Join(t.TempDir(), "from.db")), open(t, place)
		for _, one := range changes {
			change(t, to, one)
			for _, way := range [][2]*engine.DB{{from, to}, {to, from}} {
				if _, err := way[0].CopyTo(t.Context(), way[1], engine.Copy{}); !errors.Is(err, concordat.ErrInvalid) ||
					!strings.Contains(err.Error(), "the two stores define table setting differently") {
					t.Errorf("%s: %v", one, err)
				}
			}
		}
	})
}

// TestCopyWithoutFiles: a copy without the files stored in the database has all other tables, and a full copy also has the tables of
// these files.
func TestCopyWithoutFiles(t *testing.T) {
	from := open(t, filepath.Join(t.TempDir(), "from.db"))
	var tables []string
	for i, without := range []bool{false, true} {
		done, err := from.CopyTo(t.Context(), open(t, filepath.Join(t.TempDir(), "to.db")), engine.Copy{NoFiles: without})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range done {
			got = append(got, x.Table)
		}
		if i == 0 {
			tables = got
		}
		want := slices.DeleteFunc(slices.Clone(tables), func(name string) bool { return without && strings.HasPrefix(name, "file") })
		if !slices.Equal(got, want) || !slices.Contains(tables, "file") || !slices.Contains(tables, "file_part") {
			t.Errorf("without files (%v) copied are %q, want %q", without, got, want)
		}
	}
}

// TestCopyReports: while a table is copied, the number of its rows copied so far is reported, and in the end all of them.
func TestCopyReports(t *testing.T) {
	from := open(t, filepath.Join(t.TempDir(), "from.db"))
	const rows = 1200 // more than one statement adds
	change(t, from, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
		INSERT INTO setting (name, value) SELECT 'held ' || i, '' FROM n`)
	var got []int64
	if _, err := from.CopyTo(t.Context(), open(t, filepath.Join(t.TempDir(), "to.db")), engine.Copy{
		Report: func(table string, n, all int64) {
			if table == "setting" && all == rows {
				got = append(got, n)
			}
		}}); err != nil {
		t.Fatal(err)
	}
	if len(got) < 3 || got[0] == 0 || !slices.IsSorted(got) || got[len(got)-1] != rows {
		t.Errorf("reported are %d rows of %d", got, rows)
	}
}

// TestCopyIsReadBack: if a new store's contents differ from the data copied into it, the store is emptied and not accepted as a copy.
func TestCopyIsReadBack(t *testing.T) {
	from, to := open(t, filepath.Join(t.TempDir(), "from.db")), open(t, filepath.Join(t.TempDir(), "to.db"))
	change(t, from, `INSERT INTO setting (name, value) VALUES ('a', 'b')`)
	change(t, to, `CREATE TRIGGER held AFTER INSERT ON setting BEGIN UPDATE setting SET value = 'c' WHERE name = NEW.name; END`)
	if _, err := from.CopyTo(t.Context(), to, engine.Copy{}); !errors.Is(err, concordat.ErrCorrupt) ||
		!strings.Contains(err.Error(), "table setting") {
		t.Errorf("got %v, want %v", err, concordat.ErrCorrupt)
	}
	if n := value[int](t, to, `SELECT count(*) FROM setting`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestOwnStatementsFail: every statement that fails while a store is checked, described or copied is reported.
func TestOwnStatementsFail(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db, to := open(t, place), open(t, filepath.Join(t.TempDir(), "copy.db"))
		for name, call := range map[string]func(context.Context) error{
			"check":    db.Check,
			"describe": func(ctx context.Context) error { _, err := db.Info(ctx); return err },
			"copy":     func(ctx context.Context) error { _, err := db.CopyTo(ctx, to, engine.Copy{}); return err },
		} {
			tried := 0
			for at := 0; ; at += 1 + at/2 { // each of the first statements, which list the tables, then fewer
				ctx := storetest.NewLosing(t.Context(), at)
				err := call(ctx)
				if !ctx.Lost() {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					break
				}
				tried++
				if !errors.Is(err, storetest.ErrLost) {
					t.Errorf("%s: statement %d failed, and the call returned the error %v", name, at, err)
				}
			}
			if tried == 0 {
				t.Errorf("%s: no statement", name)
			}
		}
	})
}

// TestPrepared: a statement prepared outside a transaction runs, and preparing an invalid one is an error.
func TestPrepared(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		c := open(t, place).Read()
		s, err := c.Prepare(t.Context(), `SELECT CAST(? AS INTEGER) + 1`)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := s.QueryRowContext(t.Context(), 41).Scan(&n); err != nil || n != 42 {
			t.Errorf("got %d, %v", n, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err := c.Prepare(t.Context(), `SELECT nothing FROM nowhere`); err == nil {
			t.Errorf("prepared %v", s)
		}
	})
}
