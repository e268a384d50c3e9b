package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"concordat/internal/cputime"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// Bounds on the cost of one request with any body.
const (
	maxAnswerBytes  = 10_000
	maxAnswerTime   = 500 * time.Millisecond
	maxAnswerMemory = 50 << 20 // allocated for it, including by the test itself
)

// listOf returns a JSON array of n copies of a value.
func listOf(n int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

// objectOf returns a JSON object with n members; key returns the keys.
func objectOf(n int, key func(int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,%q:1`, key(i))
	}
	return "{" + b.String()[1:] + "}"
}

// hostileBodies returns JSON bodies that would cost far more than their size suggests if nothing bounded them. properties are the names
// of the operation's properties.
func hostileBodies(properties []string) map[string]string {
	unknown := func(i int) string { return fmt.Sprint("k", i) }
	out := map[string]string{
		"80,000 unknown keys":   objectOf(80_000, unknown),
		"6,000 unknown keys":    objectOf(6_000, unknown),
		"900 unknown keys":      objectOf(900, unknown),
		"900 long unknown keys": objectOf(900, func(i int) string { return fmt.Sprint(strings.Repeat("k", 60), i) }),
		"one very long key":     `{"` + strings.Repeat("k", 60_000) + `":1}`,
		"repeated keys":         objectOf(5_000, func(int) string { return "k" }),
		"deep arrays":           strings.Repeat("[", 30_000),
		"closed deep arrays":    strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000),
		"deep objects":          strings.Repeat(`{"a":`, 12_000),
		"an array":              listOf(20_000, "{}"),
		"a string":              `"` + strings.Repeat("s", 60_000) + `"`,
		"not JSON":              strings.Repeat("x", 60_000),
		"half of an object":     `{"a": 1, "b"`,
		"nothing":               "",
	}
	for _, p := range properties {
		for what, value := range map[string]string{
			"80,000 faulty elements":  listOf(80_000, `{}`),
			"20,000 faulty elements":  listOf(20_000, `{}`),
			"20,000 null elements":    listOf(12_000, `null`),
			"an object":               `[{}]`,
			"arrays":                  `[[],[[]],[{"a":[]}],[]]`,
			"equal strings":           `["check.done","check.done"]`,
			"a huge number":           strings.Repeat("9", 50_000),
			"a number out of range":   "1e400",
			"a huge number in a list": "[1e99999999999999999999, -" + strings.Repeat("9", 30_000) + "]",
			"a long string":           `"` + strings.Repeat("s", 60_000) + `"`,
			"long strings":            listOf(200, `"`+strings.Repeat("s", 300)+`"`),
			"unknown keys":            objectOf(900, unknown),
			"deep":                    strings.Repeat(`[`, 5_000) + strings.Repeat("]", 5_000),
		} {
			out[p+": "+what] = fmt.Sprintf(`{%q:%s}`, p, value)
		}
		out[p+": twice"] = fmt.Sprintf(`{%q:1,%q:2}`, p, strings.ToUpper(p))
	}
	return out
}

// TestHostileBodies: no JSON body makes an operation of the API exceed the bounds above or cause a server error. The test measures the
// processor time and the memory of this process, and therefore does not run in parallel.
func TestHostileBodies(t *testing.T) {
	d := webtest.NewWith(t, true, func(o *web.Options) { o.Policy.Calls = 1_000_000 })
	p := d.SignedIn(t, "adam", store.RoleAdministrator).Program(people.Scopes...)
	b, err := webtest.CommittedOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc := webtest.ReadOpenAPI(t, b)
	fill := strings.NewReplacer("{id}", "none", "{name}", "none", "{delivery}", "1", "{kind}", "check", "{target}", "none", "{partner}",
		"SOUTH", "{a}", "1", "{b}", "2")
	operations := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			operations++
			reads := o.RequestBody != nil && o.RequestBody.Content["application/json"] != nil
			var properties []string
			if reads {
				properties = doc.Properties(t, o.RequestBody.Content["application/json"])
			}
			for what, body := range hostileBodies(properties) {
				hostile(p, strings.ToUpper(method), fill.Replace(path), o.OperationID+" with "+what, body, reads)
			}
		}
	}
	if operations < 80 {
		t.Errorf("only %d operations were tried", operations)
	}
}

// hostile sends a body and checks the answer against the bounds. It measures processor time, which other work on the machine does not
// affect, and uses the best of three attempts, because the process does other work too.
func hostile(p *webtest.Program, method, path, what, body string, reads bool) {
	p.T.Helper()
	for try := 1; ; try++ {
		r, err := http.NewRequestWithContext(p.T.Context(), method, p.Base+path, strings.NewReader(body))
		if err != nil {
			p.T.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.Token)
		r.Header.Set("Content-Type", "application/json")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := cputime.Used()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			p.T.Errorf("%s: %v", what, err)
			return
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		took := cputime.Used() - began
		runtime.ReadMemStats(&after)
		if took > maxAnswerTime && try < 3 {
			continue
		}
		allocated := after.TotalAlloc - before.TotalAlloc
		switch {
		case resp.StatusCode >= 500:
			p.T.Errorf("%s: %d %.300s", what, resp.StatusCode, answer)
		case !reads:
		case err != nil || resp.StatusCode < 400 && strings.Contains(what, "000"):
			p.T.Errorf("%s: %d, %v", what, resp.StatusCode, err)
		case resp.StatusCode >= 400 && len(answer) > maxAnswerBytes:
			p.T.Errorf("%s: an answer of %d bytes", what, len(answer))
		case bytes.Contains(answer, bytes.Repeat([]byte("s"), 201)) || bytes.Contains(answer, bytes.Repeat([]byte("9"), 201)) ||
			bytes.Contains(answer, bytes.Repeat([]byte("k"), 201)):
			p.T.Errorf("%s: the answer repeats more than 200 bytes of it: %.500s", what, answer)
		}
		if took > maxAnswerTime || allocated > maxAnswerMemory {
			p.T.Errorf("%s: %d in %v with %d MB allocated", what, resp.StatusCode, took, allocated>>20)
		}
		return
	}
}

// TestFaultsAreListedInPart: if there are many faults, twenty are listed, along with the total number.
func TestFaultsAreListedInPart(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "olga", store.RoleOfficer).Program(people.Scopes...)
	var m struct {
		Detail string
		Errors []struct{ Message string }
	}
	p.Call(http.MethodPost, "/api/v1/tokens", http.StatusUnprocessableEntity, &m,
		withJSON(objectOf(500, func(i int) string { return fmt.Sprint("k", i) })))
	if len(m.Errors) != 20 || !strings.Contains(m.Detail, "20 of 502") { // name and scopes are missing
		t.Errorf("%d faults, %q", len(m.Errors), m.Detail)
	}
	m.Errors = nil
	p.Call(http.MethodPost, "/api/v1/tokens", http.StatusUnprocessableEntity, &m, withJSON(`{"name":"x","scopes":["read","read"]}`))
	if len(m.Errors) != 1 || !strings.Contains(m.Errors[0].Message, `"read" appears again at 1`) {
		t.Errorf("a value that appears twice: %+v", m.Errors)
	}
}

// withJSON returns an option that gives a request a JSON body.
func withJSON(body string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
		r.Body = io.NopCloser(strings.NewReader(body))
	}
}
