package concordat

import "context"

// Probe is the extent of an index's search around each band.
type Probe int

const (
	// ProbeExact looks up only the exact bands. It makes 5 look-ups and is complete up to Complete bits.
	ProbeExact Probe = iota
	// ProbeOne also looks up every band value with one changed nibble. It makes 5 × (1 + 5 × 15) = 380 look-ups and is complete up to
	// CompleteNibbles differing nibbles, and therefore up to nine bits.
	ProbeOne
)

// String returns "exact" or "one".
func (p Probe) String() string {
	if p == ProbeOne {
		return "one"
	}
	return "exact"
}

// Query asks for known sentences near the given fingerprints.
type Query struct {
	Scheme       Scheme
	Libraries    []LibraryID // if empty, all that the asker may see
	Exclude      []Ref       // documents that never match, such as the submission itself and its drafts
	Fingerprints []Fingerprint
	MaxDistance  int // in bits, inclusive; complete up to the probe's bound
	// MaxHashes, if positive, is the maximum number of differing 4-bit groups, and replaces MaxDistance. In a scheme with b = 4, these
	// are hashes. Unequal hashes differ in a random number of bits, so counting unequal hashes is more informative than counting bits.
	MaxHashes int
	Probe     Probe // extent of the search
	Limit     int   // maximum number of matches per fingerprint, nearest first; 0 means no limit
}

// Match is a known sentence near one of the query's fingerprints.
type Match struct {
	Sentence int    // index into Query.Fingerprints
	Source   Ref    // document that contains it
	Title    string // title of that document
	Ordinal  int    // index among the source's indexed sentences
	Span     Span   // span in the source's text
	Distance int    // in bits
	Hashes   int    // differing 4-bit groups, 0 to 25; see Query.MaxHashes
	// Documents is the number of documents in this index, in any library, that contain exactly the matched fingerprint. It is large for
	// common wording.
	Documents int
}

// Answer is the answer of one Matcher.
type Answer struct {
	Site SiteID
	// Matches are sorted by Sentence, then Distance, then Source, then Ordinal.
	Matches []Match
	Missing []ShardID // shards that did not answer; empty if the answer is complete
	// Capped is the number of look-ups truncated by a safety limit; 0 means that nothing was omitted.
	Capped int
}

// A Matcher finds known sentences near the sentences of a query. A shard is a Matcher, and so is a site's index, whether it is in this
// process, in another process or on several machines; another site is a [Partner]. Match is safe for concurrent use. It fails with
// ErrScheme if the query has a different scheme. A part that cannot be reached is listed in Answer.Missing and does not cause an error.
type Matcher interface {
	Match(ctx context.Context, q *Query) (*Answer, error)
}

// Term identifies a word for text retrieval. It is a hash of the word's stem or, in scripts written without spaces, of a short run of
// characters. Package segment computes terms.
type Term uint32

// Cell identifies a sentence's meaning cell (package meaning) by its band, its script and 20 bits.
type Cell uint32

// Cells is the number of cells; every Cell is smaller.
const Cells Cell = 2 * Bands << BandBits

// CellOf returns the cell of a band, 0 ≤ band < Bands, with the lower 20 bits of cell. chinese states that the sentence is written in
// Chinese characters, which have separate cells.
func CellOf(chinese bool, band int, cell uint32) Cell {
	if chinese {
		band += Bands
	}
	return Cell(band)<<BandBits | Cell(cell&bandMask)
}

// TermCount is a term with its number of occurrences.
type TermCount struct {
	Term  Term
	Count int
}

// TextStats are the statistics that determine the weights of terms. The statistics of several indexes can be added.
type TextStats struct {
	Documents int       // documents with terms, in any library
	Words     int64     // total occurrences of terms in these documents
	Meant     int       // documents, among Documents, whose cells are known, even if they have none
	Current   int       // documents, among Meant, without cells by an earlier definition
	Holding   []int     // number of documents that contain each of the terms, in the order of the request
	Missing   []ShardID // shards that did not answer; empty if the answer is complete
}

// WeightedTerm is a term with the weight of its presence, usually its inverse document frequency.
type WeightedTerm struct {
	Term   Term
	Weight float64
}

// BM25Max is k1 + 1, an upper bound, never reached, on the contribution of a term with weight 1 to a score.
const BM25Max = 2.2

// TextQuery asks for the documents that best match windows of a text. The score of a document in a window is Okapi BM25 (Robertson and
// Zaragoza 2009, section 3.4) with k1 = 1.2 and b = 0.75:
//
//	sum over terms of Weight * f * (k1+1) / (f + k1 * (1 - b + b*length/AverageLength))
//
// Here f is the number of occurrences of the term, and length is the number of occurrences of all terms in the document, rounded down to
// four significant binary digits and at most 2^18-1.
type TextQuery struct {
	// If Cells is set, each Term in Windows represents the Cell with the same number; the query finds documents with sentences in those
	// cells, and f is 1.
	Cells         bool
	Libraries     []LibraryID // if empty, all that the asker may see
	Exclude       []Ref       // documents that never match
	Windows       [][]WeightedTerm
	AverageLength float64 // Words / Documents of TextStats; must be positive
	Limit         int     // maximum number of documents per window, best first; must be positive
}

// TextMatch is a document that matches a window.
type TextMatch struct {
	Window int // index into TextQuery.Windows
	Source Ref
	Title  string
	Score  float64 // positive
}

// TextAnswer is the answer of one TextSearcher.
type TextAnswer struct {
	Site    SiteID
	Matches []TextMatch // sorted by Window, then descending Score, then Source
	Missing []ShardID   // shards that did not answer; empty if the answer is complete
}

// A TextSearcher finds documents by their words. It is the second search method, in addition to fingerprints. The query contains the
// weights, so that answers of several shards can be merged by score. Its methods are safe for concurrent use.
type TextSearcher interface {
	// TextStats counts the documents that contain each of the terms.
	TextStats(ctx context.Context, terms []Term) (*TextStats, error)
	// SearchText returns the documents with the highest scores in each window. It fails with ErrInvalid if Limit or AverageLength is not
	// positive, or if a weight is not finite and positive.
	SearchText(ctx context.Context, q *TextQuery) (*TextAnswer, error)
}

// Index is a store of profiles: one shard, or the union of a site's shards. It is safe for concurrent use. Refs contain the index's own
// site.
type Index interface {
	Matcher
	TextSearcher
	// Put stores the profiles. Each replaces the whole document with the same Ref. They are durable and visible to Match when Put
	// returns. After an error, none, some or all may be stored; it is safe to repeat the call. Put does not retain ps.
	Put(ctx context.Context, ps ...*Profile) error
	// Delete removes the documents; it ignores those that do not exist.
	Delete(ctx context.Context, refs ...Ref) error
	// Document returns a stored document with its text, or ErrNotFound.
	Document(ctx context.Context, r Ref) (*Document, error)
}

// Sketcher computes the fingerprint of a sentence from its features. Features are 64-bit hashes; a feature that occurs twice can be
// passed twice. The result does not depend on their order. Sketch is pure and safe for concurrent use; it returns the zero Fingerprint if
// there are no features.
type Sketcher interface {
	Sketch(features []uint64) Fingerprint
}
