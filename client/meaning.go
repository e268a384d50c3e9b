package client

import (
	"context"
	"net/http"
)

// Meaning describes how a site finds rewritten and translated text.
type Meaning struct {
	Leads   bool           `json:"leads"` // checks look for such text
	Index   MeaningIndex   `json:"index"`
	Encoder MeaningEncoder `json:"encoder"`
}

// MeaningIndex describes the index by meaning.
type MeaningIndex struct {
	On        bool   `json:"on"`
	Documents int    `json:"documents"` // documents of the site that have words
	Lacking   int    `json:"lacking"`   // documents that it does not contain yet
	Stale     int    `json:"stale"`     // documents indexed by an earlier version, in which fewer translations are found
	Making    bool   `json:"making"`
	Done      int    `json:"done"` // documents done so far while it is being built
	All       int    `json:"all"`  // total number of documents to do
	Problem   string `json:"problem"`
	// Vectors is nil unless documents are also indexed by the encoder's vectors.
	Vectors *MeaningVectors `json:"vectors"`
}

// MeaningVectors describes the index of the encoder's vectors.
type MeaningVectors struct {
	Documents int    `json:"documents"` // documents that it contains
	Making    bool   `json:"making"`
	Done      int    `json:"done"` // documents done so far while it is being built
	All       int    `json:"all"`  // total number of documents to do
	Problem   string `json:"problem"`
}

// MeaningEncoder describes the encoder that verifies leads.
type MeaningEncoder struct {
	State   string `json:"state"` // none, off, fetching, installing, starting, ready, failed or server
	Model   string `json:"model"`
	Where   string `json:"text_goes_to"` // empty if texts stay on the site's machine
	Fetched int64  `json:"fetched_bytes"`
	Size    int64  `json:"size_bytes"` // approximate size of the download
	Problem string `json:"problem"`    // python, pip, fetch, wheel, disk or start
	Detail  string `json:"detail"`
}

// MeaningChange contains the requested changes; a nil field leaves its setting unchanged.
type MeaningChange struct {
	Leads   *bool `json:"leads,omitempty"`
	Index   *bool `json:"index,omitempty"`   // true also adds missing documents and renews stale ones
	Encoder *bool `json:"encoder,omitempty"` // true also installs it
}

// GetMeaning returns how the site finds rewritten and translated text.
func GetMeaning(ctx context.Context, c *Client) (Meaning, error) {
	var out Meaning
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/admin/meaning"}, &out)
	return out, err
}

// ChangeMeaning changes how the site finds rewritten and translated text. Longer work continues after the call; GetMeaning reports its
// progress.
func ChangeMeaning(ctx context.Context, c *Client, change MeaningChange) (Meaning, error) {
	var out Meaning
	_, err := c.call(ctx, request{method: http.MethodPatch, path: "/admin/meaning", body: change}, &out)
	return out, err
}
