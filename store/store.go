package store

import (
	"context"
	"time"

	"concordat/store/engine"
)

// DB is an open store. It consists of parts by subject, and has methods for the database as a whole. It is safe for concurrent use.
type DB struct {
	base
	Catalogue *Catalogue
	Checks    *Checks
	Batches   *Batches
	Alerts    *Alerts
	Partners  *Partners
	Answers   *Answers
	Asks      *Asks
	People    *People
	Audit     *AuditLog
	Webhooks  *Webhooks
	LTI       *LTI
	Retention *Retention
	Harvest   *Harvest
	Cases     *Cases
	// Notifications is the inbox.
	Notifications *Notifications
	// Acknowledged is for the nodes of a cluster.
	Acknowledged *Acknowledged
}

// The parts of the store, by subject. They share their DB's connections and, within Atomic, its transaction.
type (
	// Catalogue contains libraries with their documents and templates, and how files were added.
	Catalogue struct{ base }
	// Checks contains tasks, their findings, results and reviews.
	Checks struct{ base }
	// Batches contains batches with their documents, and the pairs and leads between documents.
	Batches struct{ base }
	// Alerts contains checks that keep watching or are repeated, and the alerts raised by them.
	Alerts struct{ base }
	// Partners contains partners, federations and invitations, the notices between sites, and the reports of witnesses.
	Partners struct{ base }
	// Answers records what partners are allowed to ask, what they asked and what was disclosed.
	Answers struct{ base }
	// Asks contains questions to partners, the sentences exposed in them, and mirrors of partners' libraries.
	Asks struct{ base }
	// People contains accounts with their tokens, sessions, identities and quotas.
	People struct{ base }
	// AuditLog contains the audit, a chain of entries.
	AuditLog struct{ base }
	// Webhooks contains the addresses that receive events, and the deliveries.
	Webhooks struct{ base }
	// LTI contains learning platforms and their submissions.
	LTI struct{ base }
	// Retention contains terms, deletions and their receipts.
	Retention struct{ base }
)

// base runs the statements of the store.
type base struct {
	engine *engine.DB
	tx     *transaction // transaction that the calls belong to; nil if each change has its own
}

// read returns the connection for statements that change nothing.
func (b base) read() engine.Conn {
	if b.tx != nil {
		return b.tx.conn
	}
	return b.engine.Read()
}

// write runs f in one transaction; see [engine.DB.Write]. Within Atomic, f joins the running transaction.
func (b base) write(ctx context.Context, f func(engine.Conn) error) error {
	if b.tx == nil {
		return b.engine.Write(ctx, f)
	}
	err := f(b.tx.conn)
	if b.tx.err == nil {
		b.tx.err = err
	}
	return err
}

// fail adds the operation to err, and returns nil for nil; see [engine.DB.Fail].
func (b base) fail(err error, format string, args ...any) error {
	return b.engine.Fail(err, format, args...)
}

func (b base) now() time.Time { return b.engine.Now() }

// ErrNoAnswer is [engine.ErrNoAnswer].
var ErrNoAnswer = engine.ErrNoAnswer

// Options configure a store; the zero value selects the defaults. See [engine.Options].
type Options engine.Options

// Open opens the SQLite file at path with default options, creating it (readable only by its owner) if it does not exist; its folder must
// exist. A path that satisfies [IsURL] is the address of a PostgreSQL database instead. It fails like [engine.Options.Open].
func Open(ctx context.Context, path string) (*DB, error) {
	return Options{}.Open(ctx, path)
}

// Open is [Open] with options.
func (o Options) Open(ctx context.Context, path string) (*DB, error) {
	e, err := engine.Options(o).Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return newDB(base{engine: e}), nil
}

func newDB(b base) *DB {
	return &DB{base: b, Catalogue: &Catalogue{b}, Checks: &Checks{b}, Batches: &Batches{b}, Alerts: &Alerts{b}, Partners: &Partners{b},
		Answers: &Answers{b}, Asks: &Asks{b}, People: &People{b}, Audit: &AuditLog{b}, Webhooks: &Webhooks{b}, LTI: &LTI{b},
		Retention: &Retention{b}, Harvest: &Harvest{b}, Cases: &Cases{b}, Notifications: &Notifications{b}, Acknowledged: &Acknowledged{b}}
}

// Scripted returns a DB on the same database with calls that fail according to a script; see [engine.DB.Scripted]. It is meant for tests.
func (db *DB) Scripted(s engine.Script) *DB {
	return newDB(base{engine: db.engine.Scripted(s), tx: db.tx})
}

// Close waits for running calls and closes the store. Later calls fail.
func (db *DB) Close() error { return db.engine.Close() }

// MaxPage is the maximum number of rows returned by one call of a paged list.
const MaxPage = 10_000

// page returns the number of rows to request, which is limit, or MaxPage if limit is 0 or exceeds MaxPage.
func page(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}
