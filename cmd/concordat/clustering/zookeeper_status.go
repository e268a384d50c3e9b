package clustering

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/daemon"
	"concordat/instance"
	"concordat/web/pages/admin"
)

func (a *commands) clusterStatusCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show nodes, shards and versions of the configuration", Args: cobra.NoArgs,
		Long: `Status shows what ZooKeeper knows about the site: its nodes, each shard with its master, epoch and nodes in
sync, and the versions of the configuration. It exits with status 1 if a shard has no master.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, v coord.View) error {
				st, err := daemon.ClusterStatus(ctx, s, v)
				if err != nil {
					return err
				}
				return a.printClusterStatus(st)
			})
		},
	}
}

func (a *commands) printClusterStatus(st admin.Cluster) error {
	without := 0
	for _, s := range st.Shards {
		if s.State == admin.ShardNoMaster {
			without++
		}
	}
	if a.JSON {
		if err := a.Line(st); err != nil {
			return err
		}
	} else if err := a.tabulateClusterStatus(st); err != nil {
		return err
	}
	if without > 0 {
		return fmt.Errorf("%d of %d shards have no master: their documents cannot be changed: %w", without, len(st.Shards),
			concordat.ErrUnavailable)
	}
	return nil
}

func (a *commands) tabulateClusterStatus(st admin.Cluster) error {
	a.Say("site %s, cluster %.8s", st.Site, st.Cluster)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nNODE\tZONE\tSTATE\tADDRESS\tCOPIES\tLEADS\tFREE GiB\tVERSION")
	for _, n := range st.Nodes {
		if !n.Live {
			fmt.Fprintf(w, "%s\t-\taway\t-\t%d\t0\t-\t-\n", n.ID, n.Copies)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\tlive\t%s\t%d\t%d\t%.1f\t%s\n", n.ID, cmp.Or(n.Zone, "-"), n.Address, n.Copies, n.Leads,
			float64(n.Free)/(1<<30), cmp.Or(n.Version, "-"))
	}
	fmt.Fprintln(w, "\nSHARD\tSTATE\tMASTER\tEPOCH\tIN SYNC\tON HOLD\tCOPIES")
	for _, s := range st.Shards {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", s.ID, s.State, cmp.Or(s.Master, "-"), s.Epoch, instance.NameList(s.InSync),
			cmp.Or(instance.NameList(s.Hold), "-"), instance.NameList(s.Replicas))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.Say("")
	for _, d := range []struct {
		name string
		v    *admin.ClusterVersion
	}{{"configuration", st.Config}, {"settings", st.Settings}} {
		if d.v == nil {
			a.Say("%s: never set", d.name)
		} else {
			a.Say("%s: version %d of %s", d.name, d.v.Version, d.v.Set.Local().Format(time.DateTime))
		}
	}
	return nil
}
