package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/store"
)

// TestTurnsPlan: the query for the next turn reads only queued and running tasks, not all tasks that an owner ever had.
func TestTurnsPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.db")
	open(t, path, store.Options{})
	for _, lane := range []store.Lane{store.LaneChecks, store.LaneAdding, allLanes} {
		rows, err := behind(t, path).QueryContext(t.Context(), `EXPLAIN QUERY PLAN SELECT * FROM `+lane.Turns(), concordat.TaskQueued,
			concordat.TaskRunning)
		must(t, err)
		defer rows.Close()
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var what string
			must(t, rows.Scan(&id, &parent, &unused, &what))
			plan = append(plan, what)
		}
		must(t, rows.Err())
		all := strings.Join(plan, "\n")
		if strings.Count(all, "task_open") != 2 || strings.Count(all, "task_turn") != 1 || strings.Contains(all, "SCAN task") ||
			strings.Contains(all, "ORDER BY") {
			t.Errorf("lane %q: all tasks of an owner are read:\n%s", lane, all)
		}
	}
}
