package concordat

import "time"

// MaxLeadCells is the most cells of one LeadAsk, dummies included.
const MaxLeadCells = 8192

// KeyedTable names cells of the digest (meaning.Cells.Digest) that are keyed with the secret of an epoch, as they leave a
// site. Versions that send them without a key name the digest alone, so that neither takes the other's cells for its own.
func KeyedTable(digest string) string { return digest + "-keyed-1" }

// LeadAsk asks which documents of a partner may say in other words what sentences say. It holds the cells of their meaning
// (package meaning), keyed with the secret of the epoch (crypto.CellCipher), and no text. A member of the federation can look
// up what they may stand for; who is none cannot.
type LeadAsk struct {
	Job        JobID
	Epoch      Epoch       // of the federation that both are in, by which handles are made
	Table      string      // the cells, see KeyedTable: those of another table mean nothing
	Libraries  []LibraryID // at least one
	Purpose    string      // a word agreed in the federation
	Commitment [32]byte    // to the submission's text, see Commit
	// Cells is empty to ask only which of the libraries would answer, or has a length that Padded gives. Those of one
	// stretch stand together; else their order says nothing.
	Cells []AskedCells
}

// AskedCells are the five cells of a sentence, or of two that follow one another, or a dummy.
type AskedCells struct {
	Stretch int  // from 0: cells with one number are of sentences that stand near one another
	Chinese bool // written in Chinese characters, in the main
	Cells   [Bands]uint32
}

// LeadStep is how far the meaning of a partner's sentence stands out for one that was asked, in steps: with numbers a
// partner could walk towards a sentence that it does not have.
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
	Refusal *Refusal // nil: answered, or it would be
	Missing int      // shards that did not answer
	// Left of today's budget: of cells asked and of sentences told as near. Negative: no limit.
	LeftCells, LeftNear int
}

// LeadDocument is a document of a partner's that may say what was asked.
type LeadDocument struct {
	Handle  Handle
	Library int // index into LeadAnswer.Libraries
	Title   string
	Author  string
	Contact string
	Date    time.Time
	// Places are where in its text, bytes, in order and disjoint: what a request for its passages may name.
	Places []Span
}

// LeadHit says that a place of a document may say what cells stand for.
type LeadHit struct {
	Cells    int // index into LeadAsk.Cells
	Document int // index into LeadAnswer.Documents
	Place    int // index into LeadDocument.Places
	Step     LeadStep
}
