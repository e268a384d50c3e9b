package bounds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
)

// Bounds on a JSON body. The largest body that an operation can use, rules with 1,000 passages, has 13,000 values nested six levels deep.
const (
	MaxBody       = 64 << 10 // bytes of a body, unless the operation allows more
	maxDepth      = 16       // nesting depth of objects and arrays
	maxObjectKeys = 1000     // keys of one object
	maxValues     = 30_000   // objects, arrays and scalars
	maxNumber     = 64       // characters of a number

	// These are the body sizes of operations that need more than MaxBody.
	WordsBody = 128 << 10 // texts of 10,000 characters, all of them escaped
	ListsBody = 1 << 20   // lists of 1,000 names or passages, or a template's wording
)

// ErrSlow rejects a request whose body arrives too slowly.
var ErrSlow = errors.New("the request body arrived too slowly")

// Body reads the body of a request to an operation and rejects a body that would cost more to process than its size justifies. The
// validator reports each fault separately, so its input must be small. Body also rejects null where the schema does not allow it. It
// accepts requests to operations without a JSON body.
func Body(rw http.ResponseWriter, r *http.Request, op *huma.Operation, schemas huma.Registry) error {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, op.MaxBodyBytes))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSlow
	case errors.As(err, new(*http.MaxBytesError)):
		return err
	case err != nil:
		return fmt.Errorf("%w: the request body is incomplete", concordat.ErrInvalid)
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	b = integers(b)
	r.Body = io.NopCloser(bytes.NewReader(b))
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && media != "application/json" &&
		!strings.HasSuffix(media, "+json") {
		return nil // rejected without being read
	}
	if err := checkJSON(b); err != nil {
		return err
	}
	return noNulls(b, op.RequestBody.Content["application/json"].Schema, schemas)
}

// container is an unclosed object or array.
type container struct {
	keys map[string]bool // keys so far; nil for an array
	key  bool            // the next token must be a key
}

// checkJSON returns an error that wraps concordat.ErrInvalid if b exceeds the bounds on a JSON body or repeats a key within an object.
// Keys that differ only in case count as the same key, since the decoder accepts either for a field (RFC 8259, section 4, leaves open
// which value wins). It accepts bytes that are not JSON, since the decoder reports their faults better. Its time and memory are linear in
// the length of b.
func checkJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var open []*container
	for values := 0; ; {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		var in *container
		if len(open) > 0 {
			in = open[len(open)-1]
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if in != nil && in.key {
			if err := in.add(t); err != nil {
				return err
			}
			continue
		}
		if in != nil && in.keys != nil {
			in.key = true // a key follows this value
		}
		if values++; values > maxValues {
			return fmt.Errorf("body: %w: more than %d values", concordat.ErrInvalid, maxValues)
		}
		switch t := t.(type) {
		case json.Number:
			if len(t) > maxNumber {
				return fmt.Errorf("body: %w: a number has more than %d characters", concordat.ErrInvalid, maxNumber)
			}
		case json.Delim:
			if len(open) == maxDepth {
				return fmt.Errorf("body: %w: nested more than %d levels deep", concordat.ErrInvalid, maxDepth)
			}
			c := &container{}
			if t == '{' {
				c.keys, c.key = map[string]bool{}, true
			}
			open = append(open, c)
		}
	}
}

// add records a key of an object.
func (c *container) add(t json.Token) error {
	name, _ := t.(string) // the decoder accepts nothing else as a key
	folded := strings.ToLower(name)
	if c.keys[folded] {
		return fmt.Errorf("body: %w: the key %q appears twice", concordat.ErrInvalid, Cut(name, MaxEcho))
	}
	if len(c.keys) == maxObjectKeys {
		return fmt.Errorf("body: %w: an object has more than %d keys", concordat.ErrInvalid, maxObjectKeys)
	}
	c.keys[folded], c.key = true, false
	return nil
}

// Distinct is an array of distinct values. To find equal values, the validator would use them as map keys and panic on objects and
// arrays. Distinct decodes the values into their type before comparing them.
type Distinct[T comparable] []T

// Schema returns the schema of the array. It declares uniqueItems in the document but hides it from the validator.
func (Distinct[T]) Schema(r huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(r, reflect.TypeFor[[]T]())
	s.Extensions = map[string]any{"uniqueItems": true}
	s.Nullable = false
	return s
}

// UnmarshalJSON rejects repeated values.
func (d *Distinct[T]) UnmarshalJSON(b []byte) error {
	var all []T
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	seen := make(map[T]bool, len(all))
	for i, v := range all {
		if seen[v] {
			return fmt.Errorf("expected array items to be unique: %q appears again at %d", Cut(fmt.Sprint(v), MaxEcho), i)
		}
		seen[v] = true
	}
	*d = all
	return nil
}
