package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"concordat"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	d      *dialect
	now    func() time.Time
	writer *sql.DB // only one connection, so that writers queue here instead of colliding in the engine
	reader *sql.DB
	busy   time.Duration
	script Script // makes statements fail; nil if none should

	// The following fields are used for PostgreSQL.

	lock     int64     // advisory lock that each writing transaction takes; migrations take the next number
	maxBytes int64     // maximum size of the tables; 0 for no limit
	measured time.Time // when their size was last read; protected by the writer's only connection
}

// Options configure a database; the zero value selects the defaults.
type Options struct {
	// Now is the clock for leases and the audit log; nil means time.Now.
	Now func() time.Time
	// MaxBytes limits the size of the database file, rounded up to its pages of 4096 bytes; writes beyond it fail with
	// concordat.ErrDiskFull. 0 means no limit. PostgreSQL's tables are measured before a write, but at most once per second; they can
	// exceed the limit by the amount written between measurements.
	MaxBytes int64
	// Password is the database password. If it is empty, the password is taken from the address, $PGPASSWORD or the file $PGPASSFILE.
	Password string
	// Busy is how long a call waits for another process's write lock before failing with concordat.ErrUnavailable; 0 means 5 s.
	Busy time.Duration
}

// Open opens the SQLite file at path, creating it (readable only by its owner) if it does not exist; its folder must exist. A path that
// satisfies [IsURL] is the address of a PostgreSQL database instead; the database and the schema in its search_path must exist, and
// several processes, on several machines, can have it open. Older schemas are migrated. It fails with concordat.ErrInvalid for a newer
// schema, naming both versions, or for another program's database; with concordat.ErrCorrupt for a damaged file; with concordat.ErrLocked
// if another process keeps it locked; and with concordat.ErrUnavailable if a server does not answer.
func (o Options) Open(ctx context.Context, path string) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	open := openSQLite
	if IsURL(path) {
		open = connectPostgres
	}
	db, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", Redacted(path), err)
	}
	return db, nil
}

// Now returns the current time of the configured clock.
func (db *DB) Now() time.Time { return db.now() }

// Close waits for running calls and closes the database. Later calls fail.
func (db *DB) Close() error {
	return errors.Join(db.reader.Close(), db.writer.Close())
}

// A Conn runs statements written with ? placeholders, either all in one transaction or each separately.
type Conn struct {
	d *dialect
	q queryer
}

// A queryer is a *sql.DB, *sql.Tx, *sql.Conn, retrying or obeying.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Exec returns the number of rows changed by the statement.
func (c Conn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := c.q.ExecContext(ctx, c.d.rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Row runs a query for one row; its Scan returns the error, or sql.ErrNoRows if there is no row.
func (c Conn) Row(ctx context.Context, query string, args ...any) *sql.Row {
	return c.q.QueryRowContext(ctx, c.d.rebind(query), args...)
}

// Query runs a query. The caller must close the rows.
func (c Conn) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.q.QueryContext(ctx, c.d.rebind(query), args...)
}

// Prepare returns a statement that the caller must close.
func (c Conn) Prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.q.PrepareContext(ctx, c.d.rebind(query))
}

// Read returns the connection for statements that change nothing.
func (db *DB) Read() Conn {
	var q queryer = db.reader
	if db.d.lost != nil {
		q = retrying{db}
	}
	if db.script != nil {
		q = obeying{db, q}
	}
	return Conn{db.d, q}
}

// Write runs f in one transaction, while no other process runs one; on return, either all of it is durable or none of it happened. If the
// connection breaks during the commit, the outcome is unknown, and the error says so.
func (db *DB) Write(ctx context.Context, f func(Conn) error) error {
	if err := db.next(ctx); err != nil {
		return err
	}
	tx, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // has no effect after Commit
	if err := f(Conn{db.d, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if db.d.lost != nil && db.d.lost(err) {
			err = fmt.Errorf("the change may or may not have been made: %w", err)
		}
		return err
	}
	return nil
}

// begin begins a writing transaction. If the server is restarting, it waits, which is safe because nothing has happened yet.
func (db *DB) begin(ctx context.Context) (tx *sql.Tx, err error) {
	err = db.retry(ctx, func() error {
		if tx, err = db.writer.BeginTx(ctx, nil); err != nil || db.d.begin == nil {
			return err
		}
		if err = db.d.begin(ctx, db, Conn{db.d, tx}); err != nil {
			_ = tx.Rollback() // a lost connection needs no rollback
		}
		return err
	})
	return tx, err
}

// ErrNoAnswer is wrapped by errors about an unresponsive database server. Such an error also names the server, so show it only to
// administrators.
var ErrNoAnswer = fmt.Errorf("the database is not responding: %w", concordat.ErrUnavailable)

// Fail adds the operation to err and, if one applies, a sentinel that callers can act on. It returns nil for nil.
func (db *DB) Fail(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	op := fmt.Sprintf(format, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", op, concordat.ErrNotFound)
	}
	if s := db.d.sentinel(err); s != nil && !errors.Is(err, s) {
		return fmt.Errorf("%s: %w: %w", op, s, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// A Scanner is a *sql.Row or a *sql.Rows.
type Scanner interface{ Scan(dest ...any) error }

// Collect runs a query on c and returns the result of scan for each row, in the query's order.
func Collect[T any](ctx context.Context, c Conn, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
