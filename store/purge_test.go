package store_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/store"
)

// TestPurge: deleted rows leave no byte in any file of the store.
func TestPurge(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	db, err := store.Open(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string { // incompressible text
		b := make([]byte, 3000)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	const marked = "QZXWVKJ9"
	for i := range 200 {
		id := concordat.TaskID(fmt.Sprint("t", i))
		request := text()
		if i == 100 {
			request = marked + request
		}
		if err := db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: id, Title: fmt.Sprint("title ", i)},
			Request: []byte(request)}); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (n int) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(b, []byte(marked))
		}
		return n
	}
	if found() == 0 {
		t.Fatal("nothing is to be found before")
	}
	if _, err := db.Retention.EraseTask(ctx, "t100"); err != nil {
		t.Fatal(err)
	}
	if purged, err := db.Purge(ctx, true); !purged || err != nil {
		t.Fatal(purged, err)
	}
	if n := found(); n != 0 {
		t.Errorf("still there %d times", n)
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if all, err := db.Checks.Tasks(ctx, 0, 0); err != nil || len(all) != 199 {
		t.Errorf("%d tasks left, %v", len(all), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
