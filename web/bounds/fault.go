package bounds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Bounds on a problem. A problem repeats only part of the rejected request, so the answer does not grow with the request.
const (
	maxFaults = 20   // faults listed for one request
	MaxEcho   = 200  // bytes of a value or of its location
	maxDetail = 2000 // bytes of the sentence that describes a fault
)

// Named sets the type of problems that huma detects, and bounds all problems.
func Named(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if m.Type == "" {
		kind := "invalid"
		switch m.Status {
		case http.StatusRequestEntityTooLarge:
			kind = "large"
		case http.StatusInternalServerError:
			kind = "fault"
		}
		m.Type = ProblemPrefix + kind
	}
	return Brief(m), nil
}

// Brief shortens a problem in place. It keeps the first faults, omits values other than scalars, and truncates text from the request.
func Brief(m *huma.ErrorModel) *huma.ErrorModel {
	m.Detail = words(m.Detail, maxDetail)
	if n := len(m.Errors); n > maxFaults {
		m.Errors = m.Errors[:maxFaults:maxFaults]
		m.Detail = fmt.Sprintf("%s: the first %d of %d faults", m.Detail, maxFaults, n)
	}
	for i, e := range m.Errors {
		if e != nil {
			m.Errors[i] = &huma.ErrorDetail{Message: words(e.Message, MaxEcho), Location: Cut(e.Location, MaxEcho), Value: scalar(e.Value)}
		}
	}
	return m
}

// scalar returns a faulty value in the form shown in an error message, or nil for an object or array.
func scalar(v any) any {
	switch v := v.(type) {
	case string:
		return Cut(v, MaxEcho)
	case json.Number:
		return Cut(string(v), MaxEcho)
	case bool, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return v
	}
	return nil
}

// long matches the parts of a message that can come from a request: quotations and text without spaces.
var long = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// words shortens a sentence to at most most bytes, and quotations within it to MaxEcho.
func words(s string, most int) string {
	if len(s) <= MaxEcho {
		return s
	}
	return Cut(long.ReplaceAllStringFunc(s, func(w string) string { return Cut(w, MaxEcho) }), most)
}

// Cut shortens s to at most most bytes at a character boundary and marks the cut with an ellipsis.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark = "…"
	n := most - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// ProblemPrefix is the prefix of problem types.
const ProblemPrefix = "urn:concordat:problem:"

// WriteProblem answers with a problem.
func WriteProblem(rw http.ResponseWriter, m *huma.ErrorModel) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(m.Status)
	_ = json.NewEncoder(rw).Encode(m) // an error means that the caller has disconnected
}
