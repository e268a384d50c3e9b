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

// While the program is upgraded node by node, nodes of two versions communicate. Messages have a separate version, which increases when a
// node of the previous version would not understand them; a program still understands messages of version OldestProtocol. Log records
// travel inside these messages, but the log format has a separate version, because log files stay on disk.

const (
	// Protocol is the version of the messages sent by this program.
	Protocol = 1
	// OldestProtocol is the oldest version it understands.
	OldestProtocol = 1
	// Payload is the newest version of a put's payload in the log that this program reads. A master writes a version only when all nodes
	// with a copy read it.
	Payload = definedVersion
	// unstatedPayload is the newest version that a program reads if it does not state any.
	unstatedPayload = cellsVersion
)

// speak fills in versions that the node did not state.
func speak(n *coord.Node) {
	n.Protocol, n.OldestProtocol, n.Log = cmp.Or(n.Protocol, Protocol), cmp.Or(n.OldestProtocol, OldestProtocol), cmp.Or(n.Log, wal.Version)
	n.Payload = cmp.Or(n.Payload, Payload)
}

// payloadOf returns the newest version of payloads that a node reads. While it is not live, what it stated when it last joined counts,
// because it may return without a restart.
func payloadOf(live map[coord.NodeID]coord.Node, members map[coord.NodeID]Member, id coord.NodeID) int {
	if n, ok := live[id]; ok {
		return cmp.Or(n.Payload, unstatedPayload)
	}
	return cmp.Or(members[id].Payload, unstatedPayload)
}

// compatible returns concordat.ErrRefused, naming both versions, if the node cannot work with one of the live nodes.
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

// Compatible returns concordat.ErrRefused, naming both versions, if the two nodes cannot work in the same cluster.
func Compatible(a, b coord.Node) error {
	speakOld(&a)
	speakOld(&b)
	if a.Protocol < b.OldestProtocol || b.Protocol < a.OldestProtocol {
		return fmt.Errorf("node %s (%s) writes version %d of the node protocol and reads version %d and later; node %s (%s) writes version %d and reads version %d and later: first upgrade to a version that supports both: %w",
			a.ID, programOf(a), a.Protocol, a.OldestProtocol, b.ID, programOf(b), b.Protocol, b.OldestProtocol, concordat.ErrRefused)
	}
	if a.Log != b.Log {
		return fmt.Errorf("node %s (%s) writes version %d of the log, but node %s (%s) writes version %d: the two nodes cannot copy from each other: %w",
			a.ID, programOf(a), a.Log, b.ID, programOf(b), b.Log, concordat.ErrRefused)
	}
	return nil
}

// speakOld assumes the first version for a node that did not state one.
func speakOld(n *coord.Node) {
	n.Protocol, n.OldestProtocol, n.Log = cmp.Or(n.Protocol, 1), cmp.Or(n.OldestProtocol, 1), cmp.Or(n.Log, 1)
}

func programOf(n coord.Node) string { return cmp.Or(n.Version, "unknown version") }
