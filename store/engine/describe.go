package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// table is a table of the store as described by its engine. All engines describe the same schema in the same way.
type table struct {
	name    string
	columns []column // in creation order
	key     []string // columns of the primary key, in order
	number  string   // column numbered by the engine; empty if none
	parents []string // referenced tables, ordered by name
	indexes []string // sorted: "unique (a, b)" or "(a, b)", with " partial" appended if conditional
}

type column struct {
	name string
	kind string // integer, text, real or blob
	null bool
}

func (t table) names() []string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.name
	}
	return out
}

func describeIndex(unique, partial bool, columns []string) string {
	s := "(" + strings.Join(columns, ", ") + ")"
	if unique {
		s = "unique " + s
	}
	if partial {
		s += " partial"
	}
	return s
}

// byParents sorts tables so that each follows the tables it references, and by name otherwise.
func byParents(ts []table) ([]table, error) {
	slices.SortFunc(ts, func(a, b table) int { return strings.Compare(a.name, b.name) })
	done := map[string]bool{}
	var out []table
	for len(out) < len(ts) {
		before := len(out)
		for _, t := range ts {
			ready := !done[t.name] && !slices.ContainsFunc(t.parents, func(p string) bool { return !done[p] && p != t.name })
			if ready {
				done[t.name] = true
				out = append(out, t)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("the foreign keys of the tables form a cycle")
		}
	}
	return out, nil
}

func scanOne[T any](s Scanner) (T, error) {
	var x T
	return x, s.Scan(&x)
}

func sqliteTables(ctx context.Context, c Conn) ([]table, error) {
	names, err := Collect(ctx, c, scanOne[string],
		`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> ?`, versionTable)
	if err != nil {
		return nil, err
	}
	var out []table
	for _, name := range names {
		t, err := sqliteTable(ctx, c, name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return byParents(out)
}

func sqliteTable(ctx context.Context, c Conn, name string) (table, error) {
	t := table{name: name}
	keys := map[int]string{}
	_, err := Collect(ctx, c, func(s Scanner) (struct{}, error) {
		var col column
		var kind string
		var key int
		if err := s.Scan(&col.name, &kind, &col.null, &key); err != nil {
			return struct{}{}, err
		}
		col.kind = strings.ToLower(kind)
		if key > 0 {
			keys[key], col.null = col.name, false
		}
		t.columns = append(t.columns, col)
		return struct{}{}, nil
	}, `SELECT name, type, "notnull" = 0, pk FROM pragma_table_info(?) ORDER BY cid`, name)
	if err != nil {
		return t, err
	}
	for i := 1; i <= len(keys); i++ {
		t.key = append(t.key, keys[i])
	}
	for _, col := range t.columns {
		if len(t.key) == 1 && t.key[0] == col.name && col.kind == "integer" {
			t.number = col.name
		}
	}
	if t.parents, err = Collect(ctx, c, scanOne[string], `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?) ORDER BY 1`,
		name); err != nil {
		return t, err
	}
	type index struct {
		name            string
		unique, partial bool
	}
	indexes, err := Collect(ctx, c, func(s Scanner) (x index, err error) { return x, s.Scan(&x.name, &x.unique, &x.partial) },
		`SELECT name, "unique", partial FROM pragma_index_list(?) WHERE origin <> 'pk'`, name)
	if err != nil {
		return t, err
	}
	for _, x := range indexes {
		columns, err := Collect(ctx, c, scanOne[string], `SELECT name FROM pragma_index_info(?) ORDER BY seqno`, x.name)
		if err != nil {
			return t, err
		}
		t.indexes = append(t.indexes, describeIndex(x.unique, x.partial, columns))
	}
	slices.Sort(t.indexes)
	return t, nil
}

// sqliteNumbered also returns 0 for a table without AUTOINCREMENT, in which the highest number determines the next.
func sqliteNumbered(ctx context.Context, c Conn, t table) (last int64, err error) {
	err = c.Row(ctx, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)`, t.name).Scan(&last)
	return last, err
}

func sqliteSetNumbered(ctx context.Context, c Conn, t table, last int64) error {
	var auto bool
	err := c.Row(ctx, `SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE type = 'table' AND name = ?`, t.name).Scan(&auto)
	if err != nil || !auto {
		return err
	}
	if _, err := c.Exec(ctx, `DELETE FROM sqlite_sequence WHERE name = ?`, t.name); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`, t.name, last)
	return err
}

var postgresKinds = map[string]string{"bigint": "integer", "text": "text", "double precision": "real", "bytea": "blob"}

func postgresTables(ctx context.Context, c Conn) ([]table, error) {
	names, err := Collect(ctx, c, scanOne[string],
		`SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> ?`, versionTable)
	if err != nil {
		return nil, err
	}
	var out []table
	for _, name := range names {
		t, err := postgresTable(ctx, c, name)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return byParents(out)
}

func postgresTable(ctx context.Context, c Conn, name string) (table, error) {
	t := table{name: name}
	_, err := Collect(ctx, c, func(s Scanner) (struct{}, error) {
		var col column
		var kind string
		var collation sql.NullString
		var number bool
		if err := s.Scan(&col.name, &kind, &col.null, &number, &collation); err != nil {
			return struct{}{}, err
		}
		if col.kind = postgresKinds[kind]; col.kind == "" || kind == "text" && collation.String != "C" {
			col.kind = kind + " " + collation.String
		}
		if number {
			t.number = col.name
		}
		t.columns = append(t.columns, col)
		return struct{}{}, nil
	}, `SELECT column_name, data_type, is_nullable = 'YES', is_identity = 'YES', collation_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position`, name)
	if err != nil {
		return t, err
	}
	if t.parents, err = Collect(ctx, c, scanOne[string], `SELECT DISTINCT f.relname::text FROM pg_constraint x
		JOIN pg_class r ON r.oid = x.conrelid JOIN pg_class f ON f.oid = x.confrelid
		WHERE x.contype = 'f' AND r.relname = ? AND r.relnamespace = current_schema()::regnamespace ORDER BY 1`, name); err != nil {
		return t, err
	}
	type index struct {
		primary, unique, partial bool
		columns                  string
	}
	indexes, err := Collect(ctx, c, func(s Scanner) (x index, err error) {
		return x, s.Scan(&x.primary, &x.unique, &x.partial, &x.columns)
	}, `SELECT i.indisprimary, i.indisunique, i.indpred IS NOT NULL, (SELECT string_agg(a.attname, ' ' ORDER BY k.n)
			FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(att, n) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att)
		FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid
		WHERE r.relname = ? AND r.relnamespace = current_schema()::regnamespace`, name)
	if err != nil {
		return t, err
	}
	for _, x := range indexes {
		columns := strings.Fields(x.columns)
		if x.primary {
			t.key = columns
			continue
		}
		t.indexes = append(t.indexes, describeIndex(x.unique, x.partial, columns))
	}
	slices.Sort(t.indexes)
	return t, nil
}

func sequenceOf(t table) string {
	return `pg_get_serial_sequence('` + t.name + `', '` + t.number + `')`
}

func postgresNumbered(ctx context.Context, c Conn, t table) (last int64, err error) {
	err = c.Row(ctx, `SELECT COALESCE(pg_sequence_last_value(`+sequenceOf(t)+`::regclass), 0)`).Scan(&last)
	return last, err
}

func postgresSetNumbered(ctx context.Context, c Conn, t table, last int64) error {
	if last == 0 {
		return nil
	}
	_, err := c.Exec(ctx, `SELECT setval(`+sequenceOf(t)+`::regclass, ?)`, last)
	return err
}
