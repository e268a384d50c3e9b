package concordat

import "time"

// Kind says how a passage relates to its source. Findings hold the first four and KindCommon. A report also
// sets the others, which follow from its rules and from a passage's surroundings.
type Kind string

// The kinds of evidence, strongest first.
const (
	KindVerbatim   Kind = "verbatim"   // the same words in the same order
	KindNear       Kind = "near"       // mostly the same words
	KindParaphrase Kind = "paraphrase" // reworked wording
	KindSummary    Kind = "summary"    // a much longer source condensed
	KindCommon     Kind = "common"     // wording found in many documents; does not count alone
	KindTemplate   Kind = "template"   // wording of a form that was handed out; does not count
	KindForm       Kind = "form"       // reads like a form although none was given; does not count
	KindSentence   Kind = "sentence"   // an isolated sentence; does not count
	KindUndecided  Kind = "undecided"  // many words in many documents: a form, or copied? a person decides; does not count
	KindWorks      Kind = "works"      // both cite the same work in their lists of references; only in rows of results
	KindLead       Kind = "lead"       // says the same in other words; only in rows of results
	KindQuotation  Kind = "quotation"  // in quotation marks or a block quotation
)

// Flag is something about a text that a reader should know: hidden text, look-alike letters,
// pages without a text layer.
type Flag struct {
	Code   string `json:"code"`             // stable, for example no_text_layer
	Detail string `json:"detail,omitempty"` // a plain sentence
	Count  int    `json:"count,omitempty"`
	Span   *Span  `json:"span,omitempty"` // place in the text, if it has one
	// Missing says that something that a reader of the file may see could not be read and is not in the text.
	Missing bool `json:"missing,omitempty"`
	// Letters counts the letters, marks and digits of the file that are not in the text for this reason: those that were not read, or, if
	// Missing is false, those that a rule left out. Bytes is the size of the missing parts whose letters cannot be counted; 0 means none or
	// unknown.
	Letters int   `json:"letters,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

// Passage is one span of a submission that one source also holds: the raw material of evidence.
type Passage struct {
	Span       Span   `json:"span"` // of the submission's text
	Source     Ref    `json:"source"`
	Title      string `json:"title"`
	SourceSpan Span   `json:"source_span"` // bytes of the source's text
	// SourcePoints is SourceSpan in Unicode code points, filled in by the site that holds the source's text, or zero if
	// it was not filled in.
	SourcePoints Span    `json:"source_points,omitzero"`
	Kind         Kind    `json:"kind"`
	Similarity   float64 `json:"similarity"` // 0 to 1: share of the passage's words in common
	// Text is the source's text at SourceSpan, if it may be shown; Before and After hold a little of the text around it.
	Text   string `json:"text,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Words pairs the equal word runs of both sides, in the order of the submission; spans are bytes of the
	// two whole texts. Nil means that words were not compared.
	Words []SpanPair `json:"words,omitempty"`
	// Shared are the runs of words, as spans of the submission, that a partner's passage also contains, if the partner disclosed only
	// those.
	Shared []Span `json:"shared,omitempty"`
	// Documents is the number of compared documents that hold the rarest wording of the passage. For libraries the submission is not
	// counted; for a batch all documents are. It is 0 if no run of its words is equal, or if it was not counted.
	Documents int `json:"documents,omitempty"`
	// Wording says why the passage is not evidence: both sides share it legitimately, as common, template, form or quotation, or it is an
	// isolated sentence. It is empty if the passage is evidence.
	Wording Kind `json:"wording,omitempty"`
	// Why is the part of a form that the passage reads like, if it reads like one; see package wording.
	Why string `json:"why,omitempty"`
}

// SpanPair is a span of the submission and the equal span of the source.
type SpanPair struct {
	Span   Span `json:"span"`
	Source Span `json:"source"`
}

// Source is one origin of a passage in a report: a document, and the part of the passage that it holds.
type Source struct {
	Ref
	Title string
	Here  Span // of the submission's text: the part of the evidence this source holds
	// Span is the least span of the source's text that holds all Parts, in bytes; Points is the
	// same in Unicode code points, zero where unknown.
	Span, Points Span
	Kind         Kind        // of most of its characters
	Kinds        []KindCount // of its characters; nil if they are shown as what does not count
	Similarity   float64     // 0 to 1, mean over its characters
	Age
	// Parts are the matching pieces of both texts, in the order of the submission. There are several if the source was used in
	// another order or with something left out.
	Parts []Passage
	// Excluded names the rule that takes this source's share of the passage out of the scores; it is empty if
	// the share counts.
	Excluded Exclusion
}

// Age is the age of a source, as far as it is known.
type Age struct {
	Date  Date       // when the document is from; empty if unknown
	By    DateOrigin // who gave the date
	Added time.Time  // when it was added to its library, which is not its date; zero if unknown
	// Oldest says that none of the sources of the passage with known dates, of which there are at least two, is certainly older. Several
	// sources are Oldest if their dates are not exact enough to decide between them.
	Oldest bool
	// Later says that the source is certainly later than the submission, whose date is known.
	Later bool
}

// Documents returns the largest number of documents that hold one of the passage's sentences exactly, or 0 if it was not counted.
func (s *Source) Documents() int {
	n := 0
	for _, p := range s.Parts {
		n = max(n, p.Documents)
	}
	return n
}

// Evidence is one passage of the submission with all its sources, best first. The evidence of a
// report is disjoint and in text order.
type Evidence struct {
	Span    Span
	Section int  // index into the submission's sections, or -1
	Kind    Kind // of most of its characters, or why all of it is quoted or does not count
	// Kinds divides the characters of the passage among the kinds of evidence, those with most of them first. Each character is of the
	// strongest kind that holds it, and only what counts is divided if the passage counts.
	Kinds []KindCount
	// Characters is the number of letters, marks and digits of the passage that count.
	Characters int
	// Cited says that a citation is in the passage or right after it.
	Cited   bool
	Group   Group
	Sources []Source
	// Excluded names the rule that takes the passage out of the scores; it is empty if the passage counts.
	Excluded Exclusion
	// Why is the part of a form that the passage reads like: heading, question, instruction, declaration, clause, list or outline. It
	// is empty if the passage reads like none of these, or if this is not known.
	Why string
}

// KindCount is the number of characters of a passage, or of one source of it, that are of a kind.
type KindCount struct {
	Kind       Kind `json:"kind"`
	Characters int  `json:"characters"`
}

// Exclusion names the rule that takes something out of the scores. The empty Exclusion means that it counts.
type Exclusion string

// The exclusions.
const (
	ExcludedQuote        Exclusion = "quote"        // it is in quotation marks or a block quotation
	ExcludedBibliography Exclusion = "bibliography" // it is in the list of references
	ExcludedCitation     Exclusion = "citation"     // it is a citation marker, for example (Author, 2020)
	ExcludedSection      Exclusion = "section"      // its section is left out
	ExcludedTemplate     Exclusion = "template"     // it is template wording
	ExcludedForm         Exclusion = "form"         // it reads like wording of a form
	ExcludedSentence     Exclusion = "sentence"     // it is an isolated sentence
	ExcludedUndecided    Exclusion = "undecided"    // many documents contain it: a person must decide whether it counts
	ExcludedPassage      Exclusion = "passage"      // a person excluded this passage
	ExcludedCommon       Exclusion = "common"       // many documents hold it
	ExcludedSmall        Exclusion = "small"        // it is shorter than the minimum length
	ExcludedSource       Exclusion = "source"       // a person excluded its source
	ExcludedOwn          Exclusion = "own_work"     // its source is the author's earlier work
	ExcludedSmallSource  Exclusion = "small_source" // the whole source holds less than the minimum share
	ExcludedKind         Exclusion = "kind"         // its kind of evidence is left out
	ExcludedGroup        Exclusion = "group"        // its group is left out
)

// Consulted is one library that was, or should have been, asked. If nothing answered, the result is "not measured", never "nothing found".
type Consulted struct {
	Site     SiteID        `json:"site"`
	Library  LibraryID     `json:"library"`
	Asked    int           `json:"asked"`    // sentences asked
	Answered int           `json:"answered"` // sentences answered
	Missing  []ShardID     `json:"missing"`  // shards that did not answer
	Capped   int           `json:"capped,omitempty"`
	Err      string        `json:"error,omitempty"`
	Took     time.Duration `json:"took_ns"`

	// The other fields are set only for a partner's library; Level is then not empty.

	Level    Show    `json:"level,omitempty"`    // of disclosure, as granted
	Reason   Reason  `json:"reason,omitempty"`   // why it did not answer, or answered only in part
	Epoch    string  `json:"epoch,omitempty"`    // of the fingerprints, for example health-sciences/3
	Unready  float64 `json:"unready,omitempty"`  // share of its documents, 0 to 1, not measured for lack of fingerprints of the epoch
	Withheld int     `json:"withheld,omitempty"` // sentences that were not sent, as the partner holds them in another form
	Exposed  Exposed `json:"exposed,omitzero"`
	Shown    Shown   `json:"shown,omitzero"`
	// Mirror is the date of the mirror that was asked instead of the partner, or zero if the partner itself was asked.
	Mirror   time.Time `json:"mirror,omitzero"`
	Standing bool      `json:"standing,omitempty"` // the partner will report later documents
	// Leads is the outcome of the question about leads: LeadsAsked or another constant below. It is empty if leads were not looked for.
	Leads string `json:"leads,omitempty"`
	// LeadsMissing counts the shards that did not answer that question, and LeadsUnasked the sentences at the end of a
	// long text that are not read for their meaning.
	LeadsMissing int `json:"leads_missing,omitempty"`
	LeadsUnasked int `json:"leads_unasked,omitempty"`
}

// Outcomes of the question about leads: do documents of a partner's library say the same as the submission in other words?
const (
	LeadsAsked    = "asked"
	LeadsNone     = "none"     // no sentence was left to ask about
	LeadsWithheld = "withheld" // the remaining sentences were not sent, as the partner holds them in another form
	LeadsHere     = "here"     // this site does not ask partners
	LeadsClosed   = "closed"   // the library is not open for it
	LeadsVersion  = "version"  // the partner's version does not know the question
	LeadsTable    = "table"    // the partner has no index of meaning, another table, or a version that expects cells without a key
	LeadsRefused  = "refused"  // for another reason, for example its budget
	LeadsFailed   = "failed"   // it did not answer
	LeadsMirror   = "mirror"   // a mirror holds no codes of meaning
)

// LeadCount counts leads by people's decisions about them.
type LeadCount struct {
	All     int `json:"all"`
	Open    int `json:"open"`    // not yet decided
	Counted int `json:"counted"` // that a person decided to count
}

// Exposed counts the parts of a submission that became known at a partner.
type Exposed struct {
	Sentences int `json:"sentences,omitempty"` // as keyed fingerprints
	Cells     int `json:"cells,omitempty"`     // as codes of meaning, which have no key
	Passages  int `json:"passages,omitempty"`  // whose wording was sent in order to see a match
	Letters   int `json:"letters,omitempty"`   // letters, marks and digits of those passages
}

// Shown counts the parts of a partner's library that became known here. Below ShowMetadata, numbers below three are reported as two.
type Shown struct {
	Exists    bool `json:"exists,omitempty"`    // something matches
	Documents int  `json:"documents,omitempty"` // that match
	Sentences int  `json:"sentences,omitempty"` // of those asked that match
	Leads     int  `json:"leads,omitempty"`     // documents that may say the same
	Outlines  int  `json:"outlines,omitempty"`  // documents of which an outline was shown
	Units     int  `json:"units,omitempty"`     // sentences in those outlines
	Words     int  `json:"words,omitempty"`     // words shown as a byte each, to find exact edges
	Overlaps  int  `json:"overlaps,omitempty"`  // passages whose common words were shown
	Passages  int  `json:"passages,omitempty"`  // passages shown whole
}

// State of a task.
type State string

// The states of a task.
const (
	TaskQueued  State = "queued"
	TaskRunning State = "running"
	TaskDone    State = "done"
	TaskPartial State = "partial" // done, but a partner or shard did not answer
	TaskFailed  State = "failed"
)

// Task is a check in progress or done.
type Task struct {
	ID    TaskID    `json:"id"`
	State State     `json:"state"`
	Title string    `json:"title"` // of the submission
	Made  time.Time `json:"made"`
}

// Group classifies a passage by whether it is in quotation marks and whether it has a citation.
type Group string

// The groups.
const (
	GroupUncited     Group = "uncited"      // neither
	GroupUnquoted    Group = "unquoted"     // a citation, no quotation marks
	GroupUnsourced   Group = "unsourced"    // quotation marks, no citation
	GroupQuotedCited Group = "quoted_cited" // both
)
