package clustering

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
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/instance"
)

// This file contains the commands for a node's membership, certificate and service manager.

// completeTime is the maximum time for which a shell waits for node names.
const completeTime = 3 * time.Second

// completeNodes completes node names, from argument number first onwards.
func (a *commands) completeNodes(first int) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completeTime)
		defer cancel()
		err := a.WithCluster(ctx, func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
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

func (a *commands) clusterDrain() *cobra.Command {
	var dry, wait, undo bool
	c := &cobra.Command{Use: "drain NODE", Short: "Move all copies of shards off a node", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.drain(cmd.Context(), w, l, coord.NodeID(args[0]), !undo, dry, wait)
			})
		}}
	c.ValidArgsFunction = a.completeNodes(0)
	moveFlags(c, &dry, &wait)
	c.Flags().BoolVar(&undo, "undo", false, "allow the node to hold copies again")
	return c
}

// drain starts or stops draining a node, and starts the resulting moves.
func (a *commands) drain(ctx context.Context, w *instance.Observer, l *cluster.Layout, id coord.NodeID, drained, dry, wait bool) error {
	m, ok := l.Members[id]
	if !ok {
		return cli.Usagef("no node %q", id)
	}
	m.Drained = drained
	l.Members[id] = m
	if !dry {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := w.Configure(ctx, w.Seen.Config.Version, data); err != nil {
			return fmt.Errorf("mark node %s: %w", id, err)
		}
	}
	return a.carryOut(ctx, w, balance(w, l), dry, wait)
}

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

func (a *commands) clusterReplace() *cobra.Command {
	var dry bool
	c := &cobra.Command{Use: "replace NODE", Short: "Let another machine take over the name of a node", Args: cobra.ExactArgs(1),
		Long: `Replace removes a machine and prepares its name for another one. It moves the node's copies to the other nodes,
waits until concordat serve has been stopped on the old machine, removes the node, and prints a token for the new
machine. A lost machine is replaced in the same way; the copies then come from the other nodes. A node
that holds the only copy of a shard cannot be replaced. Run the command on the node that has the key of the
cluster's authority.

If the command is interrupted, run it again to continue, or undo it with concordat cluster drain NODE --undo.`,
		Example: "  concordat cluster replace b --dry-run\n  concordat cluster replace b",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.replace(cmd.Context(), o, w, l, coord.NodeID(args[0]), dry)
			})
		}}
	c.ValidArgsFunction = a.completeNodes(0)
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be done")
	return c
}

func (a *commands) replace(ctx context.Context, o *instance.Instance, w *instance.Observer, l *cluster.Layout, id coord.NodeID,
	dry bool) error {
	own, err := instance.Trust(o.Dir, o.Config)
	if err != nil {
		return err
	}
	m, ok := l.Members[id]
	switch {
	case !ok:
		return cli.Usagef("no node %q", id)
	case id == own.Node:
		return cli.Usagef("this machine is node %s; run the command on another node that has the key of the cluster's authority", id)
	case !cluster.HasAuthority(filepath.Join(o.Dir, instance.ClusterName)):
		return cli.Usagef("the key of the cluster's authority is not on this machine; run the command on the node that created the cluster")
	}
	node, live := w.Seen.Live[id]
	if dry {
		if err := a.drain(ctx, w, l, id, true, true, false); err != nil {
			return err
		}
		if live {
			a.Say("would wait until concordat serve is stopped on node %s, at %s", id, node.Address)
		}
		a.Say("would remove node %s and print a token for another machine to use that name", id)
		return nil
	}
	if _, err := w.AwaitSelf(ctx, o.Dir, own.Node); err != nil { // this admits the new machine
		return err
	}
	if !m.Drained || len(balance(w, l)) > 0 {
		if err := a.drain(ctx, w, l, id, true, false, true); err != nil {
			return err
		}
	}
	for told := false; ; told = true {
		if _, live := w.Seen.Live[id]; !live {
			break
		}
		if !told {
			a.Warn("waiting for concordat serve to stop on node %s, at %s; stop it there now", id, node.Address)
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
	if err := a.removeNode(ctx, o, w, id, false, false); err != nil {
		return err
	}
	a.Warn("on the new machine, in an empty folder, run concordat cluster join TOKEN --listen HOST:PORT and concordat serve; then run concordat cluster balance --wait")
	return a.giveToken(ctx, o, w, id)
}

func (a *commands) clusterRenew() *cobra.Command {
	var dry bool
	c := &cobra.Command{Use: "renew", Short: "Renew this machine's certificate in the cluster", Args: cobra.NoArgs,
		Long: `Renew fetches a new certificate from the node that has the key of the cluster's authority,
which must be live. A running node renews its own certificate when a third of its lifetime is left.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.renewCertificate(cmd.Context(), o, &w.Seen, l, dry)
			})
		}}
	c.Flags().BoolVar(&dry, "dry-run", false, "show when the certificate expires and who would renew it")
	return c
}

func (a *commands) renewCertificate(ctx context.Context, o *instance.Instance, v *coord.View, l *cluster.Layout, dry bool) error {
	t, err := instance.Trust(o.Dir, o.Config)
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
		a.Say("the certificate of node %s is valid until %s; node %s would renew it", t.Node, r.Ends.Format(time.DateOnly), by.ID)
		return a.TellJSON(r)
	}
	err = instance.CallServing(ctx, o.Dir, "/renew", struct{}{}, &r)
	if errors.Is(err, concordat.ErrUnavailable) { // nothing is serving here
		if err = t.Renew(ctx, filepath.Join(o.Dir, instance.ClusterName), by); err == nil {
			r.Ends, _ = t.Ends()
		}
	}
	if err != nil {
		return err
	}
	r.Renewed = true
	a.Say("the certificate of node %s is valid until %s, and the authority's certificate until %s", r.Node, r.Ends.Format(time.DateOnly),
		r.Authority.Format(time.DateOnly))
	return a.TellJSON(r)
}
