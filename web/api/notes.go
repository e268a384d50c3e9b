package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/intake"
	"concordat/web/review"
)

type apiListInput struct {
	ID string `path:"id"`
	bounds.PageInput
}

// apiNote is a decision or a comment.
type apiNote struct {
	Seq     int       `json:"seq" doc:"Number of the note, ascending from 1"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Kind    string    `json:"kind" enum:"comment,verdict,signoff"`
	Text    string    `json:"text,omitempty"`
	Verdict string    `json:"verdict,omitempty" enum:"clear,discuss,suspected"`
	Edited  time.Time `json:"edited,omitzero" doc:"When the comment was edited"`
	Passage string    `json:"passage,omitempty" doc:"Number of the passage that a comment is about, as in the report; absent: the whole report, or no such passage under the rules in force"`
}

type apiNotesOutput struct {
	Body struct {
		Notes []apiNote `json:"notes" nullable:"false"`
		Next  string    `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

// noteOf returns a note in the API's form; now is the review that contains it.
func noteOf(r store.Review, now *review.Review, rep *report.Report) (apiNote, error) {
	out := apiNote{Seq: r.Seq, At: r.At, By: r.By, Kind: string(r.Kind), Text: r.Text, Edited: now.Edited[r.Seq],
		Passage: review.PassageOf(r, rep)}
	if r.Kind == store.ReviewVerdict {
		if err := json.Unmarshal(r.Data, &out.Verdict); err != nil {
			return out, fmt.Errorf("verdict %d: %w: %v", r.Seq, concordat.ErrCorrupt, err)
		}
	}
	return out, nil
}

// pageOf returns the page of all that starts after the cursor, and the cursor of the next page. seq returns the number of an entry.
func pageOf[T any](in *apiListInput, list bounds.List, all []T, seq func(T) int) (page []T, next string, err error) {
	after := 0
	if err := list.Read(in.Cursor, &after); err != nil {
		return nil, "", err
	}
	first := slices.IndexFunc(all, func(x T) bool { return seq(x) > after })
	if first < 0 {
		return nil, "", nil
	}
	if page = all[first:]; len(page) > in.Limit {
		page = page[:in.Limit]
		next = list.Cursor(seq(page[in.Limit-1]))
	}
	return page, next, nil
}

func (w reviewsAPI) apiNotes(ctx context.Context, in *apiListInput) (*apiNotesOutput, error) {
	now, rep, err := w.noted(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if w.api.Web.Reviews.Sees(visitorOf(ctx), now) != review.SeeEverything {
		return nil, review.ErrNotShown // only officers may see what officers wrote
	}
	rs, next, err := pageOf(in, listOfNotes, now.Notes, func(r store.Review) int { return r.Seq })
	if err != nil {
		return nil, err
	}
	out := &apiNotesOutput{}
	out.Body.Notes, out.Body.Next = []apiNote{}, next
	for _, r := range rs {
		n, err := noteOf(r, now, rep)
		if err != nil {
			return nil, err
		}
		out.Body.Notes = append(out.Body.Notes, n)
	}
	return out, nil
}

// apiRuleChange is a change of the rules.
type apiRuleChange struct {
	Seq     int          `json:"seq"`
	At      time.Time    `json:"at"`
	By      string       `json:"by"`
	Action  string       `json:"action" doc:"What was done: set, undo, exclude-source and so on"`
	Subject string       `json:"subject,omitempty" doc:"Subject of the change, in plain words"`
	Rules   report.Rules `json:"rules" doc:"Rules after the change"`
}

// changeOf returns a rule change in the API's form; count counts the submission's code points.
func changeOf(c review.Change, count *report.Counter) apiRuleChange {
	return apiRuleChange{c.Seq, c.At, c.By, c.Action, c.Subject, c.After.InPoints(count)}
}

type apiRulesHistoryOutput struct {
	Body struct {
		Changes []apiRuleChange `json:"changes" nullable:"false"`
		Next    string          `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w reviewsAPI) apiRulesHistory(ctx context.Context, in *apiListInput) (*apiRulesHistoryOutput, error) {
	r, err := w.reviewed(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	page, next, err := pageOf(in, listOfRules, r.now.Log, func(c review.Change) int { return c.Seq })
	if err != nil {
		return nil, err
	}
	out := &apiRulesHistoryOutput{}
	out.Body.Changes, out.Body.Next = []apiRuleChange{}, next
	for _, c := range page {
		out.Body.Changes = append(out.Body.Changes, changeOf(c, r.count))
	}
	return out, nil
}

type apiVerdictOutput struct {
	Body struct {
		Verdict   apiNote  `json:"verdict"`
		SignedOff []string `json:"signed_off" nullable:"false" doc:"Who agrees with the verdict"`
	}
}

// signers returns the people who agreed with the current verdict.
func signers(r *review.Review) (out []string) {
	for _, s := range r.Signed {
		out = append(out, s.By)
	}
	return out
}

func (w reviewsAPI) apiVerdict(ctx context.Context, in *apiCheckInput) (*apiVerdictOutput, error) {
	t, err := w.api.Web.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	if w.api.Web.Reviews.Sees(visitorOf(ctx), now) != review.SeeEverything {
		return nil, review.ErrNotShown
	}
	if now.Verdict == nil {
		return nil, fmt.Errorf("verdict of %s: %w", t.ID, concordat.ErrNotFound)
	}
	out := &apiVerdictOutput{}
	out.Body.SignedOff = append([]string{}, signers(now)...)
	out.Body.Verdict, err = noteOf(*now.Verdict, now, nil)
	return out, err
}

type apiOneNoteOutput struct{ Body apiNote }

type apiCommentInput struct {
	ID string `path:"id"`
	KeyInput
	Body struct {
		Text    string `json:"text" minLength:"1" maxLength:"10000"`
		Passage string `json:"passage,omitempty" pattern:"^([1-9][0-9]*[a-z]*)?$" maxLength:"20" doc:"Number of the passage that the comment is about, as in the report; absent: the whole report"`
	}
}

func (w reviewsAPI) apiAddComment(ctx context.Context, in *apiCommentInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewComment)}, "text": {in.Body.Text}}, in.Body.Passage)
}

// passageAt returns the span of the passage with the given number under the current rules.
func (w reviewsAPI) passageAt(ctx context.Context, v *pages.Visitor, t store.Task, number string) (concordat.Span, error) {
	absent := fmt.Errorf("passage %s of %s: %w", number, t.ID, concordat.ErrNotFound)
	if !pages.HasReport(t) {
		return concordat.Span{}, absent
	}
	rep, err := w.api.Web.Reports.Current(ctx, v, t, report.English)
	if err != nil {
		return concordat.Span{}, err
	}
	i := rep.Numbered(number)
	if i < 0 {
		return concordat.Span{}, absent
	}
	return rep.Evidence[i].Span, nil
}

// noted returns the review of a check and its report under the current rules. The report is nil if the check has none.
func (w reviewsAPI) noted(ctx context.Context, id string) (*review.Review, *report.Report, error) {
	t, err := w.api.Web.Visible(ctx, visitorOf(ctx), concordat.TaskID(id))
	if err != nil {
		return nil, nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	if err != nil || !pages.HasReport(t) {
		return now, nil, err
	}
	rep, err := w.api.Web.Reports.Current(ctx, visitorOf(ctx), t, report.English)
	return now, rep, err
}

type apiChangeCommentInput struct {
	ID      string `path:"id"`
	Comment int    `path:"comment" minimum:"1" doc:"Number (seq) of the comment"`
	Body    struct {
		Text string `json:"text" minLength:"1" maxLength:"10000"`
	}
}

func (w reviewsAPI) apiChangeComment(ctx context.Context, in *apiChangeCommentInput) (*apiOneNoteOutput, error) {
	if strings.TrimSpace(in.Body.Text) == "" {
		return nil, message.Invalid("wrong.comment")
	}
	v, t, _, err := w.apiReviewed(ctx, in.ID)
	if err == nil {
		err = w.api.Web.Reviews.ChangeComment(ctx, v, t, in.Comment, in.Body.Text)
	}
	if err != nil {
		return nil, err
	}
	now, rep, err := w.noted(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	for _, n := range now.Notes {
		if n.Seq == in.Comment {
			one, err := noteOf(n, now, rep)
			return &apiOneNoteOutput{one}, err
		}
	}
	return nil, fmt.Errorf("comment %d on %s: %w", in.Comment, in.ID, concordat.ErrNotFound)
}

type apiCommentPath struct {
	ID      string `path:"id"`
	Comment int    `path:"comment" minimum:"1" doc:"Number (seq) of the comment"`
}

func (w reviewsAPI) apiRemoveComment(ctx context.Context, in *apiCommentPath) (*struct{}, error) {
	v, t, _, err := w.apiReviewed(ctx, in.ID)
	if err == nil {
		err = w.api.Web.Reviews.ChangeComment(ctx, v, t, in.Comment, "")
	}
	return nil, err
}

type apiGiveVerdictInput struct {
	ID string `path:"id"`
	KeyInput
	Body struct {
		Verdict string `json:"verdict" enum:"clear,discuss,suspected"`
		Text    string `json:"text" minLength:"1" maxLength:"10000" doc:"The reason"`
	}
}

func (w reviewsAPI) apiGiveVerdict(ctx context.Context, in *apiGiveVerdictInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewVerdict)}, "verdict": {in.Body.Verdict},
		"text": {in.Body.Text}}, "")
}

type apiSignOffInput struct {
	ID string `path:"id"`
	KeyInput
}

func (w reviewsAPI) apiSignOff(ctx context.Context, in *apiSignOffInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewSignOff)}}, "")
}

// apiAddNote adds a note from a form; passage is the number of the passage that it concerns.
func (w reviewsAPI) apiAddNote(ctx context.Context, id, key string, f url.Values, passage string) (*apiOneNoteOutput, error) {
	v := visitorOf(ctx)
	return intake.Once(ctx, w.api.Web.Options().Store, v, key, []any{"note", id, f, passage}, func() (*apiOneNoteOutput, error) {
		t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(id))
		if err != nil {
			return nil, err
		}
		now, err := w.api.Web.Reviews.Of(ctx, t)
		if err != nil {
			return nil, err
		}
		if passage != "" {
			at, err := w.passageAt(ctx, v, t, passage)
			if err != nil {
				return nil, err
			}
			f.Set("start", strconv.Itoa(at.Start))
			f.Set("end", strconv.Itoa(at.End))
		}
		n, err := w.api.Web.Reviews.KeepNote(ctx, v, t, now, f)
		if err != nil {
			return nil, err
		}
		one, err := noteOf(n, now, nil)
		one.Passage = passage
		return &apiOneNoteOutput{one}, err
	})
}
