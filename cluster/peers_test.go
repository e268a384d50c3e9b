package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// sent is a snapshot of two files as serveSnapshot sends it.
func sent(t testing.TB, change func(*manifest), content string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"shard.json": "one", "store/root.bolt": "two"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := inventory(dir)
	if err != nil {
		t.Fatal(err)
	}
	change(&m)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(fmt.Appendf(nil, "%d\n%s", len(b), b), content...)
}

func TestReceive(t *testing.T) {
	as := func(name string) func(*manifest) { return func(m *manifest) { m.Files[1].Name = name } }
	for name, c := range map[string]struct {
		change  func(*manifest)
		content string
		good    bool
	}{
		"whole":    {func(*manifest) {}, "onetwo", true},
		"short":    {func(*manifest) {}, "onetw", false},
		"changed":  {func(*manifest) {}, "onetWo", false},
		"outside":  {as("../two"), "onetwo", false},
		"absolute": {as("/two"), "onetwo", false},
		"twice":    {as("shard.json"), "onetwo", false},
		"negative": {func(m *manifest) { m.Files[0].Size = -1 }, "onetwo", false},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		_, err := receive(bytes.NewReader(sent(t, c.change, c.content)), dir)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "store", "root.bolt")); c.good && string(b) != "two" {
			t.Errorf("%s: got %q", name, b)
		}
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(sent(f, func(*manifest) {}, "onetwo"))
	f.Add([]byte("99999999999\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		_, _ = receive(bytes.NewReader(b), filepath.Join(dir, "new"))
		if es, _ := os.ReadDir(dir); len(es) > 1 || len(es) == 1 && es[0].Name() != "new" {
			t.Errorf("wrote outside its folder: %v", es)
		}
	})
}
