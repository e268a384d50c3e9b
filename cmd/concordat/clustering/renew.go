package clustering

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/daemon"
	"concordat/instance"
)

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
