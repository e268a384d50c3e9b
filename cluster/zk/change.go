package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// Read implements coord.Session. It first brings ZooKeeper's server up to date with its leader. If the connection changes in between,
// the new server can be behind, so the read is repeated. A deposed leader unaware of its deposition can answer for the duration of
// ZooKeeper's syncLimit; the version is then old, and a CAS with it fails.
func (s *Session) Read(ctx context.Context, id concordat.ShardID) (coord.Shard, error) {
	what := "shard " + string(id)
	if err := checkName(string(id)); err != nil {
		return coord.Shard{}, err
	}
	l, err := s.use()
	if err != nil {
		return coord.Shard{}, err
	}
	for {
		connection := l.connects.Load()
		if _, err := l.confirm(ctx, s.t.root); err != nil {
			return coord.Shard{}, readError(what, err)
		}
		z, err := l.get(ctx, s.t.shard(id))
		if l.connects.Load() != connection {
			continue
		}
		if err != nil {
			return coord.Shard{}, readError(what, err)
		}
		return decodeShard(id, z.data, z.stat.Version)
	}
}

// multi makes all of the changes or none.
func (s *Session) multi(ctx context.Context, l *link, ops ...any) ([]zkclient.MultiResponse, error) {
	return call(ctx, l, func(c *zkclient.Conn) ([]zkclient.MultiResponse, error) { return c.Multi(ops...) })
}

// refusedAt returns the index of the change in a multi that ZooKeeper refused, and the reason; -1 if none is known to be refused.
func refusedAt(answers []zkclient.MultiResponse) (int, error) {
	for i, a := range answers {
		if a.Error != nil { // changes before it have no error, and those after it have a different one
			return i, a.Error
		}
	}
	return -1, nil
}

// CAS implements coord.Coordinator. ZooKeeper makes the change and, in the same step, checks that the incarnation's znode exists, so
// ErrSession is never a guess; if only this node believes that its session has ended, the error is ErrUnknown.
func (s *Session) CAS(ctx context.Context, id concordat.ShardID, version int64, next coord.State, by coord.Incarnation) (int64, error) {
	what := "shard " + string(id)
	err := next.Validate()
	if err == nil {
		err = checkName(string(id))
	}
	if err == nil && by != "" {
		err = checkName(string(by))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if version < 0 || version >= 1<<31-1 {
		return 0, fmt.Errorf("%s has no version %d: %w", what, version, coord.ErrStale) // -1 would mean "any" to ZooKeeper
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("%s: %w: %w", what, concordat.ErrUnavailable, err)
	}
	l, err := s.use()
	if err != nil {
		return 0, err
	}
	var ops []any
	if by != "" {
		ops = append(ops, &zkclient.CheckVersionRequest{Path: s.t.incarnation(by), Version: -1})
	}
	ops = append(ops, &zkclient.SetDataRequest{Path: s.t.shard(id), Data: encode(next), Version: int32(version)})
	answers, err := s.multi(ctx, l, ops...)
	if err == nil {
		return version + 1, nil
	}
	switch i, why := refusedAt(answers); {
	case i == 0 && by != "" && errors.Is(why, zkclient.ErrNoNode):
		return 0, fmt.Errorf("%s: %s: %w", what, by, coord.ErrSession)
	case errors.Is(why, zkclient.ErrBadVersion):
		return 0, fmt.Errorf("%s is no longer at version %d: %w", what, version, coord.ErrStale)
	case errors.Is(why, zkclient.ErrNoNode):
		return 0, fmt.Errorf("%s: %w", what, concordat.ErrNotFound)
	}
	return 0, changeError(what, err)
}

// Announce implements coord.Session. It adds the new entry and removes older ones in one step.
func (s *Session) Announce(ctx context.Context, n coord.Node) error {
	if s.o.Node == "" || n.ID != s.o.Node {
		return fmt.Errorf("node %q cannot announce itself as node %q: %w", s.o.Node, n.ID, concordat.ErrInvalid)
	}
	l, err := s.use()
	if err != nil {
		return err
	}
	if n.Incarnation != l.me {
		return fmt.Errorf("%s: %w", n.Incarnation, coord.ErrSession)
	}
	const tries = 5 // an older entry can expire in between
	for range tries {
		if err = s.announce(ctx, l, n); !errors.Is(err, errRace) {
			break
		}
	}
	if err != nil {
		return changeError("announce "+string(n.Incarnation), err)
	}
	s.mu.Lock()
	if s.link == l {
		s.announced = true
	}
	s.mu.Unlock()
	return nil
}

var errRace = errors.New("the node's znodes keep changing")

// announce makes one attempt.
func (s *Session) announce(ctx context.Context, l *link, n coord.Node) error {
	names, err := call(ctx, l, func(c *zkclient.Conn) ([]string, error) { names, _, err := c.Children(s.t.live()); return names, err })
	if err != nil {
		return fmt.Errorf("%w: %w", errDown, err) // nothing was changed
	}
	own := escape(string(n.Incarnation))
	var ops []any
	if slices.Contains(names, own) {
		ops = append(ops, &zkclient.SetDataRequest{Path: s.t.incarnation(n.Incarnation), Data: encode(n), Version: -1})
	} else {
		ops = append(ops, &zkclient.CreateRequest{Path: s.t.incarnation(n.Incarnation), Data: encode(n), Acl: s.t.acl,
			Flags: zkclient.FlagEphemeral})
	}
	for _, name := range names {
		if i, ok := unescape(name); ok && name != own && ofNode(n.ID, i) {
			ops = append(ops, &zkclient.DeleteRequest{Path: s.t.live() + "/" + name, Version: -1})
		}
	}
	answers, err := s.multi(ctx, l, ops...)
	if i, why := refusedAt(answers); i >= 0 && (errors.Is(why, zkclient.ErrNoNode) || errors.Is(why, zkclient.ErrNodeExists)) {
		return errRace
	}
	return err
}

// maxCreated is the maximum number of shards in one Create, so that it fits in one message.
const maxCreated = 1024

// Create implements coord.Founder, for up to 1024 shards at once.
func (s *Session) Create(ctx context.Context, shards map[concordat.ShardID]coord.State) error {
	if len(shards) > maxCreated {
		return fmt.Errorf("cannot create %d shards in one request: at most %d are allowed: %w", len(shards), maxCreated, concordat.ErrInvalid)
	}
	var ids []concordat.ShardID
	for id, st := range shards {
		err := st.Validate()
		if err == nil {
			err = checkName(string(id))
		}
		if err != nil {
			return fmt.Errorf("shard %s: %w", id, err)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	l, err := s.use()
	if err != nil {
		return err
	}
	var ops []any
	for _, id := range ids {
		ops = append(ops, &zkclient.CreateRequest{Path: s.t.shard(id), Data: encode(shards[id]), Acl: s.t.acl})
	}
	answers, err := s.multi(ctx, l, ops...)
	if err == nil {
		return nil
	}
	if i, why := refusedAt(answers); i >= 0 && errors.Is(why, zkclient.ErrNodeExists) {
		return fmt.Errorf("shard %s: %w", ids[i], concordat.ErrExists)
	}
	return changeError("create shards", err)
}

// Nodes returns the names of all nodes that have ever been in the cluster and have not been forgotten, in order.
func (s *Session) Nodes(ctx context.Context) ([]coord.NodeID, error) {
	l, err := s.use()
	if err != nil {
		return nil, err
	}
	names, err := call(ctx, l, func(c *zkclient.Conn) ([]string, error) { names, _, err := c.Children(s.t.nodes()); return names, err })
	if err != nil {
		return nil, readError("nodes", err)
	}
	var all []coord.NodeID
	for _, name := range names {
		if n, ok := unescape(name); ok {
			all = append(all, coord.NodeID(n))
		}
	}
	slices.Sort(all)
	return all, nil
}

// Forget makes a node's name available to another installation. If the node is live or in the in-sync set of a shard, it fails with
// concordat.ErrRefused, because a new node with that name would be assumed to have every acknowledged write.
func (s *Session) Forget(ctx context.Context, node coord.NodeID) error {
	l, err := s.use()
	if err != nil {
		return err
	}
	if err := checkName(string(node)); err != nil {
		return err
	}
	if _, err := l.confirm(ctx, s.t.root); err != nil {
		return readError("forget "+string(node), err)
	}
	v, err := s.look(ctx, l)
	if err != nil {
		return err
	}
	if n, there := v.Live[node]; there {
		return fmt.Errorf("node %s is live, at %s: %w", node, n.Address, concordat.ErrRefused)
	}
	for id, sh := range v.Shards {
		if slices.Contains(sh.ISR, node) {
			return fmt.Errorf("node %s has a copy in sync of shard %s: first move that copy to another node: %w", node, id,
				concordat.ErrRefused)
		}
	}
	err = run1(ctx, l, func(c *zkclient.Conn) error { return c.Delete(s.t.node(node), -1) })
	if errors.Is(err, zkclient.ErrNoNode) {
		return fmt.Errorf("node %s: %w", node, concordat.ErrNotFound)
	}
	if err != nil {
		return changeError("forget "+string(node), err)
	}
	return nil
}

// SetScheme changes the scheme of the cluster from old to next, after all copies have been rebuilt. If the current scheme is neither, it
// fails with concordat.ErrScheme.
func (s *Session) SetScheme(ctx context.Context, old, next string) error {
	l, err := s.use()
	if err != nil {
		return err
	}
	if _, err := l.confirm(ctx, s.t.site()); err != nil {
		return readError("znode site", err)
	}
	z, err := l.get(ctx, s.t.site())
	if err != nil {
		return readError("znode site", err)
	}
	r, err := decodeSite(z.data)
	if err != nil {
		return err
	}
	if r.Scheme == next {
		return nil
	}
	if r.Scheme != old {
		return fmt.Errorf("the cluster's fingerprints use scheme %s, not scheme %s: %w", r.Scheme, old, concordat.ErrScheme)
	}
	r.Scheme = next
	err = run1(ctx, l, func(c *zkclient.Conn) error { _, err := c.Set(s.t.site(), encode(r), z.stat.Version); return err })
	if err != nil {
		return changeError("set scheme", err)
	}
	return nil
}
