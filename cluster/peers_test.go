package cluster

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sent returns a snapshot of the files, given as pairs of name and text.
func sent(t testing.TB, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := send(t.Context(), &b, 7, func(_ context.Context, file func(string) io.WriteCloser) error {
		for _, f := range files {
			w := file(f[0])
			if _, err := io.Copy(w, strings.NewReader(f[1])); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReceive(t *testing.T) {
	long := strings.Repeat("some bytes ", 3<<20)
	good := [][2]string{{"store/1.zap", long}, {"store/root.bolt", "two"}, {"shard.json", "one"}}
	whole := sent(t, good...)
	dir := filepath.Join(t.TempDir(), "new")
	newest, err := receive(bytes.NewReader(whole), dir)
	if err != nil || newest != 7 {
		t.Errorf("newest %d, %v", newest, err)
	}
	for _, f := range good {
		if b, err := os.ReadFile(filepath.Join(dir, f[0])); err != nil || string(b) != f[1] {
			t.Errorf("%s: %d bytes, want %d (%v)", f[0], len(b), len(f[1]), err)
		}
	}
	small := sent(t, good[1:]...)
	changed := bytes.Replace(small, []byte("two"), []byte("tWo"), 1)
	for name, b := range map[string][]byte{
		"short": small[:len(small)-2], "changed": changed, "of another version": bytes.Replace(small, []byte("snap\x01"), []byte("snap\x02"), 1),
		"outside": sent(t, [2]string{"../two", "x"}), "absolute": sent(t, [2]string{"/two", "x"}),
		"twice": sent(t, good[1], good[1]), "the folder": sent(t, [2]string{".", "x"}),
	} {
		if _, err := receive(bytes.NewReader(b), filepath.Join(t.TempDir(), "new")); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for i := range small {
		if _, err := receive(bytes.NewReader(small[:i]), filepath.Join(t.TempDir(), "new")); err == nil {
			t.Errorf("the first %d bytes: taken", i)
		}
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(sent(f, [2]string{"store/root.bolt", "two"}, [2]string{"shard.json", "one"}))
	f.Add([]byte(snapshotMagic + "12345678\xff\xff"))
	f.Add([]byte(snapshotMagic + "12345678\x01\x00a\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		_, _ = receive(bytes.NewReader(b), filepath.Join(dir, "new"))
		if es, _ := os.ReadDir(dir); len(es) > 1 || len(es) == 1 && es[0].Name() != "new" {
			t.Errorf("wrote outside its folder: %v", es)
		}
	})
}
