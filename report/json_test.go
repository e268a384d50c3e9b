package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// check validates v against the subset of JSON Schema (draft 2020-12) that schema.json uses. It fails on an unknown keyword, so that
// every part of the schema is checked.
func check(root, schema map[string]any, v any, at string) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(at+": "+format, args...)) }
	for key, rule := range schema {
		switch key {
		case "$schema", "$id", "$defs", "title", "description", "format":
		case "$ref":
			name, ok := strings.CutPrefix(rule.(string), "#/$defs/")
			def, found := root["$defs"].(map[string]any)[name]
			if !ok || !found {
				fail("unknown reference %v", rule)
				continue
			}
			errs = append(errs, check(root, def.(map[string]any), v, at))
		case "anyOf":
			var tries []error
			for _, s := range rule.([]any) {
				tries = append(tries, check(root, s.(map[string]any), v, at))
			}
			if !slices.Contains(tries, nil) {
				errs = append(errs, tries...)
			}
		case "type":
			if !isType(v, rule.(string)) {
				fail("%v is no %v", v, rule)
			}
		case "const":
			if v != rule {
				fail("%v is not %v", v, rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), v) {
				fail("%v is none of %v", v, rule)
			}
		case "pattern":
			if s, ok := v.(string); ok && !regexp.MustCompile(rule.(string)).MatchString(s) {
				fail("%q does not match %v", s, rule)
			}
		case "minimum":
			if n, ok := v.(float64); ok && n < rule.(float64) {
				fail("%v is below %v", n, rule)
			}
		case "maximum":
			if n, ok := v.(float64); ok && n > rule.(float64) {
				fail("%v is above %v", n, rule)
			}
		case "minItems":
			if a, ok := v.([]any); ok && float64(len(a)) < rule.(float64) {
				fail("%d items, want %v", len(a), rule)
			}
		case "items":
			a, _ := v.([]any)
			for i, x := range a {
				errs = append(errs, check(root, rule.(map[string]any), x, fmt.Sprintf("%s[%d]", at, i)))
			}
		case "properties":
			o, _ := v.(map[string]any)
			for name, s := range rule.(map[string]any) {
				if x, ok := o[name]; ok {
					errs = append(errs, check(root, s.(map[string]any), x, at+"."+name))
				}
			}
		case "required":
			o, _ := v.(map[string]any)
			for _, name := range rule.([]any) {
				if _, ok := o[name.(string)]; !ok {
					fail("no %v", name)
				}
			}
		case "additionalProperties":
			o, _ := v.(map[string]any)
			for name := range o {
				if _, ok := schema["properties"].(map[string]any)[name]; !ok && rule == false {
					fail("unknown property %s", name)
				}
			}
		default:
			fail("the schema uses %q, which this test does not check", key)
		}
	}
	return errors.Join(errs...)
}

func isType(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		return name == "array"
	}
	return name == "object"
}

func schema(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal(report.Schema, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, r *report.Report) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJSONFollowsItsSchema(t *testing.T) {
	s := schema(t)
	reports := []*report.Report{report.Build(&report.Findings{}, report.Rules{})}
	for _, name := range []string{"english", "chinese", "arabic"} {
		f := load(t, name)
		f.Signatures = []report.Signature{{Site: "oslo", Over: "answer", Key: "ab12", Value: []byte{1, 2}}}
		reports = append(reports, report.Build(f, report.Rules{}), report.Build(f, strict(f)))
		f.Sections = append(f.Sections, concordat.Section{Name: "empty"})
		f.Flags = append(f.Flags, concordat.Flag{Code: "far", Span: &concordat.Span{Start: -4, End: 1 << 40}})
		reports = append(reports, report.Build(f, report.Rules{ExcludeKinds: []concordat.Kind{concordat.KindNear}}))
	}
	for _, r := range reports {
		if err := check(s, s, parse(t, r), "report"); err != nil {
			t.Errorf("%s: %v", r.Submission.ID, err)
		}
	}
}

// TestSchemaRefuses: the schema check rejects invalid values.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for name, spoil := range map[string]func(v map[string]any){
		"a missing key":   func(v map[string]any) { delete(v, "coverage") },
		"an unknown key":  func(v map[string]any) { v["guilt"] = 1 },
		"a share above 1": func(v map[string]any) { v["coverage"] = 1.01 },
		"an unknown kind": func(v map[string]any) { v["evidence"].([]any)[0].(map[string]any)["kind"] = "stolen" },
		"no source":       func(v map[string]any) { v["evidence"].([]any)[0].(map[string]any)["sources"] = []any{} },
		"a bad digest":    func(v map[string]any) { v["submission"].(map[string]any)["sha256"] = "00" },
	} {
		v := parse(t, report.Build(load(t, "english"), report.Rules{}))
		spoil(v)
		if check(s, s, v, "report") == nil {
			t.Errorf("the schema accepts %s", name)
		}
	}
}

// TestJSONHasTheStableKeys lists the contract's keys by name, because other programs rely on them.
func TestJSONHasTheStableKeys(t *testing.T) {
	v := parse(t, report.Build(load(t, "english"), report.Rules{}))
	for _, k := range []string{"submission", "scheme", "made", "coverage", "scores", "evidence", "skipped", "flags", "consulted",
		"signatures"} {
		if _, ok := v[k]; !ok {
			t.Errorf("no key %s", k)
		}
	}
	e := v["evidence"].([]any)[0].(map[string]any)
	for _, k := range []string{"span", "text", "kind", "sources"} {
		if _, ok := e[k]; !ok {
			t.Errorf("no key evidence.%s", k)
		}
	}
	for _, k := range []string{"site", "library", "document", "title", "span", "similarity"} {
		if _, ok := e["sources"].([]any)[0].(map[string]any)[k]; !ok {
			t.Errorf("no key evidence.sources.%s", k)
		}
	}
	for _, c := range v["consulted"].([]any) {
		for _, k := range []string{"site", "library", "asked", "answered", "missing"} {
			if _, ok := c.(map[string]any)[k]; !ok {
				t.Errorf("no key consulted.%s", k)
			}
		}
	}
}

// TestJSONSpansAreCodePoints: spans in JSON, applied to code points, select the same text as spans in bytes, applied to bytes.
func TestJSONSpansAreCodePoints(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	alphabet := []rune("ab é中文𝒜\U0001F4D6 \n。")
	for range 200 {
		var text []rune
		for range 20 + rnd.IntN(600) {
			text = append(text, alphabet[rnd.IntN(len(alphabet))])
		}
		f := &report.Findings{Submission: concordat.Document{Text: string(text)}}
		for range 5 {
			a := rnd.IntN(len(text))
			b := a + 1 + rnd.IntN(len(text)-a)
			start, end := len(string(text[:a])), len(string(text[:b]))
			f.Passages = append(f.Passages, concordat.Passage{Span: concordat.Span{Start: start, End: end}, Kind: concordat.KindNear,
				Source: concordat.Ref{Document: concordat.DocumentID(fmt.Sprint(a))}})
		}
		v := parse(t, report.Build(f, report.Rules{}))
		for _, e := range v["evidence"].([]any) {
			s := e.(map[string]any)["span"].(map[string]any)
			got := string(text[int(s["start"].(float64)):int(s["end"].(float64))])
			if want := e.(map[string]any)["text"].(string); got != want {
				t.Fatalf("span %v cuts %q, text is %q", s, got, want)
			}
		}
	}
}

func TestBlankIsNotZero(t *testing.T) {
	f := &report.Findings{Submission: concordat.Document{Text: "Too short."}, Checked: []concordat.Span{},
		Skipped: []concordat.Skipped{{Span: concordat.Span{End: 10}, Reason: concordat.SkipShort}}}
	r := report.Build(f, report.Rules{})
	v := parse(t, r)
	if v["coverage"] != nil || v["scores"].(map[string]any)["covered"] != nil {
		t.Errorf("coverage %v of a text that was not compared, want null", v["coverage"])
	}
	if !strings.Contains(r.Headline(), "Nothing was compared") || r.Reached() {
		t.Errorf("headline %q, reached %v", r.Headline(), r.Reached())
	}
}

func TestCSVCellsAreNoFormulas(t *testing.T) {
	f := load(t, "english")
	for i, title := range []string{"=1+1", " =HYPERLINK(\"http://x\")", "@SUM(A1)", "-2+3", "+1", "＝1", "\t=1", "\r=1", "\u00a0=1"} {
		f.Passages[i].Title = title
		f.Passages[i].Source.Document = concordat.DocumentID(title)
	}
	var b bytes.Buffer
	if err := report.WriteCSV(&b, report.Build(f, report.Rules{}), report.CSVOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, row := range readCSV(t, &b)[1:] {
		for i, c := range row {
			if i == 15 || i < 3 {
				continue // numbers that the site itself wrote
			}
			if trimmed := strings.TrimLeft(c, " \t\r\n\u00a0\u3000"); trimmed != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(trimmed)[0]) {
				t.Errorf("column %d holds %q", i, c)
			}
		}
	}
}
