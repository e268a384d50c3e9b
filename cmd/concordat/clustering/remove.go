package clustering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterRemove() *cobra.Command {
	var dry, lose bool
	c := &cobra.Command{Use: "remove NODE", Short: "Remove a drained and stopped node from the cluster", Args: cobra.ExactArgs(1),
		Long: `Remove takes a node out of the cluster: its certificate is refused from then on, its tokens and its entry in
ZooKeeper are deleted, and another machine may use its name. A node cannot be removed while it is live, while it has
or should have copies (concordat cluster drain NODE --wait moves them), or while it alone has the key of the
cluster's authority. The node's disk still holds the site's texts.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, _ *cluster.Layout) error {
				return a.removeNode(cmd.Context(), o, w, coord.NodeID(args[0]), dry, lose)
			})
		}}
	c.Flags().BoolVar(&dry, "dry-run", false, "show whether the node could be removed")
	c.ValidArgsFunction = a.completeNodes(0)
	c.Flags().BoolVar(&lose, "lose-authority", false, "remove the node even if only it holds the authority's key; no node can join afterwards")
	return c
}

func (a *commands) removeNode(ctx context.Context, o *instance.Instance, w *instance.Observer, id coord.NodeID, dry, lose bool) error {
	for {
		l, err := cluster.ParseLayout(w.Seen.Config)
		if err != nil {
			return err
		}
		if err := l.Remove(&w.Seen, id, lose); errors.Is(err, concordat.ErrNotFound) {
			return cli.Usage(err)
		} else if err != nil {
			return err
		}
		if dry {
			a.Say("would remove node %s; nodes remaining: %d", id, len(l.Members))
			return a.TellJSON(map[string]any{"node": id, "removed": false, "dry_run": true})
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		_, err = w.Configure(ctx, w.Seen.Config.Version, data)
		if errors.Is(err, coord.ErrStale) {
			if err := w.Next(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("remove node %s: %w", id, err)
		}
		break
	}
	if z, ok := w.Session.(*zk.Session); ok {
		if err := z.Forget(ctx, id); err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return fmt.Errorf("node %s is removed, but its name in ZooKeeper is still taken; free it with concordat cluster zookeeper forget %s: %w", id, id, err)
		}
	}
	if err := cluster.DropTokens(filepath.Join(o.Dir, instance.ClusterName), id, time.Now()); err != nil {
		return err
	}
	a.Say("node %s is removed", id)
	return a.TellJSON(map[string]any{"node": id, "removed": true})
}
