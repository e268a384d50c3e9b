package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"concordat/store"
	"concordat/web"
)

var rewrite = flag.Bool("rewrite", false, "rewrite doc/openapi.json")

const openAPIPath = "../doc/openapi.json"

// openAPI holds the parts of the document that the tests need.
type openAPI struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Description string
		Security    []map[string][]string
		Roles       []string `json:"x-concordat-roles"`
		Responses   map[string]struct {
			Content map[string]json.RawMessage
		}
		RequestBody *struct{ Content map[string]json.RawMessage }
	}
	Components struct {
		Schemas map[string]struct{ Properties map[string]any }
	}
	schemas *jsonschema.Compiler
	mu      sync.Mutex // guards schemas and compiled
	done    map[string]*jsonschema.Schema
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// documentOf reads the document that the site serves.
func documentOf(t *testing.T, b []byte) *openAPI {
	t.Helper()
	doc := &openAPI{schemas: jsonschema.NewCompiler(), done: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(b, doc); err != nil {
		t.Fatal(err)
	}
	doc.schemas.AssertFormat()
	doc.schemas.DefaultDraft(jsonschema.Draft2020)
	if err := doc.schemas.AddResource("https://concordat.invalid/openapi.json", decode(t, b)); err != nil {
		t.Fatal(err)
	}
	return doc
}

// schema returns the schema at a JSON pointer of the document.
func (doc *openAPI) schema(t *testing.T, pointer ...string) *jsonschema.Schema {
	t.Helper()
	doc.mu.Lock()
	defer doc.mu.Unlock()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B")
	at := "https://concordat.invalid/openapi.json#"
	for _, p := range pointer {
		at += "/" + escape.Replace(p)
	}
	if s, ok := doc.done[at]; ok {
		return s
	}
	s, err := doc.schemas.Compile(at)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	doc.done[at] = s
	return s
}

// operation finds the path template and the method of a request.
func (doc *openAPI) operation(method, path string) (template string, ok bool) {
	for template, methods := range doc.Paths {
		want, got := strings.Split(template, "/"), strings.Split(path, "/")
		fits := len(want) == len(got)
		for i := range want {
			fits = fits && i < len(got) && (want[i] == got[i] || strings.HasPrefix(want[i], "{"))
		}
		if _, has := methods[strings.ToLower(method)]; fits && has {
			// Of two that fit, take the one with fewer parameters.
			if !ok || strings.Count(template, "{") < strings.Count(path, "{") {
				return template, true
			}
		}
	}
	return "", false
}

var committed = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(openAPIPath) })

var described = func() func(t *testing.T, base string, r *http.Request, resp *http.Response, body []byte) {
	var mu sync.Mutex
	var doc *openAPI // guarded by mu
	return func(t *testing.T, _ string, r *http.Request, resp *http.Response, body []byte) {
		t.Helper()
		b, err := committed()
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if doc == nil {
			doc = documentOf(t, b)
		}
		mu.Unlock()
		checkAnswer(t, doc, r, resp, body)
	}
}()

// checkAnswer compares an answer with its description in the document.
func checkAnswer(t *testing.T, doc *openAPI, r *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	template, ok := doc.operation(r.Method, r.URL.Path)
	if !ok {
		t.Errorf("%s %s is not described", r.Method, r.URL.Path)
		return
	}
	method := strings.ToLower(r.Method)
	status := strconv.Itoa(resp.StatusCode)
	answers := doc.Paths[template][method].Responses
	if _, ok := answers[status]; !ok {
		if resp.StatusCode < 400 {
			t.Errorf("%s %s answers %s, which is not described", r.Method, template, status)
			return
		}
		status = "default"
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if len(answers[status].Content) == 0 {
		if len(body) > 0 {
			t.Errorf("%s %s answers %s with a body, which is not described", r.Method, template, status)
		}
		return
	}
	if _, ok := answers[status].Content[media]; !ok {
		t.Errorf("%s %s answers %s with %s, described are %v", r.Method, template, status, media, answers[status].Content)
		return
	}
	if !strings.HasSuffix(media, "json") {
		return
	}
	s := doc.schema(t, "paths", template, method, "responses", status, "content", media, "schema")
	if err := s.Validate(decode(t, body)); err != nil {
		t.Errorf("%s %s: %v\n%s", r.Method, template, err, body)
	}
}

// TestOpenAPI: the document is valid and equals the one in doc, everything that it describes exists, and each operation
// says what it requires.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, true, func(o *web.Options) { o.Policy.Calls = 10_000 }) // every operation is tried without a token
	p := d.person(t)
	b := []byte(p.get("/api/v1/openapi.json", http.StatusOK))
	if *rewrite {
		if err := os.WriteFile(openAPIPath, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(openAPIPath); err != nil || string(want) != string(b) {
		t.Errorf("doc/openapi.json is not what is served: run with -rewrite and review (%v)", err)
	}
	meta, err := os.ReadFile("testdata/oas31-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", decode(t, meta)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(decode(t, b)); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	doc := documentOf(t, b)
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			at := strings.NewReplacer("{id}", "none", "{name}", "none", "{delivery}", "1", "{kind}", "check", "{target}", "none").Replace(path)
			p.do(p.request(strings.ToUpper(method), at, nil), http.StatusUnauthorized) // it exists, and requires a token
			if len(o.Security) != 1 || len(o.Security[0]["token"]) != 1 {
				t.Errorf("%s %s does not say which scope it wants", method, path)
				continue
			}
			if ids[o.OperationID] {
				t.Errorf("two operations %s", o.OperationID)
			}
			ids[o.OperationID] = true
			if !slices.Contains(web.Scopes, o.Security[0]["token"][0]) {
				t.Errorf("%s wants the scope %q", o.OperationID, o.Security[0]["token"][0])
			}
			for status, r := range o.Responses {
				for media := range r.Content {
					doc.schema(t, "paths", path, method, "responses", status, "content", media, "schema")
				}
			}
			if o.RequestBody != nil {
				for media := range o.RequestBody.Content {
					doc.schema(t, "paths", path, method, "requestBody", "content", media, "schema")
				}
			}
		}
	}
}

// TestOpenAPIAccess: every operation refuses a token with other scopes, and every role that it does not name.
func TestOpenAPIAccess(t *testing.T) {
	t.Parallel()
	b, err := committed()
	if err != nil {
		t.Fatal(err)
	}
	doc := documentOf(t, b)
	d := newTestSite(t, true)
	all := web.Scopes
	programs := map[string]*program{}
	var officer *person
	for role, name := range map[store.Role]string{store.RoleAdministrator: "adam", store.RoleOfficer: "olga", store.RoleSubmitter: "sue",
		store.RoleAuditor: "axel"} {
		who := d.signedIn(t, name, role)
		if role == store.RoleOfficer {
			officer = who
		}
		programs[string(role)] = who.program(all...)
	}
	without := map[string]*program{} // keyed by the scope that it lacks
	for _, scope := range all {
		without[scope] = officer.program(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == scope })...)
	}
	for path, methods := range doc.Paths {
		at := strings.NewReplacer("{id}", "none", "{name}", "none", "{delivery}", "1", "{kind}", "check", "{target}", "none").Replace(path)
		for method, o := range methods {
			if len(o.Roles) == 0 {
				continue // its handler decides
			}
			scope := o.Security[0]["token"][0]
			ask := func(p *program) (int, string) {
				r := (&person{t, http.DefaultClient, d.URL}).request(strings.ToUpper(method), at, nil)
				r.Header.Set("Authorization", "Bearer "+p.token)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var m problem
				_ = json.NewDecoder(resp.Body).Decode(&m) // an answer may be something else
				return resp.StatusCode, m.Detail
			}
			if method != "delete" && o.OperationID != "new-link" { // others change nothing: the thing does not exist, or there is no body
				for role, p := range programs {
					code, detail := ask(p)
					refused := code == http.StatusForbidden && (strings.Contains(detail, "is not for the role") ||
						strings.Contains(detail, "auditors cannot submit"))
					if want := !slices.Contains(o.Roles, role); refused != want {
						t.Errorf("%s as %s: %d %s; the roles are %v", o.OperationID, role, code, detail, o.Roles)
					}
				}
			}
			if code, detail := ask(without[scope]); code != http.StatusForbidden || !strings.Contains(detail, strconv.Quote(scope)) {
				t.Errorf("%s without the scope %s: %d %s", o.OperationID, scope, code, detail)
			}
		}
	}
}

// TestPathParameters: each operation declares the parameters that its path names, and no others; generators of clients need them.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(openAPIPath)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\{(\w+)\}`)
	for path, operations := range doc.Paths {
		var want []string
		for _, m := range named.FindAllStringSubmatch(path, -1) {
			want = append(want, m[1])
		}
		slices.Sort(want)
		for method, o := range operations {
			var got []string
			for _, p := range o.Parameters {
				if p.In == "path" {
					got = append(got, p.Name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s %s declares %v, its path names %v", method, path, got, want)
			}
		}
	}
}
