package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
)

// number is a JSON number with a fraction or an exponent.
var number = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)

// integers removes fractions and exponents from integers in a JSON body. JSON Schema considers 1.0 an integer (2020-12, validation,
// section 6.1.1), but the decoder rejects it. A body that is not JSON is returned unchanged.
func integers(b []byte) []byte {
	out := make([]byte, 0, len(b))
	text := false // inside a string
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case text && c == '\\' && i+1 < len(b):
			out = append(out, c, b[i+1])
			i += 2
			continue
		case c == '"':
			text = !text
		case !text && (c == '-' || '0' <= c && c <= '9'):
			literal := number.Find(b[i:min(len(b), i+maxNumber)])
			if literal == nil {
				break
			}
			f, err := strconv.ParseFloat(string(literal), 64)
			if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63 && bytes.ContainsAny(literal, ".eE") {
				out = strconv.AppendFloat(out, f, 'f', 0, 64)
			} else {
				out = append(out, literal...)
			}
			i += len(literal)
			continue
		}
		out = append(out, c)
		i++
	}
	return out
}

// Query rejects an empty query parameter if its schema requires a value, because huma treats the parameter as absent. The error wraps
// concordat.ErrInvalid.
func Query(r *http.Request, op *huma.Operation) error {
	given := r.URL.Query()
	for _, p := range op.Parameters {
		values, ok := given[p.Name]
		if p.In == "query" && ok && p.Schema != nil && slices.Contains(values, "") && !takesEmpty(p.Schema) {
			return fmt.Errorf("%s: %w: the parameter has no value", p.Name, concordat.ErrInvalid)
		}
	}
	return nil
}

// takesEmpty reports whether an empty text is one of the values of a schema.
func takesEmpty(s *huma.Schema) bool {
	switch {
	case s.Type == huma.TypeArray:
		return s.Items == nil || takesEmpty(s.Items) // an empty parameter is one empty item, since an empty array is omitted
	case s.Type != huma.TypeString || s.Format != "" || s.MinLength != nil && *s.MinLength > 0:
		return false
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any("")):
		return false
	case s.Pattern != "":
		re, err := regexp.Compile(s.Pattern)
		return err == nil && re.MatchString("")
	}
	return true
}

// nulls rejects null for a property whose schema does not allow it, because huma treats the property as absent. at is the location of v
// in the body. The error wraps concordat.ErrInvalid.
func nulls(schemas huma.Registry, s *huma.Schema, v any, at string) error {
	for s != nil && s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return nil
	}
	for _, part := range s.AllOf {
		if err := nulls(schemas, part, v, at); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := nulls(schemas, s.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, of := range s.Properties {
			item, ok := property(v, name)
			if ok && item == nil && !nullable(schemas, of) {
				return fmt.Errorf("%s.%s: %w: the value is null; omit the field instead", at, name, concordat.ErrInvalid)
			}
			if err := nulls(schemas, of, item, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// property finds a property as the decoder does, ignoring the case of its name.
func property(v map[string]any, name string) (any, bool) {
	if item, ok := v[name]; ok {
		return item, true
	}
	for key, item := range v {
		if strings.EqualFold(key, name) {
			return item, true
		}
	}
	return nil, false
}

func nullable(schemas huma.Registry, s *huma.Schema) bool {
	for s != nil && s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	return s == nil || s.Nullable || s.Type == "" // a schema without a type allows any value
}

// noNulls applies nulls to a body that is within the bounds. It accepts a body that is not JSON, since the decoder reports the fault
// better.
func noNulls(b []byte, s *huma.Schema, schemas huma.Registry) error {
	if !bytes.Contains(b, []byte("null")) {
		return nil
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil
	}
	return nulls(schemas, s, v, "body")
}
