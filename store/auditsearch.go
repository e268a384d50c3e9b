package store

import (
	"context"
	"strings"
	"time"

	"concordat/store/engine"
)

// AuditFilter selects audit entries; the zero value selects all.
type AuditFilter struct {
	Actor  string    // empty for anyone
	Action string    // empty for any
	From   time.Time // start of the range; zero for the beginning
	To     time.Time // exclusive end of the range; zero for no end
}

// SearchAudit returns the entries selected by the filter, newest first, starting before the one with Seq before (0 for the newest). It
// returns at most limit entries, or MaxPage if limit is 0 or exceeds it.
func (db *AuditLog) SearchAudit(ctx context.Context, f AuditFilter, before int64, limit int) ([]AuditEntry, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	where, args := []string{"seq < ?"}, []any{before}
	add := func(condition string, value any) {
		where, args = append(where, condition), append(args, value)
	}
	if f.Actor != "" {
		add("actor = ?", f.Actor)
	}
	if f.Action != "" {
		add("action = ?", f.Action)
	}
	if !f.From.IsZero() {
		add("at >= ?", stamp(f.From))
	}
	if !f.To.IsZero() {
		add("at < ?", stamp(f.To))
	}
	es, err := engine.Collect(ctx, db.read(), scanAudit,
		`SELECT `+auditColumns+` FROM audit WHERE `+strings.Join(where, " AND ")+` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return es, db.fail(err, "search the audit log")
}

// AuditActions returns all actions in the audit log, in order.
func (db *AuditLog) AuditActions(ctx context.Context) ([]string, error) {
	as, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (string, error) {
		var a string
		return a, s.Scan(&a)
	}, `SELECT DISTINCT action FROM audit ORDER BY action`)
	return as, db.fail(err, "list the actions in the audit log")
}
