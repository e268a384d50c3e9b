package cluster

import (
	"errors"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/internal/indextest"
)

// TestFullDisk opens a site on a full disk. It can be read, refuses writes, and loses nothing.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	o := CopyOptions{Index: index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme}}
	p := &concordat.Profile{Scheme: indextest.Scheme, Document: concordat.Document{Library: "l", ID: "d", Text: "x"}}
	for _, full := range []bool{false, true, true, false} {
		o.LowWater = 1 << 10
		if full {
			o.LowWater = 1 << 62
		}
		a, err := openAlone(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Put(t.Context(), p); errors.Is(err, concordat.ErrDiskFull) != full || err != nil && !full {
			t.Errorf("full %v: put: %v", full, err)
		}
		d, err := a.Document(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "d"})
		if err != nil || d.Text != "x" {
			t.Errorf("full %v: got %v, %v", full, d, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
