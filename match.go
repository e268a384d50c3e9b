package concordat

import "context"

// Probe says how far around each band an index looks.
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
	MaxDistance  int   // bits, inclusive; complete up to the probe's bound
	Probe        Probe // how far to look
	Limit        int   // most matches for one fingerprint, nearest first; 0: no limit
}

// Match is one known sentence near one asked fingerprint.
type Match struct {
	Sentence int    // index into Query.Fingerprints
	Source   Ref    // the document that holds it
	Title    string // of that document
	Ordinal  int    // index of the sentence among the source's indexed sentences
	Span     Span   // of the sentence in the source's text
	Distance int    // bits
	// Documents is the number of documents of this index, whatever their library, that hold the
	// matched fingerprint exactly: large for common wording.
	Documents int
}

// Answer is what one Matcher found.
type Answer struct {
	Site SiteID
	// Matches in order of Sentence, then Distance, then Source, then Ordinal.
	Matches []Match
	Missing []ShardID // shards that did not answer; empty: complete
	// Capped counts the look-ups that a safety limit cut short; 0: nothing was left out.
	Capped int
}

// A Matcher answers which known sentences lie near those asked. A shard, a whole site and a peer
// are Matchers. Match is safe for concurrent use; it fails with ErrScheme if the query's scheme is
// not the Matcher's. A part that is out of reach is listed in Answer.Missing and is no error.
type Matcher interface {
	Match(ctx context.Context, q *Query) (*Answer, error)
}

// Index is a store of profiles: one shard, or the union of a site's shards. It is safe for
// concurrent use. Refs name the index's own site.
type Index interface {
	Matcher
	// Put stores the profiles, each replacing the document of its Ref whole. They are durable and
	// visible to Match on return; after an error none, some or all may be stored, and repeating
	// the call is safe. The profiles are not kept.
	Put(ctx context.Context, ps ...*Profile) error
	// Delete forgets the documents; one that is not there is no error.
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
