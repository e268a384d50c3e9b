package concordat

import "time"

// MaxLeadCells is the maximum number of cells in a LeadAsk, dummies included.
const MaxLeadCells = 8192

// KeyedTable returns the name of the table with the given digest (meaning.Cells.Digest) whose cells are keyed with an epoch's secret.
// Cells are keyed when they leave a site. Versions that send cells without a key use only the digest as the name, so the two kinds cannot
// be confused.
func KeyedTable(digest string) string { return digest + "-keyed-1" }

// LeadAsk asks which of a partner's documents may restate the given sentences in other words. It contains no text, only the cells of the
// sentences' meaning (package meaning), keyed with the epoch's secret (crypto.CellCipher). Only members of the federation can look up
// what the cells may mean.
type LeadAsk struct {
	Job        JobID
	Epoch      Epoch       // epoch of a federation to which both sites belong; handles depend on it
	Table      string      // table of the cells, see KeyedTable; cells of another table are meaningless
	Libraries  []LibraryID // at least one
	Purpose    string      // a word agreed in the federation
	Commitment [32]byte    // commitment to the submission's text; see Commit
	// Cells is empty to ask only which of the libraries would answer; otherwise its length is a result of Padded. The cells of a stretch
	// are adjacent; otherwise their order has no meaning.
	Cells []AskedCells
}

// AskedCells are the five cells of a sentence or of two consecutive sentences, or a dummy.
type AskedCells struct {
	Stretch int  // from 0; sentences near each other have the same number
	Chinese bool // written mainly in Chinese characters
	Cells   [Bands]uint32
}

// LeadStep grades how strongly a partner's sentence seems to restate a given one. With exact numbers, an asker could approximate an
// unknown sentence.
type LeadStep uint8

// The steps.
const (
	LeadFar      LeadStep = iota // may be coincidence
	LeadNear                     // seldom coincidence
	LeadVeryNear                 // hardly ever coincidence
)

// LeadAnswer is the answer to a LeadAsk.
type LeadAnswer struct {
	Table     string // table of the answering site
	Libraries []LeadLibraryAnswer
	Documents []LeadDocument
	Hits      []LeadHit // sorted by Cells, then Document
	Statement Statement `json:"-"`
}

// LeadLibraryAnswer is the part of a LeadAnswer about one library; libraries are in the requested order.
type LeadLibraryAnswer struct {
	Library LibraryID
	Refusal *Refusal // nil if the library answered or would answer
	Missing int      // shards that did not answer
	// The day's remaining budgets for asked cells and for sentences reported as near. Negative means no limit.
	LeftCells, LeftNear int
}

// LeadDocument is a partner's document that may restate sentences in the request.
type LeadDocument struct {
	Handle  Handle
	Library int // index into LeadAnswer.Libraries
	Title   string
	Author  string
	Contact string
	Date    time.Time
	// Places are the spans of its text, in bytes, that can be requested; they are in order and disjoint.
	Places []Span
}

// LeadHit states that a place in a document may have the meaning represented by the asked cells.
type LeadHit struct {
	Cells    int // index into LeadAsk.Cells
	Document int // index into LeadAnswer.Documents
	Place    int // index into LeadDocument.Places
	Step     LeadStep
}
