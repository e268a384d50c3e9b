package retain

import (
	"fmt"

	"concordat"
)

// Target specifies the data to delete. It is not an error if tasks or documents do not exist.
type Target struct {
	Tasks     []concordat.TaskID     `json:"tasks,omitempty"`
	Library   concordat.LibraryID    `json:"library,omitempty"`
	Documents []concordat.DocumentID `json:"documents,omitempty"` // documents of Library
	// Whole deletes Library and all its documents.
	Whole bool `json:"whole,omitempty"`
	// Texts lists checks that lose their text and originals but keep their reports.
	Texts []concordat.TaskID `json:"texts,omitempty"`
	// Questions lists partners' questions to be deleted with their fingerprints.
	Questions []Question `json:"questions,omitempty"`
	// Batches are deleted with their indexes and the checks of their documents.
	Batches []string `json:"batches,omitempty"`
}

// Question identifies a partner's standing question.
type Question struct {
	Partner   concordat.SiteID `json:"partner"`
	Job       string           `json:"job"`       // hexadecimal
	Sentences int              `json:"sentences"` // number of standing sentences
}

// MaxTargets is the maximum number of tasks, and of documents, in one deletion.
const MaxTargets = 10_000

// Validate returns nil or an error that wraps concordat.ErrInvalid.
func (t Target) Validate() error {
	switch {
	case len(t.Tasks) == 0 && len(t.Documents) == 0 && len(t.Batches) == 0 && !t.Whole && len(t.Texts) == 0 && len(t.Questions) == 0:
		return fmt.Errorf("nothing to delete was specified: %w", concordat.ErrInvalid)
	case (len(t.Documents) > 0 || t.Whole) && t.Library == "":
		return fmt.Errorf("documents to delete were specified without their library: %w", concordat.ErrInvalid)
	case len(t.Tasks)+len(t.Documents)+len(t.Batches)+len(t.Texts)+len(t.Questions) > MaxTargets:
		return fmt.Errorf("deletion of %d items: %w: want at most %d", len(t.Tasks)+len(t.Documents)+len(t.Batches)+len(t.Texts)+len(t.Questions),
			concordat.ErrInvalid, MaxTargets)
	}
	return nil
}
