package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/review"
)

// reviewsAPI has the operations with which people judge a report: its rules, leads, notes and verdict.
type reviewsAPI struct{ api api }

// apiOfReviews adds the operations on report reviews.
func (w reviewsAPI) apiOfReviews(a huma.API) {
	register(w.api, a, operation{id: "get-review", method: http.MethodGet, path: "/checks/{id}/review",
		summary: "Verdict, comments and changes of the rules of a report", scope: scopeRead, roles: pages.Everyone}, w.apiReview)
	register(w.api, a, operation{id: "change-rules", method: http.MethodPost, path: "/checks/{id}/rules",
		needs:   rulesNeeds(),
		summary: "Change what counts in a report; it is rescored at once", scope: scopeReview, roles: pages.Officers, body: bounds.ListsBody}, w.apiRules)
	register(w.api, a, operation{id: "add-note", method: http.MethodPost, path: "/checks/{id}/notes",
		needs: []*huma.Schema{need(map[string]any{"kind": store.ReviewComment}, "text"),
			need(map[string]any{"kind": store.ReviewVerdict}, "text", "verdict"), need(map[string]any{"kind": store.ReviewSignOff})},
		summary: "Add a comment or a verdict, or sign a verdict off", scope: scopeReview, roles: pages.Officers, body: bounds.WordsBody}, w.apiNote)
	register(w.api, a, operation{id: "get-case-library", method: http.MethodGet, path: "/checks/{id}/library",
		summary: "Library to which the submission of a check was added", scope: scopeReview, roles: pages.Officers}, w.apiCaseLibrary)
	register(w.api, a, operation{id: "add-case-to-library", method: http.MethodPut, path: "/checks/{id}/library",
		summary: "Add the submission of a check to a library, so that later ones are compared with it", scope: scopeReview,
		roles: pages.Officers, status: http.StatusAccepted,
		text: "The setting submissions.add must allow it. The document has been added once state is added; the same call then changes nothing. A repetition of the check leaves the document out."},
		w.apiAddCase)
	registerEmpty(w.api, a, operation{id: "remove-case-from-library", method: http.MethodDelete, path: "/checks/{id}/library",
		summary: "Remove the submission of a check from the library to which it was added", scope: scopeReview, roles: pages.Officers,
		status: http.StatusNoContent}, w.apiRemoveCase)
}

// sourceActions are the actions of change-rules that concern a source.
var sourceActions = []string{"exclude-source", "include-source", "own-work", "not-own-work", "dismiss-own-work"}

// rulesNeeds returns, for each action of change-rules, a schema of its required fields.
func rulesNeeds() []*huma.Schema {
	var out []*huma.Schema
	for _, action := range []string{"set", "undo", "include-passage", "uncount-wording", "template-passage", "clear-templates"} {
		out = append(out, need(map[string]any{"action": action}))
	}
	for _, action := range sourceActions {
		out = append(out, need(map[string]any{"action": action}, "site"))
	}
	return append(out, need(map[string]any{"action": "exclude-group"}, "group"), need(map[string]any{"action": "include-group"}, "group"),
		need(map[string]any{"action": "exclude-passage"}, "comment"),
		need(map[string]any{"action": "count-wording"}, "comment"), need(map[string]any{"action": "add-template"}, "text"))
}

type apiReviewOutput struct {
	Body struct {
		Headline string             `json:"headline"`
		Coverage *float64           `json:"coverage" doc:"Share that counts by the rules in force; null: nothing was compared"`
		Verdict  string             `json:"verdict,omitempty" enum:"clear,discuss,suspected"`
		By       string             `json:"by,omitempty"`
		At       time.Time          `json:"at,omitzero"`
		Signed   []report.SignedOff `json:"signed_off"`
		Stale    bool               `json:"stale" doc:"Whether the rules have changed since the verdict"`
		Notes    []apiNote          `json:"notes"`
		Changes  []apiRuleChange    `json:"changes" doc:"Changes of the rules, oldest first"`
	}
}

func (w reviewsAPI) apiReview(ctx context.Context, in *apiCheckInput) (*apiReviewOutput, error) {
	v := visitorOf(ctx)
	t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(in.ID))
	var rep *report.Report
	if err == nil {
		rep, err = w.api.Web.Reports.Current(ctx, v, t, report.English)
	}
	var now *review.Review
	if err == nil {
		now, err = w.api.Web.Reviews.Of(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	out := &apiReviewOutput{}
	b := &out.Body
	b.Headline, b.Signed, b.Stale, b.Notes, b.Changes = rep.Headline(), append([]report.SignedOff{}, now.Signed...), now.Stale,
		[]apiNote{}, []apiRuleChange{}
	if rep.Scores.Measured() {
		b.Coverage = &rep.Scores.Covered
	}
	if w.api.Web.Reviews.Sees(v, now) != review.SeeEverything { // only officers may see what officers wrote
		b.Signed, b.Stale = []report.SignedOff{}, false
		return out, nil
	}
	if now.Verdict != nil {
		b.Verdict, b.By, b.At = now.Code(), now.Verdict.By, now.Verdict.At
	}
	for _, n := range now.Notes {
		one, err := noteOf(n, now, rep)
		if err != nil {
			return nil, err
		}
		b.Notes = append(b.Notes, one)
	}
	count := report.NewCounter(rep.Submission.Text)
	for _, c := range now.Log {
		b.Changes = append(b.Changes, changeOf(c, count))
	}
	return out, nil
}

// apiReviewed returns a check for a program to review.
func (w reviewsAPI) apiReviewed(ctx context.Context, id string) (*pages.Visitor, store.Task, *review.Review, error) {
	v := visitorOf(ctx)
	t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(id))
	if err != nil {
		return v, t, nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	return v, t, now, err
}

type apiRulesInput struct {
	ID   string `path:"id"`
	Body struct {
		Action   string               `json:"action" enum:"set,undo,exclude-source,include-source,own-work,not-own-work,dismiss-own-work,exclude-passage,include-passage,count-wording,uncount-wording,template-passage,add-template,clear-templates,exclude-group,include-group"`
		Site     concordat.SiteID     `json:"site,omitempty" doc:"Site of a source, given with library and document"`
		Library  concordat.LibraryID  `json:"library,omitempty"`
		Document concordat.DocumentID `json:"document,omitempty"`
		Start    int                  `json:"start,omitempty" minimum:"0" doc:"Start of a passage, in code points of the submission"`
		End      int                  `json:"end,omitempty" minimum:"0"`
		Comment  string               `json:"comment,omitempty" doc:"Why a passage is excluded, or wording counted"`
		Text     string               `json:"text,omitempty" doc:"Template wording"`
		Group    concordat.Group      `json:"group,omitempty" enum:"uncited,unquoted,unsourced,quoted_cited" doc:"Group of passages"`
		Set      ruleSettings         `json:"set,omitzero" doc:"Rules of the whole report, for the action set"`
	}
}

// ruleSettings are the rules for a whole report, in the form that the action set accepts.
type ruleSettings struct {
	report.Rules
	CountCommon bool `json:"count_common,omitempty"`
}

// TransformSchema makes the properties from report.RuleTable optional.
func (ruleSettings) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	all := map[string]*huma.Schema{}
	for _, r := range report.RuleTable() {
		all[r.Name] = s.Properties[r.Name]
		if r.Never != "" {
			all[r.Never] = s.Properties[r.Never]
		}
	}
	s.Properties, s.Required = all, nil
	s.PrecomputeMessages()
	return s
}

// form converts the input to the form that the page sends. text is the text of the submission.
func (in *apiRulesInput) form(text string) url.Values {
	b, f := in.Body, review.RuleForm(in.Body.Set.Rules)
	span := report.NewCounter(text).Bytes(concordat.Span{Start: b.Start, End: b.End})
	for name, value := range map[string]string{"action": b.Action, "site": string(b.Site), "library": string(b.Library),
		"document": string(b.Document), "start": strconv.Itoa(span.Start), "end": strconv.Itoa(span.End), "comment": b.Comment,
		"text": b.Text, "group": string(b.Group)} {
		f.Set(name, value)
	}
	if b.Set.CountCommon {
		f.Set("count_common", "on")
	}
	return f
}

func (w reviewsAPI) apiRules(ctx context.Context, in *apiRulesInput) (*apiReviewOutput, error) {
	if slices.Contains(sourceActions, in.Body.Action) && strings.TrimSpace(string(in.Body.Site)) == "" {
		return nil, fmt.Errorf("%w: the source is missing its site", concordat.ErrInvalid)
	}
	v, t, now, err := w.apiReviewed(ctx, in.ID)
	var rep *report.Report
	if err == nil {
		rep, err = w.api.Web.Reports.Current(ctx, v, t, report.English)
	}
	if err == nil {
		_, err = w.api.Web.Reviews.ApplyRules(ctx, v, t, now, in.form(rep.Submission.Text))
	}
	if err != nil {
		return nil, err
	}
	return w.apiReview(ctx, &apiCheckInput{in.ID})
}

type apiNoteInput struct {
	ID   string `path:"id"`
	Body struct {
		Kind    store.ReviewKind `json:"kind" enum:"comment,verdict,signoff"`
		Text    string           `json:"text,omitempty"`
		Verdict string           `json:"verdict,omitempty" enum:"clear,discuss,suspected"`
		Of      int              `json:"of,omitempty" minimum:"0" doc:"Number of the verdict that is signed off; 0: the latest"`
	}
}

func (w reviewsAPI) apiNote(ctx context.Context, in *apiNoteInput) (*apiReviewOutput, error) {
	v, t, now, err := w.apiReviewed(ctx, in.ID)
	if err == nil {
		f := url.Values{"kind": {string(in.Body.Kind)}, "text": {in.Body.Text}, "verdict": {in.Body.Verdict}}
		if in.Body.Kind == store.ReviewSignOff {
			f.Set("verdict", "")
			if in.Body.Of > 0 {
				f.Set("verdict", strconv.Itoa(in.Body.Of))
			}
		}
		_, err = w.api.Web.Reviews.KeepNote(ctx, v, t, now, f)
	}
	if err != nil {
		return nil, err
	}
	return w.apiReview(ctx, &apiCheckInput{in.ID})
}

type apiCaseLibraryBody struct {
	State    review.CaseState     `json:"state" enum:"out,waiting,added,failed" doc:"out: the submission is not in a library"`
	Library  concordat.LibraryID  `json:"library,omitempty"`
	Document concordat.DocumentID `json:"document" doc:"The document's current or future name in the library"`
	Cause    string               `json:"cause,omitempty" doc:"Why it failed"`
	MayAdd   bool                 `json:"may_add" doc:"Whether the site's rule allows adding the submission and its text is kept"`
}

func (w reviewsAPI) apiCaseLibrary(ctx context.Context, in *apiCheckInput) (*answer[apiCaseLibraryBody], error) {
	_, t, now, err := w.apiReviewed(ctx, in.ID)
	if err == nil && !pages.HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	c, err := w.api.Web.Reviews.CaseLibrary(ctx, t, now)
	return &answer[apiCaseLibraryBody]{apiCaseLibraryBody{c.State, c.Library, c.Document, c.Cause.String(), c.MayAdd}}, err
}

type apiAddCaseInput struct {
	ID   string `path:"id"`
	Body struct {
		Library concordat.LibraryID `json:"library,omitempty" doc:"Library; absent: submissions.library, which is created when the first submission is added"`
	}
}

func (w reviewsAPI) apiAddCase(ctx context.Context, in *apiAddCaseInput) (*answer[apiCaseLibraryBody], error) {
	v, t, _, err := w.apiReviewed(ctx, in.ID)
	if err == nil && !pages.HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	if err == nil {
		err = w.api.Web.Reviews.AddCase(ctx, v, t, in.Body.Library)
	}
	if err != nil {
		return nil, err
	}
	return w.apiCaseLibrary(ctx, &apiCheckInput{in.ID})
}

func (w reviewsAPI) apiRemoveCase(ctx context.Context, in *apiCheckInput) (*struct{}, error) {
	v, t, _, err := w.apiReviewed(ctx, in.ID)
	if err == nil {
		err = w.api.Web.Reviews.RemoveCase(ctx, v, t)
	}
	return nil, err
}
