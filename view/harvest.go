package view

import (
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store"
)

// Harvest is a source from which documents are harvested.
type Harvest struct {
	ID         string              `json:"id"`
	Kind       string              `json:"kind" enum:"oai,resourcesync,folder"`
	URL        string              `json:"url"`
	Library    concordat.LibraryID `json:"library"`
	Set        string              `json:"set,omitempty"`
	Format     string              `json:"format,omitempty"`
	Every      string              `json:"every,omitempty" doc:"Time between two runs; absent: only on request"`
	Withdrawn  string              `json:"withdrawn" enum:"delete,keep" doc:"What happens to documents that the source withdraws"`
	Next       time.Time           `json:"next,omitzero"`
	Running    bool                `json:"running"`
	Phase      string              `json:"phase,omitempty" enum:"listing,fetching" doc:"Phase of the current run; absent: none is running"`
	Started    time.Time           `json:"started,omitzero"`
	Ended      time.Time           `json:"ended,omitzero"`
	Cause      string              `json:"cause,omitempty" doc:"Why the run could not continue, and what it left out"`
	Repository string              `json:"repository,omitempty"`
	Listed     int                 `json:"listed" minimum:"0" doc:"Records that the run has read"`
	Size       int                 `json:"size,omitempty" minimum:"0" doc:"Length of the list, according to the source"`
	Records    map[string]int      `json:"records" doc:"Number of records in each state"`
}

// OfHarvest returns a source with the numbers of its records.
func OfHarvest(h store.HarvestSource, counts map[store.HarvestRecordState]int) Harvest {
	out := Harvest{ID: h.ID, Kind: h.Kind, URL: h.URL, Library: h.Library, Set: h.Set, Format: h.Format, Withdrawn: h.Withdrawn,
		Next:    h.Next,
		Running: h.Running, Phase: h.State.Phase, Started: h.State.Started, Ended: h.State.Ended, Cause: causeOf(h),
		Repository: h.State.Repository, Listed: h.State.Listed, Size: h.State.Size, Records: map[string]int{}}
	if h.Every > 0 {
		out.Every = h.Every.String()
	}
	for state, n := range counts {
		out.Records[string(state)] = n
	}
	return out
}

// causeOf describes why the run could not continue and which records it skipped.
func causeOf(h store.HarvestSource) string {
	var parts []string
	if h.State.Cause != "" {
		parts = append(parts, h.State.Cause)
	}
	if n := h.State.Unlisted; n > 0 {
		parts = append(parts, fmt.Sprintf("records no longer listed: %d; they stay until concordat harvest run --whole %s withdraws them",
			n, h.ID))
	}
	if n := h.State.Skipped; n > 0 {
		parts = append(parts, fmt.Sprintf("hidden files and folders, links and devices that were not read: %d", n))
	}
	return strings.Join(parts, "; ")
}

// HarvestRecord is a record of a source.
type HarvestRecord struct {
	ID        string                   `json:"id"`
	State     store.HarvestRecordState `json:"state" enum:"waiting,kept,embargoed,closed,textless,failed,withdrawing,withdrawn"`
	Detail    string                   `json:"detail,omitempty"`
	Due       time.Time                `json:"due,omitzero" doc:"When the record is examined again"`
	Changed   time.Time                `json:"changed,omitzero"`
	Documents []concordat.DocumentID   `json:"documents" nullable:"false"`
	Work      concordat.Work           `json:"work"`
}

// OfHarvestRecord converts a record to the form for programs.
func OfHarvestRecord(r store.HarvestRecord) HarvestRecord {
	return HarvestRecord{r.ID, r.State, r.Detail, r.Due, r.Changed, append([]concordat.DocumentID{}, r.Documents...), r.Work}
}
