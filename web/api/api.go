package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web"
	"concordat/web/bounds"
	"concordat/web/inbox"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/platforms"
)

// api serves the API operations for checks, reports, batches and requests.
type api struct {
	Web   *web.Web
	tool  *platforms.Tool // nil if the site serves no learning platforms
	inbox *inbox.Inbox    // nil if the site accepts no notifications
}

// Scopes of tokens, by the names that operations use.
const (
	scopeRead      = people.ScopeRead
	scopeCheck     = people.ScopeCheck
	scopeReview    = people.ScopeReview
	scopeDocuments = people.ScopeDocuments
	scopePeople    = people.ScopePeople
	scopeTokens    = people.ScopeTokens
	scopeHooks     = people.ScopeHooks
	scopeErase     = people.ScopeErase
	scopePlatforms = people.ScopePlatforms
	scopeInbox     = people.ScopeInbox
	scopeSettings  = people.ScopeSettings
)

// apiVersion is the version of the API, not of the program.
const apiVersion = "1.1.0"

type (
	visitorKey struct{}
	tokenKey   struct{}
)

const apiWords = `Submit documents, follow their checks, and read and decide on the reports.

A token is created on the account page, acts for its account, and is sent in each request as Authorization: Bearer TOKEN.
Each operation names the scope that the token needs and the roles that the account may have.

Lists come in pages: limit is the maximum number of entries in one, and next is the cursor of the following page, absent
on the last. A cursor is valid only for the list that returned it.

Refusals follow RFC 9457 (application/problem+json); type is stable. At most the first 20 faults are listed. Unless an
operation says otherwise, a JSON body has at most 64 KiB, 30000 values and 16 levels, and no duplicate keys; a form with
files has at most 1000 of them, and 4 MiB of other fields.`

// Add adds the API to the routes of the site. tool is nil if the site serves no learning platforms, and in is nil if it accepts no
// notifications.
func Add(site *web.Web, tool *platforms.Tool, in *inbox.Inbox) {
	w := api{site, tool, in}
	admin := adminAPI{w}
	c := huma.DefaultConfig("Concordat", apiVersion)
	c.Info.Description = apiWords
	c.CreateHooks = nil // omit $schema links, which would be built from the Host header
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", ""
	c.Transformers = append(c.Transformers, bounds.Named)
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	a := humago.New(w.Web.Mux, c)
	a.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		r, rw := humago.Unwrap(ctx)
		v, t, err := w.callerToken(r, scopeOf(ctx.Operation()))
		if err == nil {
			err = allowed(v, ctx.Operation())
		}
		if err != nil {
			w.problem(rw, err)
			return
		}
		limit.Known(rw, r)
		err = bounds.Query(r, ctx.Operation())
		if err == nil {
			err = bounds.Body(rw, r, ctx.Operation(), a.OpenAPI().Components.Schemas)
		}
		if err != nil {
			w.problem(rw, err)
			return
		}
		next(huma.WithValue(huma.WithValue(ctx, visitorKey{}, v), tokenKey{}, t))
	})
	checksAPI{w}.apiOfChecks(a)
	w.apiOfPages(a)
	reviewsAPI{w}.apiOfRules(a)
	admin.apiOfLibraries(a)
	admin.apiOfPeople(a)
	admin.apiOfTokens(a)
	admin.apiOfHooks(a)
	admin.apiOfAdmin(a)
	admin.apiOfCluster(a)
	batchesAPI{w}.apiOfBatches(a)
	admin.apiOfDeletions(a)
	requestsAPI{w}.apiOfRequests(a)
	alertsAPI{w}.apiOfAlerts(a)
	apiOfCases(w, a)
	apiOfHarvest(w, a)
	admin.apiOfLTI(a)
	apiOfInbox(w, a)
	reviewsAPI{w}.apiOfReviews(a)
	w.Web.Mux.HandleFunc(web.APIPrefix+"/", w.noOperation)
	// This comes last because it describes everything registered before it.
	w.describe(a)
}

// noOperation answers a request that matches no operation with a problem and the methods that the path allows (RFC 9110, section 15.5.6).
func (w api) noOperation(rw http.ResponseWriter, r *http.Request) {
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if _, pattern := w.Web.Mux.Handler(&http.Request{Method: m, URL: r.URL, Host: r.Host}); strings.HasPrefix(pattern, m+" "+web.APIPrefix) {
			methods = append(methods, m)
		}
	}
	if len(methods) == 0 {
		w.problem(rw, fmt.Errorf("%s: %w", r.URL.Path, concordat.ErrNotFound))
		return
	}
	rw.Header().Set("Allow", strings.Join(methods, ", "))
	w.problem(rw, web.ErrMethod)
}

// operation describes one operation of the OpenAPI document, against which requests are validated.
type operation struct {
	id, method, path, summary string
	text                      string // description, longer than the summary
	scope                     string
	roles                     []store.Role
	status                    int // status of a successful answer; the default is 200
	body                      int // largest JSON body in bytes; the default is bounds.MaxBody
	// needs lists alternative schemas for a JSON body whose fields depend on each other. The body must satisfy at least one of them; if
	// needs is nil, the fields are independent. Handlers enforce these schemas, and the OpenAPI document includes them.
	needs []*huma.Schema
}

const rolesKey = "roles"

// huma converts the operation to huma's type.
func (o operation) huma() huma.Operation {
	var roles []string
	for _, r := range o.roles {
		roles = append(roles, string(r))
	}
	text := "Scope: " + o.scope + ". Roles: " + strings.Join(roles, ", ") + "."
	if o.body > 0 {
		text = fmt.Sprintf("The body has at most %d KiB. %s", o.body>>10, text)
	}
	if o.text != "" {
		text = o.text + "\n\n" + text
	}
	extra := map[string]any{"x-concordat-scope": o.scope, "x-concordat-roles": roles}
	if o.body > 0 {
		extra["x-concordat-max-body"] = o.body
	}
	return huma.Operation{OperationID: o.id, Method: o.method, Path: web.APIPrefix + o.path, Summary: o.summary, Description: text,
		Security: scope(o.scope), DefaultStatus: o.status, Metadata: map[string]any{rolesKey: o.roles},
		MaxBodyBytes: int64(cmp.Or(o.body, bounds.MaxBody)), BodyReadTimeout: -1, Extensions: extra} // the body has been read

}

// body is the output type of all operations that return only a JSON body. Sharing it saves code, since huma compiles a 20 KB handler for
// each pair of input and output types.
type body struct{ Body any }

// register adds an operation whose output O is a struct with a JSON Body and no other fields, and converts its errors to problems.
func register[I, O any](w api, a huma.API, o operation, do func(context.Context, *I) (*O, error)) {
	of := reflect.TypeFor[O]()
	field, ok := of.FieldByName("Body")
	if !ok || of.NumField() > 1 || reflect.PointerTo(field.Type).Implements(reflect.TypeFor[huma.ContentTypeFilter]()) {
		panic(fmt.Sprintf("%s: %v is not a JSON body alone", o.id, of))
	}
	hint := o.id + "Response" // the name that huma gives the schema
	if of.Name() != "" {
		hint = of.Name() + field.Name
	}
	described := o.huma()
	described.Responses = map[string]*huma.Response{strconv.Itoa(cmp.Or(o.status, http.StatusOK)): {Content: map[string]*huma.MediaType{
		"application/json": {Schema: huma.SchemaFromField(a.OpenAPI().Components.Schemas, field, hint)}}}}
	registerAs(w, a, o, described, func(ctx context.Context, in *I) (*body, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, err
		}
		return &body{reflect.ValueOf(out).Elem().FieldByIndex(field.Index).Interface()}, nil
	})
}

// registerEmpty adds an operation whose answer has no body.
func registerEmpty[I any](w api, a huma.API, o operation, do func(context.Context, *I) (*struct{}, error)) {
	registerAs(w, a, o, o.huma(), do)
}

// registerWhole adds an operation whose output sets headers or a content type other than JSON.
func registerWhole[I, O any](w api, a huma.API, o operation, do func(context.Context, *I) (*O, error)) {
	registerAs(w, a, o, o.huma(), do)
}

// registerAs adds an operation with its description.
func registerAs[I, O any](w api, a huma.API, o operation, described huma.Operation, do func(context.Context, *I) (*O, error)) {
	huma.Register(a, described, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, w.humaError(err)
		}
		return out, nil
	})
	op := operationOf(a.OpenAPI().Paths[web.APIPrefix+o.path], o.method)
	if o.needs != nil {
		op.RequestBody.Content["application/json"].Schema = &huma.Schema{
			AllOf: []*huma.Schema{op.RequestBody.Content["application/json"].Schema, {AnyOf: o.needs}}}
	}
	for _, p := range op.Parameters {
		switch {
		case p.Name == "cursor":
			if i := slices.IndexFunc(lists, func(l bounds.List) bool { return l.Name() == o.id }); i >= 0 {
				p.Schema.Pattern = lists[i].Pattern() // enforced by List.Read
			}
		case p.Name == "If-Match":
			p.Required = true // a request without it gets status 428, which huma does not support
		}
	}
}

// need returns a schema that requires the given fields; required texts must contain more than white space. A field with listed values
// must have one of them.
func need(values map[string]any, fields ...string) *huma.Schema {
	out := &huma.Schema{Properties: map[string]*huma.Schema{}, Required: fields}
	for _, f := range fields {
		out.Properties[f] = &huma.Schema{Pattern: `\S`} // the pattern applies only to texts
	}
	for f, v := range values {
		out.Properties[f], out.Required = &huma.Schema{Enum: []any{v}}, append(out.Required, f)
	}
	return out
}

// addresses returns schemas that require these fields of a body, if present, to be public addresses. A site can be configured to allow
// other addresses.
func addresses(fields ...string) []*huma.Schema {
	out := &huma.Schema{Properties: map[string]*huma.Schema{}}
	for _, f := range fields {
		out.Properties[f] = &huma.Schema{Format: "uri", Pattern: `^https://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[A-Za-z0-9/._~-]*)?$`}
	}
	return []*huma.Schema{out}
}

// operationOf returns the operation of a method, or nil if there is none.
func operationOf(p *huma.PathItem, method string) *huma.Operation {
	if p == nil {
		return nil
	}
	switch method {
	case http.MethodGet:
		return p.Get
	case http.MethodPost:
		return p.Post
	case http.MethodPut:
		return p.Put
	case http.MethodPatch:
		return p.Patch
	case http.MethodDelete:
		return p.Delete
	}
	return nil
}

// stream adds an operation that huma cannot handle because it reads or writes a stream. Its description is written by hand, and a test
// compares it with the operation's behaviour.
func (w api) stream(a huma.API, o operation, describe func(*huma.Operation), do func(http.ResponseWriter, *http.Request,
	*pages.Visitor) error) {
	op := o.huma()
	describe(&op)
	op.Responses["default"] = &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: schemaOf[huma.ErrorModel](a)}}}
	a.OpenAPI().AddOperation(&op)
	w.Web.Mux.HandleFunc(o.method+" "+web.APIPrefix+o.path, func(rw http.ResponseWriter, r *http.Request) {
		v, err := w.caller(r, o.scope)
		if err == nil {
			err = allowed(v, &op)
		}
		if err == nil {
			err = bounds.Query(r, &op)
		}
		if err == nil {
			limit.Known(rw, r)
			err = do(rw, r, v)
		}
		if err != nil {
			w.problem(rw, err)
		}
	})
}

// allowed returns an error if the operation is restricted to roles that the caller does not have.
func allowed(v *pages.Visitor, o *huma.Operation) error {
	roles, ok := o.Metadata[rolesKey].([]store.Role)
	if ok && !slices.Contains(roles, v.Role) {
		return fmt.Errorf("%w: the role %[3]s may not use %[2]s", concordat.ErrRefused, o.OperationID, v.Role)
	}
	return nil
}

// scope returns the security requirement of a token with the scope s.
func scope(s string) []map[string][]string { return []map[string][]string{{"token": {s}}} }

func scopeOf(o *huma.Operation) string {
	for _, s := range o.Security {
		if all := s["token"]; len(all) == 1 {
			return all[0]
		}
	}
	return "" // no account has this name
}

// caller returns the account behind the request if its token has the scope.
func (w api) caller(r *http.Request, scope string) (*pages.Visitor, error) {
	v, _, err := w.callerToken(r, scope)
	return v, err
}

// callerToken is like caller, and also returns the token.
func (w api) callerToken(r *http.Request, scope string) (*pages.Visitor, store.Token, error) {
	address := w.Web.Sessions.Address(r)
	// The token is looked up by its hash before anything is counted, so strangers at the same address do not slow down a caller with a
	// valid token.
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	inAddress := !ok && scope == scopeInbox && r.Method == http.MethodPost && r.URL.Query().Get("key") != ""
	if inAddress {
		secret, ok = r.URL.Query().Get("key"), true
	}
	t, err := store.Token{}, error(web.ErrNoToken)
	if ok {
		t, err = w.Web.Options().Store.People.UseToken(r.Context(), secret, store.PurposeAPI)
	}
	if errors.Is(err, web.ErrNoToken) || errors.Is(err, concordat.ErrNotFound) {
		if err := w.Web.Calls.Allow("address/"+address, max(1, w.Web.Options().Policy.Calls/10)); err != nil {
			return nil, store.Token{}, err // too many wrong tokens came from the address
		}
		return nil, store.Token{}, web.ErrNoToken
	}
	if err != nil {
		return nil, store.Token{}, err
	}
	if err := w.Web.Calls.Allow("token/"+string(store.SecretID(secret)), w.Web.Options().Policy.Calls); err != nil {
		return nil, store.Token{}, err
	}
	a, err := w.Web.Options().Store.People.Account(r.Context(), t.Account)
	switch {
	case err != nil:
		return nil, t, err
	case a.Disabled:
		return nil, t, web.ErrNoToken
	case !slices.Contains(t.Scopes, scope):
		return nil, t, fmt.Errorf("%w: the token does not have the scope %q", concordat.ErrRefused, scope)
	case inAddress && len(t.Scopes) > 1: // other servers may log addresses and thus the token
		return nil, t, fmt.Errorf("%w: a token in an address must have no scope other than %q", concordat.ErrRefused, scope)
	case scope == scopeCheck && a.Role == store.RoleAuditor:
		return nil, t, fmt.Errorf("%w: auditors cannot submit documents", concordat.ErrRefused)
	}
	return &pages.Visitor{Account: a, Address: address}, t, nil
}

func (w api) problem(rw http.ResponseWriter, err error) {
	m := w.model(err)
	if _, words, retry, limited := web.Limits(message.English, w.Web.Options().Now(), err); limited {
		limit.RetryAfter(rw.Header(), retry)
		if words != "" {
			m.Detail = words
		}
	}
	if m.Status == http.StatusUnauthorized {
		rw.Header().Set("WWW-Authenticate", "Bearer")
	}
	bounds.WriteProblem(rw, m)
}

// model returns ProblemOf(err), and logs failures of the site or its database.
func (w api) model(err error) *huma.ErrorModel {
	m := web.ProblemOf(err)
	if m.Status == http.StatusInternalServerError || errors.Is(err, store.ErrNoAnswer) {
		w.Web.Options().Logger.Error("api", "error", err)
	}
	return m
}

// humaError converts an error to huma's type.
func (w api) humaError(err error) error {
	if err == nil {
		return nil
	}
	return w.model(err)
}

func visitorOf(ctx context.Context) *pages.Visitor {
	v, _ := ctx.Value(visitorKey{}).(*pages.Visitor)
	return v
}

// These are the paginated lists, by operation. A cursor identifies the start of the next page by the number or name of the preceding
// entry, or by the number of entries before it.
var (
	listOfChecks     = bounds.NewList("list-checks", bounds.Number)
	listOfEvidence   = bounds.NewList("list-evidence", bounds.Number, bounds.Number, bounds.Number) // numbers of rules, findings, entries
	listOfNotes      = bounds.NewList("list-notes", bounds.Number)
	listOfRules      = bounds.NewList("list-rules", bounds.Number)
	listOfBatches    = bounds.NewList("list-batches", bounds.Number)
	listOfPairs      = bounds.NewList("list-batch-pairs", bounds.Number)
	listOfLibraries  = bounds.NewList("list-libraries", bounds.Text)
	listOfDocuments  = bounds.NewList("list-documents", bounds.Text)
	listOfPartners   = bounds.NewList("list-partners", bounds.Text)
	listOfPlatforms  = bounds.NewList("list-platforms", bounds.Text)
	listOfPeople     = bounds.NewList("list-people", bounds.Text)
	listOfTokens     = bounds.NewList("list-tokens", bounds.Number, bounds.Text) // microsecond, identifier
	listOfWebhooks   = bounds.NewList("list-webhooks", bounds.Text)
	listOfDeliveries = bounds.NewList("list-deliveries", bounds.Number)
	listOfTasks      = bounds.NewList("list-tasks", bounds.Number)
	listOfAudit      = bounds.NewList("search-audit", bounds.Number)
	listOfAlerts     = bounds.NewList("list-alerts", bounds.Number)
	listOfCases      = bounds.NewList("list-cases", bounds.Number)
	listOfHarvests   = bounds.NewList("list-harvests", bounds.Text)

	listOfNotifications = bounds.NewList("list-notifications", bounds.Number)
	listOfInbox         = bounds.NewList("list-inbox", bounds.Number)

	listOfHarvestRecords = bounds.NewList("list-harvest-records", bounds.Text)
)

var lists = []bounds.List{listOfChecks, listOfEvidence, listOfNotes, listOfRules, listOfBatches, listOfPairs, listOfLibraries,
	listOfDocuments, listOfPartners, listOfPlatforms, listOfPeople, listOfTokens, listOfWebhooks, listOfDeliveries, listOfTasks, listOfAudit,
	listOfAlerts, listOfCases, listOfHarvests, listOfHarvestRecords, listOfNotifications,
	listOfInbox}
