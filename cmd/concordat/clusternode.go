package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/zk"
	"concordat/index"
)

// A machine of a site of several.

const (
	clusterName = "cluster" // folder of certificates, within the site's
	// nodeDirName is the folder of the node's copies, within that of the index.
	nodeDirName = "cluster"
	joinTime    = 30 * time.Second
)

// coordinator begins a session with the coordinator of the configuration; an empty node only looks. found lets
// it make the cluster there.
func (o *opened) coordinator(ctx context.Context, node coord.NodeID, found bool) (coord.Session, error) {
	switch scheme, rest, _ := strings.Cut(o.config.Cluster.Coordinator, "://"); scheme {
	case "http":
		return local.Dial(ctx, strings.TrimSuffix(o.config.Cluster.Coordinator, "/"), cmp.Or(node, "operator"))
	case "zk":
		z, err := o.zookeeper(rest)
		if err != nil {
			return nil, err
		}
		if z.Node, z.Found = node, found; node != "" {
			z.Identity = filepath.Join(o.dir, clusterName, "zookeeper.json")
			if err := os.MkdirAll(filepath.Dir(z.Identity), 0o700); err != nil {
				return nil, err
			}
		}
		return zk.Open(ctx, z)
	}
	return nil, usagef("cluster.coordinator: want zk://host:port,host:port or http://host:port, not %q", o.config.Cluster.Coordinator)
}

// zookeeper returns how the servers are reached.
func (o *opened) zookeeper(servers string) (z zk.Options, err error) {
	z = zk.Options{Servers: strings.Split(strings.TrimSuffix(servers, "/"), ","), Site: o.config.Site.ID, Scheme: string(o.profiler.Scheme())}
	z.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: max(o.config.Log.Level, slog.LevelWarn)}))
	z.Account, err = zk.ReadAccount("")
	return z, err
}

// clustered reports whether the site has several machines.
func (o *opened) clustered() bool { return o.config.Cluster.Coordinator != "" }

func (o *opened) trust() (*cluster.Trust, error) {
	t, err := cluster.LoadTrust(filepath.Join(o.dir, clusterName))
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, usagef("this machine belongs to no cluster: concordat cluster init makes one, concordat cluster join enters one: %w", err)
	}
	if err == nil && string(t.Node) != o.config.Cluster.Node {
		err = usagef("cluster.node is %q, the certificate of this machine says %q", o.config.Cluster.Node, t.Node)
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
	session, err := o.coordinator(ctx, t.Node, false)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: o.config.Log.Level}))
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	address := c.Address
	if address == "" {
		address = l.Addr().String()
	}
	o.gone = make(chan error, 1)
	o.node, err = cluster.OpenNode(ctx, cluster.NodeOptions{
		Dir:     filepath.Join(o.dir, indexName, nodeDirName),
		Node:    coord.Node{ID: t.Node, Address: address, Zone: c.Zone, Version: buildVersion()},
		Session: session,
		Index:   index.Options{Site: o.config.Site.ID, Scheme: o.profiler.Scheme(), Logger: log},
		Client:  &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS(), MaxIdleConnsPerHost: 32, IdleConnTimeout: idleTime}},
		Fatal:   func(err error) { o.gone <- err },
	})
	if err != nil {
		return errors.Join(fmt.Errorf("join the cluster: %w", err), l.Close())
	}
	m := http.NewServeMux()
	m.Handle("/cluster/join/", o.node.LetIn(filepath.Join(o.dir, clusterName), o.filesToJoin))
	m.Handle("/", t.OnlyNodes(o.node.Member, o.node.Handler()))
	o.nodeServer = &http.Server{Handler: m, TLSConfig: t.ServerTLS(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	o.nodeDone = make(chan struct{})
	go func() {
		defer close(o.nodeDone)
		if err := o.nodeServer.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			o.gone <- err
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

// closeNode hands the offices over and leaves.
func (o *opened) closeNode() error {
	err := o.node.Close()
	if o.nodeServer != nil {
		err = errors.Join(err, o.nodeServer.Close())
		<-o.nodeDone
	}
	return err
}

// filesToJoin is what another machine needs to be one of this site: its configuration and its keys.
func (o *opened) filesToJoin() (map[string][]byte, error) {
	conf, err := os.ReadFile(filepath.Join(o.dir, configName))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{configName: conf}
	key, err := readIndexKey(o.dir)
	if err == nil && key != nil {
		out[indexKeyName] = key
	}
	return out, err
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
