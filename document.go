package concordat

import (
	"strings"
	"time"
)

// Identities. Each has its own type, so that one cannot be passed in place of another.
type (
	SiteID     string // a member of the federation
	LibraryID  string // a collection of a site
	DocumentID string // a document of a library
	ShardID    string // a shard of a site's index
	TaskID     string // a check, in progress or ended
)

// Scheme identifies a fingerprint recipe by a short stable name, "@", and the first 16 hexadecimal digits of the recipe's SHA-256 digest,
// for example natural@0123456789abcdef. Equal schemes produce equal fingerprints for equal text; profiles of different schemes must not
// be compared.
type Scheme string

// Name returns the part of s before the digest.
func (s Scheme) Name() string {
	name, _, _ := strings.Cut(string(s), "@")
	return name
}

// Span is the half-open range of bytes [Start, End) of a Document's Text. Both ends are at rune boundaries.
type Span struct {
	Start int `json:"start" minimum:"0"`
	End   int `json:"end" minimum:"0"`
}

// Len returns the number of bytes in s.
func (s Span) Len() int { return s.End - s.Start }

// Overlaps reports whether s and t share a byte.
func (s Span) Overlaps(t Span) bool { return s.Start < t.End && t.Start < s.End }

// In returns the part of text covered by s. s must be within text.
func (s Span) In(text string) string { return text[s.Start:s.End] }

// Ref identifies a document across the federation.
type Ref struct {
	Site     SiteID     `json:"site"`
	Library  LibraryID  `json:"library" required:"false"`
	Document DocumentID `json:"document" required:"false"`
}

// String returns site/library/document.
func (r Ref) String() string {
	return string(r.Site) + "/" + string(r.Library) + "/" + string(r.Document)
}

// Document is a text with its Ref and metadata. Text is valid UTF-8.
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
	// Gate is the maximum distance in bits at which another sentence nominates its document as a source. It is the scheme's threshold for
	// this sentence's kind of features.
	Gate int `json:"gate"`
	// Section is the index of the sentence's section in Profile.Sections, or -1.
	Section int `json:"section"`
}

// Section is a part of a document found by a template.
type Section struct {
	Name string `json:"name"`
	Span Span   `json:"span"`
}

// SkipReason states why a span was not fingerprinted.
type SkipReason string

// The reasons for skipping text.
const (
	SkipShort    SkipReason = "short"    // a single sentence below the scheme's minimum length
	SkipFeatures SkipReason = "features" // too few features to distinguish it from other text
	SkipSection  SkipReason = "section"  // the template excludes its section
	// SkipReferences is for entries in a list of references, which are compared as works and not word by word.
	SkipReferences SkipReason = "references"
)

// Skipped is a span of text that was not fingerprinted and is therefore reported as not checked.
type Skipped struct {
	Span   Span       `json:"span"`
	Reason SkipReason `json:"reason"`
}

// Profile is a document with its fingerprinted sentences.
type Profile struct {
	Document Document
	Scheme   Scheme
	Indexed  []Sentence // in text order, disjoint; stored in an index
	Asked    []Sentence // in text order, may overlap; used by a check; nil means Indexed
	// Terms are the distinct search terms of the text in ascending order, each with a positive count. An index stores them for a
	// TextSearcher. Nil means that the text cannot be searched by words.
	Terms []TermCount
	// Cells are the distinct meaning cells of the sentences in ascending order. An index stores them for a TextSearcher. Nil means that
	// they were not computed; empty means that there are none.
	Cells []Cell
	// CellsBy identifies the definition by which Cells were computed if it is not that of this program; see index.PresentCells.
	CellsBy string
	// Windows are the text queries of a check. Each contains the distinct terms of one of the overlapping stretches of the text, in
	// ascending order. Windows is nil if the profile was not created for a check.
	Windows  [][]TermCount
	Skipped  []Skipped // in text order
	Sections []Section // in text order, disjoint; nil without a template
	// Short contains the title of the document, followed by the parts of its text that are too short for a fingerprint, in text order;
	// they are compared only on request.
	Short []ShortPiece
	// Characters is the number of normalised characters (letters, marks, digits) in the text.
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
	Span    Span   // span in the text; zero for the document's title
	Letters string // the text to compare, folded and without spaces
	Text    string // the original text
}

// SentenceVector is an encoder's vector for a sentence, kept so that the sentence is not encoded again. It is deleted with the text that
// contains the sentence, which is a document of this site or a task's submission. If neither is set, it belongs to no text.
type SentenceVector struct {
	Digest [32]byte // digest of the sentence and its encoder
	Of     Ref
	Task   TaskID
	Vector []float32 // has length 1
}
