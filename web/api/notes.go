package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web"
	"concordat/web/bounds"
)

type apiListInput struct {
	ID string `path:"id"`
	bounds.PageInput
}

// apiNote is one thing that somebody decided.
type apiNote struct {
	Seq     int       `json:"seq" doc:"From 1, ascending"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Kind    string    `json:"kind" enum:"comment,verdict,signoff"`
	Text    string    `json:"text,omitempty"`
	Verdict string    `json:"verdict,omitempty" enum:"clear,discuss,suspected"`
}

type apiNotesOutput struct {
	Body struct {
		Notes []apiNote `json:"notes" nullable:"false"`
		Next  string    `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func noteOf(r store.Review) (apiNote, error) {
	out := apiNote{Seq: r.Seq, At: r.At, By: r.By, Kind: string(r.Kind), Text: r.Text}
	if r.Kind == store.ReviewVerdict {
		if err := json.Unmarshal(r.Data, &out.Verdict); err != nil {
			return out, fmt.Errorf("verdict %d: %w: %v", r.Seq, concordat.ErrCorrupt, err)
		}
	}
	return out, nil
}

// isNote reports whether a review is a note, and neither a change of the rules nor of how the case is handled.
func isNote(k store.ReviewKind) bool {
	return k == store.ReviewComment || k == store.ReviewVerdict || k == store.ReviewSignOff
}

// reviews returns a page of the reviews of a check: of the rules, or all others.
func (w api) reviews(ctx context.Context, in *apiListInput, rules bool) (out []store.Review, next string, err error) {
	t, err := w.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err != nil {
		return nil, "", err
	}
	now, err := w.Review(ctx, t.ID)
	if err != nil {
		return nil, "", err
	}
	if w.Sees(visitorOf(ctx), now) != web.SeeEverything {
		return nil, "", web.ErrNotShown // what officers wrote is theirs
	}
	list, after := listOfNotes, 0
	if rules {
		list = listOfRules
	}
	if err := list.Read(in.Cursor, &after); err != nil {
		return nil, "", err
	}
	all, err := w.Options().Store.Reviews(ctx, t.ID)
	for _, r := range all {
		if r.Seq <= after || (r.Kind == store.ReviewRules) != rules || !isNote(r.Kind) && !rules {
			continue
		}
		if len(out) == in.Limit {
			return out, list.Cursor(out[len(out)-1].Seq), err
		}
		out = append(out, r)
	}
	return out, "", err
}

func (w api) apiNotes(ctx context.Context, in *apiListInput) (*apiNotesOutput, error) {
	rs, next, err := w.reviews(ctx, in, false)
	if err != nil {
		return nil, err
	}
	out := &apiNotesOutput{}
	out.Body.Notes, out.Body.Next = []apiNote{}, next
	for _, r := range rs {
		n, err := noteOf(r)
		if err != nil {
			return nil, err
		}
		out.Body.Notes = append(out.Body.Notes, n)
	}
	return out, nil
}

type apiRuleChange struct {
	Seq    int        `json:"seq"`
	At     time.Time  `json:"at"`
	By     string     `json:"by"`
	Action string     `json:"action" doc:"set, undo, exclude-source and so on"`
	About  string     `json:"subject,omitempty" doc:"What of, in words for people"`
	Rules  apiRuleSet `json:"rules" doc:"From then on"`
}

type apiRulesHistoryOutput struct {
	Body struct {
		Changes []apiRuleChange `json:"changes" nullable:"false"`
		Next    string          `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w api) apiRulesHistory(ctx context.Context, in *apiListInput) (*apiRulesHistoryOutput, error) {
	r, err := w.reviewed(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	rs, next, err := w.reviews(ctx, in, true)
	if err != nil {
		return nil, err
	}
	out := &apiRulesHistoryOutput{}
	out.Body.Changes, out.Body.Next = []apiRuleChange{}, next
	for _, one := range rs {
		var rules report.Rules
		if err := json.Unmarshal(one.Data, &rules); err != nil {
			return nil, fmt.Errorf("rules of %s: %w: %v", in.ID, concordat.ErrCorrupt, err)
		}
		action, subject, _ := strings.Cut(one.Text, " ")
		out.Body.Changes = append(out.Body.Changes, apiRuleChange{one.Seq, one.At, one.By, action, subject, ruleSet(rules, r.count)})
	}
	return out, nil
}

type apiVerdictOutput struct {
	Body struct {
		Verdict   apiNote  `json:"verdict"`
		SignedOff []string `json:"signed_off" nullable:"false" doc:"Who agrees with it"`
	}
}

// signers are those who agree with the verdict in force.
func signers(r *web.Review) (out []string) {
	for _, s := range r.Signed {
		out = append(out, s.By)
	}
	return out
}

func (w api) apiVerdict(ctx context.Context, in *apiCheckInput) (*apiVerdictOutput, error) {
	t, err := w.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	now, err := w.Review(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if w.Sees(visitorOf(ctx), now) != web.SeeEverything {
		return nil, web.ErrNotShown
	}
	if now.Verdict == nil {
		return nil, fmt.Errorf("verdict of %s: %w", t.ID, concordat.ErrNotFound)
	}
	out := &apiVerdictOutput{}
	out.Body.SignedOff = append([]string{}, signers(now)...)
	out.Body.Verdict, err = noteOf(*now.Verdict)
	return out, err
}

type apiOneNoteOutput struct{ Body apiNote }

type apiCommentInput struct {
	ID string `path:"id"`
	KeyInput
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"10000"`
	}
}

func (w api) apiAddComment(ctx context.Context, in *apiCommentInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewComment)}, "text": {in.Body.Text}})
}

type apiGiveVerdictInput struct {
	ID string `path:"id"`
	KeyInput
	Body struct {
		Verdict string `json:"verdict" enum:"clear,discuss,suspected"`
		Text    string `json:"text" minLength:"1" maxLength:"10000" doc:"The reason"`
	}
}

func (w api) apiGiveVerdict(ctx context.Context, in *apiGiveVerdictInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewVerdict)}, "verdict": {in.Body.Verdict},
		"text": {in.Body.Text}})
}

type apiSignOffInput struct {
	ID string `path:"id"`
	KeyInput
}

func (w api) apiSignOff(ctx context.Context, in *apiSignOffInput) (*apiOneNoteOutput, error) {
	return w.apiAddNote(ctx, in.ID, in.Key, url.Values{"kind": {string(store.ReviewSignOff)}})
}

func (w api) apiAddNote(ctx context.Context, id, key string, f url.Values) (*apiOneNoteOutput, error) {
	v := visitorOf(ctx)
	return web.Once(ctx, w.Web, v, key, []any{"note", id, f}, func() (*apiOneNoteOutput, error) {
		t, err := w.Visible(ctx, v, concordat.TaskID(id))
		if err != nil {
			return nil, err
		}
		now, err := w.Review(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		n, err := w.Reports.KeepNote(ctx, v, t, now, f)
		if err != nil {
			return nil, err
		}
		one, err := noteOf(n)
		return &apiOneNoteOutput{one}, err
	})
}
