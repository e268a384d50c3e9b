package zk

import (
	"path/filepath"
	"strings"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestIdentityPowerLoss cuts the power at every moment while a node's record of its cluster is replaced. ZooKeeper relies on what the
// node read there, so a record that was read must not be lost either.
func TestIdentityPowerLoss(t *testing.T) {
	powertest.Replaces(t, suite.Rounds(6, 60), 6, func(dir string, version int) error {
		m := memory{Cluster: strings.Repeat("0", 32), Node: "a", Instance: strings.Repeat("1", 32), Config: int64(version)}
		return m.write(filepath.Join(dir, "node.json"))
	}, func(dir string) (int, error) {
		m, err := openMemory(filepath.Join(dir, "node.json"), "a")
		return int(m.Config), err
	})
}
