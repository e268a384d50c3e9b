package bounds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
)

// TestJSONBounds: each bound on a body is tested at its last valid value and one beyond, wherever it applies. A key can occur once in an
// object, regardless of case, and again in another object.
func TestJSONBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	keys := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`"k%d":0`, i)
		}
		return `{` + strings.Join(all, ",") + `}`
	}
	list := func(n int) string { return `[0` + strings.Repeat(`,0`, n-1) + `]` }
	for name, test := range map[string]struct{ good, bad string }{
		"levels":               {nested(maxDepth), nested(maxDepth + 1)},
		"levels behind others": {`[` + nested(15) + `,` + nested(15) + `]`, `[` + nested(15) + `,` + nested(16) + `]`},
		"keys":                 {keys(maxObjectKeys), keys(maxObjectKeys + 1)},
		"keys of two objects": {`[` + keys(maxObjectKeys) + `,` + keys(maxObjectKeys) + `]`,
			`[0,` + keys(maxObjectKeys+1) + `]`},
		"values":                  {list(maxValues - 1), list(maxValues)},
		"digits":                  {strings.Repeat("1", maxNumber), strings.Repeat("1", maxNumber+1)},
		"a key twice":             {`{"a":"a","b":"a"}`, `{"a":0,"a":0}`},
		"a key in either case":    {`{"a":0,"b":0}`, `{"a":0,"A":0}`},
		"a key behind an object":  {`{"a":{"a":{}},"b":{"a":0}}`, `{"a":{"b":0},"a":0}`},
		"a key behind an array":   {`{"a":["a","a",{"a":0}],"b":0}`, `{"a":["a"],"a":0}`},
		"a key within an array":   {`[{"a":0},{"a":0}]`, `[{"a":0,"a":0}]`},
		"texts that are no keys":  {`["a","a"]`, `["a",{"b":"c","b":"c"}]`},
		"a value that is a key":   {`{"a":"b","b":"a"}`, `{"a":"b","b":"a","a":"c"}`},
		"an object after a value": {`{"a":1,"b":{"a":1}}`, `{"a":1,"b":{"c":1,"c":1}}`},
	} {
		if err := checkJSON([]byte(test.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := checkJSON([]byte(test.bad)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s, one too many: error %v, want ErrInvalid", name, err)
		}
	}
}

// TestJSONPasses: bodies within the bounds pass, and so do malformed ones, whose faults the decoder reports better.
func TestJSONPasses(t *testing.T) {
	for _, body := range []string{"", "1", `{"a" 1}`, `{"a":1,`, `[{"a":1},{"a":1,"b":{"a":2}}]`} {
		if err := checkJSON([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := checkJSON([]byte(`{"a":1,"\u0061":2}`)); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a key twice, once as an escape: error %v, want ErrInvalid", err)
	}
}

// FuzzJSONBounds compares checkJSON with a simple count of the decoded body.
func FuzzJSONBounds(f *testing.F) {
	for _, s := range []string{"", "1", `{"a":[1,{"b":null}],"c":"d"}`, `{"a":1,"A":2}`, "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", `{"a" 1}`,
		`[1,2`, `{"\u0061":1}`, "\xff", `{"":{"":{"":1}}} 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := checkJSON(b)
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		depth, values := measure(v)
		if err == nil && (depth > maxDepth || values > maxValues) {
			t.Errorf("accepted with %d levels and %d values", depth, values)
		}
		// The counts differ only if a key occurs twice. If the counts are within the bounds, a rejection must have one of these reasons.
		if err != nil && depth <= maxDepth && values <= maxValues && !strings.Contains(err.Error(), "twice") &&
			!strings.Contains(err.Error(), "characters") && !strings.Contains(err.Error(), "keys") && !strings.Contains(err.Error(), "levels") &&
			!strings.Contains(err.Error(), "values") {
			t.Errorf("refused: %v", err)
		}
	})
}

// measure counts levels and values.
func measure(v any) (depth, values int) {
	var within []any
	switch v := v.(type) {
	case []any:
		within = v
	case map[string]any:
		within = slices.Collect(maps.Values(v))
	default:
		return 0, 1
	}
	for _, one := range within {
		d, n := measure(one)
		depth, values = max(depth, d), values+n
	}
	return depth + 1, values + 1
}

// TestBodyBroken: a body is treated as unread if its connection breaks at its end.
func TestBodyBroken(t *testing.T) {
	op := &huma.Operation{MaxBodyBytes: MaxBody, RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {}}}}
	r := httptest.NewRequest("POST", "/", nil)
	r.Body = brokenBody{strings.NewReader("{}")}
	if err := Body(httptest.NewRecorder(), r, op, nil); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenBody struct{ io.Reader }

func (brokenBody) Close() error { return errBroken }

// TestPages: the pages of a list contain every entry once and in order, including an entry with an empty key.
func TestPages(t *testing.T) {
	list := NewList("list-words", Text)
	all := []string{"d", "", "b", "c", "a"}
	for limit := 1; limit < 7; limit++ {
		var got []string
		in := &PageInput{Limit: limit}
		for {
			page, next, err := PageOf(in, list, all, func(s string) string { return s })
			if err != nil || len(page) > limit {
				t.Fatalf("a page of %d entries, %v", len(page), err)
			}
			got = append(got, page...)
			if in.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, []string{"", "a", "b", "c", "d"}) || all[0] != "d" {
			t.Errorf("pages of %d: %q", limit, got)
		}
	}
	for _, cursor := range []string{"list-other.YQ", "list-words", "list-words.!"} {
		if _, _, err := PageOf(&PageInput{Limit: 2, Cursor: cursor}, list, all, func(s string) string { return s }); !errors.Is(err,
			concordat.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", cursor, err)
		}
	}
}

// TestBrief: a problem lists the first 20 faults and their total number; it truncates text from the request and omits objects and arrays.
func TestBrief(t *testing.T) {
	long := strings.Repeat("x", 10*MaxEcho)
	for n := maxFaults - 1; n <= maxFaults+1; n++ {
		m := &huma.ErrorModel{Detail: "faulty"}
		for range n {
			m.Errors = append(m.Errors, &huma.ErrorDetail{Message: "is " + long, Location: long, Value: long})
		}
		m.Errors[1] = nil
		Brief(m)
		if len(m.Errors) != min(n, maxFaults) || strings.Contains(m.Detail, "first 20 of 21") != (n > maxFaults) {
			t.Errorf("%d faults: %d are listed, %q", n, len(m.Errors), m.Detail)
		}
		for _, e := range m.Errors {
			if e != nil && (len(e.Message) > MaxEcho || len(e.Location) > MaxEcho || len(fmt.Sprint(e.Value)) > MaxEcho) {
				t.Errorf("echoed: %d, %d, %d bytes", len(e.Message), len(e.Location), len(fmt.Sprint(e.Value)))
			}
		}
	}
	for want, v := range map[any]any{nil: []any{1}, "x": "x", true: true, 1.5: 1.5, "12": json.Number("12")} {
		if got := scalar(v); got != want {
			t.Errorf("%v is shown as %v", v, got)
		}
	}
	if got := scalar(map[string]any{}); got != nil {
		t.Errorf("an object is shown as %v", got)
	}
}

// TestLargeIntegers: a number with a zero fraction is read as an integer only if it fits in 64 bits.
func TestLargeIntegers(t *testing.T) {
	for text, want := range map[string]string{"9223372036854774784.0": "9223372036854774784", "4611686018427387904.0": "4611686018427387904",
		"9223372036854775808.0":  "9223372036854775808.0",
		"-9223372036854775808.0": "-9223372036854775808.0"} {
		if got := string(integers([]byte(text))); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
