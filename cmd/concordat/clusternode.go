package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/zk"
	"concordat/cmd/internal/cli"
	"concordat/index"
)

// A machine of a site of several.

const (
	clusterName = "cluster" // folder of certificates, within the site's
	// nodeDirName is the folder of the node's copies, within that of the index.
	nodeDirName = "cluster"
	joinTime    = 30 * time.Second
)

// coordinator begins a session with the coordinator at the address; an empty node only looks.
func (o *opened) coordinator(ctx context.Context, node coord.NodeID) (coord.Session, error) {
	return o.coordinatorOf(ctx, node, false)
}

// coordinatorOf is coordinator, which may make the place of the site there.
func (o *opened) coordinatorOf(ctx context.Context, node coord.NodeID, found bool) (coord.Session, error) {
	address := o.config.Cluster.Coordinator
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "http":
		return local.Dial(ctx, strings.TrimSuffix(address, "/"), cmp.Or(node, "operator"))
	case "zk":
		options, err := zookeeperAddress(address)
		if err != nil {
			return nil, err
		}
		options.Site, options.Node, options.Found = o.config.Site.ID, node, found
		if node != "" || found { // who only looks may be about to change the scheme
			options.Scheme = string(o.profiler.Scheme())
		}
		if node != "" {
			options.Identity = filepath.Join(o.dir, clusterName, "zookeeper.json")
		}
		return zk.Open(ctx, options)
	}
	return nil, cli.Usagef("cluster.coordinator: %q is not known to this program: want zk://HOST:PORT,HOST:PORT/ROOT or http://host:port", address)
}

// zookeeperAddress reads zk://HOST:PORT,HOST:PORT/ROOT with the files of the account and of TLS as account, ca,
// certificate and key behind a question mark; tls=yes alone takes the authorities of the system. timeout is that of
// sessions, such as 10s.
func zookeeperAddress(address string) (o zk.Options, err error) {
	place, query, _ := strings.Cut(strings.TrimPrefix(address, "zk://"), "?") // several hosts make no URL
	servers, root, _ := strings.Cut(place, "/")
	if o.Servers = strings.Split(servers, ","); root != "" {
		o.Root = "/" + strings.TrimSuffix(root, "/")
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return o, cli.Usagef("cluster.coordinator: %w", err)
	}
	if t := q.Get("timeout"); t != "" {
		if o.Timeout, err = time.ParseDuration(t); err != nil {
			return o, cli.Usagef("cluster.coordinator: timeout: %w", err)
		}
	}
	if o.Account, err = zk.ReadAccount(q.Get("account")); err != nil {
		return o, cli.Usage(err)
	}
	if q.Get("tls") == "yes" || q.Get("ca") != "" || q.Get("certificate") != "" {
		if o.TLS, err = zk.ReadTLS(q.Get("ca"), q.Get("certificate"), q.Get("key")); err != nil {
			return o, cli.Usage(err)
		}
	}
	return o, nil
}

// clustered reports whether the site has several machines.
func (o *opened) clustered() bool { return o.config.Cluster.Coordinator != "" }

func (o *opened) trust() (*cluster.Trust, error) {
	t, err := cluster.LoadTrust(filepath.Join(o.dir, clusterName))
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, cli.Usagef("this machine belongs to no cluster: concordat cluster init makes one, concordat cluster join enters one: %w", err)
	}
	if err == nil && string(t.Node) != o.config.Cluster.Node {
		err = cli.Usagef("cluster.node is %q, the certificate of this machine says %q", o.config.Cluster.Node, t.Node)
	}
	return t, err
}

// openNode lets this machine take part in its cluster.
func (o *opened) openNode(ctx context.Context) error {
	c := o.config.Cluster
	t, err := o.trust()
	if err != nil {
		return err
	}
	l, err := listenAt("cluster.listen", "", c.Listen)
	if err != nil {
		return err
	}
	if err := o.mayJoin(ctx, t); err != nil {
		return errors.Join(err, l.Close())
	}
	session, err := o.coordinator(ctx, t.Node)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if z, ok := session.(*zk.Session); ok {
		if err := o.firstSettings(ctx, z); err != nil {
			return errors.Join(err, session.Close(), l.Close())
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: o.config.Log.Level}))
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	address := c.Address
	if address == "" {
		address = l.Addr().String()
	}
	o.gone, o.trusted = make(chan error, 2), t // the node's own reason, and an order to restart
	var restart func()
	if o.supervised || supervised() {
		restart = sync.OnceFunc(func() { o.gone <- errRestart })
	}
	o.node, err = cluster.OpenNode(ctx, cluster.NodeOptions{
		Dir:     filepath.Join(o.dir, indexName, nodeDirName),
		Node:    coord.Node{ID: t.Node, Address: address, Zone: c.Zone, Version: buildVersion()},
		Session: session,
		Index:   index.Options{Site: o.config.Site.ID, Scheme: o.profiler.Scheme(), Logger: log, Warm: o.config.Index.KeepTable, StockSegments: o.config.Index.StockSegments},
		Client:  &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS(), MaxIdleConnsPerHost: 32, IdleConnTimeout: idleTime}},
		Fatal:   func(err error) { o.gone <- err },
		Key:     t.Key(), Authority: cluster.HasAuthority(filepath.Join(o.dir, clusterName)), Restart: restart,
		Copy: cluster.CopyOptions{Reprofile: func(d concordat.Document) (*concordat.Profile, error) { return o.profiler.ForIndex(d) }},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("join the cluster: %w", err), l.Close())
	}
	m := http.NewServeMux()
	m.Handle("/cluster/join/", o.node.LetIn(filepath.Join(o.dir, clusterName), o.filesToJoin))
	m.Handle("/cluster/renew/", o.node.Renewals(filepath.Join(o.dir, clusterName), t))
	m.Handle("/", t.OnlyNodes(o.node.Member, o.node.Handler()))
	o.nodeServer = &http.Server{Handler: m, TLSConfig: t.ServerTLS(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	o.nodeDone = make(chan struct{})
	go func() {
		defer close(o.nodeDone)
		if err := o.nodeServer.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			select {
			case o.gone <- err:
			default: // there is a reason already
			}
		}
	}()
	o.index = o.node
	return nil
}

func buildVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
}

// mayJoin looks whether this machine is a member before it enters its name anywhere: one that was removed
// must not keep the name from another.
func (o *opened) mayJoin(ctx context.Context, t *cluster.Trust) (err error) {
	look, err := o.coordinator(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, look.Close()) }()
	w := &watching{Session: look}
	if err := w.next(ctx); err != nil {
		return err
	}
	l, err := cluster.ParseLayout(w.view.Config)
	if err != nil {
		return err
	}
	m, ok := l.Members[t.Node]
	if !ok || m.Key != "" && m.Key != t.Key() {
		return fmt.Errorf("node %s is no member of the cluster: it was removed, or never joined: %w", t.Node, concordat.ErrRefused)
	}
	return nil
}

// closeNode hands the offices over and leaves.
func (o *opened) closeNode() error {
	err := o.node.Close()
	if o.nodeServer != nil {
		err = errors.Join(err, o.nodeServer.Close())
		<-o.nodeDone
	}
	return err
}

// stats are the sizes of the index, of the copies of this machine in a cluster.
func (o *opened) stats() index.Stats {
	switch {
	case o.node != nil:
		return o.node.Stats()
	case o.shard != nil:
		return o.shard.Stats()
	}
	return index.Stats{}
}

// indexReady returns why the index cannot be used, or nil.
func (o *opened) indexReady() error {
	switch {
	case o.node != nil:
		return o.node.Ready()
	case o.shard == nil || o.shard.Stats().Segments < 0:
		return errors.New("the index is not open")
	}
	return nil
}

// indexDocuments returns how many documents the index has, of all machines.
func (o *opened) indexDocuments(ctx context.Context) (int, error) {
	if o.node != nil {
		return o.node.Documents(ctx)
	}
	return o.stats().Documents, nil
}
