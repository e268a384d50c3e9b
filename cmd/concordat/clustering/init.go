package clustering

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/crypto/keyfile"
	"concordat/instance"
)

func (a *commands) clusterInit() *cobra.Command {
	var node, zone, listen, address, url string
	var shards, copies int
	var dry bool
	c := &cobra.Command{Use: "init", Short: "Make this site the first machine of a cluster", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.With(ctx, instance.Locked, func(o *instance.Instance) error {
				if o.Config.Clustered() {
					return cli.Usagef("this machine already belongs to a cluster")
				}
				if listen == "" || url == "" {
					return cli.Usagef("--listen and --coordinator are required")
				}
				o.Config.Cluster.Coordinator, o.Config.Cluster.Node = url, node
				held, err := cluster.Adopt(filepath.Join(o.Dir, instance.IndexName, instance.NodeDirName))
				if err != nil {
					return err
				}
				if len(held) > 0 && cmd.Flags().Changed("shards") && shards != len(held) {
					return cli.Usagef("--shards %d: the restored index has %d shards, and their number cannot be changed", shards, len(held))
				}
				if len(held) > 0 {
					shards = len(held)
				}
				l := cluster.Layout{Cluster: strings.ToLower(rand.Text()), Site: o.Site.ID(), Scheme: o.Site.Scheme(), Shards: shards, Copies: copies,
					Members: map[coord.NodeID]cluster.Member{coord.NodeID(node): {Zone: zone}}}
				if err := cluster.CheckNode(coord.NodeID(node)); err != nil {
					return cli.Usage(err)
				}
				if dry {
					a.Say("would create a cluster of %d shards, each in %d copies, with first node %s, and write certificates and configuration to %s", shards, copies,
						node, o.Dir)
					return tellFill(ctx, o, a)
				}
				return a.foundCluster(ctx, o, l, held, clusterKeys(url, node, zone, listen, address))
			})
		}}
	f := c.Flags()
	f.StringVar(&node, "node", "a", "name of this machine")
	f.StringVar(&zone, "zone", "", "failure zone of the machine, such as a room")
	f.StringVar(&listen, "listen", "", "host:port to listen on for other machines")
	f.StringVar(&address, "address", "", "host:port at which other machines reach this one (default: --listen)")
	f.StringVar(&url, "coordinator", "", "address of the coordinator")
	f.IntVar(&shards, "shards", 8, "number of shards, 1 to 256; it cannot be changed later")
	f.IntVar(&copies, "copies", 3, "number of copies of each shard")
	f.BoolVar(&dry, "dry-run", false, "show what would be done")
	return c
}

// clusterKeys returns the configuration keys that define this machine's place in the cluster.
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

func (a *commands) foundCluster(ctx context.Context, o *instance.Instance, l cluster.Layout, held []cluster.ShardSnapshot,
	keys []byte) error {
	dir, node := filepath.Join(o.Dir, instance.ClusterName), coord.NodeID(o.Config.Cluster.Node)
	founder, err := instance.Found(ctx, o.Config, o.Profiler.Scheme())
	if err != nil {
		return err
	}
	defer func() { _ = founder.Close() }() // used only to found the cluster
	epochs := map[concordat.ShardID]uint64{}
	for _, m := range held {
		epochs[m.Shard] = m.Epoch
	}
	if err := cluster.FoundRestored(ctx, founder, l, epochs); err != nil {
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
	if err := keyfile.Replace(path, append(append(bytes.TrimRight(old, "\n"), '\n'), keys...)); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"cluster": l.Cluster, "node": node, "shards": l.Shards, "copies": l.Copies})
	}
	if o.Config.Store.URL == "" {
		a.Warn("%s", FileStoreAdvice(filepath.Join(o.Dir, instance.StoreName)))
	}
	if err := tellFill(ctx, o, a); err != nil {
		return err
	}
	a.Say("created cluster %s with %d shards and first node %s; start concordat serve, then admit other nodes with concordat cluster token NODE",
		l.Cluster, l.Shards, node)
	return nil
}

// When a site with a single machine becomes the first node of a cluster, its documents are in a single index. The first serve moves them
// into shards before it answers requests, and then deletes the old index, so that no deleted documents survive in it. An interrupted move
// resumes at the next start.

// tellFill announces the work that the first serve will do.
func tellFill(ctx context.Context, o *instance.Instance, a *commands) error {
	if _, err := os.Stat(instance.OneMachine(o.Dir)); err != nil {
		return nil
	}
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	n := 0
	for _, l := range libraries {
		n += l.Documents
	}
	a.Say("the site has %d documents in a single-machine index: the next concordat serve first moves them into the shards, then removes that index", n)
	return err
}
