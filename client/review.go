package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"concordat"
	"concordat/report"
)

// Rules determine what counts in a report. Spans are in code points of the submission.
type Rules = report.Rules

// Ruled contains the rules of a report and their revision, which is required to change them.
type Ruled struct {
	Revision int   `json:"revision"`
	Rules    Rules `json:"rules"`
	etag     string
}

func at(id concordat.TaskID, path string) string { return "/checks/" + escape(string(id)) + path }

// Rules returns the rules of a check's report.
func (c *Client) Rules(ctx context.Context, id concordat.TaskID) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodGet, path: at(id, "/rules")})
}

func (c *Client) ruled(ctx context.Context, r request) (Ruled, error) {
	var out Ruled
	h, err := c.call(ctx, r, &out)
	out.etag = h.Get("ETag")
	return out, err
}

// SetRules replaces the rules with seen.Rules. It fails with a Problem of kind changed if someone has changed them since seen was read.
func (c *Client) SetRules(ctx context.Context, id concordat.TaskID, seen Ruled) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPut, path: at(id, "/rules"), body: seen.Rules,
		header: http.Header{"If-Match": {seen.etag}}, once: true})
}

// UndoRules restores the rules in force before seen, or fails under the same condition as SetRules.
func (c *Client) UndoRules(ctx context.Context, id concordat.TaskID, seen Ruled) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/rules/undo"), header: http.Header{"If-Match": {seen.etag}},
		once: true})
}

// RuleChange is a change of the rules.
type RuleChange struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Action string    `json:"action"`  // set, undo, exclude-source and so on
	About  string    `json:"subject"` // what the action changed, in words
	Rules  Rules     `json:"rules"`   // rules in force after the change
}

// RuleChanges returns all changes of the rules, oldest first.
func (c *Client) RuleChanges(ctx context.Context, id concordat.TaskID) iter.Seq2[RuleChange, error] {
	return list[RuleChange](ctx, c, at(id, "/rules/history"), "changes", nil)
}

type exclusion struct {
	Exclude bool            `json:"exclude"`
	Source  *concordat.Ref  `json:"source,omitempty"`
	Passage *concordat.Span `json:"passage,omitempty"`
	Comment string          `json:"comment,omitempty"`
}

// ExcludeSource excludes a source from the scores, or includes it again. It keeps changes made by others.
func (c *Client) ExcludeSource(ctx context.Context, id concordat.TaskID, source concordat.Ref, exclude bool) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/exclusions"), body: exclusion{exclude, &source, nil, ""}})
}

// ExcludePassage excludes a passage from the scores, with a reason; the span is in code points of the submission.
func (c *Client) ExcludePassage(ctx context.Context, id concordat.TaskID, passage concordat.Span, reason string) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/exclusions"), body: exclusion{true, nil, &passage, reason},
		once: true})
}

// IncludePassage again includes all excluded passages that touch the span.
func (c *Client) IncludePassage(ctx context.Context, id concordat.TaskID, passage concordat.Span) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/exclusions"), body: exclusion{false, nil, &passage, ""}})
}

// CountWording counts a stretch of shared wording, with a reason; the span is in code points of the submission.
func (c *Client) CountWording(ctx context.Context, id concordat.TaskID, span concordat.Span, reason string) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/counted-wording"), body: countedWording{true, span, reason},
		once: true})
}

// UncountWording stops counting all shared wording that touches the span and was counted by a person's decision.
func (c *Client) UncountWording(ctx context.Context, id concordat.TaskID, span concordat.Span) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/counted-wording"), body: countedWording{false, span, ""}})
}

type countedWording struct {
	Count   bool           `json:"count"`
	Span    concordat.Span `json:"span"`
	Comment string         `json:"comment,omitempty"`
}

// DecideLead records the decision on a lead, identified by its span and source_span in the report. The lead counts (counted), is set
// aside (set_aside), or is undecided (open), which needs no reason.
func (c *Client) DecideLead(ctx context.Context, id concordat.TaskID, span, source concordat.Span, state, reason string) (Ruled, error) {
	return c.ruled(ctx, request{method: http.MethodPost, path: at(id, "/leads"), body: decidedLead{span, source, state, reason}, once: true})
}

type decidedLead struct {
	Span    concordat.Span `json:"span"`
	Source  concordat.Span `json:"source_span"`
	State   string         `json:"state"`
	Comment string         `json:"comment,omitempty"`
}

// Note is a comment, a verdict or a sign-off.
type Note struct {
	Seq     int       `json:"seq"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Kind    string    `json:"kind"` // comment, verdict or signoff
	Text    string    `json:"text"`
	Verdict string    `json:"verdict"` // clear, discuss or suspected
	Edited  time.Time `json:"edited"`  // time when a comment was edited; zero if never
	Passage string    `json:"passage"` // number of the commented passage; empty for the whole report or a passage that no longer exists
}

// Notes returns comments, verdicts and sign-offs, oldest first.
func (c *Client) Notes(ctx context.Context, id concordat.TaskID) iter.Seq2[Note, error] {
	return list[Note](ctx, c, at(id, "/notes"), "notes", nil)
}

// Verdict returns the current verdict and the people who agree with it. A Problem of kind not_found means that there is no verdict.
func (c *Client) Verdict(ctx context.Context, id concordat.TaskID) (Note, []string, error) {
	var out struct {
		Verdict   Note
		SignedOff []string `json:"signed_off"`
	}
	_, err := c.call(ctx, request{method: http.MethodGet, path: at(id, "/verdict")}, &out)
	return out.Verdict, out.SignedOff, err
}

func (c *Client) note(ctx context.Context, path string, body any) (Note, error) {
	var out Note
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, body: body, header: key("")}, &out)
	return out, err
}

// Comment adds a comment to a check.
func (c *Client) Comment(ctx context.Context, id concordat.TaskID, text string) (Note, error) {
	return c.note(ctx, at(id, "/comments"), map[string]string{"text": text})
}

// GiveVerdict gives a verdict (clear, discuss or suspected) with a reason.
func (c *Client) GiveVerdict(ctx context.Context, id concordat.TaskID, verdict, reason string) (Note, error) {
	return c.note(ctx, at(id, "/verdict"), map[string]string{"verdict": verdict, "text": reason})
}

// SignOff signs off the current verdict.
func (c *Client) SignOff(ctx context.Context, id concordat.TaskID) (Note, error) {
	return c.note(ctx, at(id, "/sign-off"), nil)
}
