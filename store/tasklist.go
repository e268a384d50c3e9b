package store

import (
	"context"
	"fmt"
	"strings"

	"concordat"
	"concordat/store/engine"
)

// taskLetters is the length of IDs that the queue assigns to checks. The IDs of documents in an archive are longer and start with the
// archive's ID.
const taskLetters = 26

// Figures of a row as last computed, in SQL; NULL if unknown. ownScores has the figures of a check, groupScores has the largest figures
// in the batch that the check represents, and archiveScores has the figures for which an archive shows the maximum.
var (
	ownScores = map[string]string{
		"share": `(SELECT s.covered FROM score s WHERE s.task = task.id AND s.measured = 1)`,
		"flags": `(SELECT s.flags FROM score s WHERE s.task = task.id)`,
		"leads": `(SELECT s.leads FROM score s WHERE s.task = task.id)`,
	}
	groupScores = map[string]string{
		"share": `(SELECT MAX(m.share) FROM batch_member m WHERE m.batch = task.batch)`,
		"flags": `(SELECT MAX(s.flags) FROM batch_member m JOIN score s ON s.task = m.task WHERE m.batch = task.batch)`,
		"leads": `(SELECT MAX(s.leads) FROM batch_member m JOIN score s ON s.task = m.task WHERE m.batch = task.batch)`,
	}
	archiveScores = map[string]string{"share": "CASE WHEN s.measured = 1 THEN s.covered END", "flags": "s.flags", "leads": "s.leads"}
)

// score returns the SQL expression for a figure of a row, which is the figure of a check or, if groups are shown as one row, the largest
// in its batch or archive.
func (f TaskFilter) score(figure string) string {
	if !f.Heads {
		return ownScores[figure]
	}
	archive := fmt.Sprintf(`CASE WHEN task.cause LIKE '{"code":"%s"%%' THEN (SELECT MAX(%s) FROM score s WHERE substr(s.task, 1, %d) = task.id || '-') END`,
		CauseSplit, archiveScores[figure], taskLetters+1)
	return `COALESCE(CASE WHEN task.batch <> '' THEN ` + groupScores[figure] + ` END, ` + ownScores[figure] + `, ` + archive + `)`
}

// heads returns the condition that omits all checks of a batch except the first one selected by where, and all checks of an archive.
func heads(where string) string {
	return fmt.Sprintf(`(length(task.id) <= %d OR NOT EXISTS (SELECT 1 FROM task whole WHERE whole.id = substr(task.id, 1, %d)))`,
		taskLetters, taskLetters) + ` AND (NOT EXISTS (SELECT 1 FROM batch b WHERE b.id = task.batch) OR task.seq IN (
		SELECT MIN(task.seq) FROM task WHERE ` + where + ` AND task.batch IN (SELECT id FROM batch) GROUP BY task.batch))`
}

// TaskOrder is an order for checks.
type TaskOrder string

// The orders; the zero value is newest first. Large figures come first, unknown ones last.
const (
	TasksByShare TaskOrder = "share"
	TasksByFlags TaskOrder = "flags"
	TasksByLeads TaskOrder = "leads"
	TasksByState TaskOrder = "state" // first what people must decide, then what the site must finish, then what is decided
	TasksByTitle TaskOrder = "title"
)

// inSQL returns the order in SQL for the rows of a filter.
func (o TaskOrder) inSQL(f TaskFilter) (string, error) {
	switch o {
	case "":
		return `seq DESC`, nil
	case TasksByShare, TasksByFlags, TasksByLeads:
		return `COALESCE(` + f.score(string(o)) + `, -1) DESC, seq DESC`, nil
	case TasksByTitle:
		if f.Heads {
			return `lower(COALESCE((SELECT b.title FROM batch b WHERE b.id = task.batch), title)), seq DESC`, nil
		}
		return `lower(title), seq DESC`, nil
	case TasksByState:
		return `CASE WHEN ` + caseStages[StageNew] + ` THEN 0 WHEN ` + caseStages[StageReview] + ` THEN 1 WHEN state = 'failed' THEN 2
			WHEN state IN ('running', 'queued') THEN 3 WHEN ` + caseStages[StageDecided] + ` THEN 4 WHEN ` + caseStages[StageSigned] +
			` THEN 5 ELSE 6 END, seq DESC`, nil
	}
	return "", fmt.Errorf("%w: unknown order %q", concordat.ErrInvalid, string(o))
}

// ListTasks returns up to limit tasks that match the filter, in the given order and starting at the given index, and the total number of
// matches.
func (db *Checks) ListTasks(ctx context.Context, f TaskFilter, order TaskOrder, from, limit int) (ts []Task, all int, err error) {
	by, err := order.inSQL(f)
	var where string
	var args []any
	if err == nil {
		where, args, err = f.condition()
	}
	if err == nil {
		err = db.read().Row(ctx, `SELECT COUNT(*) FROM task WHERE `+where, args...).Scan(&all)
	}
	if err == nil {
		ts, err = engine.Collect(ctx, db.read(), scanTask, `SELECT `+taskColumns+` FROM task WHERE `+where+` ORDER BY `+by+` LIMIT ? OFFSET ?`,
			append(args, page(limit), max(from, 0))...)
	}
	return ts, all, db.fail(err, "list tasks")
}

// GroupSum summarises the documents of a batch, or the checks of an archive.
type GroupSum struct {
	ID        string
	Documents int     // documents that were read
	Waiting   int     // unfinished checks
	Largest   float64 // largest counting share
	Flagged   int     // documents with flags that can conceal something
	Leads     int     // leads in all reports
}

// SumBatches summarises the batches with the given IDs, at most 500 at once. It omits IDs without a batch.
func (db *Batches) SumBatches(ctx context.Context, ids []string) (map[string]GroupSum, error) {
	out, err := db.sumGroups(ctx, ids, `SELECT m.batch, COUNT(*), 0, COALESCE(MAX(m.share), 0), COUNT(CASE WHEN s.flags > 0 THEN 1 END),
		CAST(COALESCE(SUM(s.leads), 0) AS BIGINT) FROM batch_member m LEFT JOIN score s ON s.task = m.task
		WHERE m.reason = '' AND m.batch IN (?%s) GROUP BY m.batch`)
	return out, db.fail(err, "add up the results of batches")
}

// SumArchives summarises the checks of archives, given the IDs of the checks that were split into them, at most 500 at once.
func (db *Batches) SumArchives(ctx context.Context, ids []string) (map[string]GroupSum, error) {
	out, err := db.sumGroups(ctx, ids, fmt.Sprintf(`SELECT substr(task.id, 1, %d), COUNT(*),
		COUNT(CASE WHEN task.state IN ('queued', 'running') THEN 1 END), COALESCE(MAX(CASE WHEN s.measured = 1 THEN s.covered END), 0),
		COUNT(CASE WHEN s.flags > 0 THEN 1 END), CAST(COALESCE(SUM(s.leads), 0) AS BIGINT) FROM task LEFT JOIN score s ON s.task = task.id
		WHERE length(task.id) > %d AND substr(task.id, 1, %d) IN (?%%s) GROUP BY substr(task.id, 1, %d)`,
		taskLetters, taskLetters, taskLetters, taskLetters))
	return out, db.fail(err, "add up the results of archives")
}

// sumGroups collects the sums returned by a statement for IDs. The verb %s in the statement is replaced with the placeholders of all IDs
// but the first.
func (db *Batches) sumGroups(ctx context.Context, ids []string, statement string) (map[string]GroupSum, error) {
	out := map[string]GroupSum{}
	if len(ids) == 0 {
		return out, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	sums, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (one GroupSum, err error) {
		return one, s.Scan(&one.ID, &one.Documents, &one.Waiting, &one.Largest, &one.Flagged, &one.Leads)
	}, fmt.Sprintf(statement, strings.Repeat(`, ?`, len(ids)-1)), args...)
	for _, one := range sums {
		out[one.ID] = one
	}
	return out, err
}
