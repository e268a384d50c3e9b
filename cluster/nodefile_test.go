package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/cluster/coord"
)

// TestElsewhere: a copied folder does not start while its node is running, but does once the node has ended. The folder itself always
// starts, because its lock shows that the previous process is gone.
func TestElsewhere(t *testing.T) {
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := writeNodeFile(dir, nodeFile{Cluster: "c", Node: "d", Boot: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	running := coord.View{Live: map[coord.NodeID]coord.Node{"d": {ID: "d", Address: "10.0.0.4:9422"}}}
	ended := coord.View{Live: map[coord.NodeID]coord.Node{"a": {ID: "a"}}}
	for _, c := range []struct {
		name, dir string
		view      coord.View
		refuse    bool
	}{
		{"a copy while the node runs", copied, running, true},
		{"a copy when it has ended", copied, ended, false},
		{"the folder itself", dir, running, false},
	} {
		known, err := readNodeFile(c.dir)
		if err != nil || known.Folder == 0 {
			t.Fatalf("%s: %+v, %v", c.name, known, err)
		}
		err = refuseCopiedFolder(c.dir, "d", known, &c.view)
		if (err != nil) != c.refuse || c.refuse && (!errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "10.0.0.4:9422")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
