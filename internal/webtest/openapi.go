package webtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Properties returns the names of the body's properties that the document lists.
func (doc *openAPI) Properties(t *testing.T, media json.RawMessage) []string {
	t.Helper()
	var m struct {
		Schema struct {
			Ref        string `json:"$ref"`
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(media, &m); err != nil {
		t.Fatal(err)
	}
	if name, ok := strings.CutPrefix(m.Schema.Ref, "#/components/schemas/"); ok {
		return slices.Sorted(maps.Keys(doc.Components.Schemas[name].Properties))
	}
	return slices.Sorted(maps.Keys(m.Schema.Properties))
}

// OpenAPIPath returns the path of doc/openapi.json.
func OpenAPIPath() (string, error) {
	dir, err := root()
	return filepath.Join(dir, "doc", "openapi.json"), err
}

// openAPI contains the parts of the document that the tests need.
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

// Decode decodes JSON for a schema to validate.
func Decode(t *testing.T, b []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ReadOpenAPI reads the document that the site serves.
func ReadOpenAPI(t *testing.T, b []byte) *openAPI {
	t.Helper()
	doc := &openAPI{schemas: jsonschema.NewCompiler(), done: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(b, doc); err != nil {
		t.Fatal(err)
	}
	doc.schemas.AssertFormat()
	doc.schemas.DefaultDraft(jsonschema.Draft2020)
	if err := doc.schemas.AddResource("https://concordat.invalid/openapi.json", Decode(t, b)); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Schema returns the schema at a JSON pointer of the document.
func (doc *openAPI) Schema(t *testing.T, pointer ...string) *jsonschema.Schema {
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
			// If several match, use the one with the fewest parameters.
			if !ok || strings.Count(template, "{") < strings.Count(path, "{") {
				return template, true
			}
		}
	}
	return "", false
}

// CommittedOpenAPI returns the text of doc/openapi.json.
var CommittedOpenAPI = sync.OnceValues(func() ([]byte, error) {
	path, err := OpenAPIPath()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

var described = func() func(t *testing.T, base string, r *http.Request, resp *http.Response, body []byte) {
	var mu sync.Mutex
	var doc *openAPI // guarded by mu
	return func(t *testing.T, _ string, r *http.Request, resp *http.Response, body []byte) {
		t.Helper()
		b, err := CommittedOpenAPI()
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if doc == nil {
			doc = ReadOpenAPI(t, b)
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
		t.Errorf("%s %s is missing from the OpenAPI description", r.Method, r.URL.Path)
		return
	}
	method := strings.ToLower(r.Method)
	status := strconv.Itoa(resp.StatusCode)
	answers := doc.Paths[template][method].Responses
	if _, ok := answers[status]; !ok {
		if resp.StatusCode < 400 {
			t.Errorf("%s %s responds with status %s, which is missing from the OpenAPI description", r.Method, template, status)
			return
		}
		status = "default"
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if len(answers[status].Content) == 0 {
		if len(body) > 0 {
			t.Errorf("%s %s responds with status %s and a body, which is missing from the OpenAPI description", r.Method, template, status)
		}
		return
	}
	if _, ok := answers[status].Content[media]; !ok {
		t.Errorf("%s %s responds with status %s and %s, but the OpenAPI description has only %v", r.Method, template, status, media, answers[status].Content)
		return
	}
	if !strings.HasSuffix(media, "json") {
		return
	}
	s := doc.Schema(t, "paths", template, method, "responses", status, "content", media, "schema")
	if err := s.Validate(Decode(t, body)); err != nil {
		t.Errorf("%s %s: %v\n%s", r.Method, template, err, body)
	}
}
