package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"concordat/report"
	"concordat/web"
)

// schemaOf returns a reference to the schema of T and adds the schema to the document.
func schemaOf[T any](a huma.API) *huma.Schema {
	t := reflect.TypeFor[T]()
	return a.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// describe serves the OpenAPI document of the registered operations, which is generated at the first request.
func (w api) describe(a huma.API) {
	made := sync.OnceValue(func() []byte {
		b, err := document(a)
		if err != nil {
			panic(fmt.Sprintf("the OpenAPI document: %v", err)) // the document is compiled in, so it cannot become invalid at run time
		}
		return b
	})
	w.Web.Mux.HandleFunc("GET "+web.APIPrefix+"/openapi.json", func(rw http.ResponseWriter, _ *http.Request) {
		b := made()
		rw.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = rw.Write(b) // an error means that the caller has disconnected
	})
}

// document returns the OpenAPI document, with the report schema among its components.
func document(a huma.API) ([]byte, error) {
	b, err := json.Marshal(a.OpenAPI())
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	// Definitions in the report schema become components of the document, and references are changed accordingly.
	var rep map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(report.Schema), `"#/$defs/`, `"#/$defs/report_`)), &rep); err != nil {
		return nil, err
	}
	components, ok := doc["components"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the document has no components")
	}
	schemas, ok := components["schemas"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the document has no schemas")
	}
	defs, _ := rep["$defs"].(map[string]any)
	for _, key := range []string{"$defs", "$schema", "$id"} {
		delete(rep, key)
	}
	schemas["Report"] = moved(rep)
	for name, s := range defs {
		schemas[componentOf(name)] = moved(s)
	}
	return json.MarshalIndent(doc, "", " ")
}

// componentOf returns the component name of a definition in the report schema.
func componentOf(def string) string {
	out := "Report"
	for _, word := range strings.Split(def, "_") {
		out += strings.ToUpper(word[:1]) + word[1:]
	}
	return out
}

// moved changes the references within a report schema so that they point to components.
func moved(s any) any {
	switch s := s.(type) {
	case map[string]any:
		for key, value := range s {
			if ref, ok := value.(string); ok && key == "$ref" {
				s[key] = "#/components/schemas/" + componentOf(strings.TrimPrefix(ref, "#/$defs/report_"))
				continue
			}
			s[key] = moved(value)
		}
	case []any:
		for i := range s {
			s[i] = moved(s[i])
		}
	}
	return s
}
