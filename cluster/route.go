package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/index"
)

// router sends the node's writes to the masters of their shards, until they are acknowledged.
type router struct {
	o       *NodeOptions
	boot    string // identifies the node's start; the sender of its operations
	fan     *fan
	peers   *HTTPPeers
	hosting *hosting
	notes   *notes
	clock   clock           // draws the revisions
	numbers numbers         // of its operations
	ctx     context.Context // context of the node
	wg      *sync.WaitGroup

	mu      *sync.Mutex                  // the node's mu; protects written
	written map[concordat.ShardID]uint64 // newest record written by this node, which its readers must see
}

// tryAgain is the delay before resending a write if the view has not changed.
const tryAgain = 50 * time.Millisecond

// Put implements concordat.Index. Documents of one shard are acknowledged together; after an error, some shards may have stored their
// documents and others not.
func (n *Node) Put(ctx context.Context, ps ...*concordat.Profile) error {
	by := map[concordat.ShardID][]index.Change{}
	for _, p := range ps {
		id := n.layout.ShardFor(p.Document.Library, p.Document.ID)
		by[id] = append(by[id], index.Change{Put: p})
	}
	return n.router.writeAll(ctx, by)
}

// Delete implements concordat.Index.
func (n *Node) Delete(ctx context.Context, refs ...concordat.Ref) error {
	by := map[concordat.ShardID][]index.Change{}
	for _, r := range refs {
		if r.Site == n.layout.Site {
			id := n.layout.ShardFor(r.Library, r.Document)
			by[id] = append(by[id], index.Change{Delete: r})
		}
	}
	return n.router.writeAll(ctx, by)
}

// writeAll writes the changes of several shards at once.
func (r *router) writeAll(ctx context.Context, by map[concordat.ShardID][]index.Change) error {
	if r.ctx.Err() != nil {
		return fmt.Errorf("the node is closed: %w", concordat.ErrUnavailable)
	}
	ctx, cancel := within(ctx, r.o.WriteTime)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for id, changes := range by {
		g.Go(func() error {
			if err := r.writeShard(ctx, id, changes); err != nil {
				return fmt.Errorf("shard %s: %w", id, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// within gives ctx a deadline if it has none.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// redrawTime is how long after its start an operation can draw another revision. If it hung for longer, or its process or machine did,
// its caller may have given up and asked another node.
const redrawTime = 2 * time.Second

// writeShard sends the changes to the shard's master until they are acknowledged. If others wrote a document with a higher revision,
// either concurrently or because this node's clock is slow, the change is repeated with a revision above that one.
func (r *router) writeShard(ctx context.Context, id concordat.ShardID, changes []index.Change) error {
	begun := time.Now()
	for {
		rev := r.clock.draw(len(changes))
		repeated, err := r.writeOnce(ctx, id, callWrite, rev, changes)
		var late *lateError
		if !errors.As(err, &late) {
			return err
		}
		r.clock.see(late.newest)
		// Only the wall clock reveals that the machine was suspended.
		took := max(time.Since(begun), time.Now().Round(0).Sub(begun.Round(0)))
		if repeated || took > redrawTime {
			return err // the change may have been made and then overwritten
		}
		rest := make([]index.Change, len(late.changes))
		for i, c := range late.changes {
			rest[i] = changes[c]
		}
		changes = rest
	}
}

// writeOnce sends the changes to the shard's master, and again whenever another node becomes master, until there is a reply. repeated
// reports that an earlier message may also have taken effect.
func (r *router) writeOnce(ctx context.Context, id concordat.ShardID, call string, rev uint64,
	changes []index.Change) (repeated bool, err error) {
	number := r.numbers.begin()
	defer r.numbers.end(number)
	var last error
	for {
		v, news := r.fan.now()
		s, ok := v.Shards[id]
		if ok && v.Leads(s.State) {
			op := operation{Sender: r.boot, Number: number, Done: r.numbers.done(), Epoch: s.Epoch, Rev: rev}
			seq, err := r.sendWrite(ctx, v.Live[s.ISR[0]], id, call, op, changes)
			if err == nil {
				r.noteWritten(id, seq)
				return repeated, r.notes.note(ctx, id, Position{Epoch: op.Epoch, Seq: seq})
			}
			if last = err; ctx.Err() == nil && !repeatable(err) {
				return repeated, err
			}
			repeated = true
		}
		if !r.o.Session.Online() {
			return repeated, cutOff(last)
		}
		select {
		case <-news:
		case <-time.After(tryAgain):
		case <-r.ctx.Done():
			return repeated, fmt.Errorf("the node is closed: %w", concordat.ErrUnavailable)
		case <-ctx.Done():
			if last == nil {
				last = errors.New("the shard has no master")
			}
			return repeated, fmt.Errorf("%w: the change may or may not have been made: %w (last error: %w)", concordat.ErrUnavailable, context.Cause(ctx), last)
		}
	}
}

// cutOff is the error for a write that found no working master on a node that has not reached the coordinator for a session timeout, and
// therefore would not learn of another master. last can be nil.
func cutOff(last error) error {
	return errors.Join(fmt.Errorf("%w: the coordinator (ZooKeeper) has been unreachable for longer than the session timeout: until it is back, documents can be searched but not changed",
		concordat.ErrUnavailable), last)
}

// repeatable reports whether a write that failed with this error could succeed if repeated.
func repeatable(err error) bool {
	if late := (*lateError)(nil); errors.As(err, &late) {
		return false
	}
	if errors.Is(err, concordat.ErrInvalid) || errors.Is(err, concordat.ErrScheme) || errors.Is(err, concordat.ErrDiskFull) ||
		errors.Is(err, concordat.ErrRefused) {
		return false
	}
	return errors.Is(err, concordat.ErrUnavailable) || errors.Is(err, concordat.ErrNotFound) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// sendWrite sends one message, and gives up as soon as the shard has a new epoch, because a hung master would keep the caller waiting.
func (r *router) sendWrite(ctx context.Context, to coord.Node, id concordat.ShardID, call string, op operation,
	changes []index.Change) (uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	defer close(gone)
	r.wg.Go(func() { r.cancelOnEpoch(gone, id, op.Epoch, cancel) })
	if to.ID == r.o.Node.ID {
		c, ok := r.hosting.get(id)
		if !ok {
			return 0, fmt.Errorf("shard %s is not open on this node: %w", id, concordat.ErrUnavailable)
		}
		return c.operate(ctx, call, op, changes)
	}
	return r.peers.write(ctx, to, id, call, op, changes)
}

// cancelOnEpoch calls cancel once the shard has left the epoch or the node is closed; it returns when gone is closed.
func (r *router) cancelOnEpoch(gone <-chan struct{}, id concordat.ShardID, epoch uint64, cancel func()) {
	for {
		v, news := r.fan.now()
		if s := v.Shards[id]; s.Epoch != epoch || !v.Leads(s.State) {
			cancel()
			return
		}
		select {
		case <-news:
		case <-gone:
			return
		case <-r.ctx.Done():
			cancel()
			return
		}
	}
}

func (r *router) noteWritten(id concordat.ShardID, seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[id] = max(r.written[id], seq)
}

// minSeq returns the newest record that this node has written to each shard, which its own readers must see.
func (r *router) minSeq(shards []concordat.ShardID) map[concordat.ShardID]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[concordat.ShardID]uint64{}
	for _, id := range shards {
		if s := r.written[id]; s > 0 {
			out[id] = s
		}
	}
	return out
}

// write sends the changes to a node that should be master.
func (p *HTTPPeers) write(ctx context.Context, to coord.Node, id concordat.ShardID, call string, op operation,
	changes []index.Change) (uint64, error) {
	packed, err := packChanges(changes, cmp.Or(to.Payload, unstatedPayload))
	if err != nil {
		return 0, err
	}
	resp, err := p.call(ctx, http.MethodPost, to, id, call, bytes.NewReader(appendWrite(nil, &wireWrite{op, packed})))
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(64+10*len(changes))))
	out, ok := parseWritten(b, len(changes))
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, fmt.Errorf("node %s: %w", to.ID, context.Cause(ctx))
	case err != nil:
		return 0, fmt.Errorf("node %s: %w: %w", to.ID, concordat.ErrUnavailable, err)
	case !ok:
		return 0, fmt.Errorf("node %s: cannot decode the response: %w", to.ID, concordat.ErrUnavailable)
	case len(out.Late) > 0:
		return out.Seq, &lateError{out.Late, out.Newest}
	}
	return out.Seq, nil
}

func serveWrite(w http.ResponseWriter, r *http.Request, c *Copy, call string) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("write: %w: %w", concordat.ErrInvalid, err)
	}
	in, ok := parseWrite(b)
	if !ok {
		return fmt.Errorf("write: %w", concordat.ErrInvalid)
	}
	if in.Op.Epoch == anyEpoch {
		return fmt.Errorf("the write has no epoch: %w", concordat.ErrInvalid)
	}
	changes, err := unpackChanges(in.Changes, c.o.Index.Site)
	if err != nil {
		return fmt.Errorf("write: %w: %w", concordat.ErrInvalid, err)
	}
	seq, err := c.operate(r.Context(), call, in.Op, changes)
	out := wireWritten{Seq: seq}
	if late := (*lateError)(nil); errors.As(err, &late) {
		out.Late, out.Newest = late.changes, late.newest
	} else if err != nil {
		return err
	}
	_, _ = w.Write(appendWritten(nil, &out)) // a caller that disconnected asks again
	return nil
}
