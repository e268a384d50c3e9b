package store

import (
	"context"

	"concordat/store/engine"
)

// transaction is the open transaction of the DB that Atomic passes to its function.
type transaction struct {
	conn engine.Conn
	err  error // of the first call that failed to change something
}

// Atomic runs f in one transaction, so that several changes, or a change and its audit entry, happen
// together or not at all. f is given a DB whose calls read and write within the transaction; it keeps
// the DB no longer than it runs, and uses it from one goroutine. Other writers wait meanwhile: f calls
// nothing that is slow, and not the DB outside the transaction. An error of f undoes everything and is
// returned as it is, and so does a change that failed, even if f returns nil. Atomic within Atomic
// joins the transaction that runs.
func (db *DB) Atomic(ctx context.Context, f func(tx *DB) error) error {
	if db.tx != nil {
		return f(db)
	}
	var inner error
	err := db.write(ctx, func(c engine.Conn) error {
		tx := newDB(base{engine: db.engine, tx: &transaction{conn: c}})
		if inner = f(tx); inner == nil && tx.tx.err != nil {
			inner = tx.fail(tx.tx.err, "a change of the transaction")
		}
		return inner
	})
	if inner != nil {
		return inner
	}
	return db.fail(err, "commit")
}
