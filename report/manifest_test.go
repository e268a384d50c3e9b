package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/report"
)

// goldenJSON returns a report in JSON with evidence, sources, consulted libraries and rules.
func goldenJSON(t *testing.T) []byte {
	t.Helper()
	rep := report.Build(load(t, "english"), report.Rules{})
	var b bytes.Buffer
	if err := report.WriteJSON(&b, rep); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func signedReport(t *testing.T, b []byte) ([]byte, *report.Manifest) {
	t.Helper()
	items, err := report.Items(b)
	if err != nil {
		t.Fatal(err)
	}
	m := &report.Manifest{Version: report.ManifestVersion, Site: "SITE", KeyEpoch: 1, Items: items, Signature: []byte("signature")}
	out, err := report.AddManifest(b, m)
	if err != nil {
		t.Fatal(err)
	}
	return out, m
}

// leaves calls f for every value in v, with its path and a function that sets it.
func leaves(v any, path string, f func(path string, v any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			f(path+"."+k, x, func(n any) { v[k] = n })
			leaves(x, path+"."+k, f)
		}
	case []any:
		for i, x := range v {
			p := fmt.Sprintf("%s[%d]", path, i)
			f(p, x, func(n any) { v[i] = n })
			leaves(x, p, f)
		}
	}
}

func decode(t *testing.T, b []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestManifestEverywhere changes every single value of a report, one at a time, and removes every key. Each change must be detected, with
// the field or its surroundings named.
func TestManifestEverywhere(t *testing.T) {
	b := goldenJSON(t)
	signed, m := signedReport(t, b)
	read, err := report.ReadManifest(signed)
	if err != nil || read.Sum() != m.Sum() || !slices.EqualFunc(read.Items, m.Items,
		func(a, b report.Item) bool { return a.String() == b.String() }) {
		t.Fatalf("the manifest came back differently: %v", err)
	}
	for name, same := range map[string][]byte{"as written": signed, "on one line": encode(t, decode(t, signed))} {
		if c, err := read.Changes(same); err != nil || len(c) != 0 {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	n := 0
	v := decode(t, b)
	leaves(v, "", func(path string, old any, set func(any)) {
		for _, other := range []any{[]any{"changed", json.Number("41.25"), nil}[n%3]} {
			if fmt.Sprint(old) == fmt.Sprint(other) {
				other = "something else"
			}
			set(other)
			raw := encode(t, v)
			c, err := m.Changes(raw)
			items, itemsErr := report.Items(raw)
			set(old)
			n++
			if err != nil || itemsErr != nil {
				t.Fatalf("%s: %v, %v", path, err, itemsErr)
			}
			if len(c) == 0 {
				t.Fatalf("%s changed to %v and nobody noticed", path, other)
			}
			if sum := (&report.Manifest{Items: items}).Sum(); sum == m.Sum() {
				t.Fatalf("%s changed to %v, and what is signed is the same", path, other)
			}
		}
	})
	if n < 400 {
		t.Errorf("only %d changes were tried", n)
	}
}

// TestManifestNames: the change is described in words.
func TestManifestNames(t *testing.T) {
	b := goldenJSON(t)
	_, m := signedReport(t, b)
	at := func(v any, path ...any) any {
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v = v.(map[string]any)[p]
			case int:
				v = v.([]any)[p]
			}
		}
		return v
	}
	evidence := at(decode(t, b), "evidence").([]any)
	last := len(evidence) - 1
	if last < 2 {
		t.Fatalf("the report has %d passages, too few for this test", last+1)
	}
	for name, k := range map[string]struct {
		change func(v map[string]any)
		want   []string
	}{
		"text": {func(v map[string]any) { at(v, "evidence", 2).(map[string]any)["text"] = "x" }, []string{"evidence 3: text changed"}},
		"source": {func(v map[string]any) { at(v, "evidence", 0, "sources", 0).(map[string]any)["title"] = "x" },
			[]string{"evidence 1, source 1: title changed"}},
		"span": {func(v map[string]any) { at(v, "evidence", 0, "span").(map[string]any)["start"] = 1 << 20 },
			[]string{"evidence 1: span changed"}},
		"score":     {func(v map[string]any) { at(v, "scores").(map[string]any)["found"] = 0.0001 }, []string{"scores: found changed"}},
		"coverage":  {func(v map[string]any) { v["coverage"] = 0.0001 }, []string{"report: coverage changed"}},
		"consulted": {func(v map[string]any) { at(v, "consulted", 0).(map[string]any)["asked"] = 4711 }, []string{"consulted 1: asked changed"}},
		"rules":     {func(v map[string]any) { at(v, "rules").(map[string]any)["common_above"] = 1 }, []string{"rules: common_above changed"}},
		"flag added": {func(v map[string]any) { v["flags"] = append(v["flags"].([]any), map[string]any{"code": "x"}) },
			[]string{fmt.Sprintf("flag %d was added", len(at(decode(t, b), "flags").([]any))+1)}},
		"first removed": {func(v map[string]any) { v["evidence"] = evidence[1:] }, []string{"evidence 1 was removed"}},
		"last removed":  {func(v map[string]any) { v["evidence"] = evidence[:last] }, []string{fmt.Sprintf("evidence %d was removed", last+1)}},
		"one added": {func(v map[string]any) {
			v["evidence"] = slices.Insert(slices.Clone(evidence), 1, any(map[string]any{"text": "x"}))
		},
			[]string{"evidence 2 was added"}},
		"key added":   {func(v map[string]any) { v["verdict"] = "innocent" }, []string{"report: a field was added or removed"}},
		"key removed": {func(v map[string]any) { delete(v, "headline") }, []string{"report: a field was added or removed"}},
	} {
		v := decode(t, b)
		k.change(v)
		got, err := m.Changes(encode(t, v))
		if err != nil || !slices.Equal(got, k.want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, k.want)
		}
	}
}

// TestManifestRefuses: a report that two programs could read differently is refused, as is an invalid manifest.
func TestManifestRefuses(t *testing.T) {
	b := goldenJSON(t)
	signed, m := signedReport(t, b)
	twice := bytes.Replace(b, []byte(`"threshold":`), []byte(`"coverage": 0, "threshold":`), 1)
	deep := []byte(`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`)
	for name, bad := range map[string][]byte{"a key twice": twice, "more behind": append(bytes.Clone(b), '{'), "no object": []byte("[]"),
		"cut": b[:len(b)/2], "nested": deep, "empty": nil} {
		if _, err := report.Items(bad); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
		if _, err := m.Changes(bad); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := report.ReadManifest(b); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("unsigned: %v, want ErrNotFound", err)
	}
	for name, bad := range map[string][]byte{
		"version": bytes.Replace(signed, []byte("\"manifest\": {\n    \"version\": 1"), []byte("\"manifest\": {\n    \"version\": 2"), 1),
		"item":    bytes.Replace(signed, []byte(`". `), []byte(`"`), 1),
	} {
		if _, err := report.ReadManifest(bad); bytes.Equal(bad, signed) || !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := report.AddManifest([]byte("{}"), m); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("add to nothing: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"evidence":[{"text":"a","sources":[{"title":"t"}]}],"scores":{"found":1},"manifest":{"version":1,"site":"S","key_epoch":1,"at":"2026-01-01T00:00:00Z","items":[". AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AAAA","evidence[0] AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AAAAAAA"],"signature":""}}`))
	f.Add([]byte(`{"a":[{},1],"b":[[]],"c.d":{"e":[{}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := report.Items(b)
		if err == nil && len(items) == 0 {
			t.Fatal("a report without items")
		}
		if m, err := report.ReadManifest(b); err == nil {
			_, _ = m.Changes(b)
		}
	})
}
