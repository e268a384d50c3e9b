package zk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// memory is a node's record of its cluster, stored in Options.Identity.
type memory struct {
	Format   int          `json:"format"`
	Cluster  string       `json:"cluster"`  // as in siteRecord
	Node     coord.NodeID `json:"node"`     // owner of this folder
	Instance string       `json:"instance"` // as in nodeRecord
	Config   int64        `json:"config"`   // highest version of the configuration seen so far
}

const memoryFormat = 1

// openMemory ensures that the file is on disk, and reads it. Writes by a process that has since died may exist only in memory, and from
// now on ZooKeeper and the node rely on them.
func openMemory(path string, node coord.NodeID) (memory, error) {
	m, err := readMemory(path, node)
	if err != nil || m == (memory{}) {
		return m, err
	}
	return m, syncDir(filepath.Dir(path))
}

// readMemory reads the file, or returns the zero memory if there is none.
func readMemory(path string, node coord.NodeID) (memory, error) {
	var m memory
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, concordat.ErrCorrupt, err)
	}
	switch {
	case m.Format != memoryFormat:
		return m, fmt.Errorf("%s has format version %d, but this program supports version %d: %w", path, m.Format, memoryFormat, concordat.ErrInvalid)
	case !drawn.MatchString(m.Cluster) || !drawn.MatchString(m.Instance) || m.Config < 0:
		return m, fmt.Errorf("%s: %w", path, concordat.ErrCorrupt)
	case m.Node != node:
		return m, fmt.Errorf("%s belongs to node %s, not to this node, %s: %w", path, m.Node, node, ErrIdentity)
	}
	return m, nil
}

// write durably writes m to path.
func (m memory) write(path string) error {
	m.Format = memoryFormat
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names of the files in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// twice is the error for a node whose entry was removed while its session was alive.
func twice(node coord.NodeID) error {
	return fmt.Errorf("another process announced itself as node %s: two processes use this name, with the same folder or with a copy "+
		"of the folder. Stop one of the two processes, and restart this one if it should continue: %w", node, ErrIdentity)
}

func draw() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // this never fails
	return hex.EncodeToString(b[:])
}

// final reports whether err makes retrying pointless.
func final(err error) bool {
	for _, e := range []error{concordat.ErrRefused, concordat.ErrScheme, concordat.ErrInvalid, concordat.ErrCorrupt, concordat.ErrNotFound,
		fs.ErrPermission} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// connect returns an established link to this node's cluster. It tries until ctx ends, with pauses that grow to the session timeout and
// vary between nodes.
func (s *Session) connect(ctx context.Context) (*link, error) {
	pause := s.o.Timeout / 20
	for {
		l, err := s.tryLink(ctx)
		if err == nil || final(err) {
			return l, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ZooKeeper: %w: %w", concordat.ErrUnavailable, err)
		}
		s.log.Debug("cannot start a session with ZooKeeper", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + mathrand.N(pause)):
		}
		pause = min(2*pause, s.o.Timeout)
	}
}

// tryLink makes one attempt. It allows four session timeouts to establish a session, because the library pauses for a second after each
// round of servers and a hung server costs a third of a timeout.
func (s *Session) tryLink(ctx context.Context) (*link, error) {
	l, err := newLink(&s.o)
	if err != nil {
		return nil, err
	}
	try, cancel := context.WithTimeout(ctx, 4*s.o.Timeout)
	defer cancel()
	if err = l.establish(try, &s.o, s.t.root); err == nil {
		err = s.belong(try, l)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	if t := l.timeout(); t != s.o.Timeout {
		s.log.Warn("ZooKeeper granted a session timeout that differs from the requested one", "asked", s.o.Timeout, "granted", t)
	}
	s.log.Info("session with ZooKeeper", "node", s.o.Node, "incarnation", l.me, "server", l.conn.Server(), "timeout", l.timeout())
	return l, nil
}

type znode struct {
	data []byte
	stat *zkclient.Stat
}

// get reads a znode.
func (l *link) get(ctx context.Context, path string) (znode, error) {
	return call(ctx, l, func(c *zkclient.Conn) (znode, error) {
		b, stat, err := c.Get(path)
		return znode{b, stat}, err
	})
}

// belong ensures that l reaches this node's cluster, and that the cluster knows this node; where allowed, it founds the cluster or
// registers the node.
func (s *Session) belong(ctx context.Context, l *link) error {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	r, err := s.siteOf(ctx, l, seen)
	if err != nil {
		return err
	}
	next := seen
	next.Cluster = r.Cluster
	if s.o.Node != "" {
		if err := s.known(ctx, l, &next); err != nil {
			return err
		}
		z, err := l.get(ctx, s.t.document(Config))
		if err != nil {
			return readError("znode config", err)
		}
		if v := int64(z.stat.Version); v < seen.Config {
			return fmt.Errorf("ZooKeeper's data has been reset to an older state: it contains version %d of the configuration, but node %s has already seen version %d. "+
				"Stop all nodes and see \"ZooKeeper is lost\" in doc/zookeeper.md: %w", v, s.o.Node, seen.Config, ErrIdentity)
		}
	}
	s.mu.Lock()
	s.seen = next
	s.mu.Unlock()
	return nil
}

// siteOf reads the site znode and compares it with the node's memory.
func (s *Session) siteOf(ctx context.Context, l *link, seen memory) (siteRecord, error) {
	z, err := l.get(ctx, s.t.site())
	if errors.Is(err, zkclient.ErrNoNode) {
		if err := s.found(ctx, l, seen); err != nil {
			return siteRecord{}, err
		}
		z, err = l.get(ctx, s.t.site())
	}
	if errors.Is(err, zkclient.ErrNoAuth) {
		return siteRecord{}, fmt.Errorf("ZooKeeper does not allow account %q to read %s: the user or password is wrong: %w: %w", s.o.Account.User,
			s.t.site(), concordat.ErrRefused, err)
	}
	if err != nil {
		return siteRecord{}, fmt.Errorf("read znode site: %w", err)
	}
	r, err := decodeSite(z.data)
	if err != nil {
		return r, err
	}
	return r, s.compare(r, seen)
}

// compare refuses a cluster that is not this node's.
func (s *Session) compare(r siteRecord, seen memory) error {
	switch {
	case r.Site != s.o.Site:
		return fmt.Errorf("the cluster at %s belongs to site %s, but this node belongs to site %s: %w", s.t.root, r.Site, s.o.Site, ErrIdentity)
	case s.o.Scheme != "" && r.Scheme != s.o.Scheme:
		return fmt.Errorf("the cluster's fingerprints use scheme %s, but this node's fingerprints use scheme %s: %w", r.Scheme, s.o.Scheme, concordat.ErrScheme)
	case seen.Cluster != "" && r.Cluster != seen.Cluster:
		return fmt.Errorf("the cluster at %s is %s, but this node belongs to cluster %s: either this is a different ZooKeeper, or its data was lost and a new cluster was created. "+
			"Connect the node to the right ZooKeeper, or see \"ZooKeeper is lost\" in doc/zookeeper.md: %w", s.t.root, r.Cluster, seen.Cluster, ErrIdentity)
	}
	return nil
}

// found creates the site's znodes, if they do not exist and this node has never seen them.
func (s *Session) found(ctx context.Context, l *link, seen memory) error {
	if seen.Cluster != "" {
		return fmt.Errorf("ZooKeeper has no data at %s, but this node belongs to cluster %s: either this is a different ZooKeeper, or its data was lost. "+
			"Nothing was changed; see \"ZooKeeper is lost\" in doc/zookeeper.md: %w", s.t.root, seen.Cluster, ErrIdentity)
	}
	if !s.o.Found {
		return fmt.Errorf("ZooKeeper has no cluster at %s: %w", s.t.root, concordat.ErrNotFound)
	}
	for _, p := range ancestors(s.t.root) {
		err := run1(ctx, l, func(c *zkclient.Conn) error { _, err := c.Create(p, nil, 0, s.t.acl); return err })
		if err != nil && !errors.Is(err, zkclient.ErrNodeExists) {
			return s.foundError(p, err)
		}
	}
	record := encode(siteRecord{treeFormat, s.o.Site, s.o.Scheme, draw()})
	ops := []any{&zkclient.CreateRequest{Path: s.t.site(), Data: record, Acl: s.t.acl}}
	for _, p := range []string{s.t.live(), s.t.shards(), s.t.nodes(), s.t.document(Config), s.t.document(Settings)} {
		ops = append(ops, &zkclient.CreateRequest{Path: p, Acl: s.t.acl})
	}
	_, err := call(ctx, l, func(c *zkclient.Conn) ([]zkclient.MultiResponse, error) { return c.Multi(ops...) })
	if err != nil && !errors.Is(err, zkclient.ErrNodeExists) { // another node may have been faster; its record is then compared
		return s.foundError(s.t.site(), err)
	}
	return nil
}

// foundError is the error of creating znode p for a new cluster.
func (s *Session) foundError(p string, err error) error {
	if errors.Is(err, zkclient.ErrNoAuth) {
		return fmt.Errorf("ZooKeeper does not allow account %q to create %s: %w", s.o.Account.User, p, concordat.ErrRefused)
	}
	return fmt.Errorf("create znode %s: %w", p, err)
}

// known ensures that this installation has the node's name in the cluster, and that the node's file says so before the cluster's record
// does. This distinguishes a node that lost its folder from one that never existed.
func (s *Session) known(ctx context.Context, l *link, next *memory) error {
	if next.Instance == "" {
		next.Instance, next.Node = draw(), s.o.Node
	}
	s.mu.Lock()
	stored := s.seen
	s.mu.Unlock()
	path := s.t.node(s.o.Node)
	z, err := l.get(ctx, path)
	switch {
	case errors.Is(err, zkclient.ErrNoNode):
		if stored.Config > 0 && stored.Instance != "" {
			s.log.Warn("the cluster had no record of this node; the node has been registered again", "node", s.o.Node)
		}
		if err := s.remember(*next); err != nil {
			return err
		}
		err = run1(ctx, l, func(c *zkclient.Conn) error {
			_, err := c.Create(path, encode(nodeRecord{next.Instance}), 0, s.t.acl)
			return err
		})
		if err != nil {
			return fmt.Errorf("register node %s: %w", s.o.Node, err) // the next attempt compares the record
		}
		return nil
	case err != nil:
		return readError("znode of node "+string(s.o.Node), err)
	}
	var r nodeRecord
	if err := decode("nodes/"+string(s.o.Node), z.data, &r); err != nil {
		return err
	}
	if r.Instance != next.Instance {
		return fmt.Errorf("another installation is registered as node %s (%.8s; this installation is %.8s): two machines have the same name, or this machine lost its folder. "+
			"Give this machine another name; if the other installation no longer exists, run \"concordat cluster zookeeper forget %s\" instead: %w", s.o.Node, r.Instance,
			next.Instance, s.o.Node, ErrIdentity)
	}
	if *next != stored {
		return s.remember(*next)
	}
	return nil
}

// remember durably stores m as the node's memory of the cluster.
func (s *Session) remember(m memory) error {
	if err := m.write(s.o.Identity); err != nil {
		return err
	}
	s.mu.Lock()
	s.seen = m
	s.mu.Unlock()
	return nil
}
