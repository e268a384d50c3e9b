package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cmd/internal/cli"
	"concordat/instance"
)

func (a *app) clusterCommand() *cobra.Command {
	c := &cobra.Command{Use: "cluster", Short: "Spread the site over several machines", Args: cobra.NoArgs,
		Long: `A site of several machines keeps each document on some of them, answers while one of them is away, and loses
nothing that it acknowledged as long as one copy of it is left. The machines agree through a coordinator.

  concordat init --store postgres://...                                        on the first machine
  concordat cluster init --node a --listen 10.0.0.1:8422 --coordinator URL
  concordat serve
  concordat cluster token b                                                    there too
  concordat --data DIR cluster join TOKEN --listen 10.0.0.2:8422               on the second one
  concordat --data DIR serve
  concordat cluster balance --wait

All machines share one PostgreSQL database, which keeps the catalogue, the accounts, the checks and what was
handed in; a site that has its store in a file is moved there by concordat store copy.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.clusterInit(), a.clusterToken(), a.clusterJoin(), a.clusterStatus(), a.clusterMove(), a.clusterBalance(),
		a.clusterDrain(), a.clusterForce(), a.clusterRemove(), a.clusterRenew(), a.clusterRestart(), a.clusterUpgrade(), a.clusterCoordinator(), a.zookeeperCommand())
	return c
}

func (a *app) clusterInit() *cobra.Command {
	var node, zone, listen, address, url string
	var shards, copies int
	var dry bool
	c := &cobra.Command{Use: "init", Short: "Make this site the first machine of a cluster", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.With(ctx, instance.Locked, func(o *instance.Instance) error {
				if o.Clustered() {
					return cli.Usagef("this machine belongs to a cluster already")
				}
				if listen == "" || url == "" {
					return cli.Usagef("--listen and --coordinator are needed")
				}
				o.Config.Cluster.Coordinator, o.Config.Cluster.Node = url, node
				held, err := cluster.Adopt(filepath.Join(o.Dir, instance.IndexName, instance.NodeDirName))
				if err != nil {
					return err
				}
				if len(held) > 0 && cmd.Flags().Changed("shards") && shards != len(held) {
					return cli.Usagef("--shards %d: the index that was restored has %d, which cannot be changed", shards, len(held))
				}
				if len(held) > 0 {
					shards = len(held)
				}
				l := cluster.Layout{Cluster: strings.ToLower(rand.Text()), Site: o.ID(), Scheme: o.Scheme(), Shards: shards, Copies: copies,
					Members: map[coord.NodeID]cluster.Member{coord.NodeID(node): {Zone: zone}}}
				if err := cluster.CheckNode(coord.NodeID(node)); err != nil {
					return cli.Usage(err)
				}
				if dry {
					a.Say("would make a cluster of %d shards in %d copies with node %s, and write certificates and configuration in %s", shards, copies, node, o.Dir)
					return tellFill(ctx, o, a)
				}
				return a.foundCluster(ctx, o, l, held, clusterKeys(url, node, zone, listen, address))
			})
		}}
	f := c.Flags()
	f.StringVar(&node, "node", "a", "name of this machine")
	f.StringVar(&zone, "zone", "", "what may fail together with it, such as a room")
	f.StringVar(&listen, "listen", "", "host:port where the other machines are answered")
	f.StringVar(&address, "address", "", "host:port where they reach it (default: --listen)")
	f.StringVar(&url, "coordinator", "", "address of the coordinator")
	f.IntVar(&shards, "shards", 8, "number of shards, 1 to 256; cannot be changed")
	f.IntVar(&copies, "copies", 3, "copies of each shard")
	f.BoolVar(&dry, "dry-run", false, "say what would be done")
	return c
}

// clusterKeys is the part of the configuration that says where this machine is.
func clusterKeys(url, node, zone, listen, address string) []byte {
	b := fmt.Appendf(nil, "cluster:\n  coordinator: %q\n  node: %q\n  listen: %q\n", url, node, listen)
	if zone != "" {
		b = fmt.Appendf(b, "  zone: %q\n", zone)
	}
	if address != "" {
		b = fmt.Appendf(b, "  address: %q\n", address)
	}
	return b
}

func (a *app) foundCluster(ctx context.Context, o *instance.Instance, l cluster.Layout, held []cluster.ShardMoment, keys []byte) error {
	dir, node := filepath.Join(o.Dir, instance.ClusterName), coord.NodeID(o.Config.Cluster.Node)
	session, err := o.CoordinatorOf(ctx, "", true)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }() // it only founded
	epochs := map[concordat.ShardID]uint64{}
	for _, m := range held {
		epochs[m.Shard] = m.Epoch
	}
	if err := cluster.FoundRestored(ctx, session, l, epochs); err != nil {
		return err
	}
	if err := cluster.NewAuthority(dir, l.Cluster, time.Now()); err != nil {
		return err
	}
	if err := cluster.FoundTrust(dir, l.Cluster, node, time.Now()); err != nil {
		return err
	}
	path := filepath.Join(o.Dir, instance.ConfigName)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := instance.ReplaceFile(path, append(append(bytes.TrimRight(old, "\n"), '\n'), keys...)); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"cluster": l.Cluster, "node": node, "shards": l.Shards, "copies": l.Copies})
	}
	if o.Config.Store.URL == "" {
		a.Warn("%s", fileStoreAdvice(filepath.Join(o.Dir, instance.StoreName)))
	}
	if err := tellFill(ctx, o, a); err != nil {
		return err
	}
	a.Say("cluster %s of %d shards has its first node %s; start concordat serve, then let others in with concordat cluster token NODE", l.Cluster, l.Shards, node)
	return nil
}

// withCluster reads the newest view and calls f.
func (a *app) withCluster(ctx context.Context, f func(*instance.Instance, *instance.Observer, *cluster.Layout) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		if !o.Clustered() {
			return cli.Usagef("the site has one machine: concordat cluster init makes it the first of several")
		}
		session, err := o.Coordinator(ctx, "")
		if err != nil {
			return err
		}
		defer func() { _ = session.Close() }() // it only looks
		w := &instance.Observer{Session: session}
		if err := w.Next(ctx); err != nil {
			return err
		}
		l, err := cluster.ParseLayout(w.Seen.Config)
		if err != nil {
			return err
		}
		return f(o, w, l)
	})
}

func (a *app) clusterStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show nodes and shards", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.showCluster(w, l)
			})
		}}
}

type nodeLine struct {
	Node    coord.NodeID `json:"node"`
	Zone    string       `json:"zone,omitempty"`
	Live    bool         `json:"live"`
	Drained bool         `json:"drained,omitempty"`
	Address string       `json:"address,omitempty"`
	Free    uint64       `json:"free_bytes,omitempty"`
	Version string       `json:"version,omitempty"`
	Masters int          `json:"masters"`
	Copies  int          `json:"copies"`
}

func (a *app) showCluster(w *instance.Observer, l *cluster.Layout) error {
	nodes := map[coord.NodeID]*nodeLine{}
	for id, m := range l.Members {
		n := w.Seen.Live[id]
		nodes[id] = &nodeLine{Node: id, Zone: m.Zone, Live: n.ID != "", Drained: m.Drained, Address: n.Address, Free: n.FreeBytes, Version: n.Version}
	}
	var shards []instance.ShardLine
	for _, id := range slices.Sorted(maps.Keys(w.Seen.Shards)) {
		s := instance.ShardState(&w.Seen, w.Seen.Shards[id])
		s.Shard = id
		shards = append(shards, s)
		for _, n := range s.InSync {
			if nodes[n] != nil {
				nodes[n].Copies++
			}
		}
		if nodes[s.Master] != nil {
			nodes[s.Master].Masters++
		}
	}
	down := 0
	for _, s := range shards {
		if s.State == "down" {
			down++
		}
	}
	var without error
	if down > 0 {
		without = &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%d of %d shards have no master: what they hold cannot be changed", down, len(shards))}
	}
	if a.JSON {
		return errors.Join(without, a.Line(map[string]any{"cluster": l.Cluster, "site": l.Site, "copies": l.Copies, "nodes": slices.SortedFunc(maps.Values(nodes), func(x, y *nodeLine) int { return cmp.Compare(x.Node, y.Node) }), "shards": shards}))
	}
	a.Say("cluster %s of site %s: %d shards in %d copies", l.Cluster, l.Site, l.Shards, l.Copies)
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[id]
		state := "away"
		if n.Live {
			state = fmt.Sprintf("at %s, %d MiB free, version %s", n.Address, n.Free>>20, cmp.Or(n.Version, "unknown"))
		}
		if n.Drained {
			state += ", drained"
		}
		a.Say("node %s (zone %q): %s; %d copies in sync, master of %d", id, n.Zone, state, n.Copies, n.Masters)
	}
	for _, s := range shards {
		a.Say("shard %s: %s; master %s since epoch %d; in sync %s; wanted %s", s.Shard, s.State, cmp.Or(string(s.Master), "none"), s.Epoch, nodeNames(s.InSync), nodeNames(s.Wanted))
	}
	return without
}

func nodeNames(ns []coord.NodeID) string {
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = string(n)
	}
	return strings.Join(out, ",")
}

func (a *app) clusterCoordinator() *cobra.Command {
	var listen, file string
	var timeout time.Duration
	c := &cobra.Command{Use: "coordinator", Short: "Serve a coordinator of one process, for trying without ZooKeeper", Args: cobra.NoArgs,
		Long: `The coordinator keeps its state in one file. It is one process without a copy of itself, and asks nobody who he is:
it is for trying a cluster on one machine. While it is away the nodes answer and take nothing in.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hub, err := local.Open(file)
			if err != nil {
				return err
			}
			l, err := instance.Listen("coordinator", "--listen", listen)
			if err != nil {
				return err
			}
			s := local.NewServer(hub, timeout)
			a.Say("coordinator at http://%s", l.Addr())
			h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			stop := context.AfterFunc(ctx, func() { _ = h.Close() }) // calls that wait are cut
			defer stop()
			ran := make(chan error, 1)
			go func() { ran <- s.Run(ctx) }()
			if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return <-ran
		}}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8430", "address")
	c.Flags().StringVar(&file, "file", "coordinator.json", "file of its state")
	c.Flags().DurationVar(&timeout, "timeout", local.DefaultTimeout, "how long a node may be silent")
	return c
}
