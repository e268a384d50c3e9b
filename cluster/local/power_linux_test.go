package local_test

import (
	"errors"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// TestHubPowerLoss cuts the power at every moment while the coordinator's state changes. Nodes act on what the coordinator read from its
// file, so that must not be lost either.
func TestHubPowerLoss(t *testing.T) {
	state := func(version int) coord.State {
		return coord.State{Epoch: uint64(version), ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
	}
	join := func(dir string) (*local.Session, error) {
		hub, err := local.Open(filepath.Join(dir, "cluster.json"))
		if err != nil {
			return nil, err
		}
		return hub.Join("a")
	}
	powertest.Replaces(t, suite.Rounds(6, 60), 6, func(dir string, version int) error {
		s, err := join(dir)
		if err != nil {
			return err
		}
		old, err := s.Read(t.Context(), "00")
		if errors.Is(err, concordat.ErrNotFound) {
			err = s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(version)})
		} else if err == nil {
			_, err = s.CAS(t.Context(), "00", old.Version, state(version), "")
		}
		return errors.Join(err, s.Close())
	}, func(dir string) (int, error) {
		s, err := join(dir)
		if err != nil {
			return 0, err
		}
		got, err := s.Read(t.Context(), "00")
		if errors.Is(err, concordat.ErrNotFound) {
			err = nil
		}
		return int(got.Epoch), errors.Join(err, s.Close())
	})
}
