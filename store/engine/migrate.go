package engine

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"concordat"
)

// There is one set of migrations for all engines, written for SQLite; [dialect.translate] converts them for other engines. SQL that
// cannot be translated is placed between lines "-- +only DIALECT" and "-- +end only". TestSchemas compares the results.
//
//go:embed migrations
var migrations embed.FS

const (
	migrationFolder = "migrations/sqlite"
	versionTable    = "schema_version"
)

// migrate refuses a newer schema, naming both versions, updates an older one and creates a missing one. Numbers are assigned by feature, so
// a number lower than the last applied one can be new.
func (db *DB) migrate(ctx context.Context) error {
	steps, err := db.d.steps()
	if err != nil {
		return err
	}
	if created, err := db.create(ctx, steps); err != nil || created {
		return err
	}
	var migrations []*goose.Migration
	for _, s := range steps {
		migrations = append(migrations, goose.NewGoMigration(s.version, &goose.GoFunc{RunTx: s.run}, nil))
	}
	p, err := goose.NewProvider(db.d.goose, db.writer, nil, goose.WithTableName(versionTable), goose.WithGoMigrations(migrations...),
		goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
	if err != nil {
		return err
	}
	for {
		last, newest, err := p.GetVersions(ctx)
		if err != nil {
			return err
		}
		if last > newest {
			return fmt.Errorf("%w: the database schema has version %d, but this program supports only versions up to %d: use the newer program again, or restore "+
				"a backup made before the upgrade", concordat.ErrInvalid, last, newest)
		}
		before, err := db.pending(ctx, p)
		if err != nil || before == 0 {
			return err
		}
		_, failed := p.Up(ctx)
		after, err := db.pending(ctx, p)
		if err != nil {
			return errors.Join(failed, err)
		}
		// Two processes can migrate a file at the same time. The second one fails because a table exists, and continues from where the
		// first one is. A failure without any progress is genuine.
		if failed != nil && after == before {
			return failed
		}
	}
}

// create creates the schema, unless the table of versions exists; it runs all steps in a single transaction, which is written to disk
// once. It reports whether it created the schema.
func (db *DB) create(ctx context.Context, steps []step) (bool, error) {
	versions, err := database.NewStore(db.d.goose, versionTable)
	if err != nil {
		return false, err
	}
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	exists := false
	if err := tx.QueryRowContext(ctx, db.d.versioned).Scan(&exists); err != nil || exists {
		return false, err
	}
	if err := versions.CreateVersionTable(ctx, tx); err != nil {
		return false, err
	}
	for _, s := range append([]step{{run: func(context.Context, *sql.Tx) error { return nil }}}, steps...) { // goose records version 0 too
		if err := s.run(ctx, tx); err != nil {
			return false, err
		}
		if err := versions.Insert(ctx, tx, database.InsertRequest{Version: s.version}); err != nil {
			return false, err
		}
	}
	return true, tx.Commit()
}

// pending returns the number of unapplied migrations.
func (db *DB) pending(ctx context.Context, p *goose.Provider) (int, error) {
	applied, err := Collect(ctx, Conn{db.d, db.writer}, scanOne[int64], `SELECT version_id FROM `+versionTable+` WHERE version_id > 0`)
	n := 0
	for _, m := range p.ListSources() {
		if !slices.Contains(applied, m.Version) {
			n++
		}
	}
	return n, err
}

// A step is a migration.
type step struct {
	version int64
	run     func(context.Context, *sql.Tx) error
}

// steps returns the migrations as interpreted by a dialect, in order. Each file is executed as a whole, because goose's own SQL reader
// allocates a buffer of 4 MB per file and direction, which takes most of the time to create a store.
func (d *dialect) steps() ([]step, error) {
	files, err := fs.Glob(migrations, migrationFolder+"/*.sql")
	if err != nil {
		return nil, err
	}
	var out []step
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(text), "+goose Down") {
			return nil, fmt.Errorf("%s contains statements that undo the migration, which would be executed immediately", file)
		}
		out = append(out, step{version, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, d.migration(string(text))); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			return nil
		}})
	}
	for version, migrate := range map[int64]func(context.Context, Conn) error{
		causesVersion: migrateCauses, memberCausesVersion: migrateMemberCauses,
	} {
		out = append(out, step{version, func(ctx context.Context, tx *sql.Tx) error { return migrate(ctx, Conn{d, tx}) }})
	}
	slices.SortFunc(out, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	return out, nil
}

var onlyLine = regexp.MustCompile(`^-- \+only ([a-z]+)\s*$`)

// migration returns the migration as interpreted by the dialect.
func (d *dialect) migration(text string) string {
	var b strings.Builder
	only := ""
	for line := range strings.Lines(text) {
		switch m := onlyLine.FindStringSubmatch(line); {
		case m != nil:
			only = m[1]
		case strings.HasPrefix(line, "-- +end only"):
			only = ""
		case only == d.name:
			b.WriteString(line)
		case only == "":
			code, comment, has := strings.Cut(line, "--")
			b.WriteString(d.translate(code))
			if has {
				b.WriteString("--" + comment)
			}
		}
	}
	return b.String()
}

// postgresTypes replaces SQLite's keywords with PostgreSQL's. An integer that is the whole key becomes an identity column, which also
// accepts numbers assigned by the program.
var postgresTypes = strings.NewReplacer(
	" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", " BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
	" INTEGER PRIMARY KEY AUTOINCREMENT", " BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
	" INTEGER NOT NULL PRIMARY KEY", " BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
	") STRICT, WITHOUT ROWID;", ");",
	") STRICT;", ");",
	" INTEGER", " BIGINT",
	" REAL", " DOUBLE PRECISION",
	" BLOB", " BYTEA",
	" TEXT", ` TEXT COLLATE "C"`, // compares bytes, regardless of the database's own collation
)

var spaces = regexp.MustCompile(`[ \t]{2,}`)

// toPostgres translates one line of a migration.
func toPostgres(code string) string {
	return postgresTypes.Replace(spaces.ReplaceAllString(code, " "))
}

// asOf runs f in a read-only transaction that sees the store at a single moment. If the server is restarting, it waits until the
// transaction has begun.
func (db *DB) asOf(ctx context.Context, f func(Conn) error) error {
	var tx *sql.Tx
	if err := db.retry(ctx, func() (err error) { tx, err = db.reader.BeginTx(ctx, db.d.snapshot); return err }); err != nil {
		return err
	}
	return errors.Join(f(Conn{db.d, tx}), tx.Rollback())
}

// sqlSnapshot is a transaction that sees a single moment, whereas separate statements would see several.
var sqlSnapshot = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
