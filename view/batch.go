package view

import (
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/site/batch"
	"concordat/store"
)

// Batch is a batch with its progress. Its documents, pairs and leads are types of package batch.
type Batch struct {
	ID       string          `json:"id"`
	State    concordat.State `json:"state" enum:"queued,running,done,partial,failed"`
	Title    string          `json:"title"`
	Cause    string          `json:"cause,omitempty" doc:"Why it failed, or what could not be read"`
	Owner    string          `json:"owner"`
	Stage    string          `json:"stage,omitempty" enum:"batch_read,batch_compare,batch_leads,batch_check"`
	Done     int             `json:"done" doc:"Completed steps of the stage"`
	Total    int             `json:"total"`
	Round    int             `json:"round" doc:"Number of comparisons with the libraries so far"`
	Made     time.Time       `json:"made"`
	Finished time.Time       `json:"finished,omitzero"`
	// LeftOut is set when the archives have been read.
	LeftOut *concordat.LeftOut `json:"left_out,omitempty" doc:"Lock and system files of its archives that were not read, such as .DS_Store; absent: none, or the archives have not been read yet"`
}

// OfBatch converts a batch to the form for programs.
func OfBatch(b store.Batch) Batch {
	out := Batch{b.ID, b.State, b.Title, b.Cause.String(), b.Owner, b.Stage, b.Done, b.Total, b.Round, b.Made, b.Finished, nil}
	var j batch.Job
	if len(b.Request) > 0 && json.Unmarshal(b.Request, &j) == nil {
		out.LeftOut = leftOut(j.AllLeftOut())
	}
	return out
}

// Recheck is a repeated check or batch.
type Recheck struct {
	Kind   string              `json:"kind" enum:"check,batch"`
	Target string              `json:"target" doc:"The check or the batch"`
	Title  string              `json:"title"`
	Every  int                 `json:"every" doc:"Days between repetitions; 0: once"`
	Next   time.Time           `json:"next,omitzero"`
	Ran    time.Time           `json:"ran,omitzero" doc:"When it last ran"`
	Latest string              `json:"latest,omitempty" doc:"The newest check; empty: the target itself"`
	New    []batch.FreshSource `json:"new" doc:"Sources that only the latest run found"`
}

// OfRecheck returns a recheck with its visible sources.
func OfRecheck(r store.Recheck, title string, fresh []batch.FreshSource) Recheck {
	if fresh == nil {
		fresh = []batch.FreshSource{}
	}
	return Recheck{r.Kind, r.Target, title, r.Every, r.Next, r.Ran, r.Latest, fresh}
}

// Fresh returns the sources that the latest run of a recheck found for the first time.
func Fresh(r store.Recheck) (fresh []batch.FreshSource, err error) {
	if len(r.Fresh) > 0 {
		if err := json.Unmarshal(r.Fresh, &fresh); err != nil {
			return nil, fmt.Errorf("new sources of %s: %w: %v", r.Target, concordat.ErrCorrupt, err)
		}
	}
	return fresh, nil
}

// leftOut returns the skipped files, or nil if there are none.
func leftOut(l concordat.LeftOut) *concordat.LeftOut {
	if l.IsZero() {
		return nil
	}
	return &l
}
