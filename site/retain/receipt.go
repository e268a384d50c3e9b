package retain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"concordat"
	"concordat/store"
)

// ReceiptVersion is the version of the form of a Receipt.
const ReceiptVersion = 1

// Receipt records what was deleted and where. It contains neither titles nor names of documents: a document is named by the SHA-256 of
// its library, a slash and its id, so that someone who knows what was deleted can find it.
type Receipt struct {
	Version int              `json:"version"`
	ID      string           `json:"id"`
	Site    concordat.SiteID `json:"site"`
	Actor   string           `json:"actor"`
	Reason  string           `json:"reason,omitempty"` // as given; not in the audit
	Asked   time.Time        `json:"asked"`
	Deleted time.Time        `json:"deleted,omitzero"` // time from which no query finds it
	Done    time.Time        `json:"done,omitzero"`    // time from which the bytes are gone

	Tasks     []ErasedTask     `json:"tasks"`
	Documents []ErasedDocument `json:"documents"`
	Batches   []ErasedBatch    `json:"batches,omitempty"`
	Texts     []ErasedText     `json:"texts,omitempty"`     // of checks whose reports stay
	Questions []Question       `json:"questions,omitempty"` // of partners
	// Places are the places where bytes were, in the order of their removal.
	Places []Place `json:"places"`
	// Cited is the policy that was applied to the documents' wording in reports that name them: keep or withhold.
	Cited   CitedPolicy `json:"cited,omitempty"`
	Reports int         `json:"reports"` // that name one of the documents and are kept
	// Stays are the codes of the data that remains: audit, backups, log, names, shown; see doc/operations.md.
	Stays []string `json:"stays"`

	// Signature is the signature of Sum by the site's key; nil if the site has no key.
	Signature json.RawMessage `json:"signature,omitempty"`
}

// ErasedTask is a check that was deleted.
type ErasedTask struct {
	Task concordat.TaskID `json:"task"`
	store.Erased
	Files []string `json:"files"` // SHA-256 of originals deleted with it; others are still needed
}

// ErasedText is a check that lost its text and its originals.
type ErasedText struct {
	Task  concordat.TaskID `json:"task"`
	Bytes int              `json:"bytes"` // bytes of the text; 0 if there was no text
}

// ErasedBatch is a batch that was deleted.
type ErasedBatch struct {
	Batch     string `json:"batch"`
	Documents int    `json:"documents"`
	Files     int    `json:"files"` // files of its own index and its output
}

// ErasedDocument is a document of a library that was deleted.
type ErasedDocument struct {
	Library    concordat.LibraryID `json:"library"`
	Name       string              `json:"name"` // see DocumentName
	Text       string              `json:"text"` // SHA-256 of the text
	Bytes      int64               `json:"bytes"`
	Sentences  int                 `json:"sentences"`
	Characters int                 `json:"characters"`
	Reports    int                 `json:"reports"` // reports that name it
}

// Place is a place where bytes of the deleted data were.
type Place struct {
	Name  string `json:"name"`  // store, index, epoch FEDERATION/NUMBER, or that of an Area
	Items int    `json:"items"` // documents, or files
	// State is purged: rewritten without the bytes; removed: the files are gone; left: the engine will rewrite it at its own pace.
	State string `json:"state"`
}

// DocumentName returns a receipt's name for a document.
func DocumentName(lib concordat.LibraryID, id concordat.DocumentID) string {
	return NameOf(string(lib) + "/" + string(id))
}

// NameOf returns DocumentName for a document given as LIBRARY/ID.
func NameOf(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:])
}

// Sum returns the digest that a signature of the receipt covers: the SHA-256 of its compact JSON without the signature and the reason, as
// in the audit.
func (r Receipt) Sum() ([32]byte, error) {
	r.Signature, r.Reason = nil, ""
	b, err := json.Marshal(r)
	return sha256.Sum256(b), err
}
