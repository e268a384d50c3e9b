package retain

import (
	"fmt"

	"concordat"
)

// Target names the things to delete. Missing tasks and documents are not an error.
type Target struct {
	Tasks     []concordat.TaskID     `json:"tasks,omitempty"`
	Library   concordat.LibraryID    `json:"library,omitempty"`
	Documents []concordat.DocumentID `json:"documents,omitempty"` // of Library
	// Whole deletes Library with all its documents.
	Whole bool `json:"whole,omitempty"`
	// Batches are deleted with the checks of their documents and with their own indexes.
	Batches []string `json:"batches,omitempty"`
}

// MaxTargets bounds the tasks and the documents of one deletion.
const MaxTargets = 10_000

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (t Target) Validate() error {
	switch {
	case len(t.Tasks) == 0 && len(t.Documents) == 0 && len(t.Batches) == 0 && !t.Whole:
		return fmt.Errorf("deletion of nothing: %w", concordat.ErrInvalid)
	case (len(t.Documents) > 0 || t.Whole) && t.Library == "":
		return fmt.Errorf("documents of no library: %w", concordat.ErrInvalid)
	case len(t.Tasks)+len(t.Documents)+len(t.Batches) > MaxTargets:
		return fmt.Errorf("deletion of %d things: %w: at most %d", len(t.Tasks)+len(t.Documents)+len(t.Batches), concordat.ErrInvalid,
			MaxTargets)
	}
	return nil
}
