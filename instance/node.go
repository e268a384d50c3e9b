package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/index"
	"concordat/instance/config"
	"concordat/site/compare"
)

// This file opens a machine of a site with several machines.

const (
	ClusterName = "cluster" // folder of certificates within the site's folder
	// NodeDirName is the folder of the node's copies within the index folder.
	NodeDirName = "cluster"
	joinTime    = 30 * time.Second
	// Limits of connections between nodes.
	nodeHeaderTime = 10 * time.Second
	nodeIdleTime   = 2 * time.Minute
)

// Trust returns the certificates of this node. It fails with a UsageError if the machine does not belong to a cluster.
func Trust(dir string, c *config.Config) (*cluster.Trust, error) {
	t, err := cluster.LoadTrust(filepath.Join(dir, ClusterName))
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, Usagef("this machine is not part of a cluster: create a cluster with concordat cluster init, or join one with concordat cluster join: %w", err)
	}
	if err == nil && string(t.Node) != c.Cluster.Node {
		err = Usagef("cluster.node is %q, but the certificate of this machine is for node %q", c.Cluster.Node, t.Node)
	}
	return t, err
}

// Member is this machine as a running node of the site's cluster, with the server through which the other nodes reach it.
type Member struct {
	Node   *cluster.Node
	Trust  *cluster.Trust // certificates of the node
	Failed chan error     // receives why the node cannot continue

	deleting atomic.Bool // whether this process performs deletions for all nodes
	server   *http.Server
	done     chan struct{} // closed when server has ended
}

// SetDeleting says whether this process performs deletions for all nodes. A site with one machine has nil, for which it does nothing.
func (m *Member) SetDeleting(on bool) {
	if m != nil {
		m.deleting.Store(on)
	}
}

// OtherDeletes reports whether another process of the site performs deletions. It reports false for nil.
func (m *Member) OtherDeletes() bool { return m != nil && !m.deleting.Load() }

// openNode makes this machine join its running cluster. supervised is set by --supervised.
func (o *Instance) openNode(ctx context.Context, supervised bool) error {
	c := o.Config.Cluster
	t, err := Trust(o.Dir, o.Config)
	if err != nil {
		return err
	}
	l, err := Listen("cluster.listen", "", c.Listen)
	if err != nil {
		return err
	}
	if err := mayJoin(ctx, o.Config, t); err != nil {
		return errors.Join(err, l.Close())
	}
	session, _, err := dial(ctx, o.Config, zk.Options{Node: t.Node, Scheme: string(o.Profiler.Scheme()),
		Identity: filepath.Join(o.Dir, ClusterName, "zookeeper.json")})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if z, ok := session.(*zk.Session); ok {
		if err := o.Live.firstSettings(ctx, z, o.Store); err != nil {
			return errors.Join(err, session.Close(), l.Close())
		}
		o.Config = o.Live.Now()
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: o.Config.Log.Level}))
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	address := c.Address
	if address == "" {
		address = l.Addr().String()
	}
	m := &Member{Trust: t, Failed: make(chan error, 2)} // room for the node's own reason and a request to restart
	var restart func()
	if supervised || Supervised() {
		restart = sync.OnceFunc(func() { m.Failed <- ErrRestart })
	}
	m.Node, err = cluster.OpenNode(ctx, cluster.NodeOptions{
		Dir:     filepath.Join(o.Dir, IndexName, NodeDirName),
		Node:    coord.Node{ID: t.Node, Address: address, Zone: c.Zone, Version: Version(), Meaning: CellsMade(o.Profiler)},
		Session: session, Acknowledged: acknowledged{o.Store.Acknowledged},
		Index: index.Options{Site: o.Config.Site.ID, Scheme: o.Profiler.Scheme(), Logger: log, Warm: o.Config.Index.KeepTable,
			StockSegments: o.Config.Index.StockSegments},
		Client: &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS(), MaxIdleConnsPerHost: 32, IdleConnTimeout: nodeIdleTime}},
		Fatal:  func(err error) { m.Failed <- err },
		Key:    t.Key(), Authority: cluster.HasAuthority(filepath.Join(o.Dir, ClusterName)), Restart: restart,
		Copy: cluster.CopyOptions{Reprofile: func(d concordat.Document) (*concordat.Profile, error) {
			return o.Profile(context.WithoutCancel(ctx), d)
		},
			Panicked: func(value any, stack []byte) {
				o.panics.note(&compare.Fault{Value: value, Stack: stack}, "node", t.Node)
			}},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("join the cluster: %w", err), l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/cluster/join/", m.Node.LetIn(filepath.Join(o.Dir, ClusterName), func() (map[string][]byte, error) {
		return filesToJoin(o.Dir, o.Config)
	}))
	mux.Handle("/cluster/renew/", m.Node.Renewals(filepath.Join(o.Dir, ClusterName), t))
	mux.Handle("/", t.OnlyNodes(m.Node.Member, m.Node.Handler()))
	m.server = &http.Server{Handler: mux, TLSConfig: t.ServerTLS(), ReadHeaderTimeout: nodeHeaderTime, IdleTimeout: nodeIdleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	m.done = make(chan struct{})
	go func() {
		defer close(m.done)
		if err := m.server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			select {
			case m.Failed <- err:
			default: // a reason is already known
			}
		}
	}()
	o.Member, o.Index = m, m.Node
	return nil
}

// Version returns the version from which the program was built, or "".
func Version() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
}

// mayJoin checks that this machine is a member before registering its name anywhere, because a removed machine must not prevent others
// from using the name.
func mayJoin(ctx context.Context, c *config.Config, t *cluster.Trust) (err error) {
	look, err := Observe(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, look.Close()) }()
	w := &Observer{Session: look}
	if err := w.Next(ctx); err != nil {
		return err
	}
	l, err := cluster.ParseLayout(w.Seen.Config)
	if err != nil {
		return err
	}
	m, ok := l.Members[t.Node]
	if !ok || m.Key != "" && m.Key != t.Key() {
		return fmt.Errorf("node %s is not a member of the cluster: the node was removed or has never joined: %w", t.Node, concordat.ErrRefused)
	}
	return nil
}

// close hands over the node's leadership and leaves the cluster.
func (m *Member) close() error {
	err := errors.Join(m.Node.Close(), m.server.Close())
	<-m.done
	return err
}

// Stats returns the statistics of the index or, in a cluster, of this machine's copies.
func (o *Instance) Stats() index.Stats {
	switch {
	case o.Member != nil:
		return o.Member.Node.Stats()
	case o.own != nil:
		return o.own.shard.Index().Stats()
	}
	return index.Stats{}
}

// IndexReady returns why the index cannot be used, or nil.
func (o *Instance) IndexReady() error {
	switch {
	case o.Member != nil:
		return o.Member.Node.Ready()
	case o.own == nil || o.own.shard.Index().Stats().Segments < 0:
		return errors.New("the index is not open")
	}
	return nil
}

// IndexDocuments returns the number of documents in the index on all machines.
func (o *Instance) IndexDocuments(ctx context.Context) (int, error) {
	if o.Member != nil {
		return o.Member.Node.Documents(ctx)
	}
	return o.Stats().Documents, nil
}
