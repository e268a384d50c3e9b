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

// Bounds of a JSON body. The largest body that an operation can use, rules with 1,000 passages, has 13,000 values in six levels.
const (
	MaxBody       = 64 << 10 // bytes of a body, unless the operation needs more
	maxDepth      = 16       // nesting of objects and arrays
	maxObjectKeys = 1000     // keys of one object
	maxValues     = 30_000   // objects, arrays and scalars
	maxNumber     = 64       // characters of a number

	// Sizes for operations that need more than MaxBody.
	WordsBody = 128 << 10 // words of 10,000 characters, each written as an escape
	ListsBody = 1 << 20   // lists of 1,000 names or passages, or the wording of a template
)

// ErrSlow refuses a request whose body arrives too slowly.
var ErrSlow = errors.New("the body of the request came too slowly")

// Body reads the body of a request to an operation and refuses a body that would cost more than its size justifies. The validator reports
// each fault separately, so its input must be small. It also refuses null where the schema does not allow it. Requests to operations
// without a JSON body pass.
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
		return fmt.Errorf("%w: the body of the request ends too early", concordat.ErrInvalid)
	}
	if err := r.Body.Close(); err != nil {
		return err
	}
	b = integers(b)
	r.Body = io.NopCloser(bytes.NewReader(b))
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && media != "application/json" &&
		!strings.HasSuffix(media, "+json") {
		return nil // it is refused without being read
	}
	if err := checkJSON(b); err != nil {
		return err
	}
	return noNulls(b, op.RequestBody.Content["application/json"].Schema, schemas)
}

// container is an object or array that is still open.
type container struct {
	keys map[string]bool // keys so far; nil: it is an array
	key  bool            // the next token is a key
}

// checkJSON returns an error that wraps concordat.ErrInvalid if b exceeds the bounds of a JSON body or repeats a key of an object. Keys
// that differ only in case are the same key, since the decoder accepts either for a field (RFC 8259, section 4, leaves open which one would
// count). It accepts bytes that are not JSON, since the decoder describes their faults better. It takes time and memory linear in b.
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
				return fmt.Errorf("body: %w: a number of more than %d characters", concordat.ErrInvalid, maxNumber)
			}
		case json.Delim:
			if len(open) == maxDepth {
				return fmt.Errorf("body: %w: more than %d levels", concordat.ErrInvalid, maxDepth)
			}
			c := &container{}
			if t == '{' {
				c.keys, c.key = map[string]bool{}, true
			}
			open = append(open, c)
		}
	}
}

// add notes a key of an object.
func (c *container) add(t json.Token) error {
	name, _ := t.(string) // the decoder accepts nothing else as a key
	folded := strings.ToLower(name)
	if c.keys[folded] {
		return fmt.Errorf("body: %w: the key %q appears twice", concordat.ErrInvalid, Cut(name, MaxEcho))
	}
	if len(c.keys) == maxObjectKeys {
		return fmt.Errorf("body: %w: an object of more than %d keys", concordat.ErrInvalid, maxObjectKeys)
	}
	c.keys[folded], c.key = true, false
	return nil
}

// Distinct is an array of distinct values. To find equal values, the validator would use a map and panic, because a map cannot hold objects
// and arrays as keys. Here the values are decoded into their type before they are compared.
type Distinct[T comparable] []T

// Schema returns the schema of the array. uniqueItems is stated but not passed to the validator.
func (Distinct[T]) Schema(r huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(r, reflect.TypeFor[[]T]())
	s.Extensions = map[string]any{"uniqueItems": true}
	s.Nullable = false
	return s
}

// UnmarshalJSON refuses a value that occurs twice.
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
