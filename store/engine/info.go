package engine

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Info describes the engine of the store.
type Info struct {
	Name    string `json:"engine"` // SQLite or PostgreSQL
	Version string `json:"version"`
	Bytes   int64  `json:"bytes"` // size of tables and indexes
	// Warnings describe conditions that an operator should change.
	Warnings []string `json:"warnings"`
}

// maxSkew is the maximum difference between the machines' clocks, which determine when claims on checks expire.
const maxSkew = 2 * time.Second

// Info reads the engine's version, size and settings.
func (db *DB) Info(ctx context.Context) (Info, error) {
	e, err := db.d.info(ctx, db.Read(), db.now)
	if e.Warnings == nil {
		e.Warnings = []string{}
	}
	return e, db.Fail(err, "read the settings of the database")
}

func sqliteInfo(ctx context.Context, c Conn, _ func() time.Time) (Info, error) {
	e := Info{Name: "SQLite"}
	err := c.Row(ctx, `SELECT sqlite_version(), (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`).Scan(&e.Version, &e.Bytes)
	return e, err
}

func postgresInfo(ctx context.Context, c Conn, now func() time.Time) (Info, error) {
	e := Info{Name: "PostgreSQL"}
	var fsync, fullPages, checksums, super, remote, tls bool
	var clock float64
	before := now()
	err := c.Row(ctx, `SELECT current_setting('server_version'),
		COALESCE((SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace), 0),
		current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean, current_setting('data_checksums')::boolean,
		(SELECT rolsuper FROM pg_roles WHERE rolname = current_user), inet_server_addr() IS NOT NULL,
		COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false), extract(epoch FROM clock_timestamp())::double precision`).
		Scan(&e.Version, &e.Bytes, &fsync, &fullPages, &checksums, &super, &remote, &tls, &clock)
	if err != nil {
		return e, err
	}
	warn := func(is bool, format string, args ...any) {
		if is {
			e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...))
		}
	}
	warn(!fsync, "fsync is off: a power cut can destroy the database")
	warn(!fullPages, "full_page_writes is off: a power cut can damage pages")
	warn(!checksums, "data checksums are off: damaged pages go undetected (pg_checksums --enable)")
	warn(super, "the role is a superuser: give the site a role that owns nothing but its schema")
	warn(remote && !tls, "the connection is not encrypted: add sslmode=verify-full to store.url")
	skew := time.Duration((clock - float64(before.UnixMicro())/1e6) * 1e9)
	warn(math.Abs(float64(skew)) > float64(maxSkew+now().Sub(before)),
		"the clocks of the database server and this machine differ by %s, so claims on checks may expire at the wrong time", skew.Round(time.Millisecond))
	return e, nil
}
