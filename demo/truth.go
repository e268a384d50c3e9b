package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Truth lists the passages that a check of the submission against the library must find.
type Truth struct {
	Submission string    `json:"submission"` // file name in Files
	Title      string    `json:"title"`
	Passages   []Passage `json:"passages"` // in the order of the submission
	Own        []string  `json:"own"`      // parts written for the submission, excluding the list of references
}

// Passage is a reused passage. Its texts are quoted from the documents, with white space collapsed.
type Passage struct {
	Kind       string   `json:"kind"` // verbatim, near or paraphrase
	Quoted     bool     `json:"quoted,omitempty"`
	Text       string   `json:"text"`           // as in the submission
	Document   string   `json:"document"`       // path below library/; a row of a table follows a #
	Also       []string `json:"also,omitempty"` // other documents that contain a verbatim passage word for word
	SourceText string   `json:"source_text"`
	// Overlap is the share of the passage's pairs of neighbouring words (in Chinese, characters) that also occur in the source text.
	Overlap float64 `json:"overlap"`
}

// ReadTruth returns the content of truth.json.
func ReadTruth() (Truth, error) {
	b, err := Files.ReadFile("truth.json")
	if err != nil {
		return Truth{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var t Truth
	if err := dec.Decode(&t); err != nil {
		return Truth{}, fmt.Errorf("truth.json: %w", err)
	}
	return t, nil
}
