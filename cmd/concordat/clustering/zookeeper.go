package clustering

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/store"
	"concordat/web/pages/admin"
)

// Commands that show and change what a site's nodes store in ZooKeeper.

// zookeeperFlags selects the ZooKeeper ensemble.
type zookeeperFlags struct {
	servers              string
	root, site           string
	account              string
	tls                  bool
	ca, certificate, key string
	timeout              time.Duration
}

const ZookeeperVariable = "CONCORDAT_ZOOKEEPER"

func (a *commands) zookeeperCommand() *cobra.Command {
	var z zookeeperFlags
	c := &cobra.Command{
		Use: "zookeeper", Short: "Show and change what a site keeps in ZooKeeper", Args: cobra.NoArgs,
		Long: `Zookeeper shows and changes what a site keeps in ZooKeeper. It needs no running node. ZooKeeper's account is
read, as "user:password", from the file given with --zookeeper-account or from $` + zk.AccountVariable + `.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := c.PersistentFlags()
	f.StringVar(&z.servers, "zookeeper", "", "ZooKeeper servers as host:port, separated by commas (default $"+ZookeeperVariable+")")
	f.StringVar(&z.root, "zookeeper-root", "", "znode of the site (default: /concordat/SITE)")
	f.StringVar(&z.site, "site", "", "name of the site (default: the site of --data)")
	f.StringVar(&z.account, "zookeeper-account", "", "file with user:password (default $"+zk.AccountVariable+")")
	f.BoolVar(&z.tls, "zookeeper-tls", false, "use TLS")
	f.StringVar(&z.ca, "zookeeper-ca", "",
		"PEM file of the authorities that sign ZooKeeper's certificates (default: the system's); implies TLS")
	f.StringVar(&z.certificate, "zookeeper-certificate", "", "PEM file of the certificate to present; implies TLS")
	f.StringVar(&z.key, "zookeeper-key", "", "PEM file of the certificate's key (default: the certificate's file)")
	f.DurationVar(&z.timeout, "zookeeper-wait", 10*time.Second, "how long to wait for ZooKeeper")
	c.AddCommand(a.clusterStatusCommand(&z), a.clusterForgetCommand(&z), a.clusterSettingsCommand(&z), a.clusterSetCommand(&z),
		a.clusterHistoryCommand(&z), a.clusterRevertCommand(&z))
	return c
}

// options returns the values of the flags.
func (z *zookeeperFlags) options(a *commands) (zk.Options, error) {
	o := zk.Options{Site: concordat.SiteID(z.site), Root: z.root, Timeout: 10 * time.Second}
	servers := cmp.Or(z.servers, os.Getenv(ZookeeperVariable))
	if o.Site == "" || servers == "" {
		c, err := z.config(a)
		if err != nil {
			return o, err
		}
		if servers == "" && strings.HasPrefix(c.Cluster.Coordinator, "zk://") {
			p, err := instance.ZookeeperAddress(c.Cluster.Coordinator)
			p.Site, p.Timeout = cmp.Or(o.Site, c.Site.ID), o.Timeout
			return p, err
		}
		o.Site = cmp.Or(o.Site, c.Site.ID)
	}
	if servers == "" {
		return o, cli.Usagef("no ZooKeeper server is given; use --zookeeper, or set $%s or the site's cluster.coordinator", ZookeeperVariable)
	}
	for s := range strings.SplitSeq(servers, ",") {
		o.Servers = append(o.Servers, strings.TrimSpace(s))
	}
	var err error
	if o.Account, err = zk.ReadAccount(z.account); err != nil {
		return o, cli.Usage(err)
	}
	if z.tls || z.ca != "" || z.certificate != "" {
		if o.TLS, err = zk.ReadTLS(z.ca, z.certificate, z.key); err != nil {
			return o, cli.Usage(err)
		}
	}
	if err := o.Validate(); err != nil {
		return o, cli.Usage(err)
	}
	return o, nil
}

// config reads the configuration of the site in --data.
func (z *zookeeperFlags) config(a *commands) (*config.Config, error) {
	dir, err := a.Dir()
	if err != nil {
		return nil, err
	}
	c, err := instance.LoadConfig(filepath.Join(dir, instance.ConfigName))
	if err != nil {
		return nil, fmt.Errorf("no site is given; use --site and --zookeeper, or --data: %w", err)
	}
	return c, nil
}

// with opens an observing session and calls f with the session and its first view.
func (z *zookeeperFlags) with(ctx context.Context, a *commands, f func(context.Context, *zk.Session, coord.View) error) error {
	o, err := z.options(a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, z.timeout)
	defer cancel()
	s, err := zk.Open(ctx, o)
	if err != nil {
		return err
	}
	select {
	case v := <-s.View():
		err = f(ctx, s, v)
	case <-ctx.Done():
		err = fmt.Errorf("wait for ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
	return errors.Join(err, s.Close())
}

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

func (a *commands) clusterSettingsCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "settings", Short: "Show the settings of all nodes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, now, err := instance.CurrentSettings(ctx, s)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Line(struct {
						Version int64 `json:"version"`
						instance.CentralSettings
					}{c.Version, now})
				}
				a.Say("version %d", c.Version)
				for _, k := range slices.Sorted(maps.Keys(now.Keys)) {
					a.Say("%s = %s", k, now.Keys[k])
				}
				for _, l := range slices.Sorted(maps.Keys(now.Libraries)) {
					b, err := json.Marshal(now.Libraries[l])
					if err != nil {
						return err
					}
					a.Say("library %s: %s", l, b)
				}
				return nil
			})
		},
	}
}

func (a *commands) clusterSetCommand(z *zookeeperFlags) *cobra.Command {
	var unset []string
	var policies map[string]string
	var version int64
	c := &cobra.Command{
		Use: "set [KEY=VALUE...]", Short: "Change settings on all nodes",
		Long: `Set changes configuration keys (doc/config.md) on all nodes. They override each node's file,
and a node's environment overrides them. Running nodes apply them; set names the keys that need a restart. All
changes in one call are made together as a new version, or not at all. With --if-version, they are made only if
the settings still have that version.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(unset)+len(policies) == 0 {
				return cli.Usagef("nothing to set; see %s --help", cmd.CommandPath())
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				c, next, err := instance.CurrentSettings(ctx, s)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("if-version") && c.Version != version {
					return fmt.Errorf("the settings are at version %d, not %d: %w", c.Version, version, concordat.ErrChanged)
				}
				for _, arg := range args {
					k, v, ok := strings.Cut(arg, "=")
					if !ok {
						return cli.Usagef("%q is not of the form KEY=VALUE", arg)
					}
					next.Keys[k] = v
				}
				if err := editSettings(&next, unset, policies, cmd.InOrStdin()); err != nil {
					return err
				}
				if err := a.saveSettings(ctx, s, c.Version, next); err != nil {
					return err
				}
				for _, k := range slices.Concat(args, unset) {
					k, _, _ = strings.Cut(k, "=")
					if i := slices.IndexFunc(config.Keys(), func(known config.Key) bool { return known.Name == k }); i >= 0 && !config.Keys()[i].Live {
						a.Say("%s takes effect at the next start of each node", k)
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringSliceVar(&unset, "unset", nil, "keys, or libraries as library/NAME, to remove")
	c.Flags().StringToStringVar(&policies, "policy", nil, "LIBRARY=FILE: read the policy of the library from a JSON file (- for standard input)")
	c.Flags().Int64Var(&version, "if-version", 0, "make the changes only if the settings have this version")
	return c
}

// editSettings removes the given keys and adds the policies from the files.
func editSettings(s *instance.CentralSettings, unset []string, policies map[string]string, stdin io.Reader) error {
	for _, k := range unset {
		if l, ok := strings.CutPrefix(k, "library/"); ok {
			delete(s.Libraries, concordat.LibraryID(l))
		} else {
			delete(s.Keys, k)
		}
	}
	for l, file := range policies {
		in := stdin
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return cli.Usage(err)
			}
			defer f.Close()
			in = f
		}
		dec := json.NewDecoder(io.LimitReader(in, coord.MaxConfig))
		dec.DisallowUnknownFields()
		var p store.Policy
		if err := dec.Decode(&p); err != nil {
			return cli.Usagef("policy of library %s: %w", l, err)
		}
		s.Libraries[concordat.LibraryID(l)] = p
	}
	return nil
}

func (a *commands) clusterHistoryCommand(z *zookeeperFlags) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "history", Short: "List the versions of the settings, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				all, err := s.History(ctx, zk.Settings, limit)
				if err != nil {
					return err
				}
				for _, p := range all {
					var doc json.RawMessage
					if json.Unmarshal(p.Data, &doc) != nil {
						doc, _ = json.Marshal(string(p.Data)) // written by a program that used a different format
					}
					if a.JSON {
						err = a.Line(struct {
							admin.ClusterVersion
							Data json.RawMessage `json:"data"`
						}{admin.ClusterVersion{Version: p.Version, Set: p.Set.UTC()}, doc})
					} else {
						var flat bytes.Buffer
						err = json.Compact(&flat, doc)
						a.Say("%d  %s  %s", p.Version, p.Set.Local().Format(time.DateTime), &flat)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "maximum number of versions")
	return c
}

// saveSettings saves next as the successor of version.
func (a *commands) saveSettings(ctx context.Context, s *zk.Session, version int64, next instance.CentralSettings) error {
	if err := next.Validate(); err != nil {
		return cli.Usage(err)
	}
	b, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	now, err := s.SetSettings(ctx, version, append(b, '\n'))
	switch {
	case errors.Is(err, coord.ErrUnknown):
		return fmt.Errorf("%w: check with concordat cluster zookeeper history whether version %d exists", err, version+1)
	case err != nil:
		return err
	}
	if a.JSON {
		return a.Line(map[string]int64{"version": now})
	}
	a.Say("the settings are at version %d", now)
	return nil
}

func (a *commands) clusterRevertCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "revert VERSION", Short: "Restore an earlier version of the settings", Args: cobra.ExactArgs(1),
		Long: `Revert writes the settings of an earlier version as a new one; later versions stay in the history.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || version < 1 {
				return cli.Usagef("%q is not a valid version number", args[0])
			}
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				var now coord.Config
				select {
				case now = <-s.Settings():
				case <-ctx.Done():
					return fmt.Errorf("wait for ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
				}
				all, err := s.History(ctx, zk.Settings, 1000)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(all, func(p zk.Past) bool { return p.Version == version })
				if i < 0 {
					return fmt.Errorf("version %d of the settings: %w", version, concordat.ErrNotFound)
				}
				old, err := instance.ParseCentral(all[i].Config)
				if err != nil {
					return err
				}
				return a.saveSettings(ctx, s, now.Version, old)
			})
		},
	}
}

func (a *commands) clusterForgetCommand(z *zookeeperFlags) *cobra.Command {
	return &cobra.Command{
		Use: "forget NODE", Short: "Free the name of a node that is gone", Args: cobra.ExactArgs(1),
		Long: `Forget frees the name of a node, for a machine whose disk was replaced. The node must not be live or in sync for
any shard, because a node that takes over its name starts without documents.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return z.with(cmd.Context(), a, func(ctx context.Context, s *zk.Session, _ coord.View) error {
				if err := s.Forget(ctx, coord.NodeID(args[0])); err != nil {
					return err
				}
				a.Say("node %s is forgotten; another installation may take the name", args[0])
				return nil
			})
		},
	}
}
