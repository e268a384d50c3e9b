package bounds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Bounds of a problem. A problem repeats only a part of the refused request, so that an answer does not grow with the request.
const (
	maxFaults = 20   // faults listed for one request
	MaxEcho   = 200  // bytes of one value, or of its place
	maxDetail = 2000 // bytes of the sentence that describes the fault
)

// Named gives a type to the problems that huma finds itself, and bounds all problems.
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

// Brief bounds a problem, in place: the first faults are listed, with scalars only, and text from the request is
// shortened.
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

// scalar returns a faulty value in the form in which an error message shows it, or nil for an object or array.
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

// long matches the parts of a message that may come from a request: quotations, and long text without spaces.
var long = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// words shortens a sentence to most bytes, and the quotations in it to MaxEcho.
func words(s string, most int) string {
	if len(s) <= MaxEcho {
		return s
	}
	return Cut(long.ReplaceAllStringFunc(s, func(w string) string { return Cut(w, MaxEcho) }), most)
}

// Cut shortens s to at most most bytes, at the end of a character; … marks that text is missing.
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

// ProblemPrefix is the prefix of the type of a problem.
const ProblemPrefix = "urn:concordat:problem:"

// WriteProblem answers with a problem.
func WriteProblem(rw http.ResponseWriter, m *huma.ErrorModel) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(m.Status)
	_ = json.NewEncoder(rw).Encode(m) // an error means that the caller is gone
}
