package concordat

import "time"

// Kind is the relation between a passage and its source. Findings contain the first four kinds and KindCommon. A report also sets the
// other kinds, which follow from its rules and from a passage's surroundings.
type Kind string

// The kinds of evidence, strongest first.
const (
	KindVerbatim   Kind = "verbatim"   // the same words in the same order
	KindNear       Kind = "near"       // mostly the same words
	KindParaphrase Kind = "paraphrase" // reworked wording
	KindSummary    Kind = "summary"    // condensed from a much longer source
	KindCommon     Kind = "common"     // wording found in many documents; does not count alone
	KindTemplate   Kind = "template"   // wording of a form that was handed out; does not count
	KindForm       Kind = "form"       // resembles a form that was not provided; does not count
	KindSentence   Kind = "sentence"   // an isolated sentence; does not count
	KindUndecided  Kind = "undecided"  // many words in many documents, a form or copied; counts only if a person decides so
	KindWorks      Kind = "works"      // both cite the same works in their lists of references; only in rows of results
	KindLead       Kind = "lead"       // says the same thing in other words; only in rows of results
	KindQuotation  Kind = "quotation"  // in quotation marks or a block quotation
)

// Flag is a property of a text that a reader should know about, for example hidden text, look-alike letters or pages without a text
// layer.
type Flag struct {
	Code   string `json:"code"`             // stable, for example no_text_layer
	Detail string `json:"detail,omitempty"` // a plain sentence
	Count  int    `json:"count,omitempty"`
	Span   *Span  `json:"span,omitempty"` // location in the text, if it has one
	// Missing states that something visible in the file could not be read and is not in the text.
	Missing bool `json:"missing,omitempty"`
	// Letters counts the file's letters, marks and digits that are missing from the text for this reason. They could not be read or, if
	// Missing is false, a rule omitted them. Bytes is the size of the missing parts whose letters cannot be counted; 0 means none or
	// unknown.
	Letters int   `json:"letters,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

// Passage is a span of a submission that also occurs in a source. Evidence is made from passages.
type Passage struct {
	Span       Span   `json:"span"` // span of the submission's text
	Source     Ref    `json:"source"`
	Title      string `json:"title"`
	SourceSpan Span   `json:"source_span"` // span of the source's text in bytes
	// SourcePoints is SourceSpan in Unicode code points, set by the site that has the source's text; it is zero if not set.
	SourcePoints Span    `json:"source_points,omitzero"`
	Kind         Kind    `json:"kind"`
	Similarity   float64 `json:"similarity"` // share of the passage's words in common, 0 to 1
	// Text is the source's text at SourceSpan, if it may be shown; Before and After contain a little of the surrounding text.
	Text   string `json:"text,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Words pairs the equal word runs of both sides in the order of the submission; spans are in bytes of the two whole texts. Nil means
	// that words were not compared.
	Words []SpanPair `json:"words,omitempty"`
	// Shared lists the runs of words that also occur in a partner's passage, as spans of the submission, if the partner disclosed only
	// those.
	Shared []Span `json:"shared,omitempty"`
	// Documents is the number of compared documents that contain the rarest wording of the passage. In a comparison with libraries it
	// does not count the submission; in a batch it counts all documents. It is 0 if no word runs are equal or if documents were not
	// counted.
	Documents int `json:"documents,omitempty"`
	// Wording states why the passage is not evidence, either because both sides share it legitimately (common, template, form or
	// quotation) or because it is an isolated sentence. It is empty if the passage is evidence.
	Wording Kind `json:"wording,omitempty"`
	// Why is the part of a form that the passage resembles, if any; see package wording.
	Why string `json:"why,omitempty"`
}

// SpanPair is a span of the submission and the equal span of the source.
type SpanPair struct {
	Span   Span `json:"span"`
	Source Span `json:"source"`
}

// Source is a source document of a passage in a report, with the part of the passage that it contains.
type Source struct {
	Ref
	Title string
	Here  Span // part of the evidence that this source contains, in the submission's text
	// Span is the smallest span of the source's text that includes all Parts, in bytes; Points is the same span in Unicode code points,
	// or zero if unknown.
	Span, Points Span
	Kind         Kind        // kind of most of its characters
	Kinds        []KindCount // kinds of its characters; nil if they are shown as not counting
	Similarity   float64     // 0 to 1, mean over its characters
	Age
	// Parts are the matching pieces of both texts, in the order of the submission. There are several if the source was used in a
	// different order or with omissions.
	Parts []Passage
	// Excluded names the rule that excludes this source's share of the passage from the scores; it is empty if the share counts.
	Excluded Exclusion
}

// Age is the age of a source, as far as it is known.
type Age struct {
	Date  Date       // date of the document; empty if unknown
	By    DateOrigin // who stated the date
	Added time.Time  // when it was added to its library, which is not its date; zero if unknown
	// Oldest states that at least two sources of the passage have known dates and that none of them is certainly older than this one.
	// Several sources can be Oldest if their dates are not precise enough to decide between them.
	Oldest bool
	// Later states that the source is certainly later than the submission, whose date is known.
	Later bool
}

// Documents returns the largest count in Documents of the source's parts, or 0 if documents were not counted.
func (s *Source) Documents() int {
	n := 0
	for _, p := range s.Parts {
		n = max(n, p.Documents)
	}
	return n
}

// Evidence is a passage of the submission with all its sources, best first. The evidence of a report is disjoint and in text order.
type Evidence struct {
	Span    Span
	Section int  // index into the submission's sections, or -1
	Kind    Kind // kind of most of its characters, or why all of it is quoted or does not count
	// Kinds divides the characters of the passage among the kinds of evidence, the most frequent kind first. Each character has the
	// strongest of its kinds; if the passage counts, only counting characters are included.
	Kinds []KindCount
	// Characters is the number of letters, marks and digits of the passage that count.
	Characters int
	// Cited states that a citation is in the passage or immediately after it.
	Cited   bool
	Group   Group
	Sources []Source
	// Excluded names the rule that excludes the passage from the scores; it is empty if the passage counts.
	Excluded Exclusion
	// Why is the part of a form that the passage resembles: heading, question, instruction, declaration, clause, list or outline. It is
	// empty if the passage resembles none of these, or if this is unknown.
	Why string
}

// KindCount is the number of characters of one kind in a passage or in one of its sources.
type KindCount struct {
	Kind       Kind `json:"kind"`
	Characters int  `json:"characters"`
}

// Exclusion names the rule that excludes something from the scores. The empty Exclusion means that it counts.
type Exclusion string

// The exclusions.
const (
	ExcludedQuote        Exclusion = "quote"        // it is in quotation marks or a block quotation
	ExcludedBibliography Exclusion = "bibliography" // it is in the list of references
	ExcludedCitation     Exclusion = "citation"     // it is a citation marker, for example (Author, 2020)
	ExcludedSection      Exclusion = "section"      // its section is excluded
	ExcludedTemplate     Exclusion = "template"     // it is template wording
	ExcludedForm         Exclusion = "form"         // it resembles form wording
	ExcludedSentence     Exclusion = "sentence"     // it is an isolated sentence
	ExcludedUndecided    Exclusion = "undecided"    // many documents contain it, so a person must decide whether it counts
	ExcludedPassage      Exclusion = "passage"      // a person excluded this passage
	ExcludedCommon       Exclusion = "common"       // many documents contain it
	ExcludedSmall        Exclusion = "small"        // it is shorter than the minimum length
	ExcludedSource       Exclusion = "source"       // a person excluded its source
	ExcludedOwn          Exclusion = "own_work"     // its source is the author's earlier work
	ExcludedSmallSource  Exclusion = "small_source" // the whole source contains less than the minimum share
	ExcludedKind         Exclusion = "kind"         // its kind of evidence is excluded
	ExcludedGroup        Exclusion = "group"        // its group is excluded
)

// Consulted describes a library that was, or should have been, asked. If nothing answered, the result is "not measured", never "nothing
// found".
type Consulted struct {
	Site     SiteID        `json:"site"`
	Library  LibraryID     `json:"library"`
	Asked    int           `json:"asked"`           // sentences asked
	Answered int           `json:"answered"`        // sentences answered
	Empty    bool          `json:"empty,omitempty"` // a library of this site without documents
	Missing  []ShardID     `json:"missing"`         // shards that did not answer
	Capped   int           `json:"capped,omitempty"`
	Err      string        `json:"error,omitempty"`
	Took     time.Duration `json:"took_ns"`

	// The other fields are set only for a partner's library; Level is then not empty.

	Level    Show    `json:"level,omitempty"`    // granted level of disclosure
	Reason   Reason  `json:"reason,omitempty"`   // why it did not answer, or answered only in part
	Epoch    string  `json:"epoch,omitempty"`    // epoch of the fingerprints, for example health-sciences/3
	Unready  float64 `json:"unready,omitempty"`  // share of its documents, 0 to 1, not measured for lack of fingerprints of the epoch
	Withheld int     `json:"withheld,omitempty"` // sentences not sent because the partner has them in another form
	Exposed  Exposed `json:"exposed,omitzero"`
	Shown    Shown   `json:"shown,omitzero"`
	// Mirror is the date of the mirror that was asked instead of the partner, or zero if the partner itself was asked.
	Mirror   time.Time `json:"mirror,omitzero"`
	Standing bool      `json:"standing,omitempty"` // the partner will report later documents
	// Leads is the outcome of the question about leads: LeadsAsked or another constant below. It is empty if the check did not look for
	// leads.
	Leads string `json:"leads,omitempty"`
	// LeadsMissing counts the shards that did not answer that question, and LeadsUnasked counts the sentences at the end of a long text
	// that the question omitted.
	LeadsMissing int `json:"leads_missing,omitempty"`
	LeadsUnasked int `json:"leads_unasked,omitempty"`
}

// These are the outcomes of asking a partner's library for documents that say the same as the submission in other words.
const (
	LeadsAsked    = "asked"
	LeadsNone     = "none"     // no sentence was left to ask about
	LeadsWithheld = "withheld" // the remaining sentences were not sent because the partner has them in another form
	LeadsHere     = "here"     // this site does not ask partners
	LeadsClosed   = "closed"   // the library is not open for leads
	LeadsVersion  = "version"  // the partner's version does not support the question
	LeadsTable    = "table"    // the partner has no index of meaning, another table, or a version that expects unkeyed cells
	LeadsRefused  = "refused"  // for another reason, for example its budget
	LeadsFailed   = "failed"   // it did not answer
	LeadsMirror   = "mirror"   // a mirror contains no meaning codes
)

// LeadCount counts leads by people's decisions on them.
type LeadCount struct {
	All     int `json:"all"`
	Open    int `json:"open"`    // undecided
	Counted int `json:"counted"` // leads that a person decided to count
}

// Exposed counts the parts of a submission that a partner learned.
type Exposed struct {
	Sentences int `json:"sentences,omitempty"` // sentences sent as keyed fingerprints
	Cells     int `json:"cells,omitempty"`     // sentences sent as meaning codes
	Passages  int `json:"passages,omitempty"`  // passages whose wording was sent to see a match
	Letters   int `json:"letters,omitempty"`   // letters, marks and digits of those passages
}

// Shown counts the parts of a partner's library that this site learned. Below ShowMetadata, numbers below three are reported as two.
type Shown struct {
	Exists    bool `json:"exists,omitempty"`    // something matches
	Documents int  `json:"documents,omitempty"` // documents that match
	Sentences int  `json:"sentences,omitempty"` // sentences of the query that match
	Leads     int  `json:"leads,omitempty"`     // documents that may say the same
	Outlines  int  `json:"outlines,omitempty"`  // documents whose outline was shown
	Units     int  `json:"units,omitempty"`     // sentences in those outlines
	Words     int  `json:"words,omitempty"`     // words shown, each as one byte, to find exact edges
	Overlaps  int  `json:"overlaps,omitempty"`  // passages whose common words were shown
	Passages  int  `json:"passages,omitempty"`  // passages shown in full
}

// State is the state of a task.
type State string

// The states of a task.
const (
	TaskQueued  State = "queued"
	TaskRunning State = "running"
	TaskDone    State = "done"
	TaskPartial State = "partial" // done, but a partner or shard did not answer
	TaskFailed  State = "failed"
)

// Ended reports whether work on the task is over, successfully or not.
func (s State) Ended() bool { return s != TaskQueued && s != TaskRunning }

// Task is a check, in progress or ended.
type Task struct {
	ID    TaskID    `json:"id"`
	State State     `json:"state"`
	Title string    `json:"title"` // title of the submission
	Made  time.Time `json:"made"`
}

// Group classifies a passage by whether it is in quotation marks and whether it has a citation.
type Group string

// The groups.
const (
	GroupUncited     Group = "uncited"      // neither quotation marks nor a citation
	GroupUnquoted    Group = "unquoted"     // a citation but no quotation marks
	GroupUnsourced   Group = "unsourced"    // quotation marks but no citation
	GroupQuotedCited Group = "quoted_cited" // both quotation marks and a citation
)
