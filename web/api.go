package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/store"
)

// Scopes of an API token.
const (
	scopeRead  = "read"  // libraries, checks and reports that the account may see
	scopeCheck = "check" // hands in and cancels
	scopeErase = "erase" // deletes for good
)

var scopes = []string{scopeRead, scopeCheck, scopeErase, scopePlatforms}

const apiPrefix = "/api/v1"

// apiVersion is that of the interface, not of the program.
const apiVersion = "1.0.0"

type visitorKey struct{}

// api adds the programs' interface to the routes.
func (w *Web) api() {
	c := huma.DefaultConfig("Concordat", apiVersion)
	c.Info.Description = "Hand in documents, follow their checks, and read the reports. Tokens are made on the account page."
	c.CreateHooks = nil // no $schema links: they would be built from the Host header
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", apiPrefix+"/openapi"
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	a := humago.New(w.mux, c)
	a.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		_, rw := humago.Unwrap(ctx)
		r, _ := humago.Unwrap(ctx)
		v, err := w.caller(r, scopeOf(ctx.Operation()))
		if err != nil {
			w.problem(rw, err)
			return
		}
		next(huma.WithValue(ctx, visitorKey{}, v))
	})
	w.apiOfChecks(a)
	w.apiOfBatches(a)
	w.apiOfDeletions(a)
	w.apiOfRequests(a)
	w.apiOfReviews(a)
	w.apiOfLTI(a)
}

// scope is what the token of a caller must allow.
func scope(s string) []map[string][]string { return []map[string][]string{{"token": {s}}} }

func (w *Web) apiOfChecks(a huma.API) {
	huma.Register(a, huma.Operation{OperationID: "list-libraries", Method: http.MethodGet, Path: apiPrefix + "/libraries", Summary: "Libraries of this site", Security: scope(scopeRead)}, w.apiLibraries)
	huma.Register(a, huma.Operation{OperationID: "list-checks", Method: http.MethodGet, Path: apiPrefix + "/checks", Summary: "Checks, newest first", Security: scope(scopeRead)}, w.apiChecks)
	huma.Register(a, huma.Operation{OperationID: "get-check", Method: http.MethodGet, Path: apiPrefix + "/checks/{id}", Summary: "One check", Security: scope(scopeRead)}, w.apiCheck)
	huma.Register(a, huma.Operation{OperationID: "cancel-check", Method: http.MethodPost, Path: apiPrefix + "/checks/{id}/cancel", Summary: "Cancel a check that has not ended", Security: scope(scopeCheck)}, w.apiCancel)
	// These two stream, which huma does not: they are described by hand, and a test holds the
	// description to what they do.
	w.mux.HandleFunc("POST "+apiPrefix+"/checks", w.apiSubmit)
	w.mux.HandleFunc("GET "+apiPrefix+"/checks/{id}/report", w.apiReport)
	text := func(description string) *huma.Response { return &huma.Response{Description: description} }
	form := &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
		"file":     {Type: "array", Items: &huma.Schema{Type: "string", Format: "binary"}, Description: "Documents, or ZIP files of them"},
		"text":     {Type: "string", Description: "A text, instead of or beside files"},
		"title":    {Type: "string", Description: "Title of the text"},
		"library":  {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "Libraries to compare with; none: all"},
		"template": {Type: "string", Description: "Section template"},
		"no_store": {Type: "string", Description: "Not empty: text and original are deleted once the report is made"},
	}}
	a.OpenAPI().AddOperation(&huma.Operation{OperationID: "submit-checks", Method: http.MethodPost, Path: apiPrefix + "/checks", Summary: "Hand in documents, each for a check",
		Security:    scope(scopeCheck),
		Parameters:  []*huma.Param{{Name: "Idempotency-Key", In: "header", Description: "The same key with the same body within a day gives the same answer", Schema: &huma.Schema{Type: "string"}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: form}}},
		Responses:   map[string]*huma.Response{"202": text("The checks, as list-checks has them"), "default": text("A problem (RFC 9457)")}})
	a.OpenAPI().AddOperation(&huma.Operation{OperationID: "get-report", Method: http.MethodGet, Path: apiPrefix + "/checks/{id}/report", Summary: "The report of a check that is done",
		Security: scope(scopeRead),
		Parameters: []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
			{Name: "format", In: "query", Schema: &huma.Schema{Type: "string", Enum: []any{"json", "csv", "html"}}}},
		Responses: map[string]*huma.Response{"200": text("The report (doc/format.md)"), "default": text("A problem (RFC 9457)")}})
}

func scopeOf(o *huma.Operation) string {
	for _, s := range o.Security {
		if all := s["token"]; len(all) == 1 {
			return all[0]
		}
	}
	return "" // nobody has it
}

// caller returns for whom the program acts, if its token has the scope.
func (w *Web) caller(r *http.Request, scope string) (*visitor, error) {
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	address := w.address(r)
	if wait := w.calls.wait("address/"+address, max(1, w.o.Policy.Calls/10)); wait > 0 {
		return nil, &tooMany{"error.often", wait} // it has guessed at tokens
	}
	if !ok {
		w.calls.count("address/" + address)
		return nil, errNoToken
	}
	t, err := w.o.Store.UseToken(r.Context(), secret, store.PurposeAPI)
	if errors.Is(err, concordat.ErrNotFound) {
		w.calls.count("address/" + address)
		return nil, errNoToken
	}
	if err != nil {
		return nil, err
	}
	if err := w.calls.allow("token/"+string(store.SecretID(secret)), w.o.Policy.Calls); err != nil {
		return nil, err
	}
	a, err := w.o.Store.Account(r.Context(), t.Account)
	switch {
	case err != nil:
		return nil, err
	case a.Disabled:
		return nil, errNoToken
	case !slices.Contains(t.Scopes, scope):
		return nil, fmt.Errorf("%w: the token does not have the scope %q", concordat.ErrRefused, scope)
	case scope == scopeCheck && a.Role == store.RoleAuditor:
		return nil, fmt.Errorf("%w: an auditor hands nothing in", concordat.ErrRefused)
	}
	return &visitor{Account: a, address: address}, nil
}

var errNoToken = errors.New("no valid token in Authorization: Bearer TOKEN")

// problemOf describes an error as RFC 9457 has it. Types are stable.
func problemOf(err error) *huma.ErrorModel {
	status, kind := http.StatusInternalServerError, "fault"
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errNoToken):
		status, kind = http.StatusUnauthorized, "token"
	case errors.As(err, &tooLarge):
		status, kind = http.StatusRequestEntityTooLarge, "large"
	case errors.As(err, new(*store.QuotaUsed)):
		status, kind = http.StatusTooManyRequests, "quota"
	case errors.As(err, new(*tooMany)):
		status, kind = http.StatusTooManyRequests, "too_many"
	case errors.Is(err, concordat.ErrNotFound):
		status, kind = http.StatusNotFound, "not_found"
	case errors.Is(err, concordat.ErrRefused):
		status, kind = http.StatusForbidden, "refused"
	case errors.Is(err, concordat.ErrChanged):
		status, kind = http.StatusConflict, "changed"
	case errors.Is(err, concordat.ErrDiskFull):
		status, kind = http.StatusInsufficientStorage, "disk_full"
	case errors.Is(err, errKey):
		status, kind = http.StatusUnprocessableEntity, "idempotency_key"
	case errors.Is(err, concordat.ErrInvalid):
		status, kind = http.StatusBadRequest, "invalid"
	case errors.Is(err, concordat.ErrUnavailable):
		status, kind = http.StatusServiceUnavailable, "unavailable"
	}
	m := &huma.ErrorModel{Type: "urn:concordat:problem:" + kind, Title: http.StatusText(status), Status: status}
	if kind != "fault" {
		m.Detail = err.Error()
	}
	return m
}

var errKey = errors.New("the Idempotency-Key was used for another request")

func (w *Web) problem(rw http.ResponseWriter, err error) {
	m := w.model(err)
	if _, words, retry, limited := limits(english, w.o.Now(), err); limited {
		retryAfter(rw.Header(), retry)
		if words != "" {
			m.Detail = words
		}
	}
	rw.Header().Set("Content-Type", "application/problem+json")
	if m.Status == http.StatusUnauthorized {
		rw.Header().Set("WWW-Authenticate", "Bearer")
	}
	rw.WriteHeader(m.Status)
	_ = json.NewEncoder(rw).Encode(m) // a caller that went away misses nothing
}

// model is problemOf, and what is our fault goes to the log.
func (w *Web) model(err error) *huma.ErrorModel {
	m := problemOf(err)
	if m.Status == http.StatusInternalServerError {
		w.o.Logger.Error("api", "error", err)
	}
	return m
}

// told passes an error to huma.
func (w *Web) told(err error) error {
	if err == nil {
		return nil
	}
	return w.model(err)
}

func visitorOf(ctx context.Context) *visitor {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	return v
}

// apiLibrary is a library as programs see it.
type apiLibrary struct {
	ID        concordat.LibraryID `json:"id"`
	Title     string              `json:"title"`
	Documents int                 `json:"documents"`
}

type apiLibrariesOutput struct {
	Body struct {
		Libraries []apiLibrary `json:"libraries"`
	}
}

func (w *Web) apiLibraries(ctx context.Context, _ *struct{}) (*apiLibrariesOutput, error) {
	ls, err := w.o.Store.Libraries(ctx)
	out := &apiLibrariesOutput{}
	out.Body.Libraries = []apiLibrary{}
	for _, l := range ls {
		out.Body.Libraries = append(out.Body.Libraries, apiLibrary{l.ID, l.Title, l.Documents})
	}
	return out, w.told(err)
}

// apiTask is a check as programs see it.
type apiTask struct {
	ID       concordat.TaskID `json:"id"`
	State    concordat.State  `json:"state" enum:"queued,running,done,partial,failed"`
	Title    string           `json:"title"`
	Cause    string           `json:"cause,omitempty" doc:"Why it failed, or what became of it"`
	Owner    string           `json:"owner"`
	Batch    string           `json:"batch,omitempty" doc:"Shared by checks that were handed in together"`
	Made     time.Time        `json:"made"`
	Finished time.Time        `json:"finished,omitzero"`
	Ahead    *int             `json:"ahead,omitempty" doc:"Checks before this one, while it is queued"`
	Report   string           `json:"report,omitempty" doc:"Where the report is, once there is one"`
}

func (w *Web) apiTask(ctx context.Context, t store.Task) (apiTask, error) {
	out := apiTask{ID: t.ID, State: t.State, Title: t.Title, Cause: t.Cause, Owner: t.Owner, Batch: t.Batch, Made: t.Made, Finished: t.Finished}
	if t.State == concordat.TaskQueued {
		queued, running, err := w.o.Store.Ahead(ctx, t)
		if err != nil {
			return out, err
		}
		n := queued + running
		out.Ahead = &n
	}
	if hasReport(t) {
		out.Report = apiPrefix + "/checks/" + string(t.ID) + "/report"
	}
	return out, nil
}

type apiChecksInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type apiChecksOutput struct {
	Body struct {
		Checks []apiTask `json:"checks"`
		Next   string    `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w *Web) apiChecks(ctx context.Context, in *apiChecksInput) (*apiChecksOutput, error) {
	v := visitorOf(ctx)
	before := int64(0)
	if in.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(in.Cursor, 36, 64); err != nil || before < 1 {
			return nil, w.told(fmt.Errorf("cursor %q: %w", in.Cursor, concordat.ErrInvalid))
		}
	}
	tasks, err := w.o.Store.OwnTasks(ctx, v.Name, before, in.Limit)
	if v.seesAll() {
		tasks, err = w.o.Store.Tasks(ctx, before, in.Limit)
	}
	out := &apiChecksOutput{}
	out.Body.Checks = []apiTask{}
	for _, t := range tasks {
		if err == nil {
			var one apiTask
			one, err = w.apiTask(ctx, t)
			out.Body.Checks = append(out.Body.Checks, one)
		}
	}
	if len(tasks) == in.Limit {
		out.Body.Next = strconv.FormatInt(tasks[len(tasks)-1].Seq, 36)
	}
	return out, w.told(err)
}

type apiCheckInput struct {
	ID string `path:"id"`
}

type apiCheckOutput struct{ Body apiTask }

func (w *Web) apiCheck(ctx context.Context, in *apiCheckInput) (*apiCheckOutput, error) {
	t, err := w.visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err != nil {
		return nil, w.told(err)
	}
	one, err := w.apiTask(ctx, t)
	return &apiCheckOutput{one}, w.told(err)
}

func (w *Web) apiCancel(ctx context.Context, in *apiCheckInput) (*apiCheckOutput, error) {
	v := visitorOf(ctx)
	t, err := w.visible(ctx, v, concordat.TaskID(in.ID))
	if err == nil {
		err = w.cancelTask(ctx, v, t)
	}
	if err != nil {
		return nil, w.told(err)
	}
	return w.apiCheck(ctx, in)
}

// apiSubmit takes what submit takes, once for each Idempotency-Key.
func (w *Web) apiSubmit(rw http.ResponseWriter, r *http.Request) {
	v, err := w.caller(r, scopeCheck)
	if err != nil {
		w.problem(rw, err)
		return
	}
	err = w.mayUpload(rw, r, v)
	var u *upload
	if err == nil {
		u, err = w.read(rw, r)
	}
	var answer string
	if err == nil {
		answer, err = w.submitOnce(r.Context(), v, u, r.Header.Get("Idempotency-Key"))
	}
	if err != nil {
		w.problem(rw, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprint(rw, answer) // a caller that went away asks again with its key
}

func (w *Web) submitOnce(ctx context.Context, v *visitor, u *upload, key string) (string, error) {
	if len(key) > 255 {
		return "", fmt.Errorf("Idempotency-Key of %d bytes, at most 255: %w", len(key), concordat.ErrInvalid)
	}
	if key == "" {
		return w.submitJSON(ctx, v, u)
	}
	asked, err := json.Marshal([]any{u.jobs, u.fields})
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(asked)
	answer, err := w.o.Store.BeginOnce(ctx, v.Name, key, hex.EncodeToString(h[:]))
	if errors.Is(err, concordat.ErrInvalid) {
		return "", errKey
	}
	if err != nil || answer != "" {
		return answer, err
	}
	answer, err = w.submitJSON(ctx, v, u)
	// Kept even if the caller went away: it will ask again.
	return answer, errors.Join(err, w.o.Store.EndOnce(context.WithoutCancel(ctx), v.Name, key, answer))
}

func (w *Web) submitJSON(ctx context.Context, v *visitor, u *upload) (string, error) {
	ids, err := w.hand(ctx, v, u)
	if err != nil {
		return "", err
	}
	var out apiChecksOutput
	for _, id := range ids {
		t, err := w.o.Store.Task(ctx, id)
		if err != nil {
			return "", err
		}
		one, err := w.apiTask(ctx, t)
		if err != nil {
			return "", err
		}
		out.Body.Checks = append(out.Body.Checks, one)
	}
	b, err := json.Marshal(out.Body)
	return string(b), err
}

func (w *Web) apiReport(rw http.ResponseWriter, r *http.Request) {
	v, err := w.caller(r, scopeRead)
	if err != nil {
		w.problem(rw, err)
		return
	}
	t, err := w.visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
	var rep *report.Report
	if err == nil {
		rep, err = w.currentReport(r.Context(), v, t, languageOf(r).report())
	}
	format := r.URL.Query().Get("format")
	if err == nil && !slices.Contains([]string{"", "json", "csv", "html"}, format) {
		err = fmt.Errorf("format %q: %w", format, concordat.ErrInvalid)
	}
	if err != nil {
		w.problem(rw, err)
		return
	}
	switch format {
	case "csv":
		rw.Header().Set("Content-Type", "text/csv; charset=utf-8")
		err = report.WriteCSV(rw, rep, report.CSVOptions{})
	case "html":
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = html.Write(rw, rep)
	default:
		rw.Header().Set("Content-Type", "application/json")
		if err := w.o.ReportJSON(rw, rep); err != nil {
			w.problem(rw, err)
			return
		}
	}
	if err != nil {
		w.o.Logger.Info("report", "task", t.ID, "error", err)
	}
}
