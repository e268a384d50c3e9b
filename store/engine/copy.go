package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"

	"concordat"
)

// Copied is a table copied by CopyTo.
type Copied struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	// Hash is the hexadecimal SHA-256 of all rows in key order. It is the same in both stores, whatever their engines.
	Hash string `json:"hash"`
}

// Limits on one statement that adds copied rows.
const (
	copyRows       = 500
	copyParameters = 30_000  // SQLite accepts 32,766, PostgreSQL 65,535
	copyBytes      = 1 << 20 // exceeded only by a single larger row
)

// Copy configures the copying of a store; the zero value copies all of it.
type Copy struct {
	// NoFiles omits the content of files stored in the database; see Files.
	NoFiles bool
	// Report, if not nil, is called after each step with the table, the number of its rows copied so far, and their total. It must be
	// fast.
	Report func(table string, rows, all int64)
}

// fileTables lists the tables for files stored in the database.
var fileTables = []string{"file", "file_part"}

// CopyTo copies the store, as of one moment, to an empty store with any engine. If that store is not empty, it fails with
// concordat.ErrExists. It copies either everything or nothing. CopyTo reads the copy back and compares it row by row; if it differs,
// CopyTo fails with concordat.ErrCorrupt.
func (db *DB) CopyTo(ctx context.Context, to *DB, o Copy) ([]Copied, error) {
	report := o.Report
	if report == nil {
		report = func(string, int64, int64) {}
	}
	done, err := copyAll(ctx, func(f func(Conn) error) error { return db.asOf(ctx, f) }, to, o, report)
	if err != nil {
		return nil, to.Fail(db.Fail(err, "copy the store"), "write to the destination store")
	}
	return done, nil
}

// copyAll copies the state seen through asOf to into.
func copyAll(ctx context.Context, asOf func(func(Conn) error) error, to *DB, o Copy,
	report func(string, int64, int64)) (done []Copied, err error) {
	err = to.Write(ctx, func(into Conn) error {
		var tables []table
		err := asOf(func(from Conn) (err error) {
			if tables, err = copyable(ctx, from, into); err != nil {
				return err
			}
			if o.NoFiles {
				tables = slices.DeleteFunc(tables, func(t table) bool { return slices.Contains(fileTables, t.name) })
			}
			for _, t := range tables {
				one, err := copyTable(ctx, from, into, t, report)
				if err != nil {
					return fmt.Errorf("table %s: %w", t.name, err)
				}
				done = append(done, one)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, t := range tables { // only now can the other store's snapshot be released
			got, err := into.digest(ctx, t, nil)
			if err == nil && got != done[i] {
				err = fmt.Errorf("%w: the copy has %d rows with hash %s, but the original has %d rows with hash %s", concordat.ErrCorrupt, got.Rows, got.Hash, done[i].Rows, done[i].Hash)
			}
			if err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		return nil
	})
	return done, err
}

// copyable returns the tables of from. It fails unless into has the same tables, all empty.
func copyable(ctx context.Context, from, into Conn) ([]table, error) {
	tables, err := from.d.tables(ctx, from)
	if err != nil {
		return nil, err
	}
	others, err := into.d.tables(ctx, into)
	if err != nil {
		return nil, err
	}
	for i, t := range tables {
		if i >= len(others) || t.name != others[i].name || !slices.Equal(t.columns, others[i].columns) || !slices.Equal(t.key, others[i].key) {
			return nil, fmt.Errorf("%w: the two stores define table %s differently", concordat.ErrInvalid, t.name)
		}
		if len(t.key) == 0 {
			return nil, fmt.Errorf("%w: table %s has no key", concordat.ErrInvalid, t.name)
		}
		var filled bool
		if err := into.Row(ctx, `SELECT EXISTS (SELECT 1 FROM `+t.name+`)`).Scan(&filled); err != nil {
			return nil, err
		}
		if filled {
			return nil, fmt.Errorf("%w: the destination store is not empty: table %s contains rows", concordat.ErrExists, t.name)
		}
	}
	return tables, nil
}

func copyTable(ctx context.Context, from, into Conn, t table, report func(string, int64, int64)) (Copied, error) {
	var all, rows int64
	if err := from.Row(ctx, `SELECT count(*) FROM `+t.name).Scan(&all); err != nil {
		return Copied{}, err
	}
	var args []any
	size := 0
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		n := len(args) / len(t.columns)
		one := `(?` + strings.Repeat(`, ?`, len(t.columns)-1) + `)`
		_, err := into.Exec(ctx, `INSERT INTO `+t.name+` (`+strings.Join(t.names(), ", ")+`) VALUES `+one+strings.Repeat(`, `+one, n-1), args...)
		rows += int64(n)
		args, size = args[:0], 0
		if rows < all {
			report(t.name, rows, all)
		}
		return err
	}
	done, err := from.digest(ctx, t, func(values []any) error {
		for _, v := range values {
			switch v := v.(type) {
			case string:
				size += len(v)
			case []byte:
				size += len(v)
			}
		}
		args = append(args, values...)
		if size < copyBytes && len(args)+len(values) <= min(copyParameters, copyRows*len(values)) {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	report(t.name, rows, all)
	if err != nil || t.number == "" {
		return done, err
	}
	last, err := from.d.numbered(ctx, from, t)
	if err != nil {
		return done, err
	}
	var highest int64
	if err := from.Row(ctx, `SELECT COALESCE(max(`+t.number+`), 0) FROM `+t.name).Scan(&highest); err != nil {
		return done, err
	}
	return done, into.d.setNumbered(ctx, into, t, max(last, highest))
}

// digest reads all rows in key order and calls each, if not nil, with every row.
func (c Conn) digest(ctx context.Context, t table, each func(values []any) error) (Copied, error) {
	done := Copied{Table: t.name}
	rows, err := c.q.QueryContext(ctx, `SELECT `+strings.Join(t.names(), ", ")+` FROM `+t.name+` ORDER BY `+strings.Join(t.key, ", "))
	if err != nil {
		return done, err
	}
	defer rows.Close()
	sum := sha256.New()
	values, to := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return done, err
		}
		for i, v := range values {
			if err := addValue(sum, v); err != nil {
				return done, fmt.Errorf("column %s: %w", t.columns[i].name, err)
			}
		}
		if each != nil {
			if err := each(values); err != nil {
				return done, err
			}
		}
		done.Rows++
	}
	done.Hash = hex.EncodeToString(sum.Sum(nil))
	return done, rows.Err()
}

// addValue hashes a value: a byte for its kind, then either the number in 8 bytes, or the length in 8 bytes followed by the bytes.
// Numbers are big-endian.
func addValue(h hash.Hash, v any) error {
	var b [9]byte
	var tail []byte
	var n uint64
	switch v := v.(type) {
	case nil:
	case int64:
		b[0], n = 1, uint64(v)
	case float64:
		b[0], n = 2, math.Float64bits(v)
	case string:
		b[0], n, tail = 3, uint64(len(v)), []byte(v)
	case []byte:
		b[0], n, tail = 4, uint64(len(v)), v
	default:
		return fmt.Errorf("%w: cannot copy a value of type %T", concordat.ErrInvalid, v)
	}
	binary.BigEndian.PutUint64(b[1:], n)
	h.Write(b[:])
	h.Write(tail)
	return nil
}
