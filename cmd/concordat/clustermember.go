package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/internal/cli"
	"concordat/daemon"
	"concordat/instance"
)

// What a node is to the others: its membership, its certificate, and the service manager under it.

func (a *app) clusterRemove() *cobra.Command {
	var dry, lose bool
	c := &cobra.Command{Use: "remove NODE", Short: "Forget a node that is drained and stopped", Args: cobra.ExactArgs(1),
		Long: `Remove takes a node out of the cluster: its certificate is refused from then on, its tokens and its
place in ZooKeeper are forgotten, and another machine may join under its name. It refuses while the node is live, while
it has or ought to have copies (concordat cluster drain NODE --wait moves them), and while it alone has the key of the
cluster's authority. What lies on its disk stays there: it has texts of the site.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, _ *cluster.Layout) error {
				return a.removeNode(cmd.Context(), o, w, coord.NodeID(args[0]), dry, lose)
			})
		}}
	c.Flags().BoolVar(&dry, "dry-run", false, "say whether it would be removed")
	c.ValidArgsFunction = a.completeNodes(0)
	c.Flags().BoolVar(&lose, "lose-authority", false, "remove the only node with the authority's key: nobody can join any more")
	return c
}

func (a *app) removeNode(ctx context.Context, o *instance.Instance, w *instance.Observer, id coord.NodeID, dry, lose bool) error {
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
			a.Say("would remove node %s; %d are left", id, len(l.Members))
			return a.tellJSON(map[string]any{"node": id, "removed": false, "dry_run": true})
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
			return fmt.Errorf("node %s is removed, its name in ZooKeeper is not free: concordat cluster zookeeper forget %s: %w", id, id, err)
		}
	}
	if err := cluster.DropTokens(filepath.Join(o.Dir, instance.ClusterName), id, time.Now()); err != nil {
		return err
	}
	a.Say("node %s is removed", id)
	return a.tellJSON(map[string]any{"node": id, "removed": true})
}

// tellJSON prints v with --json only.
func (a *app) tellJSON(v any) error {
	if !a.JSON {
		return nil
	}
	return a.Line(v)
}

func (a *app) clusterRenew() *cobra.Command {
	var dry bool
	c := &cobra.Command{Use: "renew", Short: "Renew this machine's certificate in the cluster", Args: cobra.NoArgs,
		Long: `Renew gets a certificate that is good for the whole time again, from the node that has the key of the
cluster's authority, which has to be live. A node that is served does so by itself when a third of the time is left.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.renewCertificate(cmd.Context(), o, &w.Seen, l, dry)
			})
		}}
	c.Flags().BoolVar(&dry, "dry-run", false, "say until when the certificate is good, and who would renew it")
	return c
}

func (a *app) renewCertificate(ctx context.Context, o *instance.Instance, v *coord.View, l *cluster.Layout, dry bool) error {
	t, err := o.Trust()
	if err != nil {
		return err
	}
	by, err := instance.AuthorityOf(v, l, t.Node)
	if err != nil {
		return err
	}
	r := daemon.Renewal{Node: t.Node, By: by.ID}
	r.Ends, r.Authority = t.Ends()
	if dry {
		a.Say("the certificate of node %s is good until %s; node %s would renew it", t.Node, r.Ends.Format(time.DateOnly), by.ID)
		return a.tellJSON(r)
	}
	err = instance.CallServing(ctx, o.Dir, "/renew", struct{}{}, &r)
	if errors.Is(err, concordat.ErrUnavailable) { // nobody serves here
		if err = t.Renew(ctx, filepath.Join(o.Dir, instance.ClusterName), by); err == nil {
			r.Ends, _ = t.Ends()
		}
	}
	if err != nil {
		return err
	}
	r.Renewed = true
	a.Say("the certificate of node %s is good until %s; the authority's until %s", r.Node, r.Ends.Format(time.DateOnly), r.Authority.Format(time.DateOnly))
	return a.tellJSON(r)
}

// completeTime is how long a shell waits for the names of nodes.
const completeTime = 3 * time.Second

// completeNodes offers the names of the cluster's nodes for the arguments from the one with the number first on.
func (a *app) completeNodes(first int) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		err := a.withCluster(ctx, func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
			if len(args) < first {
				for _, id := range slices.Sorted(maps.Keys(w.Seen.Shards)) {
					names = append(names, string(id))
				}
				return nil
			}
			for _, id := range slices.Sorted(maps.Keys(l.Members)) {
				if !slices.Contains(args, string(id)) {
					names = append(names, string(id))
				}
			}
			return nil
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
