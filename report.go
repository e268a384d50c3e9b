package concordat

import "time"

// Kind says how a passage relates to its source.
type Kind string

// The kinds of evidence, strongest first.
const (
	KindVerbatim   Kind = "verbatim"   // the same words in the same order
	KindNear       Kind = "near"       // mostly the same words
	KindParaphrase Kind = "paraphrase" // reworked wording
	KindSummary    Kind = "summary"    // a much longer source condensed
	KindCommon     Kind = "common"     // wording found in many documents; gives no score alone
)

// Flag is something about a text that a reader should know: hidden text, look-alike letters,
// pages without a text layer.
type Flag struct {
	Code   string `json:"code"`             // stable, such as no_text_layer
	Detail string `json:"detail,omitempty"` // a plain sentence
	Count  int    `json:"count,omitempty"`
	Span   *Span  `json:"span,omitempty"` // where, if it has a place
}

// Passage is one span of a submission that one source also holds: the raw material of evidence.
type Passage struct {
	Span       Span    `json:"span"` // of the submission's text
	Source     Ref     `json:"source"`
	Title      string  `json:"title"`
	SourceSpan Span    `json:"source_span"`
	Kind       Kind    `json:"kind"`
	Similarity float64 `json:"similarity"` // 0 to 1: share of the passage's words in common
	// Text of the source at SourceSpan with a little around it, where it may be shown.
	Text   string `json:"text,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Words pairs the equal word runs of both sides, in order; spans are of the two texts.
	Words []SpanPair `json:"words,omitempty"`
	// Documents is the largest number of documents that hold one of the passage's sentences exactly.
	Documents int `json:"documents,omitempty"`
}

// SpanPair is a span of the submission and the equal span of the source.
type SpanPair struct {
	Span   Span `json:"span"`
	Source Span `json:"source"`
}

// Source is one origin of a passage in a report.
type Source struct {
	Ref
	Title      string
	Span       Span
	Kind       Kind
	Similarity float64
	Text       string // empty where it may not be shown
	Before     string
	After      string
	Words      []SpanPair
}

// Evidence is one passage of the submission with all its sources, best first.
type Evidence struct {
	Span    Span
	Section int // index into the submission's sections, or -1
	Kind    Kind
	Sources []Source
	// Excluded names the rule that takes the passage out of the scores; empty: it counts.
	Excluded string
}

// Consulted is one library that was, or should have been, asked. Nothing answered is "not
// measured", never "nothing found".
type Consulted struct {
	Site     SiteID        `json:"site"`
	Library  LibraryID     `json:"library"`
	Asked    int           `json:"asked"`    // sentences asked
	Answered int           `json:"answered"` // sentences answered
	Missing  []ShardID     `json:"missing"`  // shards that did not answer
	Capped   int           `json:"capped,omitempty"`
	Err      string        `json:"error,omitempty"`
	Took     time.Duration `json:"took_ns"`
}

// State of a task.
type State string

// The states of a task.
const (
	TaskQueued  State = "queued"
	TaskRunning State = "running"
	TaskDone    State = "done"
	TaskPartial State = "partial" // done, but something asked did not answer
	TaskFailed  State = "failed"
)

// Task is a check in progress or done.
type Task struct {
	ID    TaskID    `json:"id"`
	State State     `json:"state"`
	Title string    `json:"title"` // of the submission
	Cause string    `json:"cause,omitempty"`
	Made  time.Time `json:"made"`
}
