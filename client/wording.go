package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"concordat"
)

// Wording is wording that a library never counts, or always counts, in checks against it.
type Wording struct {
	Library concordat.LibraryID `json:"library"`
	Name    string              `json:"template"`
	Bytes   int                 `json:"bytes"`
	Added   time.Time           `json:"added"`
	Counts  bool                `json:"counts"` // counts even if many documents of the library contain it; if false, it is template wording
	Text    string              `json:"text"`   // empty in the result of Wordings
}

// LibraryWording decides about the wording of one library. Make it with WordingOf. It is safe for concurrent use.
type LibraryWording struct {
	c    *Client
	path string
}

// WordingOf returns the decisions about wording of a library, which only administrators can read and make.
func WordingOf(c *Client, lib concordat.LibraryID) LibraryWording {
	return LibraryWording{c, "/libraries/" + escape(string(lib)) + "/wording"}
}

// List returns the wording that has been decided about, in order of name, without its text.
func (w LibraryWording) List(ctx context.Context) ([]Wording, error) {
	var out struct{ Wording []Wording }
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: w.path}, &out)
	return out.Wording, err
}

// Read returns such wording with its text.
func (w LibraryWording) Read(ctx context.Context, name string) (Wording, error) {
	var out Wording
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: w.path + "/" + escape(name)}, &out)
	return out, err
}

// Decide decides that wording always counts, or never, in later checks against the library. It replaces wording with the same name.
func (w LibraryWording) Decide(ctx context.Context, name, text string, counts bool) (Wording, error) {
	var out Wording
	_, err := w.c.call(ctx, request{method: http.MethodPut, path: w.path + "/" + escape(name), body: decidedWording{text, counts}}, &out)
	return out, err
}

// Withdraw withdraws such a decision.
func (w LibraryWording) Withdraw(ctx context.Context, name string) error {
	_, err := w.c.call(ctx, request{method: http.MethodDelete, path: w.path + "/" + escape(name), once: true}, nil)
	return err
}

type decidedWording struct {
	Text   string `json:"text"`
	Counts bool   `json:"counts"`
}

// BatchWording is wording that at least three documents of a batch contain.
type BatchWording struct {
	Number    int            `json:"number"` // from 1
	Documents []string       `json:"documents"`
	Held      int            `json:"held"` // number of documents that contain it
	Of        int            `json:"of"`   // number of documents in the batch
	Words     int            `json:"words"`
	Counted   bool           `json:"counted"`
	Decide    bool           `json:"decide"`  // an officer must decide whether it counts
	Decided   string         `json:"decided"` // count if it counts by decision
	Kind      concordat.Kind `json:"kind"`    // if it does not count
	Why       string         `json:"why"`     // if it resembles a form, the part it resembles
	Share     float64        `json:"share"`   // largest share of any one document, 0 to 1
	Text      string         `json:"text"`    // its first words; empty if not stored
}

// BatchWordings decides about the wording of one batch. Make it with WordingOfBatch. It is safe for concurrent use.
type BatchWordings struct {
	c    *Client
	path string
}

// WordingOfBatch returns the wording that at least three documents of a batch contain.
func WordingOfBatch(c *Client, batch string) BatchWordings {
	return BatchWordings{c, "/batches/" + escape(batch) + "/wording"}
}

// List returns the wording, counted wording first.
func (w BatchWordings) List(ctx context.Context) ([]BatchWording, error) {
	var out struct{ Wording []BatchWording }
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: w.path}, &out)
	return out.Wording, err
}

// Count counts wording in the reports of all its documents for a reason, or stops counting it, which needs none.
func (w BatchWordings) Count(ctx context.Context, number int, count bool, reason string) error {
	_, err := w.c.call(ctx, request{method: http.MethodPut, path: w.path + "/" + strconv.Itoa(number), once: true,
		body: countedBatchWording{count, reason}}, nil)
	return err
}

type countedBatchWording struct {
	Count   bool   `json:"count"`
	Comment string `json:"comment,omitempty"`
}
