package retain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"concordat"
	"concordat/store"
)

// ReceiptVersion is the version of the Receipt format.
const ReceiptVersion = 1

// Receipt records what was deleted, and where. It contains no titles or names of documents; each is identified by the SHA-256 of its
// library, a slash and its id, so that someone who knows what was deleted can find it.
type Receipt struct {
	Version int              `json:"version"`
	ID      string           `json:"id"`
	Site    concordat.SiteID `json:"site"`
	Actor   string           `json:"actor"`
	Reason  string           `json:"reason,omitempty"` // as stated; not part of the audit
	Asked   time.Time        `json:"asked"`
	Deleted time.Time        `json:"deleted,omitzero"` // when queries stopped finding it
	Done    time.Time        `json:"done,omitzero"`    // when the bytes were gone

	Tasks     []ErasedTask     `json:"tasks"`
	Documents []ErasedDocument `json:"documents"`
	Batches   []ErasedBatch    `json:"batches,omitempty"`
	Texts     []ErasedText     `json:"texts,omitempty"`     // checks that lost their text but kept their report
	Questions []Question       `json:"questions,omitempty"` // partners' questions
	// Places lists the places that contained bytes, in order of removal.
	Places []Place `json:"places"`
	// Cited is the policy applied to the documents' wording in reports that name them: keep or withhold.
	Cited   CitedPolicy `json:"cited,omitempty"`
	Reports int         `json:"reports"` // remaining reports that name one of the documents
	// Stays lists codes of the data that remains: audit, backups, log, names, shown; see doc/operations.md.
	Stays []string `json:"stays"`

	// Signature is the signature of Sum with the site's key; nil if the site has no key.
	Signature json.RawMessage `json:"signature,omitempty"`
}

// ErasedTask is a deleted check.
type ErasedTask struct {
	Task concordat.TaskID `json:"task"`
	store.Erased
	Files []string `json:"files"` // SHA-256 of the originals deleted with it; any others are still needed
}

// ErasedText is a check that lost its text and originals.
type ErasedText struct {
	Task  concordat.TaskID `json:"task"`
	Bytes int              `json:"bytes"` // size of the text in bytes; 0 if there was none
}

// ErasedBatch is a deleted batch.
type ErasedBatch struct {
	Batch     string `json:"batch"`
	Documents int    `json:"documents"`
	Files     int    `json:"files"` // number of files in its index and its output
}

// ErasedDocument is a deleted library document.
type ErasedDocument struct {
	Library    concordat.LibraryID `json:"library"`
	Name       string              `json:"name"` // see DocumentName
	Text       string              `json:"text"` // SHA-256 of the text
	Bytes      int64               `json:"bytes"`
	Sentences  int                 `json:"sentences"`
	Characters int                 `json:"characters"`
	Reports    int                 `json:"reports"` // number of reports that name it
}

// Place is a place that contained bytes of the deleted data.
type Place struct {
	Name  string `json:"name"`  // store, index, epoch FEDERATION/NUMBER, or the name of an Area
	Items int    `json:"items"` // number of documents or files
	// State is purged if the place was rewritten without the bytes, removed if the files are gone, or left if the engine will rewrite it
	// in its own time.
	State string `json:"state"`
}

// DocumentName returns the name of a document in receipts.
func DocumentName(lib concordat.LibraryID, id concordat.DocumentID) string {
	return NameOf(string(lib) + "/" + string(id))
}

// NameOf returns the DocumentName for LIBRARY/ID.
func NameOf(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:])
}

// Sum returns the digest that the receipt's signature covers, which is the SHA-256 of its compact JSON, without the signature and the
// reason, as in the audit.
func (r Receipt) Sum() ([32]byte, error) {
	r.Signature, r.Reason = nil, ""
	b, err := json.Marshal(r)
	return sha256.Sum256(b), err
}
