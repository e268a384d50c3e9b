package clustering

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/instance"
	"concordat/instance/config"
)

func (a *commands) clusterToken() *cobra.Command {
	return &cobra.Command{Use: "token NODE", Short: "Print a token that admits one machine to the cluster within an hour", Args: cobra.ExactArgs(1),
		Long: `Token prints a token for concordat cluster join. Anyone who has it within the hour gets the site's keys and
the password of its database: protect the token as carefully as those.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithCluster(cmd.Context(), func(o *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				if err := l.MayJoin(&w.Seen, coord.NodeID(args[0])); err != nil {
					return err
				}
				return a.giveToken(cmd.Context(), o, w, coord.NodeID(args[0]))
			})
		}}
}

// giveToken creates and prints a token for the node.
func (a *commands) giveToken(ctx context.Context, o *instance.Instance, w *instance.Observer, id coord.NodeID) error {
	own, err := o.Trust()
	if err != nil {
		return err
	}
	me, err := w.AwaitSelf(ctx, o.Dir, own.Node)
	if err != nil {
		return err
	}
	t, err := cluster.NewToken(filepath.Join(o.Dir, instance.ClusterName), own.Cluster, id, me.Address, time.Now())
	if errors.Is(err, concordat.ErrNotFound) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	if o.Config.Store.URL == "" {
		t.Store = filepath.Join(o.Dir, instance.StoreName)
		a.Warn("%s", FileStoreAdvice(t.Store))
	}
	for _, left := range notToJoin(o) {
		a.Warn("%s", left)
	}
	if a.JSON {
		return a.Line(map[string]any{"node": t.Node, "token": t.String(), "expires": time.Now().Add(cluster.TokenTime).UTC()})
	}
	fmt.Fprintln(a.Stdout, t)
	return nil
}

// notToJoin names the secrets of this machine that are deliberately kept outside the folder, so a new node does not get them.
func notToJoin(o *instance.Instance) (out []string) {
	if o.Config.Store.Password != "" {
		out = append(out, "the database password is in this machine's environment; also set $"+config.StorePasswordEnv+" on the other machine")
	}
	if zookeeperAccountOutside(o.Config.Cluster.Coordinator) {
		out = append(out, "ZooKeeper's account is in this machine's environment; also set $"+zk.AccountVariable+" on the other machine")
	}
	b, err := keyfile.Bytes(filepath.Join(o.Dir, instance.KeystoreName))
	if err != nil {
		return out
	}
	if crypto.NeedsPassphrase(b) {
		return append(out, "the keystore needs a passphrase; also set $"+instance.PassphraseVariable+" on the other machine")
	}
	if _, err := os.Stat(filepath.Join(o.Dir, instance.KeyFileName)); err != nil {
		out = append(out, "the keystore's key is not in the site's folder; also set $"+instance.KeyFileVariable+" on the other machine")
	}
	return out
}

// zookeeperAccountOutside reports whether the account comes from the environment.
func zookeeperAccountOutside(address string) bool {
	_, named := instance.FilesOfCoordinator(address)[instance.CoordinatorFile+"account"]
	return strings.HasPrefix(address, "zk://") && !named && os.Getenv(zk.AccountVariable) != ""
}
