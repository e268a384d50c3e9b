package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/bounds"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/checks"
	"concordat/web/pages/intake"
	"concordat/web/progress"
	"concordat/web/review"
)

// checksAPI has the operations that submit documents and follow checks.
type checksAPI struct{ api api }

func (w checksAPI) apiOfChecks(a huma.API) {
	register(w.api, a, operation{id: "list-checks", method: http.MethodGet, path: "/checks", summary: "Checks, newest first", scope: scopeRead,
		roles: pages.Everyone,
		text:  "Submitters get only their own checks."}, w.apiChecks)
	register(w.api, a, operation{id: "get-check", method: http.MethodGet, path: "/checks/{id}", summary: "One check", scope: scopeRead,
		roles: pages.Everyone,
		text:  "Submitters do not see other people's checks, here or in the operations below."}, w.apiCheck)
	register(w.api, a, operation{id: "cancel-check", method: http.MethodPost, path: "/checks/{id}/cancel",
		summary: "Cancel a check that has not ended", scope: scopeCheck, roles: pages.Checkers,
		text: "A check that has ended is not changed."}, w.apiCancel)
	register(w.api, a, operation{id: "list-evidence", method: http.MethodGet, path: "/checks/{id}/evidence",
		summary: "Passages of a report next to their sources, in text order", scope: scopeRead, roles: pages.Everyone,
		text: "The rules in force apply. When they change, an older cursor is refused with 412: start again."}, w.apiEvidence)
	register(w.api, a, operation{id: "list-leads", method: http.MethodGet, path: "/checks/{id}/leads",
		summary: "Leads of a report, in text order", scope: scopeRead, roles: pages.Everyone,
		text: "The rules in force apply. Partners' documents that may say the same thing are included."}, reviewsAPI(w).apiLeads)
	w.api.stream(a, operation{id: "submit-checks", method: http.MethodPost, path: "/checks", summary: "Submit documents, each for a check",
		scope: scopeCheck, roles: pages.Checkers, status: http.StatusAccepted,
		text: "Files are written to disk as they arrive. There may be at most 1000 files, each no larger than get-version says. The other fields may have 4 MiB in all."}, func(o *huma.Operation) {
		o.Parameters = []*huma.Param{{Name: "Idempotency-Key", In: "header",
			Description: "The same key with the same body within a day returns the same answer; at most 255 bytes",
			Schema:      &huma.Schema{Type: "string"}}}
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: submitForm}}}
		o.Responses = map[string]*huma.Response{"202": answers("The checks", "application/json", schemaOf[apiChecksBody](a))}
	}, w.apiSubmit)
	w.api.stream(a, operation{id: "get-report", method: http.MethodGet, path: "/checks/{id}/report",
		summary: "The report of a check that is done", scope: scopeRead, roles: pages.Everyone,
		text: "The rules in force apply. JSON is signed if the site has a key, and described in doc/format-report.md."}, func(o *huma.Operation) {
		o.Parameters = []*huma.Param{pathParam("id"), {Name: "format", In: "query", Description: "Format of the report; absent: json",
			Schema: &huma.Schema{Type: "string", Enum: []any{"json", "csv", "html", "pdf"}}}}
		r := answers("The report", "application/json", &huma.Schema{Ref: "#/components/schemas/Report"})
		r.Content["text/csv"], r.Content["text/html"] = textMedia(), textMedia()
		r.Content["application/pdf"] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
		o.Responses = map[string]*huma.Response{"200": r}
	}, w.apiReport)
	w.api.stream(a, operation{id: "watch-check", method: http.MethodGet, path: "/checks/{id}/events",
		summary: "Progress of a check, as server-sent events", scope: scopeRead, roles: pages.Everyone,
		text: "The data of each event is a CheckEvent in JSON. The last event has the field finally; if the stream ends without one, reconnect."}, func(o *huma.Operation) {
		o.Parameters = []*huma.Param{pathParam("id")}
		schemaOf[apiEvent](a)
		o.Responses = map[string]*huma.Response{"200": answers("Events", "text/event-stream", eventSchema)}
	}, w.apiEvents)
}

// eventSchema is the schema of one event of a stream.
var eventSchema = &huma.Schema{Type: "object", Required: []string{"data"}, Properties: map[string]*huma.Schema{
	"data": {Type: "string", Description: "A CheckEvent in JSON"}}}

// submitForm is a form with a file, a text, or both.
var submitForm = &huma.Schema{AllOf: []*huma.Schema{submitFields,
	{AnyOf: []*huma.Schema{{Required: []string{"file"}}, {Required: []string{"text"}}}}}}

var submitFields = &huma.Schema{Type: "object", AdditionalProperties: false, Properties: map[string]*huma.Schema{
	"file":  filesOf("Documents, or ZIP files of them"),
	"text":  {Type: "string", Pattern: `\S`, Description: "A text, instead of files or in addition to them"},
	"title": {Type: "string", Description: "Title of the text"},
	"author": {Type: "array", Items: &huma.Schema{Type: "string"},
		Description: "Authors, each with the ORCID iD if known: Jane Doe (0000-0002-1825-0097); none: the file's own"},
	"together": {Type: "string", Description: "Not empty: all files are one submission with one report, which has a section for each file"},
	"library":  {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "Libraries to compare with; none: all"},
	"template": {Type: "string", Description: "Section template; empty: the one that all named libraries share; none: no template"},
	"partner": {Type: "array", Items: &huma.Schema{Type: "string"},
		Description: "Partners to ask: SITE, or SITE/LIBRARY for one of its libraries"},
	"purpose": {Type: "string", Description: "Purpose stated to the partners"},
	"forward": {Type: "string", Enum: []any{"unmatched", "all", "none"},
		Description: "What partners are asked about; absent: as in the site's settings"},
	"level": {Type: "string", Enum: []any{"exists", "counts", "metadata"}, Description: "The most that partners are asked to show"},
	"deadline": {Type: "integer", Minimum: new(1.0), Maximum: new(float64(intake.MaxDeadline)),
		Description: "Time limit for each partner, in seconds"},
	"short": {Type: "string", Description: "Not empty: titles, headings and short answers are also compared"},
	"exclude": {Type: "string", Pattern: `^\s*(?:[^\s/]+/\S+(?:\s+[^\s/]+/\S+)*)?\s*$`,
		Description: "Documents to leave out, as LIBRARY/DOCUMENT, separated by white space; for officers"},
	"standing": {Type: "string", Description: "Not empty: later documents that match raise an alert, here and at the partners that are asked; for officers"},
	"no_store": {Type: "string", Description: "Not empty: the text and the original are deleted once the report is made"},
}}

// filesOf returns a form field for files.
func filesOf(what string) *huma.Schema {
	one := 1
	return &huma.Schema{Type: "array", MinItems: &one, Items: &huma.Schema{Type: "string", Format: "binary", MinLength: &one},
		Description: what}
}

func answers(what, media string, s *huma.Schema) *huma.Response {
	return &huma.Response{Description: what, Content: map[string]*huma.MediaType{media: {Schema: s}}}
}

func textMedia() *huma.MediaType { return &huma.MediaType{Schema: &huma.Schema{Type: "string"}} }

func pathParam(name string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}
}

// apiTask returns a check without the fields that depend on the caller.
func (w checksAPI) apiTask(ctx context.Context, t store.Task) (view.Check, error) {
	return view.OfCheck(ctx, w.api.Web.Options().Store, t, checks.FileName(t))
}

// moment returns nil for the zero time, and otherwise a pointer to t.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

type apiChecksInput struct {
	bounds.PageInput
	State []string  `query:"state" enum:"queued,running,done,partial,failed" minItems:"1" nullable:"false" doc:"Only checks in one of these states"`
	Owner string    `query:"owner" doc:"Only checks submitted by this account"`
	Batch string    `query:"batch" doc:"Only checks submitted together under this identifier"`
	From  time.Time `query:"from" doc:"Only checks created at this instant or later"`
	To    time.Time `query:"to" doc:"Only checks created before this instant"`
}

type apiChecksBody struct {
	Checks []view.Check `json:"checks" nullable:"false"`
	Next   string       `json:"next,omitempty" doc:"Cursor of the next page"`
}

type apiChecksOutput struct{ Body apiChecksBody }

func (w checksAPI) apiChecks(ctx context.Context, in *apiChecksInput) (*apiChecksOutput, error) {
	v := visitorOf(ctx)
	f := store.TaskFilter{Owner: in.Owner, Batch: in.Batch, From: in.From, To: in.To}
	for _, s := range in.State {
		f.States = append(f.States, concordat.State(s))
	}
	out := &apiChecksOutput{apiChecksBody{Checks: []view.Check{}}}
	if !v.SeesAll() {
		if f.Owner != "" && f.Owner != v.Name {
			return out, nil
		}
		f.Owner = v.Name
	}
	before := int64(0)
	if err := listOfChecks.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	tasks, err := w.api.Web.Options().Store.Checks.FilterTasks(ctx, f, before, in.Limit)
	var scores map[concordat.TaskID]review.ShownScore
	if err == nil {
		scores, err = w.api.Web.Reviews.Scores(ctx, v, tasks)
	}
	for _, t := range tasks {
		if err == nil {
			var one view.Check
			one, err = w.apiTask(ctx, t)
			one.Coverage, one.Flags, one.Leads = scores[t.ID].Share, scores[t.ID].Flags, scores[t.ID].Leads
			out.Body.Checks = append(out.Body.Checks, one)
		}
	}
	if len(tasks) == in.Limit {
		out.Body.Next = listOfChecks.Cursor(tasks[len(tasks)-1].Seq)
	}
	return out, err
}

type apiCheckInput struct {
	ID string `path:"id"`
}

type apiCheckOutput struct{ Body view.Check }

func (w checksAPI) apiCheck(ctx context.Context, in *apiCheckInput) (*apiCheckOutput, error) {
	t, err := w.api.Web.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err != nil {
		return nil, err
	}
	one, err := w.apiTask(ctx, t)
	if err != nil {
		return nil, err
	}
	scores, err := w.api.Web.Reviews.Scores(ctx, visitorOf(ctx), []store.Task{t})
	one.Coverage, one.Flags, one.Leads = scores[t.ID].Share, scores[t.ID].Flags, scores[t.ID].Leads
	return &apiCheckOutput{one}, err
}

func (w checksAPI) apiCancel(ctx context.Context, in *apiCheckInput) (*apiCheckOutput, error) {
	v := visitorOf(ctx)
	t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(in.ID))
	if err == nil {
		err = w.api.Web.Tasks.CancelTask(ctx, v, t)
	}
	if err != nil {
		return nil, err
	}
	return w.apiCheck(ctx, in)
}

// apiSubmit accepts a submit form, once for each Idempotency-Key.
func (w checksAPI) apiSubmit(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	u, err := w.api.Web.Intake.ReadUpload(rw, r, v)
	if err != nil {
		return err
	}
	key := r.Header.Get("Idempotency-Key")
	out, err := intake.Once(r.Context(), w.api.Web.Options().Store, v, key, []any{u.Jobs, u.Fields}, func() (*apiChecksBody, error) {
		return w.submitBody(r.Context(), v, u)
	})
	if err != nil {
		w.api.Web.Intake.Lose(r.Context(), v, u)
		return err
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(rw).Encode(out) // a disconnected caller can repeat the request with its key
	return nil
}

func (w checksAPI) submitBody(ctx context.Context, v *pages.Visitor, u *intake.Upload) (*apiChecksBody, error) {
	ids, err := w.api.Web.Intake.HandIn(ctx, v, u)
	if err != nil {
		return nil, err
	}
	out := &apiChecksBody{}
	for _, id := range ids {
		t, err := w.api.Web.Options().Store.Checks.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		one, err := w.apiTask(ctx, t)
		if err != nil {
			return nil, err
		}
		out.Checks = append(out.Checks, one)
	}
	return out, nil
}

// KeyInput is the input that makes an operation repeatable.
type KeyInput struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"The same key with the same request within a day returns the same answer, and nothing is done again"`
}

func (w checksAPI) apiReport(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	format := r.URL.Query().Get("format")
	if !slices.Contains([]string{"", "json", "csv", "html", "pdf"}, format) {
		return fmt.Errorf("format %q: %w", format, concordat.ErrInvalid)
	}
	t, err := w.api.Web.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
	if err != nil {
		return err
	}
	rep, err := w.api.Web.Reports.Current(r.Context(), v, t, message.LanguageOf(r).Report())
	if err != nil {
		return err
	}
	switch format {
	case "csv":
		rw.Header().Set("Content-Type", "text/csv; charset=utf-8")
		err = w.api.Web.Reports.WriteCSV(rw, rep, report.CSVOptions{})
	case "html":
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = w.api.Web.Reports.WriteHTML(rw, rep)
	case "pdf":
		return w.api.Web.Reports.WritePDF(rw, r, v, rep)
	default:
		rw.Header().Set("Content-Type", "application/json")
		return w.api.Web.Reports.WriteJSON(rw, rep)
	}
	if err != nil { // the answer has begun, so the error can only be logged
		w.api.Web.Options().Logger.Info("report", "task", t.ID, "error", err)
	}
	return nil
}

// apiEvent is an event of a check in the API's form.
type apiEvent struct {
	State   concordat.State `json:"state" enum:"queued,running,done,partial,failed"`
	Stage   string          `json:"stage,omitempty" doc:"Current stage of a running check"`
	Done    int             `json:"done,omitempty" doc:"How many of total are completed in this stage"`
	Total   int             `json:"total,omitempty"`
	Ahead   *int            `json:"ahead,omitempty" doc:"Checks before this one while it is queued; people take turns, so later checks of others may run first"`
	Finally bool            `json:"finally,omitempty" doc:"true: the check has ended, and this is the last event"`
}

// apiEvents sends the events of a check until it ends (HTML living standard, server-sent events). The number of streams is limited, and
// they end under the same conditions as in progress.Streams.Follow.
func (w checksAPI) apiEvents(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) error {
	ctx := r.Context()
	t, err := w.api.Web.Visible(ctx, v, concordat.TaskID(r.PathValue("id")))
	if err != nil {
		return err
	}
	over, leave, err := w.api.Web.Streams.Open(v)
	if err != nil {
		return err
	}
	defer leave()
	events, stop := w.api.Web.Options().Queue.Watch(t.ID)
	defer stop()
	c := http.NewResponseController(rw)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		w.api.Web.Options().Logger.Debug("events", "error", err) // a test recorder, for example, has no deadline
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	send := func(e apiEvent) bool {
		b, err := json.Marshal(e)
		if err == nil {
			_, err = fmt.Fprintf(rw, "data: %s\n\n", b)
		}
		return err == nil && c.Flush() == nil && !e.Finally
	}
	beat := time.NewTicker(progress.QueueBeat) // the check may run in another process, whose events do not arrive here
	defer beat.Stop()
	for {
		// Read the store because an event may have happened before watching began.
		if t, err = w.api.Web.Options().Store.Checks.Task(ctx, t.ID); err != nil {
			return nil // the check was deleted or the caller disconnected; no error can be sent because the stream has begun
		}
		one, err := w.apiTask(ctx, t)
		now := apiEvent{State: t.State, Ahead: one.Ahead, Finally: t.State.Ended()}
		if e, ok := w.api.Web.Options().Queue.Progress(ctx, t.ID); ok && t.State == concordat.TaskRunning {
			now.Stage, now.Done, now.Total = e.Stage, e.Done, e.Total
		}
		if err != nil || !send(now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-over:
			return nil
		case <-beat.C:
		case e := <-events:
			if e.Stage != site.StageEnded && !send(apiEvent{State: e.State, Stage: e.Stage, Done: e.Done, Total: e.Total}) {
				return nil
			}
		}
	}
}

type apiEvidenceInput struct {
	ID string `path:"id"`
	bounds.PageInput
}

// evidenceItem is one passage in the JSON form of reports.
type evidenceItem json.RawMessage

// MarshalJSON returns the item unchanged.
func (e evidenceItem) MarshalJSON() ([]byte, error) { return e, nil }

// Schema returns the schema of a passage in a report.
func (evidenceItem) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/ReportEvidence"}
}

type apiEvidenceOutput struct {
	Body struct {
		Revision int            `json:"revision" doc:"Revision of the rules, the ETag of get-rules"`
		Total    int            `json:"total" doc:"Number of passages in the report"`
		Evidence []evidenceItem `json:"evidence" nullable:"false"`
		Next     string         `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w checksAPI) apiEvidence(ctx context.Context, in *apiEvidenceInput) (*apiEvidenceOutput, error) {
	v := visitorOf(ctx)
	t, err := w.api.reported(ctx, v, in.ID)
	if err != nil {
		return nil, err
	}
	now, err := w.api.Web.Reviews.Of(ctx, t)
	if err != nil {
		return nil, err
	}
	findings, err := w.api.Web.Options().Store.Checks.FindingsRevision(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	rules, found, from := now.Changes, findings, 0
	if err := listOfEvidence.Read(in.Cursor, &rules, &found, &from); err != nil {
		return nil, err
	}
	if rules != now.Changes || found != findings {
		return nil, fmt.Errorf("the report has changed: %w", web.ErrRevision)
	}
	rep, err := w.api.Web.Reports.Seen(ctx, v, t.ID, now, report.English, from > 0)
	if err != nil {
		return nil, err
	}
	out := &apiEvidenceOutput{}
	out.Body.Revision, out.Body.Total, out.Body.Evidence = now.Changes, len(rep.Evidence), []evidenceItem{}
	from = min(max(from, 0), len(rep.Evidence))
	to := min(from+in.Limit, len(rep.Evidence))
	items, err := rep.EvidenceJSON(from, to)
	for _, item := range items {
		out.Body.Evidence = append(out.Body.Evidence, evidenceItem(item))
	}
	if to < len(rep.Evidence) {
		out.Body.Next = listOfEvidence.Cursor(now.Changes, findings, to)
	}
	return out, err
}
