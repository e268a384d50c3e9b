package concordat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// CaseID identifies a case shared by two sites. Both sites compute it from data that they already have, so opening a case reveals nothing
// to either.
type CaseID [16]byte

// NewCaseID returns the ID of a case about a document that an owner reported to an asker in answer to a standing question. The document
// is identified by its handle, which is zero if there is no document. The random job identifies the two sites. Their names cannot,
// because each site may use a different name for itself than the other does.
func NewCaseID(job JobID, lib LibraryID, h Handle) CaseID {
	d := sha256.New()
	_, _ = fmt.Fprintf(d, "concordat case 1\n%x\n%q\n%x\n", job, lib, h)
	var id CaseID
	copy(id[:], d.Sum(nil))
	return id
}

// String returns the ID in hexadecimal.
func (id CaseID) String() string { return hex.EncodeToString(id[:]) }

// ParseCaseID is the inverse of String. It fails with ErrNotFound for any other text, because no case has it as an ID.
func ParseCaseID(s string) (CaseID, error) {
	var id CaseID
	if len(s) != hex.EncodedLen(len(id)) {
		return id, fmt.Errorf("case %.40q: %w", s, ErrNotFound)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, fmt.Errorf("case %q: %w", s, ErrNotFound)
	}
	return id, nil
}

// CaseState is a site's view of a shared case.
type CaseState string

// The states.
const (
	CaseOpen      CaseState = "open"
	CaseConfirmed CaseState = "confirmed" // the documents share more wording than they should
	CaseCleared   CaseState = "cleared"   // nothing is wrong
)

// CaseStates returns all states, in the order of their codes.
func CaseStates() []CaseState { return []CaseState{CaseOpen, CaseConfirmed, CaseCleared} }

// CaseDecision is a site's decision on its own document, for example a funder's decision on an application.
type CaseDecision string

// The decisions.
const (
	Undecided CaseDecision = ""
	Accepted  CaseDecision = "accepted"
	Rejected  CaseDecision = "rejected"
	Withdrawn CaseDecision = "withdrawn"
)

// CaseDecisions returns all decisions, in the order of their codes.
func CaseDecisions() []CaseDecision {
	return []CaseDecision{Undecided, Accepted, Rejected, Withdrawn}
}

// MaxCaseContact and MaxCaseWords are the maximum lengths of a CaseNote's contact and words, in bytes.
const (
	MaxCaseContact = 300
	MaxCaseWords   = 1000
)

// CaseNote informs a partner of the sender's view of a shared case. It contains what people wrote and decided, and nothing from a
// document.
type CaseNote struct {
	ID       CaseID
	State    CaseState
	Decision CaseDecision
	Contact  string
	// Receipt is the SHA-256 of the receipt that package retain signed for the data deleted by the sender; it is zero if there is no
	// receipt.
	Receipt [32]byte
}
