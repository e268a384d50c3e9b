package clustering

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

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
	own, err := o.Trust()
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
