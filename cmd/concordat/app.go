package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/zk"
	"concordat/cmd/internal/cli"
	"concordat/config"
	"concordat/index"
	"concordat/profile"
	"concordat/segment"
	"concordat/site"
	"concordat/store"
)

// app is what all commands share.
type app struct {
	cli.Terminal
	data       string
	supervised bool // serve: a service manager starts the process again

	signing sync.Mutex // guards what follows
	sign    *signer
	signed  time.Time // when sign was found
}

// Names within the folder of a site.
const (
	configName = "concordat.yaml"
	storeName  = "site.db"
	indexName  = "index"
	// indexKeyName is the key of the site's own fingerprints: who finds the index without it cannot test
	// guesses against it. A site without the file has public fingerprints.
	indexKeyName = "index.key"
)

const indexKeyBytes = 32

// readIndexKey returns the key of the site's own fingerprints; nil: they are public.
func readIndexKey(dir string) ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(dir, indexKeyName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(key) != indexKeyBytes {
		err = fmt.Errorf("%s: %w: %d bytes, want %d", indexKeyName, concordat.ErrCorrupt, len(key), indexKeyBytes)
	}
	return key, err
}

// dir returns the folder of the site.
func (a *app) dir() (string, error) {
	switch {
	case a.data != "":
		return filepath.Abs(a.data)
	case os.Getenv("CONCORDAT_DATA") != "":
		return filepath.Abs(os.Getenv("CONCORDAT_DATA"))
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "concordat"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("no --data and no home folder: %w", err)
	}
	return filepath.Join(home, ".local", "share", "concordat"), nil
}

// opened is a site with all its parts. Close closes them.
type opened struct {
	*site.Site
	dir      string
	config   *config.Config
	store    *store.DB
	profiler *profile.Profiler
	// With withIndex either shard, and with it the lock, or remote, where another process serves the site.
	shard  *cluster.Alone
	remote *cluster.Remote
	// node takes the place of shard in the serving process of a site of several machines.
	node       *cluster.Node
	nodeServer *http.Server
	nodeDone   chan struct{}                 // closes when nodeServer ended
	gone       chan error                    // node cannot go on
	trusted    *cluster.Trust                // of node
	supervised bool                          // by --supervised
	index      concordat.Index               // that of the three which is there
	meters     *meters                       // nil where nobody counts
	lock       *os.File                      // nil with storeOnly
	since      time.Time                     // when this process got the lock
	settled    site.Settled                  // what opening brought to agreement
	flags      map[string]string             // keys of the configuration that a flag has set, to the flag
	live       atomic.Pointer[config.Config] // config with what has changed since; nil: nothing has
	next       atomic.Pointer[config.Config] // what the next start would have; nil: the same
	central    atomic.Int64                  // version of the settings of all nodes that live has
	teller     *zk.Session                   // that tells of them; nil: none does
	keeping    atomic.Bool                   // this process deletes for all nodes of the site
	keystore   atomic.Int64                  // version of the shared keystore of which the folder has a copy
}

// what says which parts of a site a command needs.
type what int

const (
	storeOnly what = iota
	locked         // the store, and nobody else at the index
	withIndex      // the store and the index
	toServe        // the same, for the process that serves the site
)

// open opens the site of --data, which init has made.
func (a *app) open(ctx context.Context, w what) (*opened, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	c, err := siteConfig(dir)
	if err != nil {
		return nil, err
	}
	segment.UseGojieba(c.Segment.Gojieba)
	o := &opened{dir: dir, config: c, supervised: a.supervised}
	if err := o.openParts(ctx, w); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *opened) openParts(ctx context.Context, w what) error {
	key, err := readIndexKey(o.dir)
	if err != nil {
		return err
	}
	if o.profiler, err = profile.New(profile.Options{Recipe: o.config.Scheme, Key: key}); err != nil {
		return cli.Usage(err)
	}
	if o.store, err = openStore(ctx, o.dir, o.config); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if err := o.checkStore(ctx); err != nil {
		return err
	}
	if err := o.syncKeystore(ctx); err != nil {
		return err
	}
	options := site.Options{Worker: o.worker(), ID: o.config.Site.ID, Store: o.store, Profiler: o.profiler}
	if w >= locked {
		o.lock, err = lockIndex(o.dir)
		if w >= withIndex && errors.Is(err, concordat.ErrLocked) {
			if _, down := serving(ctx, o.dir); down == nil {
				err = nil
				o.remote = cluster.Dial(filepath.Join(o.dir, socketName), "00")
				o.index = o.remote
			}
		}
		if err != nil {
			return err
		}
	}
	if o.lock != nil {
		o.since = time.Now()
		if err := o.clearRemains(); err != nil {
			return err
		}
	}
	switch {
	case w < withIndex || o.remote != nil:
	case o.clustered() && w == toServe:
		if err := o.openNode(ctx); err != nil {
			return err
		}
		if err := o.fillCluster(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			return err
		}
	case o.clustered():
		return cli.Usagef("this machine is one of several of its site, and does not serve: start concordat serve here, which finds the others")
	case holdsShards(o.dir):
		return cli.Usagef("the index came from a backup of a site of several machines: found the cluster anew with concordat cluster init, then start concordat serve")
	default:
		if err := finishReindex(o.dir); err != nil {
			return err
		}
		if o.shard, err = cluster.OpenAlone(ctx, filepath.Join(o.dir, indexName, "00"), o.shardOptions()); err != nil {
			return fmt.Errorf("open the index: %w", err)
		}
		o.index = o.shard
	}
	options.Index, options.Shared = o.index, o.clustered()
	o.Site = site.New(options)
	if w < withIndex || o.remote != nil {
		return nil
	}
	return o.settle(ctx)
}

func (o *opened) shardOptions() index.Options {
	return index.Options{Site: o.config.Site.ID, Scheme: o.profiler.Scheme(), Shard: "00", Warm: o.config.Index.KeepTable, StockSegments: o.config.Index.StockSegments}
}

// Close closes what is open.
func (o *opened) Close() error {
	var errs []error
	if o.shard != nil {
		errs = append(errs, o.shard.Close())
	}
	if o.node != nil {
		errs = append(errs, o.closeNode())
	}
	if o.remote != nil {
		errs = append(errs, o.remote.Close())
	}
	if o.store != nil {
		errs = append(errs, o.store.Close())
	}
	if o.lock != nil {
		errs = append(errs, o.lock.Close())
	}
	return errors.Join(errs...)
}

// libraryDocuments yields the documents of a library with their texts, in order of id. After an error
// the iteration goes on with the next one. A served site is read by its catalogue, document by document.
func (o *opened) libraryDocuments(ctx context.Context, lib concordat.LibraryID) iter.Seq2[*concordat.Document, error] {
	if o.shard != nil {
		return o.shard.LibraryDocuments(ctx, lib)
	}
	return func(yield func(*concordat.Document, error) bool) {
		after := concordat.DocumentID("")
		for {
			rows, err := o.store.Documents(ctx, lib, after, 0)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range rows {
				d, err := o.index.Document(ctx, concordat.Ref{Site: o.ID(), Library: lib, Document: r.ID})
				if errors.Is(err, concordat.ErrNotFound) {
					continue // deleted meanwhile
				}
				if !yield(d, err) {
					return
				}
			}
			if len(rows) < store.MaxPage {
				return
			}
			after = rows[len(rows)-1].ID
		}
	}
}

// with opens the site, runs f, and closes it.
func (a *app) with(ctx context.Context, w what, f func(*opened) error) error {
	o, err := a.open(ctx, w)
	if err != nil {
		return err
	}
	return errors.Join(f(o), o.Close())
}
