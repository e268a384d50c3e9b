package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/index"
)

// NodeOptions configure a Node. Dir, Node.ID, Node.Address, Session, Index.Site and Index.Scheme are mandatory.
type NodeOptions struct {
	// Dir is the folder of the node's copies; the caller must hold a lock on it.
	Dir string
	// Node is the node's description of itself; Incarnation and FreeBytes are ignored.
	Node coord.Node
	// Session is the node's link to the coordinator; closing the Node ends it.
	Session coord.Session
	// Index configures the index of every copy; Shard is ignored.
	Index index.Options
	// Client makes the calls to other nodes, using Scheme, and checks that they can be trusted.
	Client *http.Client
	Scheme string // default https
	// Copy sets limits and times for every copy; fields determined by the Node are ignored.
	Copy CopyOptions
	// ReadTime and WriteTime limit calls whose context has no deadline; default 30 s and 60 s.
	ReadTime, WriteTime time.Duration
	// Fatal is called once, in a new goroutine, if the node must not continue, for example because another process has taken its name. It
	// can be nil.
	Fatal func(error)
	// Key is the name of the node's public key (see Trust.Key); if empty, any key identifies the node.
	Key string
	// Authority means that the key of the cluster's authority is on this machine.
	Authority bool
	// Acknowledged records outside the nodes how far shards were acknowledged. If nil, a folder that went back in time is not detected.
	Acknowledged Acknowledged
	// Restart ends the process so that its service manager restarts it; nil if there is none.
	Restart func()
}

// Node is one of several nodes of a site; it has the copies assigned to it, and access to all others. It is a concordat.Index over all
// shards of the site. It is safe for concurrent use.
type Node struct {
	o       NodeOptions
	log     *slog.Logger
	layout  Layout // the part that never changes, as read at the start
	boot    string // identifies the start
	lost    bool   // the content of Dir may be older than it seems
	fan     *fan
	peers   *HTTPPeers
	hosting hosting
	router  router
	pauses  pauses
	notes   notes
	ask     asking
	doubts  doubts

	ctx    context.Context // context of background work; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex        // protects the following fields, hosting.copies, router.written and pauses.now
	announced coord.Incarnation // incarnation announced
	fatal     error
	reached   time.Time // when the coordinator last confirmed the session; updated about once per second

	sessions atomic.Int64 // number of sessions with the coordinator since the start

	changed chan struct{} // capacity 1; signals that a copy, a shard or the plan must be examined again
}

const lookAgain = time.Second

// OpenNode joins the cluster of the session's coordinator, opens the copies that the folder should have, and makes them take part. It
// does not wait until they are ready; for that, call Await. Errors: concordat.ErrNotFound if there is no cluster; concordat.ErrRefused if
// the node is not a member or the cluster belongs to another site; concordat.ErrScheme.
func OpenNode(ctx context.Context, o NodeOptions) (*Node, error) {
	if o.ReadTime == 0 {
		o.ReadTime = 30 * time.Second
	}
	speak(&o.Node)
	o.Node.Supervised = o.Restart != nil
	if o.WriteTime == 0 {
		o.WriteTime = time.Minute
	}
	n := &Node{o: o, log: o.Index.Logger, fan: newFan(o.Session), changed: make(chan struct{}, 1), boot: rand.Text()}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.peers = &HTTPPeers{Client: o.Client, Scheme: o.Scheme}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.join(ctx); err != nil {
		n.cancel()
		return nil, errors.Join(err, o.Session.Close())
	}
	n.peers.Cluster = n.layout.Cluster
	n.notes.kept, n.notes.cluster, n.notes.ctx, n.notes.wg = o.Acknowledged, n.layout.Cluster, n.ctx, &n.wg
	n.doubts = doubts{fan: n.fan, peers: n.peers, ask: &n.ask, log: n.log, ctx: n.ctx, wg: &n.wg}
	n.hosting = hosting{o: &n.o, log: n.log, fan: n.fan, peers: n.peers, ctx: n.ctx, changed: n.changed, mu: &n.mu,
		copies: map[concordat.ShardID]*hosted{}}
	n.router = router{o: &n.o, boot: n.boot, fan: n.fan, peers: n.peers, hosting: &n.hosting, notes: &n.notes,
		clock: clock{now: o.Copy.Now}, ctx: n.ctx, wg: &n.wg, mu: &n.mu, written: map[concordat.ShardID]uint64{}}
	n.pauses = pauses{hosting: &n.hosting, layout: &n.layout, mu: &n.mu}
	n.wg.Go(n.runViews)
	n.wg.Go(n.run)
	return n, nil
}

// join compares the folder with the cluster and records the start in both.
func (n *Node) join(ctx context.Context) error {
	if err := CheckNode(n.o.Node.ID); err != nil {
		return err
	}
	if err := os.MkdirAll(n.o.Dir, 0o700); err != nil {
		return err
	}
	for {
		var v coord.View
		select {
		case v = <-n.o.Session.View():
		case <-ctx.Done():
			return fmt.Errorf("coordinator: %w: %w", concordat.ErrUnavailable, context.Cause(ctx))
		}
		l, err := ParseLayout(v.Config)
		if err != nil {
			return err
		}
		if err := n.o.fits(l); err != nil {
			return err
		}
		n.layout = *l
		if err := ofScheme(n.o.Dir, n.o.Index.Scheme); err != nil {
			return err
		}
		known, err := readNodeFile(n.o.Dir)
		if err != nil {
			return err
		}
		if err := refuseCopiedFolder(n.o.Dir, n.o.Node.ID, known, &v); err != nil {
			return err
		}
		me := l.Members[n.o.Node.ID]
		if n.lost = known.Boot != me.Boot && known.Next != me.Boot; n.lost && me.Boot != "" {
			n.log.Error("this node's folder is not the one that joined the cluster: the node's copies do not count until they have caught up",
				"node", n.o.Node.ID)
		}
		if err := compatible(&n.o.Node, v.Live); err != nil {
			return err
		}
		next, err := l.with(n.o.Node.ID, func(m *Member) {
			m.Boot, m.Zone, m.Authority, m.Payload = n.boot, n.o.Node.Zone, n.o.Authority, n.o.Node.Payload
			m.Key = cmp.Or(m.Key, n.o.Key)
		})
		if err != nil {
			return err
		}
		// The folder records the name of the start before the cluster does, so a crash in between is harmless.
		if !n.lost {
			if err := writeNodeFile(n.o.Dir, nodeFile{Cluster: l.Cluster, Node: n.o.Node.ID, Boot: me.Boot, Next: n.boot}); err != nil {
				return err
			}
		}
		_, err = n.o.Session.Configure(ctx, v.Config.Version, next)
		switch {
		case err == nil:
			n.fan.pass(v)
			return n.markLost(v)
		case errors.Is(err, coord.ErrStale):
			continue // another view will arrive
		default:
			return err
		}
	}
}

// markLost durably records that the copies may lack something, before the folder counts as known again.
func (n *Node) markLost(v coord.View) error {
	if n.lost && n.layout.Members[n.o.Node.ID].Boot != "" {
		for id, s := range v.Shards {
			dir := copyDir(n.o.Dir, id)
			if !slices.Contains(s.ISR, n.o.Node.ID) && !exists(dir) || s.Epoch == 0 {
				continue
			}
			m, err := readMeta(dir)
			if err == nil && exists(dir) {
				m.Damaged = true
				err = writeMeta(dir, m)
			}
			if err != nil {
				return err
			}
		}
	}
	return writeNodeFile(n.o.Dir, nodeFile{Cluster: n.layout.Cluster, Node: n.o.Node.ID, Boot: n.boot})
}

// fits returns an error if a node with these options does not belong to the cluster.
func (o *NodeOptions) fits(l *Layout) error {
	if l.Site != o.Index.Site {
		return fmt.Errorf("the cluster belongs to site %s, but this node belongs to site %s: %w", l.Site, o.Index.Site, concordat.ErrRefused)
	}
	if l.Scheme != o.Index.Scheme {
		return fmt.Errorf("the cluster uses scheme %s, but this node uses scheme %s: %w", l.Scheme, o.Index.Scheme, concordat.ErrScheme)
	}
	m, ok := l.Members[o.Node.ID]
	if !ok {
		return fmt.Errorf("node %s is not a member of the cluster: the node was removed or never joined: %w", o.Node.ID, concordat.ErrRefused)
	}
	if o.Key != "" && m.Key != "" && o.Key != m.Key {
		return fmt.Errorf("the node name %s belongs to another machine, which joined with a different key: %w", o.Node.ID, concordat.ErrRefused)
	}
	return nil
}

// with returns the encoded layout with one member changed.
func (l *Layout) with(id coord.NodeID, change func(*Member)) ([]byte, error) {
	next := *l
	next.Members = maps.Clone(l.Members)
	m := next.Members[id]
	change(&m)
	next.Members[id] = m
	return json.Marshal(next)
}

// runViews passes on the coordinator's views.
func (n *Node) runViews() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case v, ok := <-n.o.Session.View():
			if !ok {
				return
			}
			if was, _ := n.fan.now(); was.Me != v.Me && v.Me != "" {
				n.sessions.Add(1)
			}
			n.fan.pass(v)
			wake(n.changed)
		}
	}
}

// run adapts the copies to the coordinator's state and announces the node.
func (n *Node) run() {
	t := time.NewTicker(lookAgain)
	defer t.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.changed:
		case <-t.C:
		}
		v, _ := n.fan.now()
		if n.o.Session.Confirmed() != "" {
			n.mu.Lock()
			n.reached = time.Now().UTC()
			n.mu.Unlock()
		}
		if err := n.taken(v); err != nil {
			n.end(err)
			return
		}
		for id, s := range v.Shards {
			if _, ok := shardNumber(id); !ok || n.ctx.Err() != nil {
				continue
			}
			if slices.Contains(s.Replicas, n.o.Node.ID) || slices.Contains(s.ISR, n.o.Node.ID) {
				n.hosting.host(id, s)
			} else {
				n.hosting.drop(id)
			}
		}
		n.announce(v)
		noteTenures(n)
	}
}

// taken returns an error if another process has joined under this node's name.
func (n *Node) taken(v *coord.View) error {
	l, err := ParseLayout(v.Config)
	if err != nil {
		return nil // a coordinator that lost its state is no reason to stop reading
	}
	if _, member := l.Members[n.o.Node.ID]; l.Cluster == n.layout.Cluster && !member {
		return fmt.Errorf("node %s was removed from the cluster: %w", n.o.Node.ID, concordat.ErrRefused)
	}
	if b := l.Members[n.o.Node.ID].Boot; l.Cluster != n.layout.Cluster || b != n.boot && b != n.layout.Members[n.o.Node.ID].Boot {
		return fmt.Errorf("another process has joined as node %s: %w", n.o.Node.ID, concordat.ErrRefused)
	}
	return nil
}

// end stops the node permanently.
func (n *Node) end(err error) {
	n.log.Error("the node is stopping", "error", err)
	n.mu.Lock()
	n.fatal = err
	hs := maps.Clone(n.hosting.copies)
	clear(n.hosting.copies)
	n.mu.Unlock()
	for _, h := range hs {
		n.hosting.close(h)
	}
	if n.o.Fatal != nil {
		go n.o.Fatal(err)
	}
}

// announce makes the node live once every copy is in a state that others can rely on (R7).
func (n *Node) announce(v *coord.View) {
	n.mu.Lock()
	ready := v.Me != "" && n.announced != v.Me
	for _, h := range n.hosting.copies {
		ready = ready && h.ready == v.Me
	}
	n.mu.Unlock()
	if !ready {
		return
	}
	if err := compatible(&n.o.Node, v.Live); err != nil {
		n.end(err)
		return
	}
	if !compareAcknowledged(n, v.Me) {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, 5*time.Second)
	defer cancel()
	me := n.o.Node
	me.Incarnation = v.Me
	me.FreeBytes = freeOn(n.o.Dir)
	if err := n.o.Session.Announce(ctx, me); err != nil {
		n.log.Warn("announce", "error", err)
		return
	}
	n.mu.Lock()
	n.announced = v.Me
	n.mu.Unlock()
}

// Copy returns this node's copy of a shard.
func (n *Node) Copy(id concordat.ShardID) (*Copy, bool) { return n.hosting.get(id) }

// Sessions returns the number of sessions that the node has had with the coordinator; all but the last were lost.
func (n *Node) Sessions() int64 { return max(1, n.sessions.Load()) }

// Layout returns the current layout.
func (n *Node) Layout() (*Layout, error) {
	v, _ := n.fan.now()
	return ParseLayout(v.Config)
}

// View returns what the node knows about the cluster, and a channel that is closed when there is something newer.
func (n *Node) View() (*coord.View, <-chan struct{}) { return n.fan.now() }

// Configure changes the layout; see ChangeLayout.
func (n *Node) Configure(ctx context.Context, version int64, data []byte) (int64, error) {
	return n.o.Session.Configure(ctx, version, data)
}

// Member reports whether, as far as this node knows, the node whose public key has the given name is a member.
func (n *Node) Member(id coord.NodeID, key string) bool {
	l, err := n.Layout()
	if err != nil {
		return false
	}
	m, ok := l.Members[id]
	return ok && (m.Key == "" || m.Key == key)
}

// Await waits until every shard has a working master.
func (n *Node) Await(ctx context.Context) error {
	for {
		v, news := n.fan.now()
		missing := ""
		for _, id := range n.layout.names() {
			if s, ok := v.Shards[id]; !ok || !v.Leads(s.State) {
				missing = string(id)
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("shard %s has no master: %w: %w", missing, concordat.ErrUnavailable, context.Cause(ctx))
		case <-n.ctx.Done():
			return fmt.Errorf("the node is closed: %w", concordat.ErrUnavailable)
		}
	}
}

// Close hands over leadership, closes the copies and ends the session.
func (n *Node) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	defer cancel()
	n.hosting.handOver(ctx)
	n.cancel()
	n.wg.Wait()
	n.mu.Lock()
	hs := slices.Collect(maps.Values(n.hosting.copies))
	clear(n.hosting.copies)
	n.mu.Unlock()
	for _, h := range hs {
		if h.copy != nil {
			// Anything missing from the index on disk is in the log, so an error only makes the next opening slower.
			_ = h.copy.Index().Persist(ctx)
		}
		n.hosting.close(h)
	}
	n.o.Client.CloseIdleConnections()
	return n.o.Session.Close()
}
