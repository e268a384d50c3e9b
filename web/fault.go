package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Bounds of a problem. What is refused comes back in part only: an answer must not grow with the request.
const (
	mostFaults = 20   // of one request
	mostEcho   = 200  // bytes of one value, or of its place
	mostDetail = 2000 // bytes of the sentence that says what is wrong
)

// named gives a type to the problems that huma finds itself, and bounds all.
func named(_ huma.Context, _ string, v any) (any, error) {
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
		m.Type = problemPrefix + kind
	}
	return brief(m), nil
}

// brief bounds a problem, in place: the first faults are listed, with scalars only, and words of the request are cut.
func brief(m *huma.ErrorModel) *huma.ErrorModel {
	m.Detail = words(m.Detail, mostDetail)
	if n := len(m.Errors); n > mostFaults {
		m.Errors = m.Errors[:mostFaults:mostFaults]
		m.Detail = fmt.Sprintf("%s: the first %d of %d faults", m.Detail, mostFaults, n)
	}
	for i, e := range m.Errors {
		if e != nil {
			m.Errors[i] = &huma.ErrorDetail{Message: words(e.Message, mostEcho), Location: cut(e.Location, mostEcho), Value: scalar(e.Value)}
		}
	}
	return m
}

// scalar is what is told of a faulty value: nothing of an object or array.
func scalar(v any) any {
	switch v := v.(type) {
	case string:
		return cut(v, mostEcho)
	case json.Number:
		return cut(string(v), mostEcho)
	case bool, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return v
	}
	return nil
}

// long finds what may come from a request within a sentence of ours: what it quotes, and what has no space.
var long = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// words cuts a sentence to most bytes, and what it quotes to mostEcho.
func words(s string, most int) string {
	if len(s) <= mostEcho {
		return s
	}
	return cut(long.ReplaceAllStringFunc(s, func(w string) string { return cut(w, mostEcho) }), most)
}

// cut returns at most so many bytes of s, of whole characters; … stands for what is missing.
func cut(s string, most int) string {
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
