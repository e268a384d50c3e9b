package screening_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat/cmd/cli"
	"concordat/cmd/concordat/program"
)

// TestScreen screens two small libraries with every method, within one and against the other.
func TestScreen(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site")
	concordat := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := program.Run(t.Context(), append(args, "--data", site), strings.NewReader(""), &out, &errs); code != want {
			t.Fatalf("concordat %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), errs.String())
		}
		return out.String()
	}
	const (
		x = "The river carried heavy logs from the northern forests down to the old harbour every spring. "
		y = "A committee of engineers measured seven bridges and found rust beneath fresh paint on four of them. "
		z = "Nobody remembered which scholar had donated the brass telescope standing beside the library window. "
	)
	write := func(name string, rows ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	concordat(0, "init")
	concordat(0, "library", "create", "one")
	concordat(0, "library", "create", "two")
	concordat(0, "add", "--library", "one", write("one.tsv", "a\t"+x+y+z, "b\t"+strings.ToUpper(x+y+z), "c\t"+x+y, "d\t"+z, "e\t..."))
	concordat(0, "add", "--library", "two", write("two.tsv", "a\t"+x+y+z, "q\tquite another matter altogether, told in other words"))
	for _, c := range []struct {
		args  []string
		pairs []string // "a b method" for each pair
	}{
		{[]string{"--library", "one"}, []string{"a b exact", "a c fingerprint", "a d fingerprint", "b c fingerprint", "b d fingerprint"}},
		{[]string{"--library", "one", "--threshold", "0.7"}, []string{"a b exact", "a c fingerprint", "b c fingerprint"}},
		{[]string{"--library", "one", "--method", "shingle"}, []string{"a b exact", "a c shingle", "b c shingle"}},
		{[]string{"--library", "one", "--method", "simhash"}, []string{"a b exact"}},
		{[]string{"--library", "one", "--method", "short", "--threshold", "0.99"}, []string{"a b exact"}},
		{[]string{"--library", "one", "--against", "two"}, []string{"a a exact", "b a exact", "c a fingerprint", "d a fingerprint"}},
		{[]string{"--library", "two", "--against", "one"}, []string{"a a exact", "a b exact", "a c fingerprint", "a d fingerprint"}},
		{[]string{"--library", "two"}, nil},
	} {
		var pairs []string
		types := map[string]int{}
		for _, line := range strings.Split(strings.TrimSpace(concordat(0, append([]string{"screen", "--json"}, c.args...)...)), "\n") {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			types[r["type"].(string)]++
			if r["type"] == "pair" {
				pairs = append(pairs, r["a"].(string)+" "+r["b"].(string)+" "+r["method"].(string))
				if v, ok := r["resemblance"].(float64); !ok || v < 0 || v > 1 {
					t.Errorf("%v: line %s", c.args, line)
				}
			}
		}
		slices.Sort(pairs)
		if !slices.Equal(pairs, c.pairs) {
			t.Errorf("%v: got %q, want %q", c.args, pairs, c.pairs)
		}
		if types["summary"] != 1 || types["cluster"] != min(1, len(pairs)) {
			t.Errorf("%v: %v", c.args, types)
		}
	}
	if out := concordat(0, "screen", "--library", "one"); !strings.Contains(out, "threshold 0.30") {
		t.Errorf("the table does not say its threshold:\n%s", out)
	}
	for _, args := range [][]string{{}, {"--library", "none"}, {"--library", "one", "--against", "none"},
		{"--library", "one", "--method", "magic"},
		{"--library", "one", "--threshold", "0"}, {"--library", "one", "--threshold", "NaN"}} {
		concordat(cli.Misused, append([]string{"screen"}, args...)...)
	}
}
