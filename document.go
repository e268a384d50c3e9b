package concordat

import (
	"strings"
	"time"
)

// Identities. Each has its own type, so that one is never passed for another.
type (
	SiteID     string // a member of the federation
	LibraryID  string // a collection of a site
	DocumentID string // a document of a library
	ShardID    string // a shard of a site's index
	TaskID     string // a check in progress or done
)

// Scheme names a fingerprint recipe: a short stable name, "@", and the first 16 hexadecimal digits
// of the recipe's SHA-256 digest, for example natural@0123456789abcdef. Equal values mean equal
// fingerprints for equal text; profiles of different schemes must not be compared.
type Scheme string

// Name returns the part of s before the digest.
func (s Scheme) Name() string {
	name, _, _ := strings.Cut(string(s), "@")
	return name
}

// Span is the half-open range of bytes [Start, End) of a Document's Text. Both ends lie on rune
// boundaries.
type Span struct {
	Start int `json:"start" minimum:"0"`
	End   int `json:"end" minimum:"0"`
}

// Len returns the number of bytes in s.
func (s Span) Len() int { return s.End - s.Start }

// Overlaps reports whether s and t share a byte.
func (s Span) Overlaps(t Span) bool { return s.Start < t.End && t.Start < s.End }

// In returns the part of text that s covers. s must lie within text.
func (s Span) In(text string) string { return text[s.Start:s.End] }

// Ref names a document across the federation.
type Ref struct {
	Site     SiteID     `json:"site"`
	Library  LibraryID  `json:"library" required:"false"`
	Document DocumentID `json:"document" required:"false"`
}

// String returns site/library/document.
func (r Ref) String() string {
	return string(r.Site) + "/" + string(r.Library) + "/" + string(r.Document)
}

// Document is a text under its name. Text is valid UTF-8.
type Document struct {
	Library LibraryID  `json:"library"`
	ID      DocumentID `json:"id"`
	Title   string     `json:"title"`
	Added   time.Time  `json:"added"`
	Text    string     `json:"text"`
}

// Sentence is a block of text of about 150 characters with its fingerprint.
type Sentence struct {
	Span        Span        `json:"span"`
	Fingerprint Fingerprint `json:"fingerprint"`
	// Gate is the largest distance in bits from which another sentence may nominate its document as
	// a source: the scheme's threshold for this sentence's kind of features.
	Gate int `json:"gate"`
	// Section is the index of the sentence's section in Profile.Sections, or -1.
	Section int `json:"section"`
}

// Section is a part of a document found by a template.
type Section struct {
	Name string `json:"name"`
	Span Span   `json:"span"`
}

// SkipReason says why a span was not fingerprinted.
type SkipReason string

// The reasons for which text is left out.
const (
	SkipShort    SkipReason = "short"    // a single sentence below the scheme's least length
	SkipFeatures SkipReason = "features" // too few features to distinguish it from any other text
	SkipSection  SkipReason = "section"  // the template excludes its section
	// SkipReferences marks entries of a list of references: they are compared as works, not word by word.
	SkipReferences SkipReason = "references"
)

// Skipped is a span of text that was not fingerprinted, and is therefore reported as not checked.
type Skipped struct {
	Span   Span       `json:"span"`
	Reason SkipReason `json:"reason"`
}

// Profile is a document with its sentences fingerprinted.
type Profile struct {
	Document Document
	Scheme   Scheme
	Indexed  []Sentence // in text order, disjoint: what an index stores
	Asked    []Sentence // in text order, may overlap: what a check asks; nil means Indexed
	// Terms are the distinct search terms of the text, ascending, each with a count above 0: what an index
	// stores for a TextSearcher. Nil means that the text cannot be searched by words.
	Terms []TermCount
	// Cells are the distinct cells of meaning of its sentences, ascending: what an index stores for a TextSearcher. Nil means
	// that they were not made; empty means that there are none.
	Cells []Cell
	// Windows are the queries by words of a check: the distinct terms, ascending, of each of the overlapping stretches of the text. Nil if
	// the profile was not made for a check.
	Windows  [][]TermCount
	Skipped  []Skipped // in text order
	Sections []Section // in text order, disjoint; nil without a template
	// Short are the pieces of the text, and its title, that are too short for a fingerprint and are
	// compared on request only; in text order, the title first.
	Short []ShortPiece
	// Characters is the number of normalised characters (letters, marks, digits) of the text.
	Characters int
}

// Questions returns Asked, or Indexed if Asked is nil.
func (p *Profile) Questions() []Sentence {
	if p.Asked != nil {
		return p.Asked
	}
	return p.Indexed
}

// ShortPiece is a title, a heading, or another paragraph too short for a fingerprint.
type ShortPiece struct {
	Span    Span   // in the text; zero for the title of the document
	Letters string // the text as it is compared: folded, without spaces
	Text    string // the text as the document has it
}

// SentenceVector is the vector of a sentence by an encoder, kept so that the sentence is not encoded again. It is deleted with the text
// that holds the sentence: a document of this site, or the submission of a task. If neither is given, it belongs to no text.
type SentenceVector struct {
	Digest [32]byte // of the sentence and its encoder
	Of     Ref
	Task   TaskID
	Vector []float32 // of length 1
}
