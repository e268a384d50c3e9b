package web_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
	"concordat/web/review"
)

// routeDecisions states who may use each route. A route without a line fails TestEveryRouteIsDecided. The letters are the roles with
// access to the route: a administrator, o officer, s submitter, u auditor; "open" also admits visitors who have not signed in.
var routeDecisions = map[string]string{
	"GET /batches":                     "aosu", // submitters see only their own
	"GET /batches/new":                 "aos",
	"POST /batches":                    "aos",
	"GET /batches/{id}":                "aosu",
	"GET /batches/{id}/events":         "aosu",
	"GET /batches/{id}/pairs/{a}/{b}":  "aosu",
	"POST /batches/{id}/leads/{a}/{b}": "ao",
	"GET /batches/{id}/wording/{n}":    "aosu",
	"POST /batches/{id}/wording/{n}":   "ao",
	"GET /batches/{id}/charts":         "aosu",
	"GET /batches/{id}/tables/{name}":  "aosu",
	"POST /batches/{id}/again":         "aos",
	"POST /batches/{id}/cancel":        "aos",
	"POST /batches/{id}/delete":        "ao",
	"POST /batches/{id}/lineage":       "ao",
	"POST /batches/{id}/pairs/{a}/{b}": "ao",
	"GET /rechecks":                    "aosu",
	"POST /rechecks":                   "aos",
	"GET /static/":                     "open", // style and script
	"GET /robots.txt":                  "open",
	"GET /first":                       "open", // requires a link
	"POST /first":                      "open",
	"GET /join":                        "open", // requires a link
	"POST /join":                       "open",
	"GET /register":                    "open", // if the site is public
	"POST /register":                   "open",
	"GET /login":                       "open",
	"POST /login":                      "open",
	"GET /login/oidc/{provider}":       "open", // starts a sign-in at the provider
	"GET /login/oidc/{provider}/back":  "open", // completes the sign-in: state, nonce and code (oidc_test.go)
	"GET /lti/jwks":                    "open", // public keys
	"GET /lti/login":                   "open", // a platform starts a launch
	"POST /lti/login":                  "open",
	"POST /lti/launch":                 "open", // requires a signed token of a registered platform
	"POST /lti/notice":                 "open", // requires a signed token too
	"GET /lti/register":                "open", // requires a link from an administrator
	"POST /lti/register":               "open",
	"GET /lti/again":                   "open", // the next step requires the session of a launch (lti_test.go)
	"GET /lti/checks":                  "open",
	"POST /lti/checks":                 "open",
	"GET /lti/checks/{id}":             "open",
	"GET /lti/checks/{id}/report":      "open",
	"GET /lti/configure":               "open",
	"POST /lti/configure":              "open",
	"POST /logout":                     "open", // ends only the visitor's own session
	"POST /language":                   "open", // sets a cookie
	"/api/v1/":                         "open",
	"GET /api/v1/openapi.json":         "open", // the API description
	"GET /account/webhooks":            "aosu", // users see their own; administrators see all
	"POST /account/webhooks":           "aosu",
	"GET /account/webhooks/{id}":       "aosu",
	"POST /account/webhooks/{id}":      "aosu",
	"/":                                "aosu", // unknown paths
	"GET /{$}":                         "aosu",
	"GET /checks":                      "aosu",
	"GET /checks/new":                  "aos",
	"POST /checks/cases":               "ao",
	"POST /checks":                     "aos",
	"GET /libraries":                   "aosu",
	"GET /account":                     "aosu",
	"POST /account/tokens":             "aosu",

	"POST /account/sessions": "aosu",
	"POST /account/password": "aosu",

	"GET /checks/{id}":         "aosu", // for submitters, other people's checks do not exist
	"GET /checks/{id}/events":  "aosu",
	"POST /checks/{id}/cancel": "aos",
	"GET /checks/{id}/report":  "aosu",
	"POST /checks/{id}/rules":  "ao",
	"POST /checks/{id}/notes":  "ao",
	"POST /checks/{id}/delete": "ao",

	"POST /example":             "a",  // adds or removes the example
	"POST /checks/{id}/watch":   "ao", // starts or stops watching the check
	"POST /checks/{id}/library": "ao", // adds the submission to a library or removes it

	"GET /checks/{id}/text/{page}":       "aosu", // parts of a report have the same decision as the report
	"GET /checks/{id}/sources":           "aosu",
	"GET /checks/{id}/passages/{number}": "aosu",
	"GET /checks/{id}/changes":           "aosu",
	"GET /checks/{id}/pages":             "aosu",
	"GET /checks/{id}/pages/{n}":         "aosu",
	"GET /checks/{id}/compare":           "aosu",
	"POST /checks/{id}/ask":              "ao", // asks partners for passages
	"GET /requests":                      "ao",
	"GET /requests/{id}":                 "ao",
	"GET /alerts":                        "ao",
	"GET /alerts/{number}":               "ao", // marks it as read
	"POST /alerts/{number}":              "ao",
	"GET /cases":                         "ao",
	"GET /cases/{id}":                    "ao",
	"POST /cases/{id}":                   "ao",
	"POST /requests/{id}":                "ao", // decides on a partner's request

	"GET /people":         "a",
	"POST /people":        "a",
	"POST /people/{name}": "a",

	"POST /libraries":                       "ao",
	"GET /libraries/{id}":                   "aou",
	"POST /libraries/{id}":                  "a", // policy, partners, deletion
	"GET /libraries/{id}/settings":          "a",
	"GET /libraries/{id}/additions":         "aou",
	"POST /libraries/{id}/additions":        "ao",
	"POST /libraries/{id}/documents":        "ao",
	"POST /libraries/{id}/documents/delete": "ao",

	"GET /admin":                  "au",
	"POST /admin/keys":            "a",
	"POST /admin/keys/later":      "a",
	"GET /admin/design":           "a",
	"GET /admin/harvest":          "au",
	"POST /admin/harvest":         "a",
	"GET /admin/harvest/{id}":     "au",
	"POST /admin/harvest/{id}":    "a",
	"GET /admin/inbox":            "au",
	"POST /admin/inbox":           "a",
	"GET /admin/tasks":            "au",
	"POST /admin/tasks/{id}":      "a",
	"GET /admin/storage":          "au",
	"GET /admin/schemes":          "au",
	"GET /admin/cluster":          "au",
	"POST /admin/meaning":         "a", // builds the index by meaning or installs the encoder
	"GET /admin/settings":         "au",
	"POST /admin/settings":        "a",
	"GET /admin/partners":         "au",
	"GET /admin/partners/{site}":  "au",
	"POST /admin/partners":        "a", // adds partners
	"POST /admin/partners/{site}": "a",
	"GET /admin/audit":            "au",
	"POST /admin/audit":           "au", // verifies the chain
	"GET /admin/audit/export":     "au",

	"GET /deletions":      "au",
	"POST /deletions":     "a",
	"GET /deletions/{id}": "au",
}

// apiDecisions are the decisions for the API, each with the required scope of the token and the permitted roles of its owner.
var apiDecisions = map[string]string{
	"GET /api/v1/batches":                                     "read aosu",
	"POST /api/v1/batches":                                    "check aos",
	"GET /api/v1/batches/{id}":                                "read aosu",
	"GET /api/v1/batches/{id}/pairs":                          "read aosu",
	"GET /api/v1/batches/{id}/clusters":                       "read aosu",
	"GET /api/v1/batches/{id}/leads":                          "read aosu",
	"POST /api/v1/batches/{id}/leads":                         "check ao",
	"GET /api/v1/batches/{id}/wording":                        "read aosu",
	"PUT /api/v1/batches/{id}/wording/{n}":                    "check ao",
	"POST /api/v1/batches/{id}/cancel":                        "check aos",
	"POST /api/v1/batches/{id}/again":                         "check aos",
	"PUT /api/v1/batches/{id}/lineage":                        "check ao",
	"PUT /api/v1/batches/{id}/pairs/{a}/{b}":                  "check ao",
	"GET /api/v1/rechecks":                                    "read aosu",
	"PUT /api/v1/rechecks/{kind}/{target}":                    "check aos",
	"DELETE /api/v1/rechecks/{kind}/{target}":                 "check aos",
	"GET /api/v1/libraries":                                   "read aosu",
	"GET /api/v1/checks":                                      "read aosu",
	"POST /api/v1/checks":                                     "check aos",
	"GET /api/v1/checks/{id}":                                 "read aosu",
	"GET /api/v1/checks/{id}/report":                          "read aosu",
	"POST /api/v1/checks/{id}/cancel":                         "check aos",
	"GET /api/v1/checks/{id}/pages/{page}":                    "read aosu",
	"GET /api/v1/checks/{id}/review":                          "read aosu",
	"POST /api/v1/checks/{id}/rules":                          "review ao",
	"POST /api/v1/checks/{id}/notes":                          "review ao",
	"POST /api/v1/deletions":                                  "erase ao",
	"GET /api/v1/deletions":                                   "read au",
	"GET /api/v1/deletions/{id}":                              "read au",
	"GET /api/v1/requests":                                    "read ao",
	"GET /api/v1/requests/{id}":                               "read ao",
	"POST /api/v1/checks/{id}/requests":                       "review ao",
	"POST /api/v1/requests/{id}/decision":                     "review ao",
	"GET /api/v1/cases":                                       "read ao",
	"GET /api/v1/cases/{id}":                                  "read ao",
	"POST /api/v1/cases/{id}":                                 "review ao",
	"GET /api/v1/watched":                                     "read ao",
	"PUT /api/v1/checks/{id}/watch":                           "review ao",
	"DELETE /api/v1/checks/{id}/watch":                        "review ao",
	"GET /api/v1/alerts":                                      "read ao",
	"GET /api/v1/alerts/{number}":                             "read ao",
	"POST /api/v1/alerts/{number}":                            "review ao",
	"GET /api/v1/libraries/{id}":                              "read aosu",
	"GET /api/v1/libraries/{id}/shares":                       "documents a",
	"PUT /api/v1/libraries/{id}/shares/{partner}":             "documents a",
	"DELETE /api/v1/libraries/{id}/shares/{partner}":          "documents a",
	"GET /api/v1/libraries/{id}/wording":                      "documents a",
	"GET /api/v1/libraries/{id}/wording/{name}":               "documents a",
	"PUT /api/v1/libraries/{id}/wording/{name}":               "documents a",
	"DELETE /api/v1/libraries/{id}/wording/{name}":            "documents a",
	"GET /api/v1/libraries/{id}/documents":                    "documents aou",
	"POST /api/v1/libraries/{id}/documents":                   "documents ao",
	"GET /api/v1/partners":                                    "read aosu",
	"GET /api/v1/templates":                                   "read aosu",
	"GET /api/v1/version":                                     "read aosu",
	"GET /api/v1/me":                                          "read aosu",
	"GET /api/v1/checks/{id}/events":                          "read aosu",
	"GET /api/v1/checks/{id}/evidence":                        "read aosu",
	"GET /api/v1/checks/{id}/leads":                           "read aosu",
	"GET /api/v1/checks/{id}/rules":                           "read aosu",
	"PUT /api/v1/checks/{id}/rules":                           "review ao",
	"POST /api/v1/checks/{id}/rules/undo":                     "review ao",
	"GET /api/v1/checks/{id}/rules/history":                   "read aosu",
	"POST /api/v1/checks/{id}/exclusions":                     "review ao",
	"POST /api/v1/checks/{id}/counted-wording":                "review ao",
	"POST /api/v1/checks/{id}/leads":                          "review ao",
	"GET /api/v1/checks/{id}/notes":                           "read aosu",
	"POST /api/v1/checks/{id}/comments":                       "review ao",
	"GET /api/v1/checks/{id}/verdict":                         "read aosu",
	"POST /api/v1/checks/{id}/verdict":                        "review ao",
	"POST /api/v1/checks/{id}/sign-off":                       "review ao",
	"PUT /api/v1/checks/{id}/comments/{comment}":              "review ao",
	"DELETE /api/v1/checks/{id}/comments/{comment}":           "review ao",
	"GET /api/v1/checks/{id}/library":                         "review ao",
	"PUT /api/v1/checks/{id}/library":                         "review ao",
	"DELETE /api/v1/checks/{id}/library":                      "review ao",
	"GET /api/v1/people":                                      "people a",
	"POST /api/v1/people":                                     "people a",
	"PATCH /api/v1/people/{name}":                             "people a",
	"POST /api/v1/people/{name}/link":                         "people a",
	"GET /api/v1/tokens":                                      "tokens aosu",
	"POST /api/v1/tokens":                                     "tokens aosu",
	"DELETE /api/v1/tokens/{id}":                              "tokens aosu",
	"GET /api/v1/webhooks":                                    "hooks aosu",
	"POST /api/v1/webhooks":                                   "hooks aosu",
	"GET /api/v1/webhooks/{id}":                               "hooks aosu",
	"PATCH /api/v1/webhooks/{id}":                             "hooks aosu",
	"DELETE /api/v1/webhooks/{id}":                            "hooks aosu",
	"POST /api/v1/webhooks/{id}/rotate":                       "hooks aosu",
	"POST /api/v1/webhooks/{id}/ping":                         "hooks aosu",
	"POST /api/v1/webhooks/{id}/replay":                       "hooks aosu",
	"GET /api/v1/webhooks/{id}/deliveries":                    "hooks aosu",
	"GET /api/v1/webhooks/{id}/deliveries/{delivery}":         "hooks aosu",
	"POST /api/v1/webhooks/{id}/deliveries/{delivery}/replay": "hooks aosu",
	"GET /api/v1/harvests":                                    "documents au",
	"POST /api/v1/harvests":                                   "documents a",
	"GET /api/v1/harvests/{id}":                               "documents au",
	"POST /api/v1/harvests/{id}/run":                          "documents a",
	"DELETE /api/v1/harvests/{id}":                            "documents a",
	"GET /api/v1/harvests/{id}/records":                       "documents au",
	"POST /api/v1/inbox":                                      "inbox aos",
	"GET /api/v1/inbox":                                       "inbox aos",
	"GET /api/v1/inbox/{id}":                                  "inbox aos",
	"GET /api/v1/admin/health":                                "read au",
	"GET /api/v1/admin/storage":                               "read au",
	"GET /api/v1/admin/schemes":                               "read au",
	"GET /api/v1/admin/cluster":                               "read au",
	"GET /api/v1/admin/settings":                              "read au",
	"GET /api/v1/admin/meaning":                               "read au",
	"PATCH /api/v1/admin/meaning":                             "settings a",
	"GET /api/v1/admin/inbox":                                 "read au",
	"GET /api/v1/admin/inbox/{id}":                            "read au",
	"POST /api/v1/admin/inbox/{id}/replay":                    "settings a",
	"GET /api/v1/admin/tasks":                                 "read au",
	"POST /api/v1/admin/tasks/{id}/retry":                     "check a",
	"GET /api/v1/admin/partners":                              "read au",
	"GET /api/v1/admin/partners/{site}/exposure":              "read au",
	"GET /api/v1/admin/audit":                                 "read au",
	"POST /api/v1/admin/audit/verify":                         "read au",
	"POST /api/v1/admin/libraries":                            "documents ao",
	"DELETE /api/v1/admin/libraries/{id}":                     "erase a",
}

// apiBodies are valid bodies for the operations. An invalid request would be rejected before its sender is checked.
var apiBodies = map[string]string{
	"PUT /api/v1/batches/{id}/lineage":            `{"author":true,"group":true,"draft":true,"metadata":false}`,
	"PUT /api/v1/batches/{id}/pairs/{a}/{b}":      `{"verdict":"count"}`,
	"PUT /api/v1/batches/{id}/wording/{n}":        `{"count":true,"comment":"x"}`,
	"POST /api/v1/batches/{id}/leads":             `{"number_a":1,"number_b":2,"span":{"start":0,"end":1},"source_span":{"start":0,"end":1},"state":"open"}`,
	"PUT /api/v1/rechecks/{kind}/{target}":        `{"every":7}`,
	"POST /api/v1/admin/libraries":                `{"id":"a/b"}`,
	"PUT /api/v1/libraries/{id}/shares/{partner}": `{"level":"counts"}`,
	"PUT /api/v1/libraries/{id}/wording/{name}":   `{"text":"x"}`,
	"POST /api/v1/deletions":                      `{"reason":"x","tasks":["none"]}`,
	"POST /api/v1/checks/{id}/requests":           `{"start":0,"end":1,"level":"overlap"}`,
	"POST /api/v1/checks/{id}/rules":              `{"action":"undo"}`,
	"POST /api/v1/checks/{id}/notes":              `{"kind":"comment","text":"x"}`,
	"POST /api/v1/cases/{id}":                     `{"state":"cleared"}`,
	"POST /api/v1/alerts/{number}":                `{"action":"handle"}`,
	"POST /api/v1/requests/{id}/decision":         `{"action":"refuse","words":"x"}`,
	"PUT /api/v1/checks/{id}/rules":               `{"exclude_quotes":false,"exclude_bibliography":false,"exclude_citations":false,"count_templates":false,"min_characters":0,"min_source_share":0,"common_above":0}`,
	"POST /api/v1/checks/{id}/exclusions":         `{"exclude":true}`,
	"POST /api/v1/checks/{id}/counted-wording":    `{"count":true,"span":{"start":0,"end":1}}`,
	"POST /api/v1/checks/{id}/leads":              `{"span":{"start":0,"end":1},"source_span":{"start":0,"end":1},"state":"open"}`,
	"POST /api/v1/checks/{id}/comments":           `{"text":"x"}`,
	"POST /api/v1/checks/{id}/verdict":            `{"verdict":"clear","text":"x"}`,
	"POST /api/v1/people":                         `{"name":"x","role":"submitter"}`,
	"PATCH /api/v1/people/{name}":                 `{"disabled":true}`,
	"POST /api/v1/tokens":                         `{"name":"x","scopes":["tokens"]}`,
	"POST /api/v1/harvests":                       `{"url":"https://repository.example/","library":"theses"}`,
	"POST /api/v1/inbox":                          `{"@context":[],"id":"x","type":"Offer","origin":{},"target":{},"object":{}}`,
	"POST /api/v1/webhooks":                       `{"url":"https://hooks.example/","events":["check.done"]}`,
	"PATCH /api/v1/webhooks/{id}":                 `{}`,
	"PATCH /api/v1/admin/meaning":                 `{"leads":true}`,
	"POST /api/v1/webhooks/{id}/replay":           `{}`,
}

var letters = map[store.Role]string{store.RoleAdministrator: "a", store.RoleOfficer: "o", store.RoleSubmitter: "s", store.RoleAuditor: "u"}

// registered returns the patterns that the package registers without roles, that is, in calls of Handle and HandleFunc whose first
// argument is a literal.
func registered(t *testing.T) (out []string) {
	t.Helper()
	for _, name := range handlerFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "HandleFunc" && sel.Sel.Name != "Handle" {
				return true
			}
			if p, ok := literal(call.Args[0]); ok {
				out = append(out, p)
			} else if name != "web.go" && name != "api/api.go" { // these files pass the pattern as a parameter
				t.Errorf("%s registers a pattern that this test cannot read", name)
			}
			return true
		})
	}
	return out
}

// handlerFiles returns the files that contain handlers for the pages, the API and the learning platforms.
func handlerFiles(t *testing.T) (out []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "api/*.go", "platforms/*.go", "inbox/*.go", "pages/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		out = append(out, slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
	}
	return out
}

// literal returns the value of a string literal, or of a concatenation of literals and APIPrefix.
func literal(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil
	case *ast.Ident:
		return "/api/v1", x.Name == "APIPrefix"
	case *ast.SelectorExpr:
		return literal(x.Sel)
	case *ast.BinaryExpr:
		a, ok := literal(x.X)
		b, ok2 := literal(x.Y)
		return a + b, ok && ok2
	}
	return "", false
}

// operations returns the scope and the permitted roles of each API operation, by METHOD PATH, in the form of apiDecisions.
func operations(t *testing.T, d *webtest.Site) map[string]string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security []map[string][]string
			Roles    []store.Role `json:"x-concordat-roles"`
		}
	}
	if err := json.Unmarshal([]byte(d.Visitor(t).Get("/api/v1/openapi.json", http.StatusOK)), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if len(o.Security) == 1 && len(o.Security[0]["token"]) == 1 {
				let := o.Security[0]["token"][0] + " "
				for _, r := range []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor} {
					if slices.Contains(o.Roles, r) {
						let += letters[r]
					}
				}
				out[strings.ToUpper(method)+" "+path] = let
			} else {
				t.Errorf("%s %s does not say which scope it wants", method, path)
			}
		}
	}
	return out
}

// TestEveryRouteIsDecided: every route has a decision, and every decision has a route.
func TestEveryRouteIsDecided(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	api := operations(t, d)
	got := map[string]string{}
	for _, a := range d.Web.Access() {
		for _, r := range []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor} {
			if slices.Contains(a.Roles, r) {
				got[a.Pattern] += letters[r]
			}
		}
	}
	for _, p := range registered(t) {
		if _, described := api[p]; described {
			continue // a stream of the API
		}
		if p == "/" {
			got[p] = "aosu"
		} else if p == "GET /api/v1/openapi.json" || p == "/api/v1/" { // the latter reports an unknown operation
			got[p] = "open"
		} else if strings.HasPrefix(strings.TrimPrefix(p, "GET "), "/api/v1/") || strings.HasPrefix(strings.TrimPrefix(p, "POST "), "/api/v1/") {
			t.Errorf("%s is not described in the OpenAPI document", p)
		} else {
			got[p] = "open"
		}
	}
	for _, p := range slices.Sorted(maps.Keys(got)) {
		if want, ok := routeDecisions[p]; !ok {
			t.Errorf("%q: %q lets in whom nobody has decided to: add a line to routeDecisions", p, got[p])
		} else if want != got[p] {
			t.Errorf("%s lets in %q, decided is %q", p, got[p], want)
		}
	}
	for p := range routeDecisions {
		if _, ok := got[p]; !ok {
			t.Errorf("%s is decided and not there", p)
		}
	}
	for o, let := range api {
		if want, ok := apiDecisions[o]; !ok {
			t.Errorf("%q wants %q, and nobody has decided that: add a line to apiDecisions", o, let)
		} else if want != let {
			t.Errorf("%s wants %s, decided is %s", o, let, want)
		}
	}
	for o := range apiDecisions {
		if _, ok := api[o]; !ok {
			t.Errorf("%s is decided and not there", o)
		}
	}
}

// filled replaces the wildcards of a pattern with values.
func filled(pattern, id string) (method, path string) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = http.MethodGet, method+"nonsense"
	}
	path = strings.NewReplacer("{$}", "", "{id}", id, "{name}", "nobody", "{kind}", "check", "{target}", "none").Replace(path)
	for i := strings.IndexByte(path, '{'); i >= 0; i = strings.IndexByte(path, '{') { // a wildcard unknown to this test
		j := strings.IndexByte(path[i:], '}')
		path = path[:i] + "1" + path[i+j+1:]
	}
	return method, path
}

// TestRolesAtEveryRoute tries every route with every role and without a role. Visitors without access are refused, and those with access
// are not refused because of their role.
func TestRolesAtEveryRoute(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	roles := map[string]*webtest.Person{"": d.Visitor(t)}
	for role, letter := range letters {
		roles[letter] = d.SignedIn(t, "of-"+string(role), role)
	}
	for _, p := range roles {
		p.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	for _, pattern := range slices.Sorted(maps.Keys(routeDecisions)) {
		decision := routeDecisions[pattern]
		if decision == "open" {
			continue
		}
		method, path := filled(pattern, "none")
		for letter, p := range roles {
			r := p.Request(method, path, nil)
			resp, err := p.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			code, to := resp.StatusCode, resp.Header.Get("Location")
			switch {
			case letter == "" && method == http.MethodGet:
				if code != http.StatusSeeOther || !strings.HasPrefix(to, "/login") {
					t.Errorf("%s as nobody: %d to %q, want to sign in", pattern, code, to)
				}
			case letter == "" || !strings.Contains(decision, letter):
				if code != http.StatusForbidden {
					t.Errorf("%s as %q: %d, want %d", pattern, letter, code, http.StatusForbidden)
				}
			case code == http.StatusForbidden || code >= 500 && code != http.StatusServiceUnavailable:
				t.Errorf("%s as %q: %d", pattern, letter, code)
			}
		}
	}
}

// TestTokensAtEveryOperation tries every operation with tokens of every role and scope.
func TestTokensAtEveryOperation(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	for role, letter := range letters {
		p := d.SignedIn(t, "of-"+string(role), role)
		for _, scope := range people.Scopes {
			prog := p.Program(scope)
			for o, decision := range apiDecisions {
				want, whose, _ := strings.Cut(decision, " ")
				method, path := filled(o, "none")
				r, err := http.NewRequestWithContext(t.Context(), method, d.URL+path, strings.NewReader(apiBodies[o]))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+prog.Token)
				r.Header.Set("Content-Type", "application/json")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				refused := resp.StatusCode == http.StatusForbidden
				if may := want == scope && strings.Contains(whose, letter); may == refused {
					t.Errorf("%s with scope %s of %s: %d, may it: %v", o, scope, role, resp.StatusCode, may)
				}
				if resp.StatusCode == http.StatusUnprocessableEntity && want == scope {
					t.Errorf("%s: not a valid body: add one to apiBodies", o)
				}
				if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusInternalServerError {
					t.Errorf("%s with scope %s of %s: %d", o, scope, role, resp.StatusCode)
				}
			}
		}
	}
}

// formats contains a query for each format of a report; each query selects a source.
var formats = []string{"?" + aSource, "?format=json&" + aSource, "?format=csv&" + aSource, "?format=html&" + aSource, "?format=text&" +
	aSource, "?format=pdf&" + aSource}

const aSource = "site=here&library=theses&document=folios.txt"

// reads requests every GET route of a check from the pages and the API, with the user's browser or token, and returns the answers by
// pattern.
func reads(t *testing.T, p *webtest.Person, prog *webtest.Program, id concordat.TaskID) map[string]*http.Response {
	t.Helper()
	out := map[string]*http.Response{}
	ask := func(pattern, query, token string) {
		method, path := filled(pattern, string(id))
		r := p.Request(method, path+query, nil)
		client := p.Client
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
			client = http.DefaultClient
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		webtest.After(t, func() { resp.Body.Close() })
		out[pattern+query] = resp
	}
	for pattern := range routeDecisions {
		if strings.HasPrefix(pattern, "GET /checks/{id}") {
			for _, query := range formats {
				ask(pattern, query, "")
			}
		}
	}
	for o := range apiDecisions {
		if strings.HasPrefix(o, "GET /api/v1/checks/{id}") {
			for _, query := range formats {
				ask(o, query, prog.Token)
			}
		}
	}
	return out
}

// TestOthersReports: no route shows a submitter any part of another person's check or lets the submitter change it.
func TestOthersReports(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	id := d.CheckedBy(t, olga, "Olga's essay", webtest.Folios)
	for route, resp := range reads(t, sue, sue.Program("read", "check"), id) {
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s of another's check: %d", route, resp.StatusCode)
		}
	}
	for pattern := range routeDecisions {
		if strings.HasPrefix(pattern, "POST /checks/{id}") {
			_, path := filled(pattern, string(id))
			resp, err := sue.PostForm(d.URL+path, url.Values{"kind": {"comment"}, "text": {"x"}, "reason": {"x"}})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s of another's check: %d", pattern, resp.StatusCode)
			}
		}
	}
	if page := sue.Get("/checks", http.StatusOK); strings.Contains(page, "Olga") {
		t.Error("another's check is in the list")
	}
}

// body reads the body of an answer.
func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

// TestSubmittersView: every route shows a submitter exactly what the policy permits, and each reading is recorded in the audit.
func TestSubmittersView(t *testing.T) {
	t.Parallel()
	const wording, name = "had begun to fade", "On folios" // words of the source where the submission has different words
	essay := strings.Replace(webtest.Folios, "had begun to fade", "was fading fast", 1) +
		" And here is a sentence of my own, which nobody has written before in this place."
	for _, c := range []struct {
		policy                web.Policy
		wording, name, score  bool
		afterVerdict, refused bool
	}{
		{web.Policy{}, true, true, true, false, false},
		{web.Policy{See: review.SeeReport}, false, true, true, false, false},
		{web.Policy{See: review.SeeScore}, false, false, true, false, false},
		{web.Policy{See: review.SeeNothing}, false, false, false, false, true},
		{web.Policy{From: review.FromVerdict}, false, false, false, false, true},
		{web.Policy{From: review.FromVerdict}, true, true, true, true, false},
		{web.Policy{From: review.FromSigned, See: review.SeeReport}, false, false, false, true, true},
	} {
		t.Run(string(c.policy.See)+string(c.policy.From), func(t *testing.T) {
			d := webtest.NewWith(t, false, func(o *web.Options) { o.Policy = c.policy })
			olga := d.SignedIn(t, "olga", store.RoleOfficer)
			sue := d.SignedIn(t, "sue", store.RoleSubmitter)
			id := d.CheckedBy(t, sue, "essay", essay)
			const among = "words among officers"
			olga.Post("/checks/"+string(id)+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {among}})
			if c.afterVerdict {
				olga.Post("/checks/"+string(id)+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"it is cited"}})
			}
			before := d.Readings(t)
			prog := sue.Program("read")
			var withWording, withName, withScore, shown int
			for route, resp := range reads(t, sue, prog, id) {
				text := body(t, resp)
				if strings.Contains(text, among) && !c.wording {
					t.Errorf("%s shows what officers wrote", route)
				}
				if strings.Contains(text, wording) {
					withWording++
					if !c.wording {
						t.Errorf("%s shows the wording of the source", route)
					}
				}
				if strings.Contains(text, name) {
					withName++
					if !c.name {
						t.Errorf("%s names the source", route)
					}
				}
				if strings.Contains(text, "of the compared text") || strings.Contains(text, `"coverage":`) {
					withScore++
					if !c.score {
						t.Errorf("%s shows the score", route)
					}
				}
				if strings.Contains(text, name) || strings.Contains(text, "of the compared text") {
					shown++
				}
				if strings.HasPrefix(route, "GET /checks/{id}/report") && c.refused && resp.StatusCode != http.StatusForbidden {
					t.Errorf("%s: %d", route, resp.StatusCode)
				}
			}
			if c.wording && withWording == 0 || c.name && withName == 0 || c.score && withScore == 0 {
				t.Errorf("shown: wording %d times, name %d, score %d", withWording, withName, withScore)
			}
			if got := d.Readings(t) - before; got == 0 && shown > 0 {
				t.Errorf("no reading is in the audit, %d routes showed something", shown)
			}
			if page := olga.Get("/checks/"+string(id)+"/report", http.StatusOK); !strings.Contains(page, wording) {
				t.Error("the officer does not see the wording")
			}
		})
	}
}

// TestEveryReadingIsAudited: reading a report through any route adds an audit entry.
func TestEveryReadingIsAudited(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	id := d.CheckedBy(t, olga, "essay", webtest.Folios)
	prog := olga.Program("read")
	shown := 0
	for pattern := range routeDecisions {
		if !strings.HasPrefix(pattern, "GET /checks/{id}") {
			continue
		}
		// Each request has a new reader, because repeated reading of parts of a report by one person is recorded only at intervals.
		reader := d.SignedIn(t, "reader of "+pattern, store.RoleOfficer)
		before := d.Readings(t)
		_, path := filled(pattern, string(id))
		resp, err := reader.Client.Get(d.URL + path + "?" + aSource)
		if err != nil {
			t.Fatal(err)
		}
		if text := body(t, resp); resp.StatusCode == http.StatusOK && (strings.Contains(text, "On folios") ||
			strings.Contains(text, "paper of the folios")) {
			if shown++; d.Readings(t) == before {
				t.Errorf("%s shows a report and leaves no line", pattern)
			}
		}
		resp.Body.Close()
	}
	if shown < 2 {
		t.Errorf("only %d routes show the report", shown)
	}
	for _, format := range []string{"json", "csv", "html"} {
		before := d.Readings(t)
		prog.Call(http.MethodGet, "/api/v1/checks/"+string(id)+"/report?format="+format, http.StatusOK, nil)
		if d.Readings(t) != before+1 {
			t.Errorf("the interface gives %s and leaves no line", format)
		}
	}
}
