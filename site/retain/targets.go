package retain

import (
	"fmt"

	"concordat"
)

// Target names the data to delete. Missing tasks and documents are not an error.
type Target struct {
	Tasks     []concordat.TaskID     `json:"tasks,omitempty"`
	Library   concordat.LibraryID    `json:"library,omitempty"`
	Documents []concordat.DocumentID `json:"documents,omitempty"` // of Library
	// Whole deletes Library with all its documents.
	Whole bool `json:"whole,omitempty"`
	// Texts are checks whose text and originals are deleted while their reports stay.
	Texts []concordat.TaskID `json:"texts,omitempty"`
	// Questions are partners' questions, which are deleted with their fingerprints.
	Questions []Question `json:"questions,omitempty"`
	// Batches are deleted with the checks of their documents and with their own indexes.
	Batches []string `json:"batches,omitempty"`
}

// Question names a partner's question that waited for later documents.
type Question struct {
	Partner   concordat.SiteID `json:"partner"`
	Job       string           `json:"job"`       // in hexadecimal
	Sentences int              `json:"sentences"` // number of standing sentences
}

// MaxTargets bounds the tasks and the documents of one deletion.
const MaxTargets = 10_000

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (t Target) Validate() error {
	switch {
	case len(t.Tasks) == 0 && len(t.Documents) == 0 && len(t.Batches) == 0 && !t.Whole && len(t.Texts) == 0 && len(t.Questions) == 0:
		return fmt.Errorf("deletion of nothing: %w", concordat.ErrInvalid)
	case (len(t.Documents) > 0 || t.Whole) && t.Library == "":
		return fmt.Errorf("documents of no library: %w", concordat.ErrInvalid)
	case len(t.Tasks)+len(t.Documents)+len(t.Batches)+len(t.Texts)+len(t.Questions) > MaxTargets:
		return fmt.Errorf("deletion of %d things: %w: at most %d", len(t.Tasks)+len(t.Documents)+len(t.Batches)+len(t.Texts)+len(t.Questions),
			concordat.ErrInvalid, MaxTargets)
	}
	return nil
}
