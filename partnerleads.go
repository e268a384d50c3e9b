package concordat

import "time"

// MaxLeadCells is the largest number of cells in one LeadAsk, dummies included.
const MaxLeadCells = 8192

// KeyedTable returns the name of the table with the digest (meaning.Cells.Digest) whose cells are keyed with the secret of an epoch.
// Cells are keyed when they leave a site. Versions that send cells without a key name only the digest, so neither kind is mistaken for
// the other.
func KeyedTable(digest string) string { return digest + "-keyed-1" }

// LeadAsk asks which documents of a partner may restate the asked sentences in other words. It holds no text, only the cells of their
// meaning (package meaning), keyed with the secret of the epoch (crypto.CellCipher). A member of the federation can look up what the cells
// may stand for; nobody else can.
type LeadAsk struct {
	Job        JobID
	Epoch      Epoch       // of a federation that both sites belong to; handles are made with it
	Table      string      // table of the cells, see KeyedTable; cells of another table mean nothing
	Libraries  []LibraryID // at least one
	Purpose    string      // a word agreed in the federation
	Commitment [32]byte    // to the submission's text, see Commit
	// Cells is empty to ask only which of the libraries would answer; otherwise it has a length that Padded returns. The cells of one
	// stretch are adjacent; otherwise their order has no meaning.
	Cells []AskedCells
}

// AskedCells are the five cells of a sentence, or of two that follow one another, or a dummy.
type AskedCells struct {
	Stretch int  // from 0: cells with the same number are of sentences near one another
	Chinese bool // written mainly in Chinese characters
	Cells   [Bands]uint32
}

// LeadStep is how clearly a partner's sentence says the same as an asked one, in steps. Exact numbers would let an asker approach a
// sentence that it does not have.
type LeadStep uint8

// The steps.
const (
	LeadFar      LeadStep = iota // may be chance
	LeadNear                     // seldom chance
	LeadVeryNear                 // hardly ever chance
)

// LeadAnswer is the answer to a LeadAsk.
type LeadAnswer struct {
	Table     string // of the answering site
	Libraries []LeadLibraryAnswer
	Documents []LeadDocument
	Hits      []LeadHit // by Cells, then Document
	Statement Statement `json:"-"`
}

// LeadLibraryAnswer is the part of a LeadAnswer about one library, in the order asked.
type LeadLibraryAnswer struct {
	Library LibraryID
	Refusal *Refusal // nil if the library answered or would answer
	Missing int      // shards that did not answer
	// What is left of today's budget for asked cells and for sentences reported as near. Negative means no limit.
	LeftCells, LeftNear int
}

// LeadDocument is a partner's document that may restate asked sentences.
type LeadDocument struct {
	Handle  Handle
	Library int // index into LeadAnswer.Libraries
	Title   string
	Author  string
	Contact string
	Date    time.Time
	// Places are the places in its text, as bytes, in order and disjoint, that a request for its passages may name.
	Places []Span
}

// LeadHit says that a place in a document may say what the asked cells stand for.
type LeadHit struct {
	Cells    int // index into LeadAsk.Cells
	Document int // index into LeadAnswer.Documents
	Place    int // index into LeadDocument.Places
	Step     LeadStep
}
