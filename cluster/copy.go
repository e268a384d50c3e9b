package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/index"
)

// Copy is a running copy of a shard, which connects the state machine of package replica with a log, an index, a coordinator and, through
// a transport, the other copies. It is safe for concurrent use.
type Copy struct {
	dir   string
	o     CopyOptions
	log   *slog.Logger
	start time.Time    // the replica's time begins here
	index *index.Shard // replaced by a snapshot only while installing, under mu

	ctx    context.Context // context of background work; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // protects the following fields; never held while waiting
	replica *replica.Replica
	wal     *wal.Log
	syncing time.Duration // when the current sync of the log began, after start; 0 if none is in progress
	gen     uint64        // generation of the log, the highest named by the replica
	live    map[coord.NodeID]coord.Node
	members map[coord.NodeID]Member // as of version config of the layout
	config  int64
	payload int          // newest version of payloads that all nodes with a copy read
	oldest  coord.NodeID // a node that reads no newer version
	failed  error        // permanent; the folder must be opened again
	writes  writes
	writing *index.Change            // change of the Write being accepted
	changes map[uint64]*index.Change // changes that came from a Write, for records not yet applied
	stuck   bool                     // the index has no space for the committed records
	target  uint64                   // the record that the index must reach
	fetches map[fetchKey]chan replica.Reply
	changed *sync.Cond // on mu; signals changes to role, position or failed

	applying sync.Mutex // held while the index is changed or replaced; acquired before mu

	clock      clock
	operations operations // operations of all nodes while the copy is master

	gate   sync.RWMutex // held for reading by every write, and for writing while a snapshot is taken
	frozen frozenIndexes

	toSync  chan struct{} // capacity 1; signals that there are records to sync
	toApply chan struct{} // capacity 1; signals that target has increased
}

// CopyOptions configure a Copy.
type CopyOptions struct {
	Index       index.Options // options for the shard's index; Logged is ignored
	Node        coord.NodeID
	Coordinator coord.Coordinator
	// Ready is called at most once per incarnation, when this copy allows the node to announce itself. It can be nil.
	Ready func(coord.Incarnation)
	// Peers reaches the other copies; nil if the shard has none.
	Peers Peers
	// Replica sets times and limits; Me is ignored.
	Replica replica.Config
	// LowWater is the free space, in bytes, below which writes are refused; default 64 MiB.
	LowWater uint64
	// KeepLog is the size of the log kept, in bytes, for copies that were away; default 64 MiB.
	KeepLog int64
	// SegmentBytes is the approximate size of a log file; default 16 MiB.
	SegmentBytes int64
	// Restored means that an index without a log can be authoritative, for example one from a backup or an older version of the program.
	// In a cluster, other copies decide that.
	Restored bool
	// Lost means that the copy may lack records that it acknowledged, because its folder was lost or is an older version of itself. Such
	// a copy must catch up before it can lead.
	Lost bool
	// Reprofile recomputes the profile of a document whose record in the log has a different scheme from the index, for example after
	// Reindex. If nil, such a record makes the copy fail.
	Reprofile func(concordat.Document) (*concordat.Profile, error)
	// Now is the clock for drawing revisions; default time.Now.
	Now func() time.Time
	// Panicked is called after a panic during the answer to a question or the preparation of a document for the log; only that question
	// or write fails. It can be called concurrently. If nil, such a panic reaches the caller.
	Panicked func(value any, stack []byte)
	// SlowSync is how long the disk can take to make a group of records durable before a master hands its leadership to another copy;
	// default 2 s.
	SlowSync time.Duration
	// payload is the newest version of payloads that this node reads; default Payload.
	payload int
}

// Peers exchanges messages with other copies of the shard.
type Peers interface {
	// Fetch sends a fetch to the node and returns the reply.
	Fetch(ctx context.Context, to coord.Node, shard concordat.ShardID, f replica.Fetch) (replica.Reply, error)
	// Snapshot durably copies the node's index to folder dir, which must not exist. No document in it has a revision above newest.
	Snapshot(ctx context.Context, from coord.Node, shard concordat.ShardID, dir string) (newest uint64, err error)
}

type fetchKey struct {
	from coord.NodeID
	id   uint64
}

const (
	tick      = 50 * time.Millisecond
	trimEvery = 64 // in ticks
	// applySentences and applyText limit what is applied at once, as in index.Put.
	applySentences = 2000
	applyText      = 4 << 20
)

// OpenCopy opens the copy in folder dir, or creates an empty one. The copy takes part immediately. Errors: the errors of index.Open and
// wal.Open.
func OpenCopy(dir string, o CopyOptions) (*Copy, error) {
	c, err := newCopy(dir, o)
	if err == nil {
		c.run()
	}
	return c, err
}

// newCopy opens the files.
func newCopy(dir string, o CopyOptions) (*Copy, error) {
	if o.LowWater == 0 {
		o.LowWater = 64 << 20
	}
	if o.KeepLog == 0 {
		o.KeepLog = 64 << 20
	}
	o.Index.Logged, o.Replica.Me = true, o.Node
	c := &Copy{
		dir: dir, o: o, log: o.Index.Logger, start: time.Now(), writes: writes{waiting: map[uint64]*write{}},
		changes: map[uint64]*index.Change{}, fetches: map[fetchKey]chan replica.Reply{}, toSync: make(chan struct{}, 1),
		toApply: make(chan struct{}, 1),
	}
	c.clock.now, c.frozen.mu = o.Now, &c.mu
	if c.o.SlowSync == 0 {
		c.o.SlowSync = 2 * time.Second
	}
	c.o.payload = cmp.Or(c.o.payload, Payload)
	c.payload = unstatedPayload // no copy leads before its first view
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.changed = sync.NewCond(&c.mu)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.open(); err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// run makes the copy take part.
func (c *Copy) run() {
	for _, run := range []func(){c.runTicks, c.runSync, c.runApply, c.runViews} {
		c.wg.Go(run)
	}
}

// open opens the copy's index and log.
func (c *Copy) open() error {
	if err := errors.Join(finishInstall(c.dir), removeSending(c.dir)); err != nil {
		return err
	}
	ix, err := index.Open(c.dir, c.o.Index)
	if err != nil {
		return err
	}
	c.index = ix
	c.o.Index.Shard, c.o.Index.Site, c.o.Index.Scheme = ix.ID(), ix.Site(), ix.Scheme()
	if err := c.openLog(); err != nil {
		return errors.Join(err, ix.Close())
	}
	return nil
}

func (c *Copy) openLog() error {
	meta, err := openMeta(c.dir)
	if err != nil {
		return err
	}
	if meta.Damaged && c.o.Restored && !exists(logDir(c.dir)) {
		// The operator removed the log, so the index is authoritative from now on.
		meta.Damaged = false
		if err := writeMeta(c.dir, meta); err != nil {
			return err
		}
	}
	if c.o.Lost && !meta.Damaged {
		meta.Damaged = true
		if err := writeMeta(c.dir, meta); err != nil {
			return err
		}
	}
	at := c.index.Applied()
	explained := false // damage reported by the log was already handled
	revs := replica.NewRevisions(meta.Horizon)
	revs.Content = content
	log, err := c.openWAL(&meta, at, &explained, revs)
	if err != nil {
		return err
	}
	x := log.Extent()
	if x.End < at.Seq {
		if !c.o.Restored {
			revs.Raise(c.clock.draw(1)) // the index has documents whose revisions were lost with the log
		}
		if !explained && !c.o.Restored {
			// The records after this one are gone, and their number is unknown.
			meta.Damaged = true
			err = writeMeta(c.dir, meta)
		}
		if err = errors.Join(err, log.Reset(at.Seq, at.Epoch)); err != nil {
			return errors.Join(err, log.Close())
		}
		x = log.Extent()
	}
	if x.Base > at.Seq {
		return errors.Join(fmt.Errorf("%s: records are missing between the index, which ends at record %d, and the log, which starts after record %d: %w", c.dir, at.Seq, x.Base,
			concordat.ErrCorrupt), log.Close())
	}
	c.wal, c.target = log, at.Seq
	c.replica = replica.New(c.o.Replica, meta, x, revs, at.Seq)
	c.clock.see(revs.Newest())
	return nil
}

// openWAL opens the log and adds every record to revs, which can be nil.
func (c *Copy) openWAL(meta *replica.Meta, at index.Applied, explained *bool, revs *replica.Revisions) (*wal.Log, error) {
	var found func(*wal.Record)
	if revs != nil {
		found = revs.Add
	}
	return wal.Open(logDir(c.dir), wal.Options{
		Shard: c.o.Index.Shard, LowWater: c.o.LowWater, SegmentBytes: c.o.SegmentBytes, Found: found,
		Damaged: func(lost uint64) error {
			*explained = true
			if lost <= at.Seq {
				return nil
			}
			c.log.Error("acknowledged records at the end of the log are damaged", "shard", c.o.Index.Shard, "lost", lost, "applied", at.Seq)
			meta.Damaged = true
			return writeMeta(c.dir, *meta)
		},
	})
}

// step passes an event to the replica. mu must not be held.
func (c *Copy) step(e replica.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepLocked(e)
}

// stepLocked passes an event to the replica and performs the actions it returns. mu must be held.
func (c *Copy) stepLocked(e replica.Event) {
	for next := e; next != nil; {
		var fault replica.Event
		for _, a := range c.replica.Step(time.Since(c.start), next) {
			if c.failed != nil {
				break
			}
			switch a.(type) {
			case replica.Append, replica.Truncate:
				if fault == nil {
					fault = c.act(a)
				}
			default:
				c.act(a)
			}
		}
		next = fault
	}
	c.changed.Broadcast()
}

// fail ends the copy; it no longer takes part until it is reopened. mu must be held.
func (c *Copy) fail(err error) {
	if c.failed != nil {
		return
	}
	c.log.Error("the copy has failed", "shard", c.o.Index.Shard, "error", err)
	c.end(fmt.Errorf("copy %s: %w: %w", c.dir, concordat.ErrUnavailable, err))
}

// end makes every call fail with err. mu must be held.
func (c *Copy) end(err error) {
	c.failed = err
	c.writes.fail(err)
	c.changed.Broadcast()
}

// act performs one action. If it returns an event, the log differs from what the replica believes; nothing else can be done to the log
// before the replica knows. mu must be held.
func (c *Copy) act(a replica.Action) replica.Event {
	switch a := a.(type) {
	case replica.Save:
		if err := writeMeta(c.dir, a.Meta); err != nil {
			c.fail(err)
		}
	case replica.Append:
		return c.append(a)
	case replica.Truncate:
		c.gen = a.Gen
		wake(c.toSync) // the remaining records can be on disk without the replica knowing
		for seq := range c.changes {
			if seq > a.Seq {
				delete(c.changes, seq)
			}
		}
		if err := c.wal.Truncate(a.Seq); err != nil {
			return c.reopenLog(err)
		}
	case replica.Apply:
		c.target = max(c.target, a.Seq)
		wake(c.toApply)
	case replica.SendFetch:
		c.sendFetch(a)
	case replica.SendReply:
		c.sendReply(a)
	case replica.CAS:
		c.wg.Go(func() { c.cas(a) })
	case replica.Acknowledge:
		c.writes.answer(a.ID, a.Seq, nil)
	case replica.Refuse:
		c.writes.refuse(a)
	case replica.Install:
		c.gen = a.Gen
		c.install(a)
	case replica.Ready:
		if c.o.Ready != nil {
			c.wg.Go(func() { c.o.Ready(a.Incarnation) })
		}
	case replica.Alarm:
		c.log.Error("replica", "shard", c.o.Index.Shard, "reason", a.Reason, "quarantined", a.Quarantined)
		if a.Quarantined && c.o.Peers != nil {
			c.fail(fmt.Errorf("the copy was put aside: %s", a.Reason)) // the node creates another
		}
	}
	return nil
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (c *Copy) append(a replica.Append) replica.Event {
	c.gen = a.Gen
	if err := c.wal.Append(a.Records...); err != nil {
		return c.reopenLog(err)
	}
	if c.writing != nil {
		c.changes[a.Records[0].Seq] = c.writing
		c.writing = nil
	}
	wake(c.toSync)
	return nil
}

// reopenLog reopens the log from disk after it failed or refused records. mu must be held.
func (c *Copy) reopenLog(cause error) replica.Event {
	c.log.Warn("log", "shard", c.o.Index.Shard, "error", cause)
	if errors.Is(cause, wal.ErrFailed) {
		meta, err := readMeta(c.dir)
		damaged := meta.Damaged
		if err == nil {
			err = c.wal.Close()
		}
		var log *wal.Log
		if err == nil {
			log, err = c.openWAL(&meta, c.index.Persisted(), new(bool), nil)
		}
		if err != nil {
			c.fail(errors.Join(cause, err))
			return nil
		}
		c.wal = log
		if meta.Damaged && !damaged {
			c.log.Error("the log is damaged", "shard", c.o.Index.Shard)
		}
	}
	c.gen++
	x := c.wal.Extent()
	for seq := range c.changes {
		if seq > x.End {
			delete(c.changes, seq)
		}
	}
	meta, err := readMeta(c.dir)
	if err != nil {
		c.fail(err)
		return nil
	}
	wake(c.toSync)
	return replica.Reopened{Gen: c.gen, Log: x, Damaged: meta.Damaged}
}

// Index returns the copy's index for reading. Installing a snapshot replaces it.
func (c *Copy) Index() *index.Shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

// Status returns the replica's status, and the error that ended it, if any.
func (c *Copy) Status() (replica.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replica.Status(), c.failed
}

// Question returns the current status; Sure and End are valid for a question asked now.
func (c *Copy) Question() (replica.Status, error) {
	me := c.o.Coordinator.Confirmed()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.stepLocked(replica.Contact{Me: me})
	}
	return c.replica.Status(), c.failed
}

// Await returns once the status is as desired, or returns the error that makes that impossible.
func (c *Copy) Await(ctx context.Context, pleases func(replica.Status) bool) error {
	defer context.AfterFunc(ctx, func() { c.mu.Lock(); c.changed.Broadcast(); c.mu.Unlock() })()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !pleases(c.replica.Status()) {
		if err := errors.Join(c.failed, context.Cause(ctx)); err != nil {
			return err
		}
		c.changed.Wait()
	}
	return nil
}

// StepDown asks a master to hand over leadership.
func (c *Copy) StepDown() { c.step(replica.StepDown{}) }

// Force makes this copy master by order of an operator, whatever it lacks.
func (c *Copy) Force() { c.step(replica.Force{}) }

// Close stops the copy and releases the folder. Waiting writes fail; whatever was acknowledged is safe.
func (c *Copy) Close() error {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil
	}
	if c.failed == nil {
		c.end(fmt.Errorf("copy %s is closed: %w", c.dir, concordat.ErrUnavailable))
	}
	c.cancel()
	c.mu.Unlock()
	c.wg.Wait()
	return errors.Join(c.frozen.thaw(""), c.wal.Close(), c.index.Close())
}
