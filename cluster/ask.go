package cluster

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/index"
)

// Questions are sent to one copy of each shard, in one message per node. If a copy is slow, a second one is asked too (Dean and Barroso
// 2013, hedged requests); if a copy fails, another one is asked instead.

// ShardStatus is the outcome of a question to one shard.
type ShardStatus string

// The statuses.
const (
	ShardOK      ShardStatus = "ok"
	ShardTimeout ShardStatus = "timeout" // no timely answer
	ShardStale   ShardStatus = "stale"   // the copies that answer lack requested records
	ShardGone    ShardStatus = "no copy" // no intact copy is reachable
	shardRefused ShardStatus = "refused" // the question is invalid; Error explains why
)

const (
	leastHedge = 20 * time.Millisecond  // minimum delay before asking a second copy
	firstHedge = time.Second            // used until latencies have been measured
	staleWait  = 2 * time.Second        // how long a copy waits for missing records
	sureAgain  = 10 * time.Millisecond  // interval between checks of whether a copy can answer
	askAgain   = 250 * time.Millisecond // delay before again asking copies that could not answer
	askTime    = 10 * time.Second       // how long to go on asking them; an election rarely takes longer
	hedgeShare = 20                     // at most one message in this many is a hedge
)

// question is a question from one node to another; exactly one of the last six fields is set.
type question struct {
	Shards []concordat.ShardID
	MinSeq map[concordat.ShardID]uint64 // records that the answer must reflect
	Match  *concordat.Query
	Terms  []concordat.Term
	Text   *concordat.TextQuery
	Ref    *concordat.Ref
	Count  bool // count documents
	Unfit  *index.UnfitQuery
}

// shardAnswer is the answer of one shard.
type shardAnswer struct {
	Shard   concordat.ShardID
	Status  ShardStatus
	Words   string // text of an error
	Kinds   []string
	Applied uint64
	Match   *concordat.Answer
	Found   []concordat.Fingerprint // fingerprint of each match
	Stats   *concordat.TextStats
	Text    *concordat.TextAnswer
	Doc     *concordat.Document
	Count   int
	Unfit   *index.Unfit
}

func (a *shardAnswer) err() error {
	e := &remoteError{words: a.Words}
	for _, k := range a.Kinds {
		if kind := kinds[k]; kind != nil {
			e.kinds = append(e.kinds, kind)
		}
	}
	return e
}

// answer answers a question from the copies of this node.
func (hs *hosting) answer(ctx context.Context, q *question) []shardAnswer {
	out := make([]shardAnswer, len(q.Shards))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range q.Shards {
		g.Go(func() error {
			out[i] = hs.answerShard(ctx, id, q)
			return nil
		})
	}
	_ = g.Wait() // always returns nil
	return out
}

func (hs *hosting) answerShard(ctx context.Context, id concordat.ShardID, q *question) shardAnswer {
	a := shardAnswer{Shard: id, Status: ShardGone}
	c, ok := hs.get(id)
	if !ok {
		return a
	}
	st, err := c.Status()
	if err != nil || st.Quarantined || st.Installing || st.Meta.Damaged {
		return a
	}
	if !st.InSync || !catchUp(ctx, c, q.MinSeq[id]) {
		a.Status = ShardStale
		return a
	}
	hs.answerFrom(ctx, c, &a, q)
	return a
}

// answerFrom answers from the index of a copy that has every requested record.
func (hs *hosting) answerFrom(ctx context.Context, c *Copy, a *shardAnswer, q *question) {
	a.Status = ShardOK
	err := guard(c.o.Panicked, func() error { return a.fill(ctx, c.Index(), q) })
	if err == nil {
		return
	}
	if errors.Is(err, concordat.ErrUnavailable) || ctx.Err() != nil {
		a.Status = ShardGone
		return
	}
	a.Status, a.Words = shardRefused, err.Error()
	if errors.Is(err, concordat.ErrCorrupt) {
		a.Status = ShardGone
		c.step(replica.Broken{Reason: err.Error()})
		hs.log.Error("the index is damaged", "shard", a.Shard, "error", err)
	}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			a.Kinds = append(a.Kinds, name)
		}
	}
}

// fill completes the answer from the index.
func (a *shardAnswer) fill(ctx context.Context, ix *index.Shard, q *question) (err error) {
	a.Applied = ix.Applied().Seq
	switch {
	case q.Match != nil:
		a.Match, a.Found, err = ix.MatchFound(ctx, q.Match)
	case q.Text != nil:
		a.Text, err = ix.SearchText(ctx, q.Text)
	case q.Ref != nil:
		a.Doc, err = ix.Document(ctx, *q.Ref)
	case q.Count:
		a.Count = ix.Stats().Documents
	case q.Unfit != nil:
		a.Unfit, err = ix.Unfit(q.Unfit)
	default:
		a.Stats, err = ix.TextStats(ctx, q.Terms)
	}
	return err
}

// catchUp waits until the copy's index has every write acknowledged before the call and all records up to low.
func catchUp(ctx context.Context, c *Copy, low uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, staleWait)
	defer cancel()
	st, err := c.Question()
	for ; err == nil && !st.Sure; st, err = c.Question() {
		select {
		case <-time.After(sureAgain):
		case <-ctx.Done():
			return false
		}
	}
	if err != nil {
		return false
	}
	end := st.End
	if st.Role == replica.Master {
		end = st.Applied // the copy has applied everything it acknowledged
	}
	// A master has all existing records; if it lacks any up to low, they were abandoned when it was forced to lead.
	there := func(s replica.Status) bool {
		return s.Applied >= min(end, s.End) && (s.Applied >= low || s.Role == replica.Master && s.Applied >= s.End)
	}
	return there(st) || c.Await(ctx, there) == nil
}

// serveAsk answers a question from another node.
func (hs *hosting) serveAsk(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&q); err != nil {
		fail(w, fmt.Errorf("cannot decode the query: %w: %w", concordat.ErrInvalid, err))
		return
	}
	if len(q.Shards) > MaxShards {
		fail(w, fmt.Errorf("too many shards in one query (%d): %w", len(q.Shards), concordat.ErrInvalid))
		return
	}
	_ = gob.NewEncoder(w).Encode(hs.answer(r.Context(), &q)) // a caller that went away misses nothing
}

// answered is the outcome of a message.
type answered struct {
	node    coord.NodeID
	shards  []concordat.ShardID
	answers []shardAnswer // nil if no answer arrived
}

// round is one question to several shards.
type round struct {
	n       *Node
	q       question
	view    *coord.View
	open    map[concordat.ShardID]*openShard
	answers map[concordat.ShardID]*shardAnswer
	missing map[concordat.ShardID]ShardStatus
	in      chan answered
	idle    []concordat.ShardID // still open after every copy was asked
	until   time.Time           // how long idle shards continue to be asked
}

type openShard struct {
	left   []coord.NodeID // nodes not asked yet
	flying int
	status ShardStatus // most informative reason so far
	hope   bool        // a copy might answer soon, because one was unsure or unreachable
}

// askShards asks one copy of each shard and returns the answers, and the reasons why the other shards did not answer. If a shard refuses
// the question, its error is returned for the whole call.
func (n *Node) askShards(ctx context.Context, shards []concordat.ShardID,
	q question) (map[concordat.ShardID]*shardAnswer, map[concordat.ShardID]ShardStatus, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	if n.ctx.Err() != nil {
		return nil, nil, fmt.Errorf("the node is closed: %w", concordat.ErrUnavailable)
	}
	caller := ctx
	ctx, cancel := n.readTime(ctx)
	defer cancel()
	r := &round{n: n, q: q, open: map[concordat.ShardID]*openShard{}, answers: map[concordat.ShardID]*shardAnswer{},
		missing: map[concordat.ShardID]ShardStatus{}, in: make(chan answered, 2*len(shards)+2*coord.MaxCopies)}
	r.view, _ = n.fan.now()
	r.until = time.Now().Add(askTime)
	r.q.MinSeq = n.router.minSeq(shards)
	for _, id := range shards {
		r.open[id] = &openShard{left: candidates(r.view, id), status: ShardGone}
	}
	r.send(ctx, shards)
	slow := time.NewTimer(n.ask.patience())
	defer slow.Stop()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for len(r.open) > 0 {
		select {
		case a := <-r.in:
			if err := r.take(ctx, a); err != nil {
				return nil, nil, err
			}
		case <-slow.C:
			r.hedge(ctx)
		case <-again.C:
			r.askIdle(ctx)
		case <-ctx.Done():
			if caller.Err() != nil {
				return nil, nil, context.Cause(caller)
			}
			for id := range r.open {
				r.missing[id] = ShardTimeout
			}
			return r.answers, r.missing, nil
		}
	}
	return r.answers, r.missing, nil
}

// readTime sets a deadline early enough for the caller to receive an incomplete answer before its own deadline.
func (n *Node) readTime(ctx context.Context) (context.Context, context.CancelFunc) {
	d := n.o.ReadTime
	if t, has := ctx.Deadline(); has {
		d = min(d, time.Until(t)*9/10)
	}
	return context.WithTimeout(ctx, d)
}

// candidates returns the live nodes with copies in sync or, if there are none, the live nodes with other copies.
func candidates(v *coord.View, id concordat.ShardID) []coord.NodeID {
	s, ok := v.Shards[id]
	if !ok {
		return nil
	}
	var out []coord.NodeID
	for _, m := range s.ISR {
		if _, live := v.Live[m]; live && !slices.Contains(s.Hold, m) {
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, m := range s.Replicas {
		if _, live := v.Live[m]; live {
			out = append(out, m)
		}
	}
	return out
}

// send asks another copy of each shard, in one message per node. A shard without another copy is reported as missing.
func (r *round) send(ctx context.Context, shards []concordat.ShardID) {
	by := map[coord.NodeID][]concordat.ShardID{}
	for _, id := range shards {
		o := r.open[id]
		if len(o.left) == 0 {
			if o.flying == 0 {
				r.giveUp(id, o)
			}
			continue
		}
		node := r.n.ask.choose(o.left)
		o.left = slices.DeleteFunc(o.left, func(m coord.NodeID) bool { return m == node })
		o.flying++
		by[node] = append(by[node], id)
	}
	for node, ids := range by {
		q := r.q
		q.Shards = ids
		to := r.view.Live[node]
		r.n.wg.Go(func() { r.tell(ctx, r.n.askNode(ctx, to, q)) })
	}
}

// tell passes an answer to the caller if it is still waiting.
func (r *round) tell(ctx context.Context, a answered) {
	select {
	case r.in <- a:
	case <-ctx.Done():
	}
}

// giveUp sets the shard aside to be asked again soon, since a master might be about to be elected. If no copy is reachable, or the wait
// was too long, the shard is reported as missing.
func (r *round) giveUp(id concordat.ShardID, o *openShard) {
	if !o.hope || time.Now().After(r.until) || len(candidates(r.view, id)) == 0 {
		r.missing[id] = o.status
		delete(r.open, id)
		return
	}
	if !slices.Contains(r.idle, id) {
		r.idle = append(r.idle, id)
	}
}

// askIdle again asks all copies of shards for which no copy could answer.
func (r *round) askIdle(ctx context.Context) {
	if len(r.idle) == 0 {
		return
	}
	idle := r.idle
	r.idle = nil
	r.view, _ = r.n.fan.now()
	for _, id := range idle {
		r.open[id].left, r.open[id].hope = candidates(r.view, id), false
	}
	r.send(ctx, idle)
}

func (n *Node) askNode(ctx context.Context, to coord.Node, q question) answered {
	out := answered{node: to.ID, shards: q.Shards}
	n.ask.begin(to.ID)
	start := time.Now()
	if to.ID == n.o.Node.ID {
		out.answers = n.hosting.answer(ctx, &q)
	} else {
		guarded, done := n.doubts.guarded(ctx, to)
		if err := n.peers.exchange(guarded, to, "-", "ask", &q, &out.answers); err != nil {
			out.answers = nil
			if ctx.Err() == nil {
				n.log.Warn("cannot query a node", "node", to.ID, "error", err)
			}
		}
		done()
	}
	n.ask.end(to.ID, time.Since(start), out.answers != nil)
	return out
}

// take records the outcome of a message.
func (r *round) take(ctx context.Context, a answered) error {
	for _, id := range a.shards {
		if o := r.open[id]; o != nil {
			o.flying--
			o.hope = o.hope || a.answers == nil
		}
	}
	for i := range a.answers {
		got := &a.answers[i]
		o := r.open[got.Shard]
		switch {
		case o == nil || !slices.Contains(a.shards, got.Shard):
		case got.Status == ShardOK:
			r.answers[got.Shard] = got
			delete(r.open, got.Shard)
		case got.Status == shardRefused:
			return got.err()
		case got.Status == ShardStale:
			o.status, o.hope = ShardStale, true
		}
	}
	var again []concordat.ShardID
	for _, id := range a.shards {
		if o := r.open[id]; o != nil && o.flying == 0 {
			again = append(again, id)
		}
	}
	r.send(ctx, again)
	return nil
}

// hedge asks a second copy of the shards that are slow.
func (r *round) hedge(ctx context.Context) {
	var slow []concordat.ShardID
	for id, o := range r.open {
		if len(o.left) > 0 {
			slow = append(slow, id)
		}
	}
	if len(slow) > 0 && r.n.ask.mayHedge() {
		slices.Sort(slow)
		r.send(ctx, slow)
	}
}
