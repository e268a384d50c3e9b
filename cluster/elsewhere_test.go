package cluster

import (
	"errors"
	"strings"
	"testing"

	"concordat"
	"concordat/cluster/coord"
)

// TestElsewhere: a copy of a folder does not start while its node runs, and does once that has ended; the folder itself
// starts anyway, as its lock says that the process before is gone.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	own := inode(dir)
	if own == 0 {
		t.Skip("folders have no inodes here")
	}
	n := Node{o: NodeOptions{Dir: dir, Node: coord.Node{ID: "d"}}}
	running := coord.View{Live: map[coord.NodeID]coord.Node{"d": {ID: "d", Address: "10.0.0.4:9422"}}}
	for _, c := range []struct {
		folder uint64
		view   coord.View
		refuse bool
	}{
		{own + 1, running, true},
		{own + 1, coord.View{Live: map[coord.NodeID]coord.Node{"a": {ID: "a"}}}, false},
		{own, running, false},
		{0, running, false}, // a folder of before inodes were noted
	} {
		err := n.elsewhere(nodeFile{Folder: c.folder}, &c.view)
		if (err != nil) != c.refuse || c.refuse && (!errors.Is(err, concordat.ErrRefused) || !strings.Contains(err.Error(), "10.0.0.4:9422")) {
			t.Errorf("folder %d, own %d, live %v: %v", c.folder, own, c.view.Live, err)
		}
	}
}
