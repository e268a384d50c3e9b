package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/web/review"
)

func (w reviewsAPI) apiOfRules(a huma.API) {
	get := func(id, path, summary, text string) operation {
		return operation{id: id, method: http.MethodGet, path: "/checks/{id}" + path, summary: summary, text: text, scope: scopeRead,
			roles: pages.Everyone}
	}
	do := func(id, method, path, summary, text string, body int) operation {
		return operation{id: id, method: method, path: "/checks/{id}" + path, summary: summary, text: text, scope: scopeReview,
			roles: pages.Officers, body: body}
	}
	registerWhole(w.api, a, get("get-rules", "/rules", "Rules of a check's report",
		"The ETag is their revision. Spans are code points of the submission."), w.apiGetRules)
	registerWhole(w.api, a, do("put-rules", http.MethodPut, "/rules", "Change the rules of one report",
		"If-Match is the ETag of the rules to replace: 428 without it, 412 if someone else has changed them. The previous rules stay in the history.", bounds.ListsBody), w.apiPutRules)
	registerWhole(w.api, a, do("undo-rules", http.MethodPost, "/rules/undo", "Undo the latest change of the rules",
		"It needs If-Match, as put-rules does. Each further call undoes the change before.", 0), w.apiUndoRules)
	register(w.api, a, get("list-rules", "/rules/history", "Every change of the rules, oldest first", ""), w.apiRulesHistory)
	exclude := do("exclude", http.MethodPost, "/exclusions", "Exclude a source or a passage from the scores, or include it again",
		"It needs no If-Match: other people's changes are kept.", bounds.WordsBody)
	source, passage, counted := need(nil, "source"), need(nil, "passage", "comment"), need(map[string]any{"exclude": false}, "passage")
	source.Not = &huma.Schema{Required: []string{"passage"}}
	passage.Not, counted.Not = &huma.Schema{Required: []string{"source"}}, &huma.Schema{Required: []string{"source"}}
	source.Properties["source"] = &huma.Schema{AnyOf: []*huma.Schema{need(nil, "site", "library"), {Required: []string{"site"},
		Properties: map[string]*huma.Schema{"site": {Pattern: `\S`}, "document": {Enum: []any{""}}}}}}
	exclude.needs = []*huma.Schema{source, passage, counted}
	registerWhole(w.api, a, exclude, w.apiExclude)
	count := do("count-wording", http.MethodPost, "/counted-wording", "Count a stretch of shared wording, or stop counting it",
		"Wording that many documents share, wording that reads like a form, and isolated sentences do not count by themselves. "+
			"It needs no If-Match: other people's changes are kept.", bounds.WordsBody)
	count.needs = []*huma.Schema{need(nil, "comment"), need(map[string]any{"count": false})}
	registerWhole(w.api, a, count, w.apiCountWording)
	decide := do("decide-lead", http.MethodPost, "/leads", "Count a lead, reject it, or withdraw the decision",
		"A lead is identified by its span and source_span, as in the report. It never counts by itself, and leads that a person counts "+
			"have a separate share. It needs no If-Match: other people's changes are kept.", bounds.WordsBody)
	decide.needs = []*huma.Schema{need(nil, "comment"), need(map[string]any{"state": report.LeadOpen})}
	registerWhole(w.api, a, decide, w.apiDecideLead)
	register(w.api, a, get("list-notes", "/notes", "Comments, verdicts and sign-offs, oldest first", ""), w.apiNotes)
	register(w.api, a, get("get-verdict", "/verdict", "The verdict in force", "404 if there is none."), w.apiVerdict)
	register(w.api, a, do("add-comment", http.MethodPost, "/comments", "Comment on a check", "", bounds.WordsBody), w.apiAddComment)
	register(w.api, a, do("change-comment", http.MethodPut, "/comments/{comment}", "Edit one of your own comments", "",
		bounds.WordsBody), w.apiChangeComment)
	remove := do("delete-comment", http.MethodDelete, "/comments/{comment}", "Delete one of your own comments", "The text is not kept.", 0)
	remove.status = http.StatusNoContent
	registerEmpty(w.api, a, remove, w.apiRemoveComment)
	register(w.api, a, do("give-verdict", http.MethodPost, "/verdict", "Give a verdict, with the reason",
		"It replaces the previous verdict and its sign-offs; both stay among the notes.", bounds.WordsBody), w.apiGiveVerdict)
	register(w.api, a, do("sign-off", http.MethodPost, "/sign-off", "Agree with the verdict in force",
		"The verdict's author cannot, and everyone else can only once.", 0),
		w.apiSignOff)
}

type apiRulesBody struct {
	Revision int          `json:"revision" doc:"Number of changes so far"`
	Rules    report.Rules `json:"rules"`
}

type apiRulesOutput struct {
	ETag string `header:"ETag"`
	Body apiRulesBody
}

func etag(revision int) string { return `"` + strconv.Itoa(revision) + `"` }

// reviewed is a check with the rules that an operation changes.
type reviewed struct {
	task  store.Task
	now   *review.Review
	count *report.Counter // counts code points in the submission's text
}

// reported returns a check that the visitor may see and that has a report, or concordat.ErrNotFound.
func (w api) reported(ctx context.Context, v *pages.Visitor, id string) (store.Task, error) {
	t, err := w.Web.Visible(ctx, v, concordat.TaskID(id))
	if err == nil && !pages.HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	return t, err
}

func (w reviewsAPI) reviewed(ctx context.Context, v *pages.Visitor, id string) (*reviewed, error) {
	t, err := w.api.reported(ctx, v, id)
	if err != nil {
		return nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	if w.api.Web.Reviews.Sees(v, now) != review.SeeEverything {
		return nil, review.ErrNotShown // only officers may see what officers decided
	}
	rep, err := w.api.Web.Cache.Report(ctx, t.ID, now.Rules)
	if err != nil {
		return nil, err
	}
	return &reviewed{t, now, report.NewCounter(rep.Submission.Text)}, nil
}

func (w reviewsAPI) apiGetRules(ctx context.Context, in *apiCheckInput) (*apiRulesOutput, error) {
	r, err := w.reviewed(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &apiRulesOutput{etag(r.now.Changes), apiRulesBody{r.now.Changes, r.now.Rules.InPoints(r.count)}}, nil
}

// ConditionInput is the input with the revision of the rules that the caller last read.
type ConditionInput struct {
	ID      string `path:"id"`
	IfMatch string `header:"If-Match" pattern:"^\"[0-9]{1,18}\"$" doc:"ETag of the rules to change"`
}

// revision returns the number in the ETag.
func (c ConditionInput) revision() (int, error) {
	if c.IfMatch == "" {
		return 0, web.ErrCondition
	}
	s, ok := strings.CutPrefix(c.IfMatch, `"`)
	s, ok2 := strings.CutSuffix(s, `"`)
	n, err := strconv.Atoi(s)
	if !ok || !ok2 || err != nil || n < 0 {
		return 0, fmt.Errorf("%w: If-Match %q is not a valid ETag of rules", web.ErrRevision, c.IfMatch)
	}
	return n, nil
}

type apiPutRulesInput struct {
	ConditionInput
	Body report.Rules
}

func (w reviewsAPI) apiPutRules(ctx context.Context, in *apiPutRulesInput) (*apiRulesOutput, error) {
	return w.changeRulesIf(ctx, in.ConditionInput, "set", func(r *reviewed, v *pages.Visitor) (report.Rules, error) {
		return in.Body.InBytes(r.count).Decided(r.now.Rules, v.Name, w.api.Web.Options().Now()), nil
	})
}

func (w reviewsAPI) apiUndoRules(ctx context.Context, in *ConditionInput) (*apiRulesOutput, error) {
	return w.changeRulesIf(ctx, *in, "undo", func(r *reviewed, _ *pages.Visitor) (report.Rules, error) {
		if r.now.Changes == 0 {
			return report.Rules{}, fmt.Errorf("%w: there is no change to undo", concordat.ErrInvalid)
		}
		return w.api.Web.Reviews.FormerRules(ctx, r.task)
	})
}

// changeRulesIf changes the rules if they have not changed since the caller read them.
func (w reviewsAPI) changeRulesIf(ctx context.Context, in ConditionInput, action string,
	change func(*reviewed, *pages.Visitor) (report.Rules, error)) (*apiRulesOutput, error) {
	v := visitorOf(ctx)
	seen, err := in.revision()
	if err != nil {
		return nil, err
	}
	r, err := w.reviewed(ctx, v, in.ID)
	if err != nil {
		return nil, err
	}
	if seen != r.now.Changes {
		return nil, fmt.Errorf("%w: the rules have revision %d, not %d", web.ErrRevision, r.now.Changes, seen)
	}
	rules, err := change(r, v)
	if err != nil {
		return nil, err
	}
	return w.keepRules(ctx, v, r, rules, action)
}

// keepRules stores new rules unless someone else has changed them since r was read.
func (w reviewsAPI) keepRules(ctx context.Context, v *pages.Visitor, r *reviewed, rules report.Rules,
	action string) (*apiRulesOutput, error) {
	what, subject, _ := strings.Cut(action, " ")
	err := w.api.Web.Reviews.AppendRules(ctx, v, r.task.ID, rules, what, subject, r.now.Changes)
	if errors.Is(err, concordat.ErrChanged) {
		err = fmt.Errorf("%w: %w", web.ErrRevision, err)
	}
	if err != nil {
		return nil, err
	}
	n := r.now.Changes + 1
	return &apiRulesOutput{etag(n), apiRulesBody{n, rules.InPoints(r.count)}}, nil
}

type apiExcludeInput struct {
	ID   string `path:"id"`
	Body struct {
		Exclude bool            `json:"exclude" doc:"true: exclude it; false: include it again"`
		Source  *concordat.Ref  `json:"source,omitempty" doc:"A document; without document, a library; with neither, a site"`
		Passage *concordat.Span `json:"passage,omitempty" doc:"A passage, instead of source; including again affects all passages that it touches"`
		Comment string          `json:"comment,omitempty" maxLength:"10000" doc:"Why a passage is excluded"`
	}
}

// maxRuleTries is the maximum number of attempts to change rules that others are changing at the same time.
const maxRuleTries = 10

func (w reviewsAPI) apiExclude(ctx context.Context, in *apiExcludeInput) (*apiRulesOutput, error) {
	v := visitorOf(ctx)
	if (in.Body.Source == nil) == (in.Body.Passage == nil) {
		return nil, fmt.Errorf("%w: a source or a passage is required", concordat.ErrInvalid)
	}
	if s := in.Body.Source; s != nil && strings.TrimSpace(string(s.Site)) == "" {
		return nil, fmt.Errorf("%w: the source is missing its site", concordat.ErrInvalid)
	}
	return w.reviseRules(ctx, v, in.ID, func(r *reviewed, f url.Values) error {
		what := "include-"
		if in.Body.Exclude {
			what = "exclude-"
		}
		f.Set("comment", in.Body.Comment)
		if s := in.Body.Source; s != nil {
			f.Set("action", what+"source")
			f.Set("site", string(s.Site))
			f.Set("library", string(s.Library))
			f.Set("document", string(s.Document))
			return nil
		}
		f.Set("action", what+"passage")
		return r.place(f, *in.Body.Passage)
	})
}

// place writes a passage's span to the form.
func (r *reviewed) place(f url.Values, s concordat.Span) error {
	at := r.count.Bytes(s)
	if at.Len() <= 0 {
		return fmt.Errorf("%w: the passage lies outside the text", concordat.ErrNotFound)
	}
	f.Set("start", strconv.Itoa(at.Start))
	f.Set("end", strconv.Itoa(at.End))
	return nil
}

// reviseRules applies a page form, prepared by fill, to the current rules. It retries if someone else changes the rules in the meantime.
func (w reviewsAPI) reviseRules(ctx context.Context, v *pages.Visitor, id string, fill func(*reviewed, url.Values) error) (*apiRulesOutput,
	error) {
	for tries := 1; ; tries++ {
		r, err := w.reviewed(ctx, v, id)
		if err != nil {
			return nil, err
		}
		f := url.Values{}
		if err := fill(r, f); err != nil {
			return nil, err
		}
		rules, subject, err := w.api.Web.Reviews.NewRules(ctx, v, r.task.ID, r.now.Rules, f)
		if err != nil {
			return nil, err
		}
		out, err := w.keepRules(ctx, v, r, rules, strings.TrimSpace(f.Get("action")+" "+subject))
		if errors.Is(err, web.ErrRevision) && tries < maxRuleTries {
			continue
		}
		return out, err
	}
}

type apiCountWordingInput struct {
	ID   string `path:"id"`
	Body struct {
		Count   bool           `json:"count" doc:"true: count it; false: stop counting it"`
		Span    concordat.Span `json:"span" doc:"Span in the submission, in code points; when counting is undone, all stretches that it touches are affected"`
		Comment string         `json:"comment,omitempty" maxLength:"10000" doc:"Why it counts"`
	}
}

func (w reviewsAPI) apiCountWording(ctx context.Context, in *apiCountWordingInput) (*apiRulesOutput, error) {
	return w.reviseRules(ctx, visitorOf(ctx), in.ID, func(r *reviewed, f url.Values) error {
		f.Set("action", "uncount-wording")
		if in.Body.Count {
			f.Set("action", "count-wording")
		}
		f.Set("comment", in.Body.Comment)
		return r.place(f, in.Body.Span)
	})
}

type apiDecideLeadInput struct {
	ID   string `path:"id"`
	Body struct {
		Span    concordat.Span   `json:"span" doc:"Span of the lead, in code points of the submission"`
		Source  concordat.Span   `json:"source_span" doc:"Span of the lead, in code points of the source"`
		State   report.LeadState `json:"state" enum:"open,counted,set_aside"`
		Comment string           `json:"comment,omitempty" maxLength:"10000" doc:"Reason for the decision"`
	}
}

func (w reviewsAPI) apiDecideLead(ctx context.Context, in *apiDecideLeadInput) (*apiRulesOutput, error) {
	return w.reviseRules(ctx, visitorOf(ctx), in.ID, func(r *reviewed, f url.Values) error {
		f.Set("action", map[report.LeadState]string{report.LeadOpen: "open-lead", report.LeadCounted: "count-lead",
			report.LeadSetAside: "set-aside-lead"}[in.Body.State])
		f.Set("source_start", strconv.Itoa(in.Body.Source.Start))
		f.Set("source_end", strconv.Itoa(in.Body.Source.End))
		f.Set("comment", in.Body.Comment)
		return r.place(f, in.Body.Span)
	})
}
