package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/pressly/goose/v3"

	"concordat"
)

const (
	applicationID = 0x436f6e63 // as set by the first migration
	pageBytes     = 4096
)

var sqlite = &dialect{
	name:        "sqlite",
	goose:       goose.DialectSQLite3,
	versioned:   `SELECT count(*) > 0 FROM sqlite_schema WHERE name = '` + versionTable + `'`,
	translate:   func(code string) string { return code },
	rebind:      func(query string) string { return query },
	snapshot:    &sql.TxOptions{ReadOnly: true},
	sentinel:    sqliteSentinel,
	check:       sqliteCheck,
	freeze:      sqliteFreeze,
	purge:       sqlitePurge,
	info:        sqliteInfo,
	tables:      sqliteTables,
	numbered:    sqliteNumbered,
	setNumbered: sqliteSetNumbered,
}

// sqliteSentinel follows the result codes in https://www.sqlite.org/rescode.html.
func sqliteSentinel(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey:
		return concordat.ErrExists
	case sqlite3.ErrConstraintForeignKey:
		return concordat.ErrNotFound
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return concordat.ErrUnavailable
	case sqlite3.ErrFull:
		return concordat.ErrDiskFull
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return concordat.ErrCorrupt
	case sqlite3.ErrTooBig:
		return concordat.ErrInvalid
	case sqlite3.ErrIoErr, sqlite3.ErrCantOpen:
		if e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT {
			return concordat.ErrDiskFull
		}
	}
	return nil
}

// openSQLite opens the file at path, creating it if it does not exist.
func openSQLite(ctx context.Context, path string, o Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createSQLite(ctx, path, o); err != nil {
			return nil, err
		}
	}
	if err := checkLog(path); err != nil {
		return nil, err
	}
	return connectSQLite(ctx, path, o)
}

// createSQLite creates a store with the current schema at path, unless another process is faster. Only the complete file appears at path;
// otherwise, processes that start together, or start after a crash, could find it without its schema and journal mode.
func createSQLite(ctx context.Context, path string, o Options) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".new-store-*") // only its owner can read it
	if err != nil {
		return NoSpace(err)
	}
	defer os.RemoveAll(dir)
	fresh := filepath.Join(dir, filepath.Base(path))
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // side files get the same mode
	if err != nil {
		return NoSpace(err)
	}
	if err := f.Close(); err != nil {
		return NoSpace(err)
	}
	db, err := connectSQLite(ctx, fresh, o)
	if err != nil {
		return err
	}
	// The file is renamed without its log, so the log must be empty. Closing empties it too, but does not report a full disk.
	_, err = sqlitePurge(ctx, db, false)
	if err = errors.Join(db.Fail(err, "prepare"), db.Close()); err != nil {
		return err
	}
	err = os.Link(fresh, path)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if _, gone := os.Lstat(path); err != nil && errors.Is(gone, fs.ErrNotExist) {
		err = os.Rename(fresh, path) // for file systems without hard links
	}
	if err == nil {
		err = syncFile(filepath.Dir(path)) // ensures that the name survives a power failure too
	}
	return NoSpace(err)
}

// NoSpace adds concordat.ErrDiskFull to an error about a full disk or quota; it returns other errors, and nil, unchanged.
func NoSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", concordat.ErrDiskFull, err)
	}
	return err
}

// connectSQLite opens both pools on an existing file and brings its schema up to date.
func connectSQLite(ctx context.Context, path string, o Options) (*DB, error) {
	db := &DB{
		d:      sqlite,
		now:    o.Now,
		busy:   o.Busy,
		writer: sql.OpenDB(newConnector(path, o, true)),
		reader: sql.OpenDB(newConnector(path, o, false)),
	}
	db.writer.SetMaxOpenConns(1)
	db.reader.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	db.reader.SetMaxIdleConns(max(4, runtime.GOMAXPROCS(0)))
	if err := db.prepareFile(ctx); err != nil {
		err = db.Fail(err, "prepare")
		if errors.Is(err, concordat.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", concordat.ErrLocked, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// prepareFile refuses a file from another program or a newer version, and otherwise migrates it.
func (db *DB) prepareFile(ctx context.Context) error {
	if err := db.checkOwner(ctx); err != nil {
		return err
	}
	return db.migrate(ctx)
}

// checkOwner refuses a database created by another program.
func (db *DB) checkOwner(ctx context.Context) error {
	var id, tables int
	// This is a single statement, so that it sees another process's first migration entirely or not at all.
	err := db.writer.QueryRowContext(ctx, `SELECT application_id,
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> ?)
		FROM pragma_application_id`, versionTable).Scan(&id, &tables)
	if err != nil {
		return err
	}
	if id == applicationID {
		return nil
	}
	if tables > 0 || id != 0 {
		return fmt.Errorf("%w: the database belongs to another program", concordat.ErrInvalid)
	}
	return nil
}

// A connector opens connections with this store's settings only; nothing is registered globally.
type connector struct {
	drv *sqlite3.SQLiteDriver
	dsn string
}

func newConnector(path string, o Options, write bool) connector {
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(max(1, o.Busy.Milliseconds()))},
		"_foreign_keys": {"1"},
	}
	if write {
		// FULL syncs the log at each commit, so that an acknowledged change survives a power failure.
		q.Set("_journal_mode", "WAL")
		q.Set("_synchronous", "FULL")
		q.Set("_txlock", "immediate")
		q.Set("_secure_delete", "on") // deleted data is overwritten in its page
	} else {
		q.Set("_query_only", "1")
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return connector{dsn: u.String(), drv: &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		if o.MaxBytes <= 0 || !write {
			return nil
		}
		pages := (o.MaxBytes + pageBytes - 1) / pageBytes
		_, err := c.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil)
		return err
	}}}
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.drv.Open(c.dsn) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.drv }

func sqliteCheck(ctx context.Context, db *DB) error {
	c := db.Read()
	faults, err := Collect(ctx, c, func(s Scanner) (string, error) {
		var line string
		return line, s.Scan(&line)
	}, `PRAGMA integrity_check(1)`)
	if err != nil {
		return err
	}
	if len(faults) != 1 || faults[0] != "ok" {
		return fmt.Errorf("%w: %q", concordat.ErrCorrupt, faults)
	}
	tables, err := Collect(ctx, c, func(s Scanner) (string, error) {
		var table, parent string
		var row, key sql.NullInt64
		return table, s.Scan(&table, &row, &parent, &key)
	}, `PRAGMA foreign_key_check`)
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("%w: table %s refers to rows that do not exist", concordat.ErrCorrupt, tables[0])
	}
	return err
}

// sqlitePurge rewrites the whole file, without the pages and gaps left by deleted rows, and empties the write-ahead log, which contains
// earlier versions of pages.
func sqlitePurge(ctx context.Context, db *DB, whole bool) (bool, error) {
	if whole {
		if _, err := db.writer.ExecContext(ctx, `VACUUM`); err != nil {
			return false, err
		}
	}
	for { // a reader of an earlier state keeps the log in use for the duration of its query
		var busy, log, moved int
		if err := db.writer.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
			return false, err
		}
		if busy == 0 {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(purgePause):
		}
	}
}

const purgePause = 50 * time.Millisecond
