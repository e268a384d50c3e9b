package store

import (
	"context"

	"concordat/store/engine"
)

// transaction is the open transaction of the DB that Atomic passes to its function.
type transaction struct {
	conn engine.Conn
	err  error // error of the first change that failed
}

// Atomic runs f in one transaction, so that several changes, or a change and its audit entry, happen together or not at all. f gets a DB
// whose calls read and write within the transaction; f uses the DB only while f runs, and only from one goroutine. Other writers wait in
// the meantime, so f must call nothing slow, nor the DB outside the transaction. An error of f undoes everything and is returned unchanged.
// A failed change also undoes everything, even if f returns nil. Atomic within Atomic joins the running transaction.
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
