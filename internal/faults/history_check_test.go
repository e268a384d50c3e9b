//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(nodeEnv); spec != "" {
		runNode(spec)
	}
	os.Exit(m.Run())
}

// TestCheck corrupts histories in every way that the checker can detect.
func TestCheck(t *testing.T) {
	put := func(doc string, rev int, at, end int) entry {
		return entry{Kind: "write", Doc: doc, Rev: rev, At: time.Duration(at), End: time.Duration(end), OK: true}
	}
	del := func(doc string, rev int, at, end int) entry { e := put(doc, rev, at, end); e.Delete = true; return e }
	unknown := func(e entry) entry { e.OK = false; return e }
	get := func(doc string, rev, at, end int) entry {
		e := entry{Kind: "read", Doc: doc, At: time.Duration(at), End: time.Duration(end), Complete: true, Docs: map[string]int{}}
		if rev > 0 {
			e.Docs[doc] = rev
		}
		return e
	}
	match := func(doc string, rev, at, end int) entry {
		e, g := get(doc, rev, at, end), groupOf(doc)
		e.Doc, e.Group = "", &g
		return e
	}
	held := func(node string, docs map[string]int) entry {
		return entry{Kind: "copy", Node: "a", Shard: "00", Docs: docs, Words: node}
	}
	partial := match("x", 0, 5, 6)
	partial.Complete = false
	old := match("x", 1, 30, 31)
	old.Complete = false
	wrong := held("a", nil)
	wrong.Wrong = []string{"text of x"}
	for _, c := range []struct {
		name string
		all  []entry
		want verdict
	}{
		{"nothing", nil, verdict{}},
		{"as written", []entry{put("x", 1, 1, 2), get("x", 1, 3, 4), held("a", map[string]int{"x": 1}), held("b", map[string]int{"x": 1})},
			verdict{}},
		{"put lost", []entry{put("x", 1, 1, 2), held("a", nil)}, verdict{Lost: 1}},
		{"revision lost", []entry{put("x", 1, 1, 2), put("x", 2, 3, 4), held("a", map[string]int{"x": 1})}, verdict{Lost: 1}},
		{"deleted, there", []entry{put("x", 1, 1, 2), del("x", 2, 3, 4), held("a", map[string]int{"x": 1})}, verdict{Resurrected: 1}},
		{"unknown put", []entry{unknown(put("x", 1, 1, 2)), held("a", nil)}, verdict{}},
		{"unknown put, in force", []entry{unknown(put("x", 1, 1, 2)), held("a", map[string]int{"x": 1})}, verdict{}},
		{"unknown delete", []entry{put("x", 1, 1, 2), unknown(del("x", 2, 3, 4)), held("a", map[string]int{"x": 1})}, verdict{}},
		{"one copy of two", []entry{unknown(put("x", 1, 1, 2)), held("a", nil), held("b", map[string]int{"x": 1})}, verdict{Differ: 1}},
		{"nobody's", []entry{held("a", map[string]int{"x": 1})}, verdict{Other: 1}},
		{"another text", []entry{wrong}, verdict{Other: 1}},
		{"read before", []entry{put("x", 1, 5, 9), get("x", 0, 6, 7), match("x", 0, 6, 7)}, verdict{}},
		{"read meanwhile", []entry{put("x", 1, 5, 9), get("x", 1, 6, 7), match("x", 1, 6, 7)}, verdict{}},
		{"read too little", []entry{put("x", 1, 1, 2), get("x", 0, 5, 6), match("x", 0, 5, 6)}, verdict{Missed: 2}},
		{"read of an older revision", []entry{put("x", 1, 1, 2), put("x", 2, 3, 4), get("x", 1, 5, 6)}, verdict{Missed: 1}},
		{"read of a later revision", []entry{put("x", 1, 1, 2), put("x", 2, 9, 10), get("x", 2, 5, 6)}, verdict{Missed: 1}},
		{"read after a delete", []entry{put("x", 1, 1, 2), del("x", 2, 3, 4), match("x", 1, 5, 6)}, verdict{Missed: 1}},
		{"partial", []entry{put("x", 1, 1, 2), partial}, verdict{}},
		{"partial, resurrected", []entry{put("x", 1, 1, 2), del("x", 2, 3, 4), old}, verdict{Missed: 1}},
	} {
		v := check(c.all)
		got := verdict{Lost: v.Lost, Resurrected: v.Resurrected, Missed: v.Missed, Differ: v.Differ, Other: v.Other}
		if got.violations() != c.want.violations() || got.Lost != c.want.Lost || got.Resurrected != c.want.Resurrected ||
			got.Missed != c.want.Missed || got.Differ != c.want.Differ {
			t.Errorf("%s: got %+v, want %+v: %q", c.name, got, c.want, v.Words)
		}
	}
}

// TestHistory checks stored histories again and measures them together; CONCORDAT_FAULTS_HISTORY is a pattern for their files.
func TestHistory(t *testing.T) {
	pattern := os.Getenv("CONCORDAT_FAULTS_HISTORY")
	if pattern == "" {
		t.Skip("CONCORDAT_FAULTS_HISTORY names no history")
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	var sum figures
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := readHistory(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(path)
		report(t, all)
		sum.add(measure(all))
	}
	t.Logf("TOTAL %s", sum.String())
}
