package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// document is the site's description of its API.
type document struct {
	operations []operation
	schemas    map[string]schema
}

// operation is one call of the API.
type operation struct {
	method, path string
	roles        []string
	scope        string
	json, form   bool // whether it accepts a JSON body, or a form
	body         schema
	maxBody      int
}

// schema is the part of a JSON schema that the attacks need.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

func (t *target) readDocument(ctx context.Context) (*document, error) {
	a, err := t.raw(ctx, "", "GET", "/api/v1/openapi.json", "", nil)
	if err != nil {
		return nil, err
	}
	var in struct {
		Paths map[string]map[string]struct {
			Roles   []string `json:"x-concordat-roles"`
			Scope   string   `json:"x-concordat-scope"`
			Most    int      `json:"x-concordat-max-body"`
			Request struct {
				Content map[string]struct{ Schema schema }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(a.body, &in); err != nil || len(in.Paths) == 0 {
		return nil, fmt.Errorf("get the API description from %s/api/v1/openapi.json: status %d: %w", t.base, a.status, errAnswer)
	}
	d := &document{schemas: in.Components.Schemas}
	for _, path := range sortedKeys(in.Paths) {
		for _, method := range sortedKeys(in.Paths[path]) {
			o := in.Paths[path][method]
			_, isJSON := o.Request.Content["application/json"]
			_, isForm := o.Request.Content["multipart/form-data"]
			d.operations = append(d.operations, operation{strings.ToUpper(method), path, o.Roles, o.Scope, isJSON, isForm,
				d.resolve(o.Request.Content["application/json"].Schema), max(o.Most, 64<<10)})
		}
	}
	return d, nil
}

func (d *document) resolve(s schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.schemas[name]
	}
	return s
}

var placeholder = regexp.MustCompile(`\{[^}]+\}`)

// address returns an operation's path, with identities that do not exist.
func (o operation) address() string { return placeholder.ReplaceAllString(o.path, "1111111111111111") }

// attackRights makes every call without a token, with invalid tokens, and with tokens whose roles and scopes do not permit it.
func attackRights(ctx context.Context, t *target, r *result) error {
	type caller struct {
		what, token, role, scope string
	}
	callers := []caller{{what: "no token"}, {what: "an unknown token", token: "concordat_" + strings.Repeat("A", 32)},
		{what: "garbage", token: "x\u00ff'; --"}}
	for _, role := range sortedKeys(t.people) {
		callers = append(callers, caller{"a token with the role " + role, t.people[role].token, role, ""})
	}
	made, err := t.api(ctx, t.admin, "POST", "/tokens", map[string]any{"name": "attack-read", "scopes": []string{"read"}, "days": 1})
	if err != nil {
		return err
	}
	secret, _ := made["secret"].(string)
	callers = append(callers, caller{"an administrator's read-only token", secret, "administrator", "read"})
	type call struct {
		o operation
		c caller
	}
	var all []call
	for _, o := range t.doc.operations {
		for _, c := range callers {
			may := slices.Contains(o.roles, c.role) && (c.scope == "" || o.scope == c.scope)
			if !may && o.path != "/api/v1/openapi.json" {
				all = append(all, call{o, c})
			}
		}
	}
	if err := each(t, r, all, func(x call) error {
		body, kind := []byte(nil), ""
		if x.o.json {
			body, kind = []byte("{}"), "application/json"
		}
		a, err := t.raw(ctx, x.c.token, x.o.method, x.o.address(), kind, body)
		r.tries++
		if err != nil {
			r.fault("%s %s with %s: %v", x.o.method, x.o.path, x.c.what, err)
			return ctx.Err()
		}
		r.count(fmt.Sprintf("status %d", a.status), 1)
		if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden && a.status != http.StatusTooManyRequests {
			r.fault("%s %s with %s: got status %d, want 401 or 403", x.o.method, x.o.path, x.c.what, a.status)
		}
		return nil
	}); err != nil {
		return err
	}
	return t.revoke(ctx, secret)
}

// revoke revokes a token created by this program.
func (t *target) revoke(ctx context.Context, secret string) error {
	list, err := t.api(ctx, t.admin, "GET", "/tokens", nil)
	if err != nil {
		return err
	}
	for _, x := range asList(list["tokens"]) {
		if m, _ := x.(map[string]any); m["name"] == "attack-read" {
			if _, err := t.api(ctx, t.admin, "DELETE", "/tokens/"+url.PathEscape(fmt.Sprint(m["id"])), nil); err != nil {
				return err
			}
		}
	}
	if a, err := t.raw(ctx, secret, "GET", "/api/v1/me", "", nil); err != nil || a.status != http.StatusUnauthorized {
		return fmt.Errorf("call with a revoked token: status %d: %w", a.status, errAnswer)
	}
	return nil
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// guarded lists pages and the roles that may see them.
var guarded = map[string][]string{
	"/people": {"administrator"}, "/platforms": {"administrator"}, "/admin": {"administrator", "auditor"},
	"/admin/audit": {"administrator", "auditor"}, "/admin/storage": {"administrator", "auditor"}, "/admin/tasks": {"administrator",
		"auditor"}, "/admin/harvest": {"administrator", "auditor"},
	"/admin/settings": {"administrator", "auditor"}, "/admin/partners": {"administrator", "auditor"},
	"/requests": {"administrator", "officer"},
}

// attackPages opens pages signed out and with roles that may not see them.
func attackPages(ctx context.Context, t *target, r *result) error {
	stranger := &http.Client{Timeout: time.Minute, CheckRedirect: noRedirect}
	type view struct{ path, role string }
	var all []view
	for _, path := range sortedKeys(guarded) {
		for _, role := range append(sortedKeys(t.people), "") {
			all = append(all, view{path, role})
		}
	}
	return each(t, r, all, func(v view) error {
		browser := stranger
		if v.role != "" {
			browser = t.people[v.role].browser
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+v.path, nil)
		if err != nil {
			return err
		}
		a, err := t.do(browser, req)
		if err != nil {
			return err
		}
		r.tries++
		seen := a.status == http.StatusOK
		if may := slices.Contains(guarded[v.path], v.role); seen != may {
			r.fault("page %s as %q: got status %d, but the page is for %v", v.path, v.role, a.status, guarded[v.path])
		}
		r.count(fmt.Sprintf("status %d", a.status), 1)
		return nil
	})
}

// attackOrigins sends the forms of an administrator's pages from other origins.
func attackOrigins(ctx context.Context, t *target, r *result) error {
	admin := t.people["administrator"].browser
	before, err := t.api(ctx, t.admin, "GET", "/people", nil)
	if err != nil {
		return err
	}
	headers := []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
		{"Origin": "http://localhost:1"}, {"Origin": t.base + ".evil.example"},
		{"Sec-Fetch-Site": "cross-site", "Origin": t.base},
	}
	forms := map[string]url.Values{
		"/people": {"name": {"intruder"}, "role": {"administrator"}}, "/account/tokens": {"name": {"stolen"}, "scope": scopes},
		"/account/password": {"old": {"x"}, "password": {"a stolen password 1"}, "again": {"a stolen password 1"}},
		"/libraries":        {"id": {"intruder"}, "title": {"x"}}, "/deletions": {"reason": {"x"}, "library": {"attacked"}},
		"/account/webhooks": {"url": {"https://evil.example/"}}, "/people/attack-officer": {"action": {"disable"}}, "/logout": {},
		"/admin/audit": {},
	}
	type sent struct {
		path, kind string
		head       map[string]string
	}
	var all []sent
	for _, path := range sortedKeys(forms) {
		for _, h := range headers {
			for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "application/json", ""} {
				all = append(all, sent{path, kind, h})
			}
		}
	}
	if err := each(t, r, all, func(s sent) error {
		a, err := t.post(ctx, admin, s.path, forms[s.path], func(r *http.Request) {
			r.Header.Set("Content-Type", s.kind)
			for k, v := range s.head {
				r.Header.Set(k, v)
			}
		})
		if err != nil {
			return err
		}
		r.tries++
		if a.status != http.StatusForbidden {
			r.fault("POST %s as %q with %v: got status %d, want 403", s.path, s.kind, s.head, a.status)
		}
		return nil
	}); err != nil {
		return err
	}
	after, err := t.api(ctx, t.admin, "GET", "/people", nil)
	if err != nil {
		return err
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		r.fault("accounts were changed from a different origin")
	}
	return nil
}
