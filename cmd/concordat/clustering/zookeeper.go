package clustering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
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
