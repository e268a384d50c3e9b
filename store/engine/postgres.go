package engine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"concordat"
)

// postgres stores the data in one schema of a database, the one in the connection's search_path.
//
// Its writing transactions run one after another across all processes, like SQLite's; each begins with an advisory lock, so that the data
// it reads cannot change before it commits. Statements run at READ COMMITTED, where each sees everything committed before it. The
// alternative, SERIALIZABLE with retries, would require every caller to be repeatable (doc/design.md).
var postgres = &dialect{
	name:        "postgres",
	goose:       goose.DialectPostgres,
	versioned:   `SELECT to_regclass('` + versionTable + `') IS NOT NULL`,
	translate:   toPostgres,
	rebind:      dollars,
	begin:       postgresBegin,
	lost:        postgresLost,
	snapshot:    sqlSnapshot,
	sentinel:    postgresSentinel,
	check:       postgresCheck,
	freeze:      postgresFreeze,
	purge:       postgresPurge,
	info:        postgresInfo,
	tables:      postgresTables,
	numbered:    postgresNumbered,
	setNumbered: postgresSetNumbered,
}

// IsURL reports whether a place is the address of a PostgreSQL database rather than a file.
func IsURL(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// Redacted removes the password from the address of a place, so that it can be displayed.
func Redacted(place string) string {
	if !IsURL(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "postgres://(unreadable address)"
	}
	q := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		if q.Has(secret) {
			q.Set(secret, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

// dollars replaces each ? with $1, $2 and so on.
func dollars(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	for n := 1; ; n++ {
		before, after, more := strings.Cut(query, "?")
		b.WriteString(before)
		if !more {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

const (
	// connectTime is how long connecting can take unless the address sets a limit.
	connectTime = 10 * time.Second
	// abandonedTime is how long a process can be silent before the server ends its transaction, releasing the lock that keeps all others
	// from writing.
	abandonedTime = time.Minute
	// keepaliveTime is how long a connection can be silent before the server checks whether the machine is still there.
	keepaliveTime = 30 * time.Second
	// migrationTime is how long an opening process waits for another one to finish migrating.
	migrationTime = 2 * time.Minute
)

// connectPostgres opens both pools and brings the schema up to date.
func connectPostgres(ctx context.Context, place string, o Options) (*DB, error) {
	config, err := pgx.ParseConfig(place)
	if err != nil {
		return nil, fmt.Errorf("%w: the address is not a valid PostgreSQL address", concordat.ErrInvalid) // its text can contain the password
	}
	if o.Password != "" {
		config.Password = o.Password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	db := &DB{d: postgres, now: o.Now, busy: o.Busy, maxBytes: o.MaxBytes}
	db.writer = sql.OpenDB(postgresConnector(config, o, true))
	db.reader = sql.OpenDB(postgresConnector(config, o, false))
	db.writer.SetMaxOpenConns(1)
	db.reader.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	db.reader.SetMaxIdleConns(max(4, runtime.GOMAXPROCS(0)))
	if err := db.prepareSchema(ctx); err != nil {
		return nil, errors.Join(db.Fail(err, "prepare"), db.Close())
	}
	return db, nil
}

func postgresConnector(config *pgx.ConnConfig, o Options, write bool) driver.Connector {
	c := config.Copy()
	set := func(name, value string) {
		if _, ok := c.RuntimeParams[name]; !ok { // the address takes precedence
			c.RuntimeParams[name] = value
		}
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	seconds := strconv.Itoa(int(keepaliveTime / time.Second))
	set("application_name", "concordat")
	set("lock_timeout", ms(o.Busy))
	set("idle_in_transaction_session_timeout", ms(abandonedTime))
	set("tcp_keepalives_idle", seconds)
	set("tcp_keepalives_interval", "10")
	set("tcp_keepalives_count", "3")
	if !write {
		set("default_transaction_read_only", "on")
	}
	return stdlib.GetConnector(*c, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "int8", OID: pgtype.Int8OID, Codec: int8Codec{}})
		if !write {
			return nil
		}
		// Acknowledged changes must survive a power failure, whatever the server's settings are for others.
		_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
		return err
	}))
}

// int8Codec accepts bool for integer columns, as 0 and 1, like SQLite.
type int8Codec struct{ pgtype.Int8Codec }

func (c int8Codec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(bool); ok {
		return boolPlan{c.Int8Codec.PlanEncode(m, oid, format, int64(0))}
	}
	return c.Int8Codec.PlanEncode(m, oid, format, value)
}

type boolPlan struct{ next pgtype.EncodePlan }

func (p boolPlan) Encode(value any, buf []byte) ([]byte, error) {
	var n int64
	if value.(bool) {
		n = 1
	}
	return p.next.Encode(n, buf)
}

// prepareSchema refuses another program's schema, and otherwise migrates it while other processes wait.
func (db *DB) prepareSchema(ctx context.Context) error {
	if err := db.checkSchema(ctx); err != nil {
		return err
	}
	tx, err := db.reader.BeginTx(ctx, nil) // the writer's only connection is needed for the migrations
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = 0`,
		migrationTime.Milliseconds()))
	if err == nil {
		_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, db.lock+1)
	}
	if err != nil {
		return err
	}
	return db.migrate(ctx)
}

// checkSchema refuses a schema created by another program and a database that does not support all of Unicode, and sets db.lock.
func (db *DB) checkSchema(ctx context.Context) error {
	var schema, mark sql.NullString
	var encoding string
	var tables int
	err := db.writer.QueryRowContext(ctx, `SELECT current_schema()::text, current_setting('server_encoding'),
		(SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename <> $1),
		obj_description(to_regclass(quote_ident(current_schema()) || '.setting'), 'pg_class')`, versionTable).
		Scan(&schema, &encoding, &tables, &mark)
	switch {
	case err != nil:
		return err
	case !schema.Valid:
		return fmt.Errorf("%w: none of the schemas in search_path exists", concordat.ErrInvalid)
	case encoding != "UTF8":
		return fmt.Errorf("%w: the encoding of the database is %s, want UTF8", concordat.ErrInvalid, encoding)
	case tables > 0 && mark.String != "Concordat":
		return fmt.Errorf("%w: schema %s contains another program's tables", concordat.ErrInvalid, schema.String)
	}
	sum := sha256.Sum256([]byte("concordat/store/" + schema.String)) // advisory locks are local to a database
	db.lock = int64(binary.BigEndian.Uint64(sum[:8]) &^ 1)
	return nil
}

// measureTime is how often the schema's size is measured.
const measureTime = time.Second

func postgresBegin(ctx context.Context, db *DB, c Conn) error {
	if _, err := c.Exec(ctx, `SELECT pg_advisory_xact_lock(?)`, db.lock); err != nil {
		return err
	}
	if db.maxBytes <= 0 || time.Since(db.measured) < measureTime {
		return nil
	}
	var size int64
	err := c.Row(ctx, `SELECT COALESCE(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
		WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`).Scan(&size)
	if err == nil && size > db.maxBytes {
		return fmt.Errorf("%w: the tables take up %d bytes, but at most %d are allowed", concordat.ErrDiskFull, size, db.maxBytes)
	}
	if err == nil {
		db.measured = time.Now()
	}
	return err
}

// postgresLost is false for requests refused by the server and for a context that ended.
func postgresLost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "57P01", "57P02", "57P03", "25P03": // shut down, crashed, starting, considered abandoned
			return true
		}
		return strings.HasPrefix(e.Code, "08")
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && pgconn.SafeToRetry(err)
}

// postgresSentinel follows the codes in appendix A of PostgreSQL's manual.
func postgresSentinel(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if postgresLost(err) || errors.Is(err, context.DeadlineExceeded) { // a hung server does not answer
			return ErrNoAnswer
		}
		return nil
	}
	if postgresLost(err) {
		return ErrNoAnswer
	}
	switch e.Code {
	case "23505":
		return concordat.ErrExists
	case "23503":
		return concordat.ErrNotFound
	case "53100":
		return concordat.ErrDiskFull
	case "40001", "40P01", "55P03", "25006", "57014": // collision, deadlock, lock not obtained, a standby, stopped by the server
		return concordat.ErrUnavailable
	case "42501":
		return concordat.ErrRefused
	case "3D000", "3F000": // no such database, no such schema
		return concordat.ErrInvalid
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "53", "57", "58":
		return concordat.ErrUnavailable
	case "22", "54": // a value, or a limit of the engine
		return concordat.ErrInvalid
	case "28": // problems with the account used to connect
		return concordat.ErrRefused
	case "XX":
		return concordat.ErrCorrupt
	}
	return nil
}

// postgresCheck reads every row, which detects damaged pages if the cluster has checksums, and looks for constraints that the server has
// not validated.
func postgresCheck(ctx context.Context, db *DB) error {
	return db.asOf(ctx, func(c Conn) error {
		var loose int
		err := c.Row(ctx, `SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND connamespace = current_schema()::regnamespace`).Scan(&loose)
		if err == nil && loose > 0 {
			err = fmt.Errorf("%w: %d constraints have not been validated", concordat.ErrCorrupt, loose)
		}
		if err != nil {
			return err
		}
		ts, err := postgresTables(ctx, c)
		for _, t := range ts {
			if err == nil {
				_, err = c.digest(ctx, t, nil)
			}
		}
		return err
	})
}

// postgresFrozen is a transaction that sees the database as of its first read.
type postgresFrozen struct{ tx *sql.Tx }

func postgresFreeze(ctx context.Context, reader *sql.DB) (frozen, error) {
	tx, err := reader.BeginTx(ctx, sqlSnapshot)
	if err != nil {
		return nil, err
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM setting`).Scan(&n); err != nil { // BEGIN alone reads nothing
		return nil, errors.Join(err, tx.Rollback())
	}
	return postgresFrozen{tx}, nil
}

// copyTo writes a SQLite file. Submitted files are omitted, because a backup copies them separately.
func (s postgresFrozen) copyTo(ctx context.Context, path string) error {
	to, err := connectSQLite(ctx, path, Options{Now: time.Now})
	if err != nil {
		return err
	}
	_, err = copyAll(ctx, func(f func(Conn) error) error { return f(Conn{postgres, s.tx}) }, to, Copy{NoFiles: true},
		func(string, int64, int64) {})
	return errors.Join(err, to.Close())
}

func (s postgresFrozen) close() error { return s.tx.Rollback() }

// postgresPurge rewrites the tables, which removes deleted rows and unlinks the old files. Rows remain in the write-ahead log until the
// server recycles it, in archives and standbys based on it, and in free blocks of the file system, so it always reports that bytes can
// remain.
func postgresPurge(ctx context.Context, db *DB, whole bool) (bool, error) {
	if !whole {
		return false, nil
	}
	one, err := db.writer.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer one.Close()
	ts, err := Collect(ctx, Conn{db.d, one}, scanOne[string],
		`SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`)
	for _, t := range ts {
		if err == nil {
			_, err = one.ExecContext(ctx, `VACUUM (FULL, ANALYZE) `+t)
		}
	}
	if err != nil {
		return false, err
	}
	// A checkpoint lets the server recycle its log; if the account is not allowed to request one, the bytes remain until the next.
	if _, err := one.ExecContext(ctx, `CHECKPOINT`); err != nil && !errors.Is(postgresSentinel(err), concordat.ErrRefused) {
		return false, err
	}
	return false, nil
}
