package cluster

import (
	"fmt"
	"slices"

	"concordat"
	"concordat/cluster/coord"
)

// Remove removes the node from the layout, which invalidates its certificate and name. It fails with concordat.ErrRefused, explaining
// what to do, while the node is live, has or should have a copy, or is the last one. It also refuses to remove the only node with the
// authority's key, unless lose accepts that no node can ever join again. If there is no such node, it fails with concordat.ErrNotFound.
func (l *Layout) Remove(v *coord.View, id coord.NodeID, lose bool) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), concordat.ErrRefused)
	}
	m, ok := l.Members[id]
	if !ok {
		return fmt.Errorf("node %s is not a member of the cluster: %w", id, concordat.ErrNotFound)
	}
	if len(l.Members) == 1 {
		return refuse("node %s is the cluster's only node", id)
	}
	var last, has []concordat.ShardID
	for _, shard := range l.names() {
		s, ok := v.Shards[shard]
		switch {
		case !ok:
		case slices.Equal(s.ISR, []coord.NodeID{id}):
			last = append(last, shard)
		case slices.Contains(s.ISR, id) || slices.Contains(s.Replicas, id):
			has = append(has, shard)
		}
	}
	if len(last) > 0 {
		return refuse("node %s has the only copies in sync of shards %v, whose data would be lost; start and drain the node (concordat cluster drain %s --wait), or force other nodes to take over the shards", id, last, id)
	}
	if len(has) > 0 {
		return refuse("node %s still has copies of shards %v: drain the node first (concordat cluster drain %s --wait)", id, has, id)
	}
	if _, live := v.Live[id]; live {
		return refuse("node %s is live: stop concordat serve on that node first", id)
	}
	if m.Authority && !lose && !l.otherAuthority(id) {
		return refuse("node %s has the only copy of the key of the cluster's authority, and no node can join or renew its certificate without this key: copy %s to the cluster folder of another node, and restart that node", id, authorityKey)
	}
	delete(l.Members, id)
	return nil
}

// MayJoin returns an error that wraps concordat.ErrRefused, explaining what to do, if the name belongs to a member that has ever been
// started, because another machine with that name would displace it. A name is available if its member was entered but never started.
func (l *Layout) MayJoin(v *coord.View, id coord.NodeID) error {
	m, ok := l.Members[id]
	n, live := v.Live[id]
	switch {
	case live:
		return fmt.Errorf("node %s is live, at %s, and a second machine with that name would displace it. To replace the machine, run concordat cluster replace %s; to add a machine, choose another name: %w",
			id, n.Address, id, concordat.ErrRefused)
	case ok && m.Boot != "":
		return fmt.Errorf("node %s is a member, but not live: start it again, or replace its machine with concordat cluster replace %s; to add a machine, choose another name: %w",
			id, id, concordat.ErrRefused)
	}
	return nil
}

// otherAuthority reports whether a node other than id has the authority's key.
func (l *Layout) otherAuthority(id coord.NodeID) bool {
	for n, m := range l.Members {
		if n != id && m.Authority {
			return true
		}
	}
	return false
}
