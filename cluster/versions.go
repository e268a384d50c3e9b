package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// While the program is replaced on one node after the other, nodes of two versions talk to each other. Their
// messages have a separate version, which rises when a node of the previous version would not understand
// them; a program still understands the messages of OldestProtocol. Log records travel within these messages,
// but the log format has another version, because its files stay on disks.

const (
	// Protocol is the version of the messages that this program sends.
	Protocol = 1
	// OldestProtocol is the oldest version that it understands.
	OldestProtocol = 1
)

// speak fills in the versions that the node has not stated.
func speak(n *coord.Node) {
	n.Protocol, n.OldestProtocol, n.Log = cmp.Or(n.Protocol, Protocol), cmp.Or(n.OldestProtocol, OldestProtocol), cmp.Or(n.Log, wal.Version)
}

// compatible returns concordat.ErrRefused if the node cannot work with one of the live nodes; the error names
// both versions.
func compatible(me *coord.Node, live map[coord.NodeID]coord.Node) error {
	for _, id := range slices.Sorted(maps.Keys(live)) {
		if id == me.ID {
			continue
		}
		if err := Compatible(*me, live[id]); err != nil {
			return err
		}
	}
	return nil
}

// Compatible returns concordat.ErrRefused if the two nodes cannot work in the same cluster; the error names both
// versions.
func Compatible(a, b coord.Node) error {
	speakOld(&a)
	speakOld(&b)
	if a.Protocol < b.OldestProtocol || b.Protocol < a.OldestProtocol {
		return fmt.Errorf("node %s (%s) speaks version %d of the messages between nodes and understands those from %d on, node %s (%s) speaks %d and understands those from %d on: upgrade by way of a version that knows both: %w",
			a.ID, programOf(a), a.Protocol, a.OldestProtocol, b.ID, programOf(b), b.Protocol, b.OldestProtocol, concordat.ErrRefused)
	}
	if a.Log != b.Log {
		return fmt.Errorf("node %s (%s) writes version %d of the log, node %s (%s) version %d: they cannot copy from one another: %w",
			a.ID, programOf(a), a.Log, b.ID, programOf(b), b.Log, concordat.ErrRefused)
	}
	return nil
}

// speakOld treats a node that did not state its version as one of the first version.
func speakOld(n *coord.Node) {
	n.Protocol, n.OldestProtocol, n.Log = cmp.Or(n.Protocol, 1), cmp.Or(n.OldestProtocol, 1), cmp.Or(n.Log, 1)
}

func programOf(n coord.Node) string { return cmp.Or(n.Version, "of unknown version") }
