package client_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"concordat/client"
)

// schema is the part of a JSON Schema that these tests read.
type schema struct {
	Ref        string             `json:"$ref"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
	AllOf      []*schema          `json:"allOf"`
}

// document is the part of an OpenAPI document that these tests read.
type document struct {
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema *schema `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
}

// at resolves a reference, and selects the object among alternatives.
func (d *document) at(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.at(d.Components.Schemas[name])
	}
	for _, one := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
		if one = d.at(one); len(one.Properties) > 0 {
			return one
		}
	}
	return s
}

// notRead are fields of the document that the client ignores.
var notRead = []string{
	// These details of a source and of form wording are in the JSON report.
	"Evidence.why", "Evidence.sources.added", "Evidence.sources.date", "Evidence.sources.date_by", "Evidence.sources.documents",
	"Evidence.sources.later_than_submission", "Evidence.sources.oldest", "Evidence.sources.parts", "Evidence.sources.shared",
	"Evidence.sources.span_bytes",
	// These are input from the caller of AskForPlaces, and passages, which a request for places never has.
	"PlacesAsked.asked", "PlacesAsked.changed", "PlacesAsked.contact", "PlacesAsked.lead", "PlacesAsked.level", "PlacesAsked.passages",
	"PlacesAsked.reason", "PlacesAsked.until",
	// This is the kind of a line, which the list already implies.
	"BatchLeads.leads.type", "BatchLeads.many.type", "BatchWording.type",
}

// compare returns the differences between the keys of a client type and the schema's keys.
func (d *document) compare(at string, of reflect.Type, s *schema) (out []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice && s != nil {
			s = d.at(s).Items
		}
		of = of.Elem()
	}
	if s == nil {
		return []string{at + ": not described"}
	}
	s = d.at(s)
	text := reflect.TypeFor[encoding.TextMarshaler]()
	if of.Kind() != reflect.Struct || of.Implements(text) || reflect.PointerTo(of).Implements(text) {
		if len(s.Properties) > 0 && of.Kind() != reflect.Map {
			out = append(out, fmt.Sprintf("%s is a %s here, an object there", at, of))
		}
		return out
	}
	keys := map[string]bool{"$schema": true}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		keys[name] = true
		if p := s.Properties[name]; p == nil {
			out = append(out, at+"."+name+": not in the document")
		} else {
			out = append(out, d.compare(at+"."+name, f.Type, p)...)
		}
	}
	for name := range s.Properties {
		if !keys[name] && !slices.Contains(notRead, at+"."+name) {
			out = append(out, at+"."+name+": not in the client")
		}
	}
	return out
}

// TestDocument: the client reads exactly the fields described in the OpenAPI document, except the ones in notRead.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../doc/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of                 reflect.Type
		method, path, code string
		list               string // key of the list in the answer; empty if the answer is the list itself
	}{
		{reflect.TypeFor[client.Version](), "get", "/version", "200", ""},
		{reflect.TypeFor[client.Me](), "get", "/me", "200", ""},
		{reflect.TypeFor[client.Library](), "get", "/libraries", "200", "libraries"},
		{reflect.TypeFor[client.Library](), "get", "/libraries/{id}", "200", ""},
		{reflect.TypeFor[client.Document](), "get", "/libraries/{id}/documents", "200", "documents"},
		{reflect.TypeFor[client.Added](), "post", "/libraries/{id}/documents", "200", "documents"},
		{reflect.TypeFor[client.Wording](), "get", "/libraries/{id}/wording", "200", "wording"},
		{reflect.TypeFor[client.Wording](), "put", "/libraries/{id}/wording/{name}", "200", ""},
		{reflect.TypeFor[client.BatchWording](), "get", "/batches/{id}/wording", "200", "wording"},
		{reflect.TypeFor[client.Partner](), "get", "/partners", "200", "partners"},
		{reflect.TypeFor[client.Check](), "get", "/checks", "200", "checks"},
		{reflect.TypeFor[client.Check](), "get", "/checks/{id}", "200", ""},
		{reflect.TypeFor[client.Evidence](), "get", "/checks/{id}/evidence", "200", "evidence"},
		{reflect.TypeFor[client.Leads](), "get", "/checks/{id}/leads", "200", ""},
		{reflect.TypeFor[client.PlacesAsked](), "post", "/checks/{id}/requests", "200", "requests"},
		{reflect.TypeFor[client.BatchLeads](), "get", "/batches/{id}/leads", "200", ""},
		{reflect.TypeFor[client.Webhook](), "get", "/webhooks/{id}", "200", ""},
		{reflect.TypeFor[client.Delivery](), "get", "/webhooks/{id}/deliveries", "200", "deliveries"},
		{reflect.TypeFor[client.Person](), "get", "/people", "200", "people"},
		{reflect.TypeFor[client.Link](), "post", "/people", "201", ""},
		{reflect.TypeFor[client.Token](), "get", "/tokens", "200", "tokens"},
		{reflect.TypeFor[client.RuleChange](), "get", "/checks/{id}/rules/history", "200", "changes"},
		{reflect.TypeFor[client.Meaning](), "get", "/admin/meaning", "200", ""},
		{reflect.TypeFor[client.Meaning](), "patch", "/admin/meaning", "202", ""},
		{reflect.TypeFor[client.Note](), "get", "/checks/{id}/notes", "200", "notes"},
	} {
		name := strings.ToUpper(c.method) + " " + c.path
		var s *schema
		for media, content := range d.Paths["/api/v1"+c.path][c.method].Responses[c.code].Content {
			if media == "application/json" {
				s = content.Schema
			}
		}
		if s == nil {
			t.Errorf("%s: no answer %s in the document", name, c.code)
			continue
		}
		if c.list != "" {
			if s = d.at(s).Properties[c.list]; s != nil {
				s = d.at(s).Items
			}
		}
		for _, difference := range slices.Sorted(slices.Values(d.compare(c.of.Name(), c.of, s))) {
			t.Errorf("%s: %s", name, difference)
		}
	}
}
