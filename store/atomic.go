package store

import (
	"context"

	"concordat/store/engine"
)

// transaction is the open transaction of the DB that Atomic passes to its callback.
type transaction struct {
	conn engine.Conn
	err  error // error of the first failed change
}

// Atomic runs f in one transaction, so that several changes, or a change and its audit entry, happen together or not at all. f receives a
// DB whose calls read and write within the transaction; it must use this DB only during the call, and from only one goroutine. Other
// writers wait in the meantime, so f must not call anything slow, or use the DB outside the transaction. An error from f rolls back
// everything and is returned unchanged. A failed change also rolls back everything, even if f returns nil. A nested call of Atomic joins
// the running transaction.
func (db *DB) Atomic(ctx context.Context, f func(tx *DB) error) error {
	if db.tx != nil {
		return f(db)
	}
	var inner error
	err := db.write(ctx, func(c engine.Conn) error {
		tx := newDB(base{engine: db.engine, tx: &transaction{conn: c}})
		if inner = f(tx); inner == nil && tx.tx.err != nil {
			inner = tx.fail(tx.tx.err, "make a change in a transaction")
		}
		return inner
	})
	if inner != nil {
		return inner
	}
	return db.fail(err, "commit")
}
