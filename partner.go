package concordat

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

// FederationID identifies a federation, which is a group of sites that share fingerprint keys.
type FederationID string

// Epoch is a key period of a federation. Fingerprints of two epochs cannot be compared because their schemes differ.
type Epoch struct {
	Federation FederationID `json:"federation"`
	Number     uint32       `json:"number"` // from 1
}

// String returns the federation and the number, for example health-sciences/3.
func (e Epoch) String() string { return fmt.Sprintf("%s/%d", e.Federation, e.Number) }

// Show is a level of disclosure. Each level includes the previous ones.
type Show string

// The levels of disclosure.
const (
	ShowNothing  Show = "nothing"
	ShowExists   Show = "exists"   // whether there is a match
	ShowCounts   Show = "counts"   // how many documents match, and how many sentences in each
	ShowMetadata Show = "metadata" // which sentences match; title, author, date and contact
	ShowOverlap  Show = "overlap"  // the words common to both sides
	ShowPassage  Show = "passage"  // the source's passage, with a person's consent
)

// Levels returns all levels of disclosure, lowest first.
func Levels() []Show {
	return []Show{ShowNothing, ShowExists, ShowCounts, ShowMetadata, ShowOverlap, ShowPassage}
}

// JobID identifies the check of one document at one partner. It is random, so it links neither two answers of a partner nor the answers
// of two partners.
type JobID [16]byte

// Handle is a partner's pseudonym for one of its documents, used with one asker only.
type Handle [16]byte

// Reason states why a partner, or one of its libraries, does not answer. Reasons are part of the protocol.
type Reason string

// The reasons.
const (
	ReasonLibrary  Reason = "library"  // no such library is open to the asker
	ReasonPurpose  Reason = "purpose"  // the library is not open for this purpose
	ReasonLevel    Reason = "level"    // the partner shows less than requested
	ReasonBudget   Reason = "budget"   // the asker's budget is exhausted
	ReasonEmbargo  Reason = "embargo"  // the embargo has not ended
	ReasonExpired  Reason = "expired"  // the share has expired
	ReasonEpoch    Reason = "epoch"    // no fingerprints of this epoch
	ReasonScheme   Reason = "scheme"   // a different scheme
	ReasonGate     Reason = "gate"     // the match is too small to be shown
	ReasonUnknown  Reason = "unknown"  // the job, document or request does not exist, or no longer exists
	ReasonApproval Reason = "approval" // a person refused, or did not answer in time
	ReasonBusy     Reason = "busy"     // try again later
	ReasonFault    Reason = "fault"    // a failure at the partner
)

// Refusal is the error for a question that a partner declines to answer. It wraps ErrScheme for ReasonScheme and ReasonEpoch,
// ErrUnavailable for ReasonBusy and ReasonFault, and ErrRefused for all others.
type Refusal struct {
	Reason Reason    `json:"reason"`
	Words  string    `json:"words"` // explanation for an administrator; discloses nothing else
	Retry  time.Time `json:"retry,omitzero"`
}

func (r *Refusal) Error() string {
	if r.Words == "" {
		return string(r.Reason)
	}
	return string(r.Reason) + ": " + r.Words
}

func (r *Refusal) Unwrap() error {
	switch r.Reason {
	case ReasonScheme, ReasonEpoch:
		return ErrScheme
	case ReasonBusy, ReasonFault:
		return ErrUnavailable
	}
	return ErrRefused
}

// Statement is an answer signed by a partner, in the bytes that were signed. It is kept so that someone who trusts only the partner's
// site card can verify a report.
type Statement struct {
	Site     SiteID    `json:"site"`
	Kind     string    `json:"kind"`      // kind of answer, for example answer or outline
	KeyEpoch uint32    `json:"key_epoch"` // key epoch of the site's signing key
	At       time.Time `json:"at"`
	// Asker is the site that received the answer. It is empty in answers from early versions, which signed neither the asker nor the
	// submission; these answers do not prove whose report they belong to.
	Asker SiteID `json:"asker,omitempty"`
	// Job is the 16-byte job of the request, or empty if the request has none.
	Job []byte `json:"job,omitempty"`
	// Commitment is the request's 32-byte commitment to the submission (see Commit); it is empty except in answers of the first round.
	// Salt opens the commitment and is not signed.
	Commitment []byte `json:"commitment,omitempty"`
	Salt       []byte `json:"salt,omitempty"`

	Request   []byte `json:"request"` // SHA-256 of the request's payload
	Payload   []byte `json:"payload"` // doc/format-federation.md
	Signature []byte `json:"signature"`
	// Asked is the request's payload, which the asker knows. The answer can be verified against it; the sentences of Asked are in the
	// order of the hits in Payload, padding included. It contains fingerprints or words of the submission; omit it when passing the
	// statement on.
	Asked []byte `json:"asked,omitempty"`
}

// AskedSentence is a sentence of an Ask.
type AskedSentence struct {
	Fingerprint Fingerprint
	Gate        int // in bits; the scheme's gate for the sentence, see Sentence
}

// MaxAsked is the maximum number of sentences in an Ask; longer documents are split into several.
const MaxAsked = 8192

// Padded returns the number of sentences, including dummies, that an ask of n sends and is charged for. It is the next of 64, 80, 96,
// 112, 128, 160, 192, 224, 256 and so on. If n is at least 64, the result is at most a quarter more than n.
func Padded(n int) int {
	octave := 64
	for 2*octave <= n {
		octave *= 2
	}
	step := octave / 4
	return max(64, (n+step-1)/step*step)
}

// MaxRevealed is the maximum number of passages in a RevealAsk.
const MaxRevealed = 64

// Ask is the first-round question of one check to one partner. Its fingerprints are computed with the epoch's key.
type Ask struct {
	Job        JobID
	Epoch      Epoch
	Scheme     Scheme
	Libraries  []LibraryID     // at least one
	Sentences  []AskedSentence // 1 to MaxAsked; their order has no meaning
	Probe      Probe
	Level      Show   // the highest level requested
	Purpose    string // a word agreed in the federation, for example thesis
	Standing   bool   // asks to be notified of later documents, if the partner agrees
	Authors    [][16]byte
	Commitment [32]byte // commitment to the submission's text; see Commit
}

// Commit returns the commitment to a text that a site sends with a question about it, which is the SHA-256 of a label, the salt and the
// text's SHA-256. Without the salt, 32 random bytes, it reveals nothing about the text.
func Commit(salt []byte, text [sha256.Size]byte) [sha256.Size]byte {
	b := append([]byte("concordat/commitment/1\x00"), salt...)
	return sha256.Sum256(append(b, text[:]...))
}

// SiteAnswer is the answer to an Ask.
type SiteAnswer struct {
	Libraries []LibraryAnswer  // one per requested library, in the same order
	Documents []DocumentAnswer // for libraries with level counts or above, most matches first
	Hits      []Hit            // for libraries with level metadata or above, sorted by Sentence, descending Closeness, Document, Ordinal
	Statement Statement        `json:"-"`
}

// LibraryAnswer is the part of a SiteAnswer about one library.
type LibraryAnswer struct {
	Library   LibraryID
	Level     Show     // the granted level; ShowNothing with a Refusal
	Refusal   *Refusal // nil if the library answered
	Ready     float64  // share of the library's documents with fingerprints of the epoch, 0 to 1, rounded down to hundredths
	Exists    bool     // there is a match; false below ShowExists
	Documents int      // matching documents; at ShowCounts, numbers below three are reported as 2, "few"
	Sentences int      // matching sentences of the ask; small numbers are reported in the same way
	Missing   int      // shards that did not answer
	Capped    int      // 1 if something was truncated, see Answer.Capped; otherwise 0
	// The day's remaining budgets after this answer; negative means no limit.
	LeftSentences, LeftDisclosures int
	Standing                       bool // the partner will report later matches
}

// DocumentAnswer is a partner's document that matches. At ShowMetadata and above it identifies the document.
type DocumentAnswer struct {
	Handle  Handle
	Library int // index into SiteAnswer.Libraries
	Matches int // matching sentences of the ask; at ShowCounts, numbers below three are reported as 2
	Title   string
	Author  string
	Contact string    // person to contact
	Date    time.Time // date of the document; zero if unknown
	// Outline is the form of the document's outline in the second round: OutlineWords, OutlineFingerprints, or empty for none.
	Outline string
}

// Closeness is the similarity of a partner's sentence to one in the ask, in steps. With exact distances, an asker could discover an
// unknown fingerprint bit by bit.
type Closeness uint8

// The steps of closeness.
const (
	CloseFar  Closeness = iota // within the scheme's gate; may be coincidence
	CloseNear                  // hardly ever coincidence
	CloseSame                  // the same fingerprint
)

// Hit is a partner's sentence that is near a sentence of the ask.
type Hit struct {
	Sentence  int // index into Ask.Sentences
	Document  int // index into SiteAnswer.Documents
	Ordinal   int // index of the sentence in its document
	Closeness Closeness
	// Documents is the number of the partner's documents that contain the sentence. Up to 20, it counts the documents of this answer;
	// above 20, it counts all of the partner's documents, rounded down to one significant digit but not below 21.
	Documents int
}

// Forms of an outline.
const (
	OutlineWords        = "words"        // keyed word sets (package align, Sketch)
	OutlineFingerprints = "fingerprints" // the fingerprints of the partner's sentences
)

// OutlineAsk requests outlines of nominated documents in the second round.
type OutlineAsk struct {
	Job       JobID
	Epoch     Epoch
	Documents []OutlineOf
}

// OutlineOf identifies a document and, in ascending order, the sentences around which to show its outline.
type OutlineOf struct {
	Handle   Handle
	Ordinals []int
}

// Outlines is the answer to an OutlineAsk, with one outline for each requested document, in order.
type Outlines struct {
	Documents []Outline
	Statement Statement `json:"-"`
}

// Outline is the excerpt that a document's owner shows around its matches.
type Outline struct {
	Handle  Handle
	Refusal *Refusal // nil if the outline is shown
	Form    string   // OutlineWords or OutlineFingerprints
	Bits    int      // bits of a word's hash; 0 for fingerprints
	Length  int      // length of the document's text in bytes
	Units   []OutlineUnit
}

// OutlineUnit is a unit of an outline, about one sentence; units are in text order.
type OutlineUnit struct {
	Ordinal int
	Span    Span // span in the partner's text
	Chars   int  // letters and digits; a Han character counts as three
	Words   []uint16
	// For fingerprints, these are the number of distinct features and a keyed hash of the words in order (package align, Check).
	Features    int
	Fingerprint Fingerprint
	Check       int
}

// EdgesAsk asks for the beginnings and ends of passages that are probably copied word for word. In this edge round, the asker discloses
// the order of its own words, and the partner compares them.
type EdgesAsk struct {
	Job      JobID
	Epoch    Epoch
	Handle   Handle
	Passages []EdgePassage
}

// EdgePassage is a passage that is probably copied.
type EdgePassage struct {
	Span  Span   // span of the partner's text, as in its outline
	Words []byte // words of the asker's text in order, one byte of a keyed hash each (package align, Order)
}

// Edges is the answer to an EdgesAsk, with the literal copies in each requested passage.
type Edges struct {
	Passages  [][]EdgeCopy
	Statement Statement `json:"-"`
}

// EdgeCopy is a literal copy, given as the asker's words [From, To) of the passage and their location in the partner's text.
type EdgeCopy struct {
	From, To int
	Span     Span
}

// RevealAsk asks to see more of a match. It contains the asker's own words.
type RevealAsk struct {
	Job      JobID
	Epoch    Epoch
	Handle   Handle
	Level    Show // ShowOverlap or ShowPassage
	Passages []RevealPassage
	Reason   string // for the person who decides on ShowPassage
	Contact  string
}

// RevealPassage is a requested passage, with its span in the partner's text and the asker's own text for it.
type RevealPassage struct {
	Span Span // span of the partner's text
	Text string
}

// States of a request for full passages.
const (
	DisclosureGranted   = "granted"
	DisclosurePending   = "pending" // a person has been asked
	DisclosureRefused   = "refused"
	DisclosureExpired   = "expired"
	DisclosureWithdrawn = "withdrawn"
)

// Revealed is the answer to a RevealAsk, including when it is repeated later.
type Revealed struct {
	State    string // state of the disclosure
	Words    string // explanation by the person who decided
	Until    time.Time
	Passages []RevealedPassage // for a granted request, one per requested passage
	// Statement is signed by the partner.
	Statement Statement `json:"-"`
}

// RevealedPassage is a passage as shown by the partner.
type RevealedPassage struct {
	// Shared lists the runs of words that occur, in the same order, in the partner's passage too, as spans of the asker's text. At
	// ShowOverlap, nothing else of the passage is shown.
	Shared []Span
	Text   string // the partner's passage, at ShowPassage
}

// Catalogue lists the libraries that a site opens to a partner.
type Catalogue struct {
	Libraries []OpenLibrary
	// Heads are the latest audit entries that the partner has received from other members of the federations to which both sites belong.
	// Each is an encoded crypto.Head, signed by its site. With them, two sites can detect that they are being shown different audits.
	Heads     [][]byte  `json:",omitempty"`
	Statement Statement `json:"-"`
}

// OpenLibrary is a library as a partner sees it.
type OpenLibrary struct {
	ID          LibraryID        `json:"id"`
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"`
	Documents   int              `json:"documents"` // rounded up to two significant digits
	Level       Show             `json:"level"`     // the highest level shown
	Outline     string           `json:"outline,omitempty"`
	Purposes    []string         `json:"purposes,omitempty"` // if empty, any purpose
	Ship        bool             `json:"ship,omitempty"`     // can be mirrored
	Standing    bool             `json:"standing,omitempty"` // accepts standing asks
	Ready       []EpochReadiness `json:"ready"`
	Embargo     time.Time        `json:"embargo,omitzero"`
	Expires     time.Time        `json:"expires,omitzero"`
	// Daily budgets of sentences and of disclosures; negative means no limit.
	Sentences   int `json:"sentences"`
	Disclosures int `json:"disclosures"`
}

// EpochReadiness is the share of a library's documents with fingerprints of an epoch.
type EpochReadiness struct {
	Epoch  Epoch   `json:"epoch"`
	Scheme Scheme  `json:"scheme"`
	Ready  float64 `json:"ready"` // share of documents, 0 to 1
}

// ShipAsk requests the changes to a library since Cursor (history shipping).
type ShipAsk struct {
	Epoch   Epoch
	Library LibraryID
	Cursor  []byte // from the last Shipment, at most 64 bytes; nil means from the beginning
}

// Shipment is part of a library, as fingerprints only.
type Shipment struct {
	Scheme    Scheme
	Documents []ShippedDocument
	Cursor    []byte    // where to continue
	More      bool      // more is available immediately
	Statement Statement `json:"-"`
}

// ShippedDocument is a document of a mirror. If Removed is set, the document no longer exists and no other field is set.
type ShippedDocument struct {
	Handle  Handle
	Removed bool
	// Withheld states that the document is not in the mirror. The partner shows it, or has shown it, as word sets and therefore does not
	// also send its fingerprints.
	Withheld  bool
	Title     string // at level metadata or above
	Author    string
	Contact   string
	Date      time.Time
	Sentences []ShippedSentence
}

// ShippedSentence is a sentence of a mirrored document; sentences are in text order.
type ShippedSentence struct {
	Fingerprint Fingerprint
	Ordinal     int
}

// Notice is an unsolicited message to a partner.
type Notice struct {
	Kind    string      // NoticeAlert, NoticeWithdrawn, NoticeDisclosure, NoticeEnded, NoticeCase
	Job     JobID       // job of the ask; zero for NoticeWithdrawn
	Library LibraryID   // the withdrawn library
	Answer  *SiteAnswer `json:"Tell"` // for alerts, the current matches
	// Asked is len(Ask.Sentences) of the standing ask as received by the partner, padding included. The transport needs it to convert the
	// hits of Answer to the asker's own sentence numbers; 0 drops the hits.
	Asked int
	Words string
	At    time.Time
	Case  *CaseNote `json:",omitempty"` // for NoticeCase
}

// Kinds of notices.
const (
	NoticeAlert      = "alert"      // a later document matches a standing ask
	NoticeWithdrawn  = "withdrawn"  // a library is no longer open, so its mirror must be deleted
	NoticeDisclosure = "disclosure" // a request for passages was decided
	NoticeEnded      = "ended"      // the asker no longer wants matches for Job
	NoticeCase       = "case"       // the sender's view of a case opened by an alert for Job
)

// An Answerer answers partners. from is the asking site, whose identity has been verified. A refusal is a *Refusal; any other error is
// sent to the asker as ReasonFault without its text. The caller adds the statements.
type Answerer interface {
	OpenTo(ctx context.Context, from SiteID) (*Catalogue, error)
	Answer(ctx context.Context, from SiteID, a *Ask) (*SiteAnswer, error)
	AnswerOutline(ctx context.Context, from SiteID, a *OutlineAsk) (*Outlines, error)
	AnswerEdges(ctx context.Context, from SiteID, a *EdgesAsk) (*Edges, error)
	AnswerReveal(ctx context.Context, from SiteID, a *RevealAsk) (*Revealed, error)
	AnswerLeads(ctx context.Context, from SiteID, a *LeadAsk) (*LeadAnswer, error)
	AnswerShip(ctx context.Context, from SiteID, a *ShipAsk) (*Shipment, error)
	Receive(ctx context.Context, from SiteID, n *Notice) error
}
