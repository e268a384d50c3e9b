package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"concordat"
	"concordat/cluster/coord"
)

// nodeFile is the content of the file that identifies the node a folder belongs to.
type nodeFile struct {
	Format  int          `json:"format"`
	Cluster string       `json:"cluster"`
	Node    coord.NodeID `json:"node"`
	Boot    string       `json:"boot"`
	Next    string       `json:"next,omitempty"` // name of the start being recorded
	// Folder is the inode of the folder, which distinguishes the folder from a copy of it; 0 if it was not recorded.
	Folder uint64 `json:"folder,omitempty"`
}

// refuseCopiedFolder refuses to start a node from a copy of the running node's folder, because that lacks whatever the node acknowledged
// afterwards. No other process runs from the folder itself, since the caller holds its lock.
func refuseCopiedFolder(dir string, id coord.NodeID, known nodeFile, v *coord.View) error {
	other, live := v.Live[id]
	if !live || known.Folder == 0 || known.Folder == inode(dir) {
		return nil
	}
	return fmt.Errorf("node %s is already running at %s, and %s is either a copy of that node's folder or was itself moved while the node was running: stop one of the two nodes; a node that has just been moved can start once its previous session has ended: %w",
		id, other.Address, dir, concordat.ErrRefused)
}

// inode returns the inode number of a folder, or 0 if it has none.
func inode(dir string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return 0
	}
	return uint64(st.Ino)
}

const nodeFileName = "node.json"

func readNodeFile(dir string) (f nodeFile, err error) {
	b, err := os.ReadFile(filepath.Join(dir, nodeFileName))
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil && (len(b) > maxMeta || json.Unmarshal(b, &f) != nil || f.Format != 1) {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, nodeFileName), concordat.ErrCorrupt)
	}
	return f, err
}

// writeNodeFile writes f, with the format and the identity of folder dir filled in.
func writeNodeFile(dir string, f nodeFile) error {
	f.Format, f.Folder = 1, inode(dir)
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, nodeFileName), append(b, '\n'))
}
