package main

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
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/crypto"
	"concordat/crypto/keyfile"
)

// How a machine becomes a node: by a token, over TLS with the node that made it, it gets the configuration
// and the keys of the site; what is shared beside them is in the database.

func (a *app) clusterToken() *cobra.Command {
	return &cobra.Command{Use: "token NODE", Short: "Make a token that lets one machine in, once, within an hour", Args: cobra.ExactArgs(1),
		Long: `Token prints a token for concordat cluster join. Whoever has it within the hour gets the keys of the site and the
password of its database: carry it as you would carry those.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withCluster(cmd.Context(), func(o *opened, w *watching, _ *cluster.Layout) error {
				own, err := o.trust()
				if err != nil {
					return err
				}
				me, err := w.awaitSelf(cmd.Context(), o.dir, own.Node)
				if err != nil {
					return err
				}
				t, err := cluster.NewToken(filepath.Join(o.dir, clusterName), own.Cluster, coord.NodeID(args[0]), me.Address, time.Now())
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usage(err)
				}
				if err != nil {
					return err
				}
				if o.config.Store.URL == "" {
					t.Store = filepath.Join(o.dir, storeName)
					a.Warn("%s", fileStoreAdvice(t.Store))
				}
				for _, left := range o.notToJoin() {
					a.Warn("%s", left)
				}
				if a.JSON {
					return a.Line(map[string]any{"node": t.Node, "token": t.String(), "expires": time.Now().Add(cluster.TokenTime).UTC()})
				}
				fmt.Fprintln(a.Stdout, t)
				return nil
			})
		}}
}

// selfTime is how long a node that serves may take to become live.
const selfTime = 30 * time.Second

// awaitSelf returns how the others find this node, which lets new ones in.
func (w *watching) awaitSelf(ctx context.Context, dir string, own coord.NodeID) (coord.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, selfTime)
	defer cancel()
	for {
		if me, live := w.view.Live[own]; live {
			return me, nil
		}
		if _, err := serving(ctx, dir); err != nil {
			return coord.Node{}, cli.Usagef("start concordat serve here first: it lets the other machine in")
		}
		if err := w.next(ctx); err != nil {
			return coord.Node{}, fmt.Errorf("this node serves, but the coordinator does not know it yet: %w", err)
		}
	}
}

// fileStoreAdvice says what to do where the store is a file.
func fileStoreAdvice(path string) string {
	return fmt.Sprintf("the site's store is the file %s of one machine: nodes of other machines need it in PostgreSQL. Make a database, "+
		"stop concordat serve, run concordat store copy --to postgres://USER@HOST/DATABASE, set store.url, and start again", path)
}

// notToJoin says which secrets of this machine a new node does not get, since they are kept outside of the folder
// on purpose.
func (o *opened) notToJoin() (out []string) {
	if o.config.Store.Password != "" {
		out = append(out, "the password of the database is in the environment here: the other machine needs $"+config.StorePasswordEnv+" too")
	}
	if zookeeperAccountOutside(o.config.Cluster.Coordinator) {
		out = append(out, "ZooKeeper's account is in the environment here: the other machine needs $"+zk.AccountVariable+" too")
	}
	b, err := keyfile.Bytes(filepath.Join(o.dir, keystoreName))
	if err != nil {
		return out
	}
	if crypto.NeedsPassphrase(b) {
		return append(out, "the keystore opens with a passphrase: the other machine needs $"+passphraseVariable+" too")
	}
	if _, err := os.Stat(filepath.Join(o.dir, keyFileName)); err != nil {
		out = append(out, "the key of the keystore is not in the folder of the site: the other machine needs $"+keyFileVariable+" too")
	}
	return out
}

// zookeeperAccountOutside reports whether the account is that of the environment.
func zookeeperAccountOutside(address string) bool {
	_, named := filesOfCoordinator(address)[coordinatorFile+"account"]
	return strings.HasPrefix(address, "zk://") && !named && os.Getenv(zk.AccountVariable) != ""
}

// filesToJoin is what another machine needs to be one of this site: its configuration with the files that it names, and
// its keys. The keystore itself is in the store.
func (o *opened) filesToJoin() (map[string][]byte, error) {
	conf, err := os.ReadFile(filepath.Join(o.dir, configName))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{configName: conf}
	if _, err := ltiKeys(o.dir); err != nil { // one site has one, though no platform is registered yet
		return nil, err
	}
	for _, name := range []string{indexKeyName, keyFileName, ltiKeyName} {
		b, err := os.ReadFile(filepath.Join(o.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	named := filesOfCoordinator(o.config.Cluster.Coordinator)
	for _, f := range o.config.Files() {
		named[f.Name] = f.Path
		if f.Key == "store.password_file" && !filepath.IsAbs(f.Path) {
			named[f.Name] = filepath.Join(o.dir, f.Path)
		}
	}
	for name, path := range named {
		if out[name], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("file that the configuration names: %w", err)
		}
	}
	return out, nil
}

// joining says where the new node is.
type joining struct {
	zone, listen, address string
	store                 string // file of the store, where all nodes are on one machine
	pages, partners       string // addresses other than the configuration's
}

func (a *app) clusterJoin() *cobra.Command {
	var j joining
	c := &cobra.Command{Use: "join TOKEN", Short: "Make this machine, in an empty folder, a node of a cluster", Args: cobra.ExactArgs(1),
		Long: `Join makes an empty folder that of a node: it gets the configuration of the node that made the token, the files that it
names, and the keys of the site. Then concordat serve here answers everything that the others answer.
Addresses of this machine are the same as there unless they are given. What the site keeps outside of its folder on
purpose, such as a passphrase in a variable, is named by concordat cluster token and has to be brought here.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.join(cmd.Context(), args[0], j) }}
	f := c.Flags()
	f.StringVar(&j.zone, "zone", "", "what may fail together with it, such as a room")
	f.StringVar(&j.listen, "listen", "", "host:port where the other machines are answered")
	f.StringVar(&j.address, "address", "", "host:port where they reach it (default: --listen)")
	f.StringVar(&j.store, "store", "", "file of the site's store, where all nodes are on one machine, to try it")
	f.StringVar(&j.pages, "pages", "", "host:port of the pages, if not as serve.listen says there")
	f.StringVar(&j.partners, "partners", "", "host:port where partners are answered, if not as federation.listen says there")
	return c
}

func (a *app) join(ctx context.Context, token string, j joining) error {
	t, err := cluster.ParseToken(token)
	if err != nil {
		return cli.Usage(err)
	}
	if j.listen == "" {
		return cli.Usagef("--listen is needed")
	}
	if t.Store != "" && j.store == "" {
		return cli.Usagef("%s. To try a cluster on one machine: --store %s. The token was not used", fileStoreAdvice(t.Store), t.Store)
	}
	if t.Store == "" && j.store != "" {
		return cli.Usagef("--store: the store of the site is in a database, which this node uses too. The token was not used")
	}
	if j.store != "" {
		if _, err := os.Stat(j.store); err != nil {
			return cli.Usagef("--store: %w. The token was not used", err)
		}
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if es, err := os.ReadDir(dir); err == nil && len(es) > 0 {
		return cli.Usagef("%s is not empty: a node needs a folder of its own. The token was not used", dir)
	}
	files, err := cluster.Join(ctx, filepath.Join(dir, clusterName), t, j.zone)
	if err != nil {
		return errors.Join(err, os.RemoveAll(filepath.Join(dir, clusterName))) // it was empty
	}
	if err := settle(dir, files, t.Node, j); err != nil {
		return err
	}
	// What is missing is told now and not by the first serve.
	if err := a.with(ctx, storeOnly, func(*opened) error { return nil }); err != nil {
		return fmt.Errorf("this machine is node %s, but cannot open the store of the site yet; mend that before concordat serve: %w", t.Node, err)
	}
	if a.JSON {
		return a.Line(map[string]any{"node": t.Node, "cluster": t.Cluster, "dir": dir})
	}
	a.Say("this machine is node %s; start concordat serve, then concordat cluster balance gives it copies", t.Node)
	return nil
}

// settle writes what a node needs, its configuration last.
func settle(dir string, files map[string][]byte, node coord.NodeID, j joining) error {
	conf, ok := files[configName]
	if !ok {
		return fmt.Errorf("the cluster gave no configuration: %w", concordat.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != configName && filepath.IsLocal(name) && filepath.Base(name) == name {
			if err := replaceWhole(filepath.Join(dir, name), files[name]); err != nil {
				return err
			}
		}
	}
	if j.store != "" {
		path, err := filepath.Abs(j.store)
		if err != nil {
			return err
		}
		originals := filepath.Join(filepath.Dir(path), originalsName)
		err = errors.Join(os.Symlink(path, filepath.Join(dir, storeName)), os.MkdirAll(originals, 0o700), os.Symlink(originals, filepath.Join(dir, originalsName)))
		if err != nil {
			return err
		}
	}
	conf, err := nodeConfig(dir, conf, files, node, j)
	if err != nil {
		return err
	}
	return replaceWhole(filepath.Join(dir, configName), conf)
}

// nodeConfig is the configuration of the site with the place of this node in it.
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
		for key, has := range namedFiles {
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

// namedFiles are those of config.Files that stand at a key of their own.
var namedFiles = map[string]string{"report.certificate": "report-certificate.pem", "report.key": "report-key.pem", "store.password_file": "store-password"}

// coordinatorFiles are the files that the address of a coordinator names; see zookeeperAddress.
var coordinatorFiles = []string{"account", "ca", "certificate", "key"}

const coordinatorFile = "zookeeper-" // begins the name of a copy of them

// filesOfCoordinator returns the files that the address names, by the name of their copies.
func filesOfCoordinator(address string) map[string]string {
	out := map[string]string{}
	_, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return out
	}
	for _, k := range coordinatorFiles {
		if path := q.Get(k); path != "" {
			out[coordinatorFile+k] = path
		}
	}
	return out
}

// coordinatorHere is the address with the files of this folder.
func coordinatorHere(address, dir string, files map[string][]byte) string {
	place, query, more := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if !more || err != nil {
		return address
	}
	for _, k := range coordinatorFiles {
		if _, ok := files[coordinatorFile+k]; ok && q.Has(k) {
			q.Set(k, filepath.Join(dir, coordinatorFile+k))
		}
	}
	return place + "?" + q.Encode()
}
