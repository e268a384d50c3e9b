package bounds

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
)

var listOfTest = NewList("list-things", Number, Text)

// FuzzCursor: a text is a cursor of the list if and only if it matches the pattern; parsing and writing it returns the same text.
func FuzzCursor(f *testing.F) {
	for _, c := range []string{"", listOfTest.Cursor(12, "a.txt"), listOfTest.Cursor(0, ""), "list-things.1.QR", "list-others.1.QQ",
		"list-things.1.AA", "list-things..QQ", "list-things.1.QQ.QQ", "!", "list-things.9999999999999999999.QQ", "list-things.1._w"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		var n int
		var s string
		err := listOfTest.Read(c, &n, &s)
		if err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %v", c, err)
		}
		if matches := listOfTest.pattern.MatchString(c) && len(c) <= maxCursor; matches != (err == nil) {
			t.Errorf("%q: matches the pattern: %v, and reading it says %v", c, matches, err)
		}
		if err != nil || c == "" {
			return
		}
		var n2 int
		var s2 string
		if err := listOfTest.Read(listOfTest.Cursor(n, s), &n2, &s2); err != nil || n2 != n || s2 != s || strings.ContainsRune(s, 0) {
			t.Errorf("%q: %d %q, %d %q, %v", c, n, s, n2, s2, err)
		}
	})
}

// TestQuery: an empty value is rejected if the schema does not allow it.
func TestQuery(t *testing.T) {
	one := 1
	op := &huma.Operation{}
	for name, s := range map[string]*huma.Schema{
		"to": {Type: "string", Format: "date-time"}, "limit": {Type: "integer"}, "owner": {Type: "string"},
		"state": {Type: "array", Items: &huma.Schema{Type: "string", Enum: []any{"done"}}},
		"tags":  {Type: "array", Items: &huma.Schema{Type: "string"}}, "any": {Type: "string", Enum: []any{"", "done"}},
		"cursor": {Type: "string", Pattern: listOfTest.Pattern()}, "why": {Type: "string", MinLength: &one}} {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Schema: s})
	}
	for query, ok := range map[string]bool{
		"": true, "to=2024-01-01T00:00:00Z": true, "to=": false, "limit=": false, "owner=": true, "state=": false, "tags=": true,
		"state=done": true, "any=": true, "cursor=": true, "why=": false, "other=": true, "to": false} {
		err := Query(httptest.NewRequest("GET", "/?"+query, nil), op)
		if (err == nil) != ok || err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// TestNulls: null is rejected if the schema does not allow it, at any depth and with any case of the name.
func TestNulls(t *testing.T) {
	type Item struct {
		Name  string   `json:"name,omitempty"`
		Tags  []string `json:"tags,omitempty"`
		Count *int     `json:"count,omitempty"`
		Any   any      `json:"any,omitempty"`
	}
	type body struct {
		Item
		Items []Item `json:"items"`
	}
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	s := huma.SchemaFromType(schemas, reflect.TypeFor[body]())
	for text, ok := range map[string]bool{
		`{"name":"x"}`: true, `{"name":null}`: false, `{"NAME":null}`: false, `{"tags":null}`: true, `{"any":null}`: true,
		`{"items":[{"name":"x"},{"name":null}]}`: false, `{"items":null}`: true, `{"other":null}`: true, `null`: true,
		`{"name":"null"}`: true} {
		if err := noNulls([]byte(text), s, schemas); (err == nil) != ok || err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzIntegers: numbers keep their values, and texts and everything else keep their bytes.
func FuzzIntegers(f *testing.F) {
	for text, want := range map[string]string{`{"a":1.0}`: `{"a":1}`, `1.`: `1.`, `"\\`: `"\\`,
		`[1e3,-2.50,-0.0,1.5E1,"1.0 \" 2.0",9e99,12]`: `[1000,-2.50,-0,15,"1.0 \" 2.0",9e99,12]`,
		`{"1.0":"x"}`: `{"1.0":"x"}`} {
		if got := string(integers([]byte(text))); got != want {
			f.Errorf("%s becomes %s, want %s", text, got, want)
		}
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after any
		got := integers(b)
		if json.Unmarshal(b, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%s becomes %s: %v", b, got, err)
		}
	})
}
