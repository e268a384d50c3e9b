package concordat

import "context"

// Probe is how far around each band an index looks.
type Probe int

const (
	// ProbeExact looks up each band as it is: 5 look-ups, complete to Complete bits.
	ProbeExact Probe = iota
	// ProbeOne also looks up every band value with one changed nibble: 5 × (1 + 5 × 15) = 380
	// look-ups, complete to CompleteNibbles differing nibbles, and so to nine bits.
	ProbeOne
)

// String returns "exact" or "one".
func (p Probe) String() string {
	if p == ProbeOne {
		return "one"
	}
	return "exact"
}

// Query asks which known sentences lie near the given fingerprints.
type Query struct {
	Scheme       Scheme
	Libraries    []LibraryID // empty: all the asker may see
	Exclude      []Ref       // documents that are never matched: the submission itself, its drafts
	Fingerprints []Fingerprint
	MaxDistance  int // bits, inclusive; complete up to the probe's bound
	// MaxHashes, if above 0, replaces MaxDistance: it is the largest number of 4-bit groups that may differ. In a scheme with b = 4 these
	// are hashes. The number of bits in which two unequal hashes differ is then random, so the number of unequal hashes says more than the
	// number of bits.
	MaxHashes int
	Probe     Probe // how far to look
	Limit     int   // most matches for one fingerprint, nearest first; 0 means no limit
}

// Match is one known sentence near one asked fingerprint.
type Match struct {
	Sentence int    // index into Query.Fingerprints
	Source   Ref    // the document that holds it
	Title    string // of that document
	Ordinal  int    // index of the sentence among the source's indexed sentences
	Span     Span   // of the sentence in the source's text
	Distance int    // bits
	Hashes   int    // 4-bit groups that differ, 0 to 25: see Query.MaxHashes
	// Documents is the number of documents of this index, whatever their library, that hold the matched
	// fingerprint exactly: it is large for common wording.
	Documents int
}

// Answer is the answer of one Matcher.
type Answer struct {
	Site SiteID
	// Matches in order of Sentence, then Distance, then Source, then Ordinal.
	Matches []Match
	Missing []ShardID // shards that did not answer; empty: complete
	// Capped counts the look-ups that a safety limit cut short; 0 means that nothing was left out.
	Capped int
}

// A Matcher answers which known sentences lie near those asked. A shard is a Matcher, and so is a site's index, whether this process holds
// it, another process does, or several machines do; another site is a [Partner]. Match is safe for concurrent use; it fails with ErrScheme
// if the query's scheme is not the Matcher's. A part that cannot be reached is listed in Answer.Missing and causes no error.
type Matcher interface {
	Match(ctx context.Context, q *Query) (*Answer, error)
}

// Term names a word of a text in retrieval: a hash of its stem, or, in scripts written without
// spaces, of a short run of characters. Package segment makes terms.
type Term uint32

// Cell names a cell of meaning (package meaning) that contains a sentence: a band, the script, and 20 bits.
type Cell uint32

// Cells is the number of cells: every Cell is less.
const Cells Cell = 2 * Bands << BandBits

// CellOf returns the cell of a band, 0 ≤ band < Bands, with the lower 20 bits of cell. chinese says that the sentence is written in Chinese
// characters, whose cells are separate from all others.
func CellOf(chinese bool, band int, cell uint32) Cell {
	if chinese {
		band += Bands
	}
	return Cell(band)<<BandBits | Cell(cell&bandMask)
}

// TermCount is a term and how often it occurs.
type TermCount struct {
	Term  Term
	Count int
}

// TextStats are the statistics on which the weight of a term depends. Stats of several indexes add up.
type TextStats struct {
	Documents int       // documents with terms, in any library
	Words     int64     // occurrences of terms in all of them
	Meant     int       // of Documents, those whose cells are known, whether or not they have any
	Holding   []int     // for each term asked, in its order: the documents that hold it
	Missing   []ShardID // shards that did not answer; empty: complete
}

// WeightedTerm is a term with the weight of its presence, usually its inverse document frequency.
type WeightedTerm struct {
	Term   Term
	Weight float64
}

// BM25Max is the upper bound, never reached, on what a term of weight 1 adds to a score: k1 + 1.
const BM25Max = 2.2

// TextQuery asks which documents fit windows of a text best. The score of a document in a window is
// Okapi BM25 (Robertson and Zaragoza 2009, section 3.4) with k1 = 1.2 and b = 0.75:
//
//	sum over terms of Weight * f * (k1+1) / (f + k1 * (1 - b + b*length/AverageLength))
//
// for f occurrences of the term. length is the document's number of occurrences of terms; only its four highest
// binary digits count, up to 2^18-1.
type TextQuery struct {
	// Cells makes each Term of Windows stand for the Cell with the same number: the query then finds documents with sentences in those
	// cells, and f is 1.
	Cells         bool
	Libraries     []LibraryID // empty: all the asker may see
	Exclude       []Ref       // documents that are never matched
	Windows       [][]WeightedTerm
	AverageLength float64 // Words / Documents of TextStats; above 0
	Limit         int     // most documents for one window, best first; above 0
}

// TextMatch is a document that fits one window.
type TextMatch struct {
	Window int // index into TextQuery.Windows
	Source Ref
	Title  string
	Score  float64 // above 0
}

// TextAnswer is the answer of one TextSearcher.
type TextAnswer struct {
	Site    SiteID
	Matches []TextMatch // in order of Window, then descending Score, then Source
	Missing []ShardID   // shards that did not answer; empty: complete
}

// A TextSearcher finds documents by their words: the second channel, next to fingerprints. Weights
// come with the query, so that answers of several shards can be merged by score. Its methods are
// safe for concurrent use.
type TextSearcher interface {
	// TextStats counts the documents that hold each of the terms.
	TextStats(ctx context.Context, terms []Term) (*TextStats, error)
	// SearchText returns the documents with the highest scores in each window. It fails with
	// ErrInvalid if Limit or AverageLength is not above 0 or a weight is not finite and above 0.
	SearchText(ctx context.Context, q *TextQuery) (*TextAnswer, error)
}

// Index is a store of profiles: one shard, or the union of a site's shards. It is safe for
// concurrent use. Refs name the index's own site.
type Index interface {
	Matcher
	TextSearcher
	// Put stores the profiles. Each replaces the whole document of its Ref. They are durable and visible to
	// Match on return. After an error, none, some or all may be stored, and repeating the call is safe. Put
	// does not retain ps.
	Put(ctx context.Context, ps ...*Profile) error
	// Delete removes the documents; those that do not exist are ignored.
	Delete(ctx context.Context, refs ...Ref) error
	// Document returns a stored document with its text, or ErrNotFound.
	Document(ctx context.Context, r Ref) (*Document, error)
}

// Sketcher turns the features of a sentence into its fingerprint. Features are 64-bit hashes;
// a feature that occurs twice may be given twice. The result does not depend on their order.
// Sketch is pure and safe for concurrent use; without features it returns the zero Fingerprint.
type Sketcher interface {
	Sketch(features []uint64) Fingerprint
}
