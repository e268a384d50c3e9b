package program

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"concordat/cmd/cli"
	"concordat/instance"
)

// TestKeepTable: index.keep_table determines whether the shard keeps the data that opening derives.
func TestKeepTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"--data", dir, "init"}, strings.NewReader(""), &out, &out); code != cli.Done {
		t.Fatalf("init: %s", &out)
	}
	for _, value := range []string{"", "true", "false"} {
		want := value != "false"
		if value != "" {
			t.Setenv("CONCORDAT_INDEX_KEEP_TABLE", value)
		}
		withStore(t, dir, func(_ context.Context, o *instance.Instance) error {
			if got := o.ShardOptions().Warm; got != want {
				t.Errorf("index.keep_table %q: got %v, want %v", value, got, want)
			}
			return nil
		})
	}
}

// TestStockSegments: the shard gets the value of index.stock_segments.
func TestStockSegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"--data", dir, "init"}, strings.NewReader(""), &out, &out); code != cli.Done {
		t.Fatalf("init: %s", &out)
	}
	for _, want := range []bool{false, true} {
		if want {
			t.Setenv("CONCORDAT_INDEX_STOCK_SEGMENTS", "true")
		}
		withStore(t, dir, func(_ context.Context, o *instance.Instance) error {
			if got := o.ShardOptions().StockSegments; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			return nil
		})
	}
}

// withStore runs f on the store of the site in dir.
func withStore(t *testing.T, dir string, f func(context.Context, *instance.Instance) error) {
	t.Helper()
	a := &app{cli.Site{Data: dir}}
	if err := a.With(t.Context(), instance.StoreOnly, func(o *instance.Instance) error { return f(t.Context(), o) }); err != nil {
		t.Fatal(err)
	}
}
