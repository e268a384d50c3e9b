package view

import (
	"context"
	"encoding/json"
	"time"

	"concordat"
	"concordat/store"
)

// Check is a check in any state.
type Check struct {
	ID       concordat.TaskID `json:"id"`
	State    concordat.State  `json:"state" enum:"queued,running,done,partial,failed"`
	Title    string           `json:"title" doc:"The given title, or the document's own title; the file name until the document has been read, or if it has no title"`
	File     string           `json:"file,omitempty" doc:"Name of the file as submitted"`
	Cause    string           `json:"cause,omitempty" doc:"Why the check failed, or what it led to"`
	Owner    string           `json:"owner"`
	Batch    string           `json:"batch,omitempty" doc:"Shared by checks that were submitted together"`
	Made     time.Time        `json:"made"`
	Finished time.Time        `json:"finished,omitzero"`
	Ahead    *int             `json:"ahead,omitempty" doc:"Checks before this one while it is queued; people take turns, so later checks of others may run first"`
	Report   string           `json:"report,omitempty" doc:"Address of the report, once there is one"`
	Coverage *float64         `json:"coverage,omitempty" doc:"Share that counts by the rules in force; absent: there is no report, nothing was compared, it is not computed yet, or not shown to this account"`
	Flags    int              `json:"flags,omitempty" doc:"Kinds of flags that may hide something from a check or from a reader, such as white text; absent: none, or not shown to this account"`
	Leads    int              `json:"leads,omitempty" doc:"Passages that may paraphrase a source; absent: none, not looked for, or not shown to this account"`
	// LeftOut is set when the archive has been read.
	LeftOut *concordat.LeftOut `json:"left_out,omitempty" doc:"Lock and system files of the archive that were not read, such as .DS_Store; absent: none, or the archive has not been read yet"`
}

// OfCheck returns a check with its place in the queue and the path of its report. It omits coverage, flags and leads, which depend on the
// caller. file is the name of the submitted file.
func OfCheck(ctx context.Context, db *store.DB, t store.Task, file string) (Check, error) {
	out := Check{ID: t.ID, State: t.State, Title: t.Title, File: file, Cause: t.Cause.String(), Owner: t.Owner, Batch: t.Batch, Made: t.Made,
		Finished: t.Finished, LeftOut: leftOut(LeftOutOf(t))}
	if t.State == concordat.TaskQueued {
		queued, running, err := db.Checks.Ahead(ctx, t)
		if err != nil {
			return out, err
		}
		n := queued + running
		out.Ahead = &n
	}
	if (t.State == concordat.TaskDone || t.State == concordat.TaskPartial) && t.Cause.IsZero() {
		out.Report = "/api/v1/checks/" + string(t.ID) + "/report"
	}
	return out, nil
}

// LeftOutOf returns the files skipped in the archives submitted for a task.
func LeftOutOf(t store.Task) concordat.LeftOut {
	var j struct {
		LeftOut concordat.LeftOut `json:"left_out"`
	}
	if len(t.Request) == 0 || json.Unmarshal(t.Request, &j) != nil {
		return concordat.LeftOut{} // from the command line, without a request
	}
	return j.LeftOut
}
