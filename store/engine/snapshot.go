package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/mattn/go-sqlite3"

	"concordat"
)

// Snapshot is the state of the store at one moment; it can be copied while writers continue. It must be used by only one goroutine.
type Snapshot struct {
	db    *DB
	state frozen
}

// frozen is an engine's part of a Snapshot.
type frozen interface {
	copyTo(ctx context.Context, path string) error
	close() error
}

// Snapshot returns the current state of the store in negligible time. The store's log keeps growing until Close is called. It fails with
// concordat.ErrInvalid if the engine has its own means of copying.
func (db *DB) Snapshot(ctx context.Context) (*Snapshot, error) {
	if db.d.freeze == nil {
		return nil, db.Fail(fmt.Errorf("%w: this kind of database must be backed up with the database server's own tools", concordat.ErrInvalid), "take a snapshot")
	}
	var state frozen
	if err := db.retry(ctx, func() (err error) { state, err = db.d.freeze(ctx, db.reader); return err }); err != nil {
		return nil, db.Fail(err, "take a snapshot")
	}
	return &Snapshot{db, state}, nil
}

// CopyTo writes the state to a new file at path, which only its owner can read, and returns once it is on disk. If path exists, it fails
// with concordat.ErrExists. After any other error, it leaves nothing at path. [Open] opens the copy.
func (s *Snapshot) CopyTo(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return fmt.Errorf("copy the store: %w: %w", concordat.ErrExists, err)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = s.state.copyTo(ctx, path)
	}
	if err == nil {
		err = syncFile(path)
	}
	if err != nil {
		return errors.Join(s.db.Fail(NoSpace(err), "copy the store"), os.Remove(path))
	}
	return nil
}

// Close releases the state. Closing it again has no effect.
func (s *Snapshot) Close() error {
	if s.state == nil {
		return nil
	}
	err := s.state.close()
	s.state = nil
	return err
}

// sqliteFrozen is a connection in a read transaction; in write-ahead mode, it sees the database as of the transaction's first read, and
// does not block writers.
type sqliteFrozen struct{ c *sql.Conn }

func sqliteFreeze(ctx context.Context, db *sql.DB) (frozen, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var n int
	if _, err = c.ExecContext(ctx, `BEGIN`); err == nil {
		err = c.QueryRowContext(ctx, `SELECT count(*) FROM setting`).Scan(&n) // fixes the moment, since BEGIN alone reads nothing
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return sqliteFrozen{c}, nil
}

// backupPages is the number of pages copied between checks of the context.
const backupPages = 2048

// copyTo uses SQLite's backup interface, which reads within the open transaction (https://www.sqlite.org/c3ref/backup_finish.html).
func (s sqliteFrozen) copyTo(ctx context.Context, path string) (err error) {
	to, err := (&sqlite3.SQLiteDriver{}).Open((&url.URL{Scheme: "file", Path: path, RawQuery: "_synchronous=OFF"}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return s.c.Raw(func(from any) error {
		b, err := to.(*sqlite3.SQLiteConn).Backup("main", from.(*sqlite3.SQLiteConn), "main")
		if err != nil {
			return err
		}
		for done := false; !done && err == nil; {
			if err = ctx.Err(); err == nil {
				done, err = b.Step(backupPages)
			}
		}
		return errors.Join(err, b.Close())
	})
}

func (s sqliteFrozen) close() error {
	// The connection is in a transaction, so it must not return to the pool.
	_ = s.c.Raw(func(any) error { return driver.ErrBadConn }) // returns the error passed to it
	err := s.c.Close()
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
