package clustering

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
	own, err := instance.Trust(o.Dir, o.Config)
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

// joining specifies where the new node runs.
type joining struct {
	zone, listen, address string
	store                 string // the file of the store, if all nodes are on one machine
	pages, partners       string // addresses that differ from the configuration's
}

func (a *commands) clusterJoin() *cobra.Command {
	var j joining
	c := &cobra.Command{Use: "join TOKEN", Short: "Make this machine a node of a cluster", Args: cobra.ExactArgs(1),
		Long: `Join turns an empty folder into a node. It fetches the configuration, the files named in it, and the
site's keys from the node that made the token. Then start concordat serve, as on the other nodes.

Addresses default to those of that node. If the site deliberately keeps secrets outside its folder, such as a
passphrase in an environment variable, concordat cluster token names them; copy them here yourself.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.join(cmd.Context(), args[0], j) }}
	f := c.Flags()
	f.StringVar(&j.zone, "zone", "", "failure zone of the machine, such as a room")
	f.StringVar(&j.listen, "listen", "", "host:port to listen on for other machines")
	f.StringVar(&j.address, "address", "", "host:port at which other machines reach this one (default: --listen)")
	f.StringVar(&j.store, "store", "", "file of the site's store, for trying a cluster on one machine")
	f.StringVar(&j.pages, "pages", "", "host:port for the web pages (default: serve.listen of the node that made the token)")
	f.StringVar(&j.partners, "partners", "", "host:port for partners (default: federation.listen of the node that made the token)")
	return c
}

func (a *commands) join(ctx context.Context, token string, j joining) error {
	t, err := cluster.ParseToken(token)
	if err != nil {
		return cli.Usage(err)
	}
	if j.listen == "" {
		return cli.Usagef("--listen is required")
	}
	if t.Store != "" && j.store == "" {
		return cli.Usagef("%s. To try a cluster on one machine, give --store %s. The token was not used", FileStoreAdvice(t.Store), t.Store)
	}
	if t.Store == "" && j.store != "" {
		return cli.Usagef("--store cannot be used: the site's store is a database, which this node will use too. The token was not used")
	}
	if j.store != "" {
		if _, err := os.Stat(j.store); err != nil {
			return cli.Usagef("--store: %w. The token was not used", err)
		}
	}
	dir, err := a.Dir()
	if err != nil {
		return err
	}
	if es, err := os.ReadDir(dir); err == nil && len(es) > 0 {
		return cli.Usagef("%s is not empty: a node needs an empty folder. The token was not used", dir)
	}
	files, err := cluster.Join(ctx, filepath.Join(dir, instance.ClusterName), t, j.zone)
	if err != nil {
		return errors.Join(err, os.RemoveAll(filepath.Join(dir, instance.ClusterName))) // it was empty before
	}
	if err := settle(dir, files, t.Node, j); err != nil {
		return err
	}
	// Report a missing file now, not when serve first starts.
	if err := a.With(ctx, instance.StoreOnly, func(*instance.Instance) error { return nil }); err != nil {
		return fmt.Errorf("this machine is node %s, but it cannot open the site's store yet; fix this before starting concordat serve: %w", t.Node, err)
	}
	if a.JSON {
		return a.Line(map[string]any{"node": t.Node, "cluster": t.Cluster, "dir": dir})
	}
	a.Say("this machine is node %s; start concordat serve, then give it copies with concordat cluster balance", t.Node)
	return nil
}

// settle writes the files that a node needs, with its configuration last.
func settle(dir string, files map[string][]byte, node coord.NodeID, j joining) error {
	conf, ok := files[instance.ConfigName]
	if !ok {
		return fmt.Errorf("the cluster sent no configuration: %w", concordat.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != instance.ConfigName && filepath.IsLocal(name) && filepath.Base(name) == name {
			if err := keyfile.Replace(filepath.Join(dir, name), files[name]); err != nil {
				return err
			}
		}
	}
	if j.store != "" {
		path, err := filepath.Abs(j.store)
		if err != nil {
			return err
		}
		originals := filepath.Join(filepath.Dir(path), instance.OriginalsName)
		err = errors.Join(os.Symlink(path, filepath.Join(dir, instance.StoreName)), os.MkdirAll(originals, 0o700),
			os.Symlink(originals, filepath.Join(dir, instance.OriginalsName)))
		if err != nil {
			return err
		}
	}
	conf, err := nodeConfig(dir, conf, files, node, j)
	if err != nil {
		return err
	}
	return keyfile.Replace(filepath.Join(dir, instance.ConfigName), conf)
}

// nodeConfig returns the site's configuration with the settings for this node.
func nodeConfig(dir string, conf []byte, files map[string][]byte, node coord.NodeID, j joining) ([]byte, error) {
	coordinator, err := config.Text(conf, "cluster.coordinator")
	if err != nil {
		return nil, err
	}
	set := map[string]string{"cluster.node": string(node), "cluster.listen": j.listen, "cluster.address": j.address, "cluster.zone": j.zone}
	set["cluster.coordinator"] = coordinatorHere(coordinator, dir, files)
	if j.pages != "" {
		set["serve.listen"] = j.pages
	}
	if j.partners != "" {
		set["federation.listen"] = j.partners
	}
	for name := range files {
		for key, has := range NamedFiles {
			if name == has {
				set[key] = filepath.Join(dir, name)
			}
		}
		if p, ok := strings.CutPrefix(name, "oidc-"); ok {
			set["login.oidc."+strings.TrimSuffix(p, "-secret")] = filepath.Join(dir, name)
		}
	}
	return config.ForNode(conf, set)
}

// coordinatorHere returns the address with its file paths replaced by paths of the files in this folder.
func coordinatorHere(address, dir string, files map[string][]byte) string {
	place, query, more := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if !more || err != nil {
		return address
	}
	for _, k := range instance.CoordinatorFiles {
		if _, ok := files[instance.CoordinatorFile+k]; ok && q.Has(k) {
			q.Set(k, filepath.Join(dir, instance.CoordinatorFile+k))
		}
	}
	return place + "?" + q.Encode()
}

// FileStoreAdvice returns advice for a store that is a file.
func FileStoreAdvice(path string) string {
	return fmt.Sprintf("the site's store is the file %s on one machine, but nodes on other machines need it in PostgreSQL. Create a database, "+
		"stop concordat serve, run concordat store copy --to postgres://USER@HOST/DATABASE, set store.url, and start concordat serve again", path)
}

// NamedFiles maps the entries of config.Files that have their own key to that key.
var NamedFiles = map[string]string{"report.certificate": "report-certificate.pem", "report.key": "report-key.pem",
	"store.password_file": "store-password"}
