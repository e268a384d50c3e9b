package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/instance/config"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
)

// These are names within a site's folder.
const (
	ConfigName = "concordat.yaml"
	StoreName  = "site.db"
	IndexName  = "index"
	// IndexKeyName is the file with the key of the site's own fingerprints. Without the key, someone who obtains the index cannot test
	// guesses against it. A site without the file has public fingerprints.
	IndexKeyName = "index.key"
)

const indexKeyBytes = 32

// ReadIndexKey returns the key of the site's own fingerprints, or nil if they are public.
func ReadIndexKey(dir string) ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(dir, IndexKeyName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(key) != indexKeyBytes {
		err = fmt.Errorf("%s: %w: got %d bytes, want %d", IndexKeyName, concordat.ErrCorrupt, len(key), indexKeyBytes)
	}
	return key, err
}

// Instance is a site with all its parts. Close closes them.
type Instance struct {
	Site     *site.Site
	Answers  *answer.Answerer // answers partners
	Asks     *ask.Asker       // asks partners
	Dir      string
	Config   *config.Config // as opened
	Live     *LiveConfig    // Config with later changes
	Store    *store.DB
	Profiler *profile.Profiler
	Keys     *Keys
	Encoding *Encoding
	// With WithIndex, one of these is set: own, together with the lock, or Remote if another process serves the site.
	own    *notedIndex
	Remote *cluster.Remote
	// Member replaces own in the serving process of a site with several machines.
	Member  *Member
	Index   concordat.Index // own, Remote or Member.Node, whichever exists
	lock    *os.File        // nil with StoreOnly
	Since   time.Time       // when this process acquired the lock
	Settled site.Settled    // work reconciled on opening
	panics  panicLog
}

// Mode specifies the parts of a site that a command needs.
type Mode int

const (
	StoreOnly Mode = iota
	Locked         // the store, while no other process uses the index
	WithIndex      // the store and the index
	Serve          // as WithIndex, for the process that serves the site
)

// Options specify how to open a site.
type Options struct {
	Ask        Ask  // prompts for the keystore's passphrase; nil for no prompt
	Supervised bool // a service manager restarts the process when it ends
}

// Open opens the site in dir, which init created. The caller must Close it. It fails with a UsageError if there is no site or its
// configuration is invalid, and with concordat.ErrLocked if another process uses what mode needs.
func Open(ctx context.Context, dir string, w Mode, options Options) (*Instance, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	segment.UseGojieba(c.Segment.Gojieba)
	o := &Instance{Dir: dir, Config: c, Live: newLiveConfig(dir, c)}
	if err := o.openParts(ctx, w, options); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *Instance) openParts(ctx context.Context, w Mode, how Options) error {
	key, err := ReadIndexKey(o.Dir)
	if err != nil {
		return err
	}
	if o.Profiler, err = profile.New(profile.Options{Recipe: o.Config.Scheme, Key: key, Meaning: o.Config.Meaning.Indexed()}); err != nil {
		return Usage(err)
	}
	if o.Store, err = OpenStore(ctx, o.Dir, o.Config); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if err := o.checkStore(ctx); err != nil {
		return err
	}
	o.Keys = &Keys{dir: o.Dir, ask: how.Ask, db: o.Store, live: o.Live}
	if err := o.Keys.Sync(ctx); err != nil {
		return err
	}
	options := site.Options{Worker: o.Worker(), ID: o.Config.Site.ID, Store: o.Store, Profiler: o.Profiler,
		Rules: func() report.Rules { return o.Live.Now().Report.Rules }}
	if options.Stock, err = ownStock(o.Dir, o.Config); err != nil {
		return err
	}
	o.Encoding = &Encoding{dir: o.Dir, site: o.Config.Site.ID, live: o.Live, db: o.Store, changed: make(chan struct{}, 1)}
	if err := o.Encoding.Use(slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		return err
	}
	options.Encoder = o.Encoding.kept
	if w >= Locked {
		o.lock, err = LockIndex(o.Dir)
		if w >= WithIndex && errors.Is(err, concordat.ErrLocked) {
			if _, down := Serving(ctx, o.Dir); down == nil {
				err = nil
				o.Remote = cluster.Dial(filepath.Join(o.Dir, SocketName), "00")
				o.Index = o.Remote
			}
		}
		if err != nil {
			return err
		}
	}
	if o.lock != nil {
		o.Since = time.Now()
		if err := o.ClearRemains(); err != nil {
			return err
		}
	}
	switch {
	case w < WithIndex || o.Remote != nil:
	case o.Config.Clustered() && w == Serve:
		if err := o.openNode(ctx, how.Supervised); err != nil {
			return err
		}
		if err := o.fillCluster(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			return err
		}
	case o.Config.Clustered():
		return Usagef("this machine is a cluster node, but its server is not running: start the server with concordat serve")
	case HoldsShards(o.Dir):
		return Usagef("the index was restored from a backup of a cluster: recreate the cluster with concordat cluster init, then start concordat serve")
	default:
		if err := FinishReindex(o.Dir); err != nil {
			return err
		}
		shard, err := cluster.OpenAlone(ctx, filepath.Join(o.Dir, IndexName, "00"), o.ShardOptions())
		if err != nil {
			return fmt.Errorf("open the index: %w", err)
		}
		o.own = &notedIndex{Index: shard, Renewer: shard, shard: shard, dir: o.Dir, site: o.Config.Site.ID, db: o.Store, encoding: o.Encoding}
		o.Index = o.own
		if err := o.own.compare(ctx); err != nil {
			return err
		}
		o.Encoding.own = o.Index
		if err := o.Encoding.OpenVectors(slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			return err
		}
	}
	options.Index, options.Shared = o.Index, o.Config.Clustered()
	o.Answers = answer.New(answer.Options{ID: options.ID, Index: o.Index, Store: o.Store, Shared: options.Shared,
		Meaning: o.Profiler.Meaning,
		Noticed: func(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error) {
			return o.Asks.Noticed(ctx, from, n)
		}})
	options.Sharing = o.Answers.Shares
	o.Site = site.New(options)
	o.Asks = ask.New(o.Site, ask.Options{Store: o.Store, Room: o.CheckDisk})
	if w < WithIndex || o.Remote != nil {
		return nil
	}
	return o.settle(ctx)
}

// ShardOptions returns the options of the site's index on one machine.
func (o *Instance) ShardOptions() index.Options {
	return index.Options{Site: o.Config.Site.ID, Scheme: o.Profiler.Scheme(), Shard: "00", Warm: o.Config.Index.KeepTable,
		StockSegments: o.Config.Index.StockSegments}
}

// Close closes all open parts.
func (o *Instance) Close() error {
	var errs []error
	if o.Encoding != nil {
		errs = append(errs, o.Encoding.close())
	}
	if o.own != nil {
		errs = append(errs, o.own.shard.Close())
	}
	if o.Member != nil {
		errs = append(errs, o.Member.close())
	}
	if o.Remote != nil {
		errs = append(errs, o.Remote.Close())
	}
	if o.Store != nil {
		errs = append(errs, o.Store.Close())
	}
	if o.lock != nil {
		errs = append(errs, o.lock.Close())
	}
	return errors.Join(errs...)
}
