package concordat

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
)

// FederationID names a federation: a group of sites that share fingerprint keys.
type FederationID string

// Epoch is one key period of a federation. Fingerprints of two epochs cannot be compared: their
// schemes differ.
type Epoch struct {
	Federation FederationID `json:"federation"`
	Number     uint32       `json:"number"` // from 1
}

// String returns the federation and the number, for example health-sciences/3.
func (e Epoch) String() string { return fmt.Sprintf("%s/%d", e.Federation, e.Number) }

// Show is a level of disclosure, each including the ones before it.
type Show string

// The levels of disclosure.
const (
	ShowNothing  Show = "nothing"
	ShowExists   Show = "exists"   // that there is a match
	ShowCounts   Show = "counts"   // how many documents match, and how many sentences of each
	ShowMetadata Show = "metadata" // which sentences; title, author, date and contact
	ShowOverlap  Show = "overlap"  // the words that both sides have
	ShowPassage  Show = "passage"  // the source's passage, after a person agreed
)

// Levels returns all levels of disclosure, least first.
func Levels() []Show {
	return []Show{ShowNothing, ShowExists, ShowCounts, ShowMetadata, ShowOverlap, ShowPassage}
}

// JobID names the check of one document at one partner. It is random, so that it links neither two answers of
// a partner nor the answers of two partners.
type JobID [16]byte

// Handle is a partner's pseudonym for one of its documents, used with one asker only.
type Handle [16]byte

// Reason says why a partner, or one of its libraries, does not answer. Reasons are part of the protocol.
type Reason string

// The reasons.
const (
	ReasonLibrary  Reason = "library"  // no such library is open to the asker
	ReasonPurpose  Reason = "purpose"  // not for this purpose
	ReasonLevel    Reason = "level"    // less is shown than was asked for
	ReasonBudget   Reason = "budget"   // the asker's budget is used up
	ReasonEmbargo  Reason = "embargo"  // not yet
	ReasonExpired  Reason = "expired"  // no longer
	ReasonEpoch    Reason = "epoch"    // no fingerprints of this epoch
	ReasonScheme   Reason = "scheme"   // another recipe
	ReasonGate     Reason = "gate"     // too little matches to be shown
	ReasonUnknown  Reason = "unknown"  // no such job, document or request, or no longer
	ReasonApproval Reason = "approval" // a person said no, or has not answered in time
	ReasonBusy     Reason = "busy"     // try again later
	ReasonFault    Reason = "fault"    // something failed there
)

// Refusal is the typed error of a question that a partner declines to answer. It wraps ErrScheme for ReasonScheme and ReasonEpoch,
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

// Statement is an answer signed by a partner, in the bytes it signed. It is kept so that someone who trusts only the partner's site card
// can check a report.
type Statement struct {
	Site     SiteID    `json:"site"`
	Kind     string    `json:"kind"`      // of the answer, for example answer or outline
	KeyEpoch uint32    `json:"key_epoch"` // of the site's signing key
	At       time.Time `json:"at"`
	// Asker is the site that the answer was given to. It is empty in answers from versions that signed neither the asker nor the
	// submission; these do not show whose report they belong to.
	Asker SiteID `json:"asker,omitempty"`
	// Job is the request's job, 16 bytes; empty if the request has none.
	Job []byte `json:"job,omitempty"`
	// Commitment is the request's commitment to the submission, 32 bytes (see Commit); empty except in answers of the first round.
	// Salt, which is not signed, opens it.
	Commitment []byte `json:"commitment,omitempty"`
	Salt       []byte `json:"salt,omitempty"`

	Request   []byte `json:"request"` // SHA-256 of the request's payload
	Payload   []byte `json:"payload"` // doc/format-federation.md
	Signature []byte `json:"signature"`
	// Asked is the request's payload, which the asker knows. With it the answer can be checked against what was asked: its sentences are in
	// the order of Payload's hits, padding included. It holds fingerprints, or words, of the submission: leave them out when the statement
	// is passed on.
	Asked []byte `json:"asked,omitempty"`
}

// AskedSentence is one sentence of an Ask.
type AskedSentence struct {
	Fingerprint Fingerprint
	Gate        int // bits: the gate that the scheme gives the sentence; see Sentence
}

// MaxAsked is the largest number of sentences in one Ask; longer documents are split into several.
const MaxAsked = 8192

// Padded returns the number of sentences that an ask of n sends, dummies included, and is charged for: the next of 64, 80, 96, 112, 128,
// 160, 192, 224, 256 and so on, at most a quarter more than n from 64 on.
func Padded(n int) int {
	octave := 64
	for 2*octave <= n {
		octave *= 2
	}
	step := octave / 4
	return max(64, (n+step-1)/step*step)
}

// MaxRevealed is the largest number of passages in one RevealAsk.
const MaxRevealed = 64

// Ask is the question of one check to one partner: the first round. The fingerprints are made with the epoch's key.
type Ask struct {
	Job        JobID
	Epoch      Epoch
	Scheme     Scheme
	Libraries  []LibraryID     // at least one
	Sentences  []AskedSentence // 1 to MaxAsked; their order says nothing
	Probe      Probe
	Level      Show   // the highest level wanted
	Purpose    string // a word agreed in the federation, for example thesis
	Standing   bool   // asks to be notified of later documents, if the partner agrees
	Authors    [][16]byte
	Commitment [32]byte // to the submission's text, see Commit
}

// Commit returns the commitment to a text that a site sends with a question about it: SHA-256 over a label, the salt and the text's
// SHA-256. Without the salt, 32 random bytes, it reveals nothing about the text.
func Commit(salt []byte, text [sha256.Size]byte) [sha256.Size]byte {
	b := append([]byte("concordat/commitment/1\x00"), salt...)
	return sha256.Sum256(append(b, text[:]...))
}

// SiteAnswer is the answer to an Ask.
type SiteAnswer struct {
	Libraries []LibraryAnswer  // one for each library asked, in its order
	Documents []DocumentAnswer // of libraries with level counts or above, most matches first
	Hits      []Hit            // of libraries with level metadata or above: by Sentence, descending Closeness, Document, Ordinal
	Statement Statement        `json:"-"`
}

// LibraryAnswer is the part of a SiteAnswer about one library.
type LibraryAnswer struct {
	Library   LibraryID
	Level     Show     // granted; ShowNothing with a Refusal
	Refusal   *Refusal // nil: answered
	Ready     float64  // share of the library's documents with fingerprints of the epoch, 0 to 1, rounded down to hundredths
	Exists    bool     // something matches; false below ShowExists
	Documents int      // that match; at ShowCounts fewer than three are reported as 2, "few"
	Sentences int      // of the ask that match; likewise
	Missing   int      // shards that did not answer
	Capped    int      // 1 if something was cut short, see Answer.Capped; otherwise 0
	// What is left of today's budget after this answer; negative means no limit.
	LeftSentences, LeftDisclosures int
	Standing                       bool // later matches will be reported
}

// DocumentAnswer is a partner's document with matches. At ShowMetadata and above it says which document it is.
type DocumentAnswer struct {
	Handle  Handle
	Library int // index into SiteAnswer.Libraries
	Matches int // sentences of the ask that it matches; at ShowCounts fewer than three are 2
	Title   string
	Author  string
	Contact string    // person to contact
	Date    time.Time // date of the document; zero if unknown
	// Outline is the form in which the second round shows the document: OutlineWords,
	// OutlineFingerprints, or empty for none.
	Outline string
}

// Closeness is how near a partner's sentence is to one that was asked, in steps: exact distances would let an asker find out, bit by bit, a
// fingerprint that it does not have.
type Closeness uint8

// The steps of closeness.
const (
	CloseFar  Closeness = iota // within the scheme's gate: may be chance
	CloseNear                  // hardly ever chance
	CloseSame                  // the same fingerprint
)

// Hit is one of a partner's sentences that is near one that was asked.
type Hit struct {
	Sentence  int // index into Ask.Sentences
	Document  int // index into SiteAnswer.Documents
	Ordinal   int // of the sentence in its document
	Closeness Closeness
	// Documents is the number of the partner's documents that hold the sentence. Up to 20, it counts those of this answer; above 20, it
	// counts all that the partner has, rounded down to one digit but not below 21.
	Documents int
}

// Forms of an outline.
const (
	OutlineWords        = "words"        // keyed word sets (package align, Sketch)
	OutlineFingerprints = "fingerprints" // the fingerprints of the partner's sentences
)

// OutlineAsk asks for outlines of nominated documents: the second round.
type OutlineAsk struct {
	Job       JobID
	Epoch     Epoch
	Documents []OutlineOf
}

// OutlineOf names a document and, in ascending order, the sentences around which to show its outline.
type OutlineOf struct {
	Handle   Handle
	Ordinals []int
}

// Outlines is the answer to an OutlineAsk, with one document for each one asked about, in order.
type Outlines struct {
	Documents []Outline
	Statement Statement `json:"-"`
}

// Outline is the excerpt around a document's matches that its owner shows.
type Outline struct {
	Handle  Handle
	Refusal *Refusal // nil: shown
	Form    string   // OutlineWords or OutlineFingerprints
	Bits    int      // of a word's hash; 0 for fingerprints
	Length  int      // of the document's text, bytes
	Units   []OutlineUnit
}

// OutlineUnit is a unit of an outline, about one sentence; units are in the order of the text.
type OutlineUnit struct {
	Ordinal int
	Span    Span // in the partner's text
	Chars   int  // letters and digits, one Han character counting as three
	Words   []uint16
	// For fingerprints, the number of distinct features and a keyed hash of the words in order (package align, Check).
	Features    int
	Fingerprint Fingerprint
	Check       int
}

// EdgesAsk asks where passages that are probably copied word for word begin and end. This is the edge round: the asker shows the order of
// its own words, and the partner compares.
type EdgesAsk struct {
	Job      JobID
	Epoch    Epoch
	Handle   Handle
	Passages []EdgePassage
}

// EdgePassage is a passage that is probably copied.
type EdgePassage struct {
	Span  Span   // of the partner's text, as in its outline
	Words []byte // words of the asker's text in their order, each as one byte of a keyed hash (package align, Order)
}

// Edges is the answer to an EdgesAsk: the copies in each passage asked.
type Edges struct {
	Passages  [][]EdgeCopy
	Statement Statement `json:"-"`
}

// EdgeCopy is a literal copy: the asker's words [From, To) of the passage and where they are in the partner's text.
type EdgeCopy struct {
	From, To int
	Span     Span
}

// RevealAsk asks to see more of a match. It carries the asker's own words.
type RevealAsk struct {
	Job      JobID
	Epoch    Epoch
	Handle   Handle
	Level    Show // ShowOverlap or ShowPassage
	Passages []RevealPassage
	Reason   string // for the person who decides on ShowPassage
	Contact  string
}

// RevealPassage is one passage to be shown: its place in the partner's text, and the asker's own text for it.
type RevealPassage struct {
	Span Span // of the partner's text
	Text string
}

// Disclosure states of a request for full passages.
const (
	DisclosureGranted   = "granted"
	DisclosurePending   = "pending" // a person has been asked
	DisclosureRefused   = "refused"
	DisclosureExpired   = "expired"
	DisclosureWithdrawn = "withdrawn"
)

// Revealed is the answer to a RevealAsk, and to the same RevealAsk when it is repeated later.
type Revealed struct {
	State    string // of the disclosure
	Words    string // of the person who decided
	Until    time.Time
	Passages []RevealedPassage // of a granted request, one for each passage asked
	// Statement is signed by the partner.
	Statement Statement `json:"-"`
}

// RevealedPassage is one passage as shown.
type RevealedPassage struct {
	// Shared are runs of words, as spans of the asker's text, that the partner's passage also has, in
	// the same order. Nothing else of the passage is shown at ShowOverlap.
	Shared []Span
	Text   string // the partner's passage, at ShowPassage
}

// Catalogue lists the libraries that a site opens to a partner.
type Catalogue struct {
	Libraries []OpenLibrary
	// Heads are the ends of the audits of other members of the federations that both sites belong to, as the partner received them: each is
	// a crypto.Head in bytes, signed by its site. They let two sites notice that they are being shown different audits.
	Heads     [][]byte  `json:",omitempty"`
	Statement Statement `json:"-"`
}

// OpenLibrary is a library as a partner sees it.
type OpenLibrary struct {
	ID          LibraryID        `json:"id"`
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"`
	Documents   int              `json:"documents"` // rounded up to two digits
	Level       Show             `json:"level"`     // the highest level shown
	Outline     string           `json:"outline,omitempty"`
	Purposes    []string         `json:"purposes,omitempty"` // empty: any
	Ship        bool             `json:"ship,omitempty"`     // may be mirrored
	Standing    bool             `json:"standing,omitempty"` // keeps standing asks
	Ready       []EpochReadiness `json:"ready"`
	Embargo     time.Time        `json:"embargo,omitzero"`
	Expires     time.Time        `json:"expires,omitzero"`
	// The daily budgets of sentences and of disclosures; negative means no limit.
	Sentences   int `json:"sentences"`
	Disclosures int `json:"disclosures"`
}

// EpochReadiness is the share of a library that has fingerprints of an epoch.
type EpochReadiness struct {
	Epoch  Epoch   `json:"epoch"`
	Scheme Scheme  `json:"scheme"`
	Ready  float64 `json:"ready"` // share of documents, 0 to 1
}

// ShipAsk asks for the changes to a library since Cursor (history shipping).
type ShipAsk struct {
	Epoch   Epoch
	Library LibraryID
	Cursor  []byte // of the last Shipment, at most 64 bytes; nil means from the beginning
}

// Shipment is a part of a library as fingerprints only.
type Shipment struct {
	Scheme    Scheme
	Documents []ShippedDocument
	Cursor    []byte    // to continue from
	More      bool      // there is more to fetch now
	Statement Statement `json:"-"`
}

// ShippedDocument is one document of a mirror. If Removed is set, it no longer exists, and no other field is set.
type ShippedDocument struct {
	Handle  Handle
	Removed bool
	// Withheld says that the document is not in the mirror: the partner shows it, or has shown it, as word sets and
	// therefore not also as fingerprints.
	Withheld  bool
	Title     string // at level metadata or above
	Author    string
	Contact   string
	Date      time.Time
	Sentences []ShippedSentence
}

// ShippedSentence is one sentence of a mirrored document, in the order of its text.
type ShippedSentence struct {
	Fingerprint Fingerprint
	Ordinal     int
}

// Notice is an unsolicited message to a partner.
type Notice struct {
	Kind    string      // NoticeAlert, NoticeWithdrawn, NoticeDisclosure, NoticeEnded, NoticeCase
	Job     JobID       // of the ask; zero for NoticeWithdrawn
	Library LibraryID   // withdrawn
	Answer  *SiteAnswer `json:"Tell"` // for alerts: what matches now
	// Asked is len(Ask.Sentences) of the standing ask as the partner received it, padding included. The
	// transport needs it to give the hits of Answer the asker's own sentence numbers; 0 drops them.
	Asked int
	Words string
	At    time.Time
	Case  *CaseNote `json:",omitempty"` // of NoticeCase
}

// Kinds of notices.
const (
	NoticeAlert      = "alert"      // a later document matches a standing ask
	NoticeWithdrawn  = "withdrawn"  // a library is no longer open: its mirror is to be deleted
	NoticeDisclosure = "disclosure" // a request for passages was decided
	NoticeEnded      = "ended"      // the asker no longer wants matches of Job
	NoticeCase       = "case"       // the sender's view of a case that an alert of Job opened
)

// A Partner is another site as this one sees it. Its methods are safe for concurrent use, return when ctx ends, and fail with a *Refusal
// if the partner refuses and with ErrUnavailable if it does not answer.
type Partner interface {
	Site() SiteID
	Catalogue(ctx context.Context) (*Catalogue, error)
	Ask(ctx context.Context, a *Ask) (*SiteAnswer, error)
	Outline(ctx context.Context, a *OutlineAsk) (*Outlines, error)
	Edges(ctx context.Context, a *EdgesAsk) (*Edges, error)
	Reveal(ctx context.Context, a *RevealAsk) (*Revealed, error)
	Leads(ctx context.Context, a *LeadAsk) (*LeadAnswer, error)
	Ship(ctx context.Context, a *ShipAsk) (*Shipment, error)
	Notify(ctx context.Context, n *Notice) error
}

// An Answerer answers partners. from is the site that asks, whose identity has been verified. A refusal is a *Refusal; any other error
// reaches the asker as ReasonFault without its text. The caller adds the statements.
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
