package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

var rewrite = flag.Bool("rewrite", false, "rewrite doc/openapi.json")

// TestOpenAPI: the document is valid and equals the one in doc, everything that it describes exists, and each operation states its
// requirements.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) { o.Policy.Calls = 10_000 }) // every operation is tried without a token
	p := d.Visitor(t)
	b := []byte(p.Get("/api/v1/openapi.json", http.StatusOK))
	path, err := webtest.OpenAPIPath()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := webtest.CommittedOpenAPI(); err != nil || string(want) != string(b) {
		t.Errorf("doc/openapi.json is not what is served: run with -rewrite and review (%v)", err)
	}
	meta, err := os.ReadFile("testdata/oas31-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", webtest.Decode(t, meta)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(webtest.Decode(t, b)); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	doc := webtest.ReadOpenAPI(t, b)
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			at := strings.NewReplacer("{id}", "none", "{name}", "none", "{delivery}", "1", "{kind}", "check", "{target}", "none").Replace(path)
			p.Send(p.Request(strings.ToUpper(method), at, nil), http.StatusUnauthorized) // it exists, and requires a token
			if len(o.Security) != 1 || len(o.Security[0]["token"]) != 1 {
				t.Errorf("%s %s does not say which scope it wants", method, path)
				continue
			}
			if ids[o.OperationID] {
				t.Errorf("two operations %s", o.OperationID)
			}
			ids[o.OperationID] = true
			if !slices.Contains(people.Scopes, o.Security[0]["token"][0]) {
				t.Errorf("%s wants the scope %q", o.OperationID, o.Security[0]["token"][0])
			}
			for status, r := range o.Responses {
				for media := range r.Content {
					doc.Schema(t, "paths", path, method, "responses", status, "content", media, "schema")
				}
			}
			if o.RequestBody != nil {
				for media := range o.RequestBody.Content {
					doc.Schema(t, "paths", path, method, "requestBody", "content", media, "schema")
				}
			}
		}
	}
}

// TestOpenAPIAccess: every operation refuses a token with other scopes, and roles that it does not list.
func TestOpenAPIAccess(t *testing.T) {
	t.Parallel()
	b, err := webtest.CommittedOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc := webtest.ReadOpenAPI(t, b)
	d := webtest.New(t, true)
	all := people.Scopes
	programs := map[string]*webtest.Program{}
	var officer *webtest.Person
	for role, name := range map[store.Role]string{store.RoleAdministrator: "adam", store.RoleOfficer: "olga", store.RoleSubmitter: "sue",
		store.RoleAuditor: "axel"} {
		who := d.SignedIn(t, name, role)
		if role == store.RoleOfficer {
			officer = who
		}
		programs[string(role)] = who.Program(all...)
	}
	without := map[string]*webtest.Program{} // keyed by the scope that it lacks
	for _, scope := range all {
		without[scope] = officer.Program(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == scope })...)
	}
	for path, methods := range doc.Paths {
		at := strings.NewReplacer("{id}", "none", "{name}", "none", "{delivery}", "1", "{kind}", "check", "{target}", "none").Replace(path)
		for method, o := range methods {
			if len(o.Roles) == 0 {
				continue // its handler decides
			}
			scope := o.Security[0]["token"][0]
			ask := func(p *webtest.Program) (int, string) {
				r := (&webtest.Person{T: t, Client: http.DefaultClient, Base: d.URL}).Request(strings.ToUpper(method), at, nil)
				r.Header.Set("Authorization", "Bearer "+p.Token)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var m webtest.Problem
				_ = json.NewDecoder(resp.Body).Decode(&m) // some answers are not JSON
				return resp.StatusCode, m.Detail
			}
			if method != "delete" && o.OperationID != "new-link" { // others change nothing, since there is no such object or no body
				for role, p := range programs {
					code, detail := ask(p)
					refused := code == http.StatusForbidden && (strings.Contains(detail, "may not use") ||
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

// TestPathParameters: each operation declares exactly the parameters in its path, as client generators require.
func TestPathParameters(t *testing.T) {
	t.Parallel()
	b, err := webtest.CommittedOpenAPI()
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
