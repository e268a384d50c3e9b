package zk

import (
	"context"
	"errors"
	"maps"
	"path"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// A watcher tracks what a session knows about the znodes and builds views from that knowledge.

// entry is the content of one znode when it was read.
type entry[T any] struct {
	v       T
	version int32 // version of the data
	created int64 // transaction that created the znode
	bad     bool  // unusable
}

// watcher tracks the znodes known to a session and builds views from them. Only the goroutine of run uses it.
type watcher struct {
	s *Session
	l *link

	live   map[string]entry[coord.Node] // by znode name
	shards map[string]entry[coord.Shard]
	config coord.Config
	// settings are the published settings. The version of either document is -1 until it was read.
	settings coord.Config
	armed    map[string]bool // paths with a watch
	plain    bool            // do not set watches
	news     bool            // something new is not yet in any view
}

func newWatcher(s *Session) *watcher {
	return &watcher{s: s, live: map[string]entry[coord.Node]{}, shards: map[string]entry[coord.Shard]{}, config: coord.Config{Version: -1},
		settings: coord.Config{Version: -1}}
}

// begin switches to another link.
func (w *watcher) begin(l *link) {
	w.l, w.armed, w.news = l, map[string]bool{}, true
	l.soilAll()
}

// refresh rereads dirty znodes and publishes a view if anything changed.
func (w *watcher) refresh(ctx context.Context) error {
	dirty, all := w.l.take()
	if !w.l.up.Load() || len(dirty) == 0 && !all {
		if all || len(dirty) > 0 {
			w.l.mu.Lock()
			w.l.all = true // reread everything once the link is up again
			w.l.mu.Unlock()
		}
		return nil
	}
	for p := range dirty {
		delete(w.armed, p)
	}
	if all {
		// A server can be behind one read earlier; after this call, it is not.
		if err := w.s.confirm(ctx, w.l); err != nil {
			return err
		}
		if err := w.checkSite(ctx); err != nil {
			return err
		}
	}
	// Live nodes are read last, so that a newly elected master does not seem to be away.
	for _, part := range []func(context.Context, map[string]struct{}, bool) (bool, error){w.readConfig, w.readSettings, w.readShards,
		w.readLive} {
		changed, err := part(ctx, dirty, all)
		w.news = w.news || changed
		if err != nil {
			return err
		}
	}
	if err := w.checkOwn(ctx); err != nil {
		return err
	}
	if w.news {
		w.publish()
		w.news = false
	}
	return nil
}

// checkSite returns an error if the cluster has changed.
func (w *watcher) checkSite(ctx context.Context) error {
	w.s.mu.Lock()
	seen := w.s.seen
	w.s.mu.Unlock()
	_, err := w.s.siteOf(ctx, w.l, seen)
	return err
}

// checkOwn determines whether this node's entry was removed because another process with the same folder, for example with a copy of the
// folder, announced itself.
func (w *watcher) checkOwn(ctx context.Context) error {
	w.s.mu.Lock()
	announced := w.s.announced && w.s.link == w.l
	w.s.mu.Unlock()
	own := w.s.t.incarnation(w.l.me)
	if _, there := w.live[path.Base(own)]; !announced || there {
		return nil
	}
	// The entry may have been added after the names were read, or the session may have ended; only this reveals which.
	if _, err := w.l.confirm(ctx, w.s.t.root); err != nil {
		return err
	}
	_, err := w.l.get(ctx, own)
	if errors.Is(err, zkclient.ErrNoNode) {
		return twice(w.s.o.Node)
	}
	if err == nil {
		w.l.soil(w.s.t.live())
	}
	return err
}

// list reads and watches the names of a znode's children.
func (w *watcher) list(ctx context.Context, dir string) ([]string, error) {
	if w.plain || w.armed[dir] {
		return call(ctx, w.l, func(c *zkclient.Conn) ([]string, error) { names, _, err := c.Children(dir); return names, err })
	}
	names, err := call(ctx, w.l, func(c *zkclient.Conn) ([]string, error) { names, _, _, err := c.ChildrenW(dir); return names, err })
	w.armed[dir] = err == nil
	return names, err
}

// read reads and watches a znode. The library keeps a channel for every requested watch until it fires, so a watch is set only if the
// znode has none.
func (w *watcher) read(ctx context.Context, p string) (znode, error) {
	if w.plain || w.armed[p] {
		return w.l.get(ctx, p)
	}
	z, err := call(ctx, w.l, func(c *zkclient.Conn) (znode, error) {
		b, stat, _, err := c.GetW(p)
		return znode{b, stat}, err
	})
	w.armed[p] = err == nil
	return z, err
}

// missed records that p changed without a notification; its watch is lost and must be set again.
func (w *watcher) missed(p string) {
	if w.armed[p] {
		delete(w.armed, p)
		w.l.soil(p)
	}
}

// readDir updates what is known about a znode's children.
func readDir[T any](ctx context.Context, w *watcher, dir string, dirty map[string]struct{}, all bool, known map[string]entry[T],
	decode func(name string, z znode) (T, error)) (changed bool, err error) {
	var names []string
	_, listed := dirty[dir]
	if listed = listed || all; listed {
		if names, err = w.list(ctx, dir); err != nil {
			return false, err
		}
	} else {
		for name := range known {
			names = append(names, name)
		}
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		p := dir + "/" + name
		there[name] = true
		old, had := known[name]
		if _, d := dirty[p]; !d && !all && had {
			continue
		}
		z, err := w.read(ctx, p)
		if errors.Is(err, zkclient.ErrNoNode) {
			there[name] = false
			continue
		}
		if err != nil {
			return changed, err
		}
		if had && old.created == z.stat.Czxid && z.stat.Version <= old.version {
			continue
		}
		v, err := decode(name, z)
		if err != nil {
			w.s.log.Error("cannot use a znode", "path", p, "error", err)
		}
		known[name] = entry[T]{v, z.stat.Version, z.stat.Czxid, err != nil}
		if had {
			if _, d := dirty[p]; !d {
				w.missed(p)
			}
		}
		changed = true
	}
	for name := range known {
		if !there[name] {
			delete(known, name)
			delete(w.armed, dir+"/"+name)
			changed = true
		}
	}
	return changed, nil
}

// readLive reads which nodes are live, even if that became dirty only while the shards were read.
func (w *watcher) readLive(ctx context.Context, dirty map[string]struct{}, all bool) (bool, error) {
	if late := w.l.takeBelow(w.s.t.live()); len(late) > 0 {
		dirty = maps.Clone(dirty)
		for _, p := range late {
			dirty[p] = struct{}{}
			delete(w.armed, p)
		}
	}
	return readDir(ctx, w, w.s.t.live(), dirty, all, w.live, func(name string, z znode) (coord.Node, error) {
		if z.stat.EphemeralOwner == 0 {
			return coord.Node{}, errors.New("the znode does not belong to a session")
		}
		return decodeLive(name, z.data)
	})
}

func (w *watcher) readShards(ctx context.Context, dirty map[string]struct{}, all bool) (bool, error) {
	return readDir(ctx, w, w.s.t.shards(), dirty, all, w.shards, func(name string, z znode) (coord.Shard, error) {
		id, ok := unescape(name)
		if !ok {
			return coord.Shard{}, concordat.ErrCorrupt
		}
		return decodeShard(concordat.ShardID(id), z.data, z.stat.Version)
	})
}

// document reads one of the two documents if it is dirty. It returns old or a newer version.
func (w *watcher) document(ctx context.Context, d Document, dirty map[string]struct{}, all bool, old coord.Config) (coord.Config, error) {
	p := w.s.t.document(d)
	_, told := dirty[p]
	if !told && !all {
		return old, nil
	}
	z, err := w.read(ctx, p)
	if err != nil || int64(z.stat.Version) <= old.Version {
		return old, err
	}
	if !told && old.Version >= 0 {
		w.missed(p)
	}
	return coord.Config{Version: int64(z.stat.Version), Data: z.data}, nil
}

func (w *watcher) readConfig(ctx context.Context, dirty map[string]struct{}, all bool) (bool, error) {
	c, err := w.document(ctx, Config, dirty, all, w.config)
	if err != nil || c.Version == w.config.Version {
		return false, err
	}
	w.config = c
	if w.plain {
		return true, nil
	}
	return true, w.s.sawConfig(c.Version)
}

// readSettings publishes settings separately, because views do not contain them.
func (w *watcher) readSettings(ctx context.Context, dirty map[string]struct{}, all bool) (bool, error) {
	c, err := w.document(ctx, Settings, dirty, all, w.settings)
	if err != nil || c.Version == w.settings.Version {
		return false, err
	}
	w.settings = c
	select {
	case <-w.s.settings:
	default:
	}
	w.s.settings <- c // there is no other sender
	return false, nil
}

// sawConfig records the highest version of the configuration, which reveals a ZooKeeper that went back in time.
func (s *Session) sawConfig(v int64) error {
	s.mu.Lock()
	m := s.seen
	s.mu.Unlock()
	if s.o.Node == "" || v <= m.Config {
		return nil
	}
	m.Config = v
	return s.remember(m)
}

// view builds a view from what is known.
func (w *watcher) view() coord.View {
	v := coord.View{Me: w.l.me, Live: map[coord.NodeID]coord.Node{}, Shards: make(map[concordat.ShardID]coord.Shard, len(w.shards)),
		Config: w.config}
	newest := map[coord.NodeID]int64{}
	for _, e := range w.live {
		if !e.bad && e.created > newest[e.v.ID] { // of two sessions of one node, the later one counts
			v.Live[e.v.ID], newest[e.v.ID] = e.v, e.created
		}
	}
	for name, e := range w.shards {
		if id, ok := unescape(name); ok && !e.bad {
			v.Shards[concordat.ShardID(id)] = e.v
		}
	}
	return v
}

// publish replaces the view waiting in the channel with the current one.
func (w *watcher) publish() {
	v := w.view()
	select {
	case <-w.s.views:
	default:
	}
	w.s.views <- v // there is no other sender
}

// look reads a view without setting watches. The Data of its Config is not shared.
func (s *Session) look(ctx context.Context, l *link) (coord.View, error) {
	w := newWatcher(s)
	w.l, w.plain = l, true
	for _, part := range []func(context.Context, map[string]struct{}, bool) (bool, error){w.readConfig, w.readShards, w.readLive} {
		if _, err := part(ctx, nil, true); err != nil {
			return coord.View{}, readError("cluster", err)
		}
	}
	return w.view(), nil
}
