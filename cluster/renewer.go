package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/index"
)

// If the scheme is kept, documents get new profiles of their texts, one by one, while the site is being served. A shard's master examines
// each document before writing it, so that neither a deletion nor a newer text is undone. The other copies follow through the log.

// Renewer is an index whose documents can be given new profiles of the same text.
type Renewer interface {
	// Renew puts each profile whose document still has the title, time and text that the profile was made from. Documents replaced or
	// deleted since are left alone. It returns the number of profiles put, and the same errors as Put.
	Renew(ctx context.Context, ps ...*concordat.Profile) (int, error)
	// Unfit returns the documents that are not indexed by meaning as they should be. meaning states how the caller makes profiles:
	// coord.MeaningOff, or the digest of the cells. If a node of the site makes them differently, it fails with concordat.ErrRefused and
	// names that node.
	Unfit(ctx context.Context, meaning string, q index.UnfitQuery) (*index.Unfit, error)
}

var (
	_ Renewer = (*Alone)(nil)
	_ Renewer = (*Remote)(nil)
	_ Renewer = (*Node)(nil)
)

// replacedAtOnce is the number of documents that a copy examines while other writes wait.
const replacedAtOnce = 20

// replaceIn is like writeIn for changes that all put profiles, but only for documents that still have their profile's title, time and
// text. A lateError lists the others. Other writes wait only while it examines a few documents.
func (c *Copy) replaceIn(ctx context.Context, op operation, changes []index.Change) (seq uint64, err error) {
	if slices.ContainsFunc(changes, func(x index.Change) bool { return x.Put == nil }) {
		return 0, fmt.Errorf("cannot delete documents while recomputing profiles: %w", concordat.ErrInvalid)
	}
	if err := c.renewable(changes); err != nil {
		return 0, err
	}
	var left []int
	first := 0
	for few := range slices.Chunk(changes, replacedAtOnce) {
		n, others, err := c.replaceFew(ctx, op, few)
		if err != nil {
			return seq, err
		}
		seq = max(seq, n)
		for _, i := range others {
			left = append(left, first+i)
		}
		first += len(few)
	}
	if len(left) > 0 {
		return seq, &lateError{changes: left, newest: c.newestRevision()}
	}
	return seq, nil
}

// renewable returns concordat.ErrRefused if the log cannot state by which definition the cells were computed, because the documents would
// immediately need to be recomputed again.
func (c *Copy) renewable(changes []index.Change) error {
	c.mu.Lock()
	payload, oldest := c.payload, c.oldest
	c.mu.Unlock()
	if payload >= definedVersion || !slices.ContainsFunc(changes, func(x index.Change) bool { return x.Put.Cells != nil }) {
		return nil
	}
	return fmt.Errorf("node %[1]s, which has a copy of shard %[2]s, runs an older version of the program: concordat cluster upgrade %[1]s; then try again: %[3]w",
		oldest, c.o.Index.Shard, concordat.ErrRefused)
}

func (c *Copy) replaceFew(ctx context.Context, op operation, changes []index.Change) (seq uint64, left []int, err error) {
	if err := lockWithin(ctx, &c.gate); err != nil {
		return 0, nil, fmt.Errorf("waiting for other writes: %w: %w", concordat.ErrUnavailable, err)
	}
	w, left, err := c.replaceLocked(ctx, op, changes)
	c.gate.Unlock()
	if err != nil || w == nil {
		return 0, left, err
	}
	seq, err = c.await(ctx, w)
	return seq, left, err
}

// replaceLocked appends the changes whose documents are unchanged. The gate must be locked, so that between examination and append, only
// another master can append anything. Records in the log whose writer did not wait for them are applied first.
func (c *Copy) replaceLocked(ctx context.Context, op operation, changes []index.Change) (w *write, left []int, err error) {
	var st replica.Status
	err = c.Await(ctx, func(s replica.Status) bool {
		st = s
		return s.Role != replica.Master || s.Applied >= s.End
	})
	if err != nil {
		return nil, nil, fmt.Errorf("write: %w", err)
	}
	if st.Role != replica.Master || op.Epoch != anyEpoch && st.Shard.Epoch != op.Epoch {
		return nil, nil, &NotMasterError{master(st.Shard.State)}
	}
	op.Epoch = st.Shard.Epoch
	var same []index.Change
	for i := range changes {
		is := false
		err := guard(c.o.Panicked, func() (err error) { is, err = hasUnchanged(ctx, c.Index(), &changes[i].Put.Document); return err })
		if err != nil {
			return nil, nil, err
		}
		if is {
			same = append(same, changes[i])
		} else {
			left = append(left, i)
		}
	}
	if len(same) == 0 {
		return nil, left, nil
	}
	same, records, size, err := c.records(same)
	if err == nil {
		err = c.room(size)
	}
	if err == nil {
		w, err = c.begin(op, same, records)
	}
	return w, left, err
}

// hasUnchanged reports whether the index has the document with the same title, time and text.
func hasUnchanged(ctx context.Context, ix *index.Shard, d *concordat.Document) (bool, error) {
	held, err := ix.Document(ctx, concordat.Ref{Site: ix.Site(), Library: d.Library, Document: d.ID})
	if errors.Is(err, concordat.ErrNotFound) {
		return false, nil
	}
	return err == nil && held.Text == d.Text && held.Title == d.Title && held.Added.Equal(d.Added), err
}

// puts returns changes that put the profiles.
func puts(ps []*concordat.Profile) []index.Change {
	changes := make([]index.Change, len(ps))
	for i, p := range ps {
		changes[i].Put = p
	}
	return changes
}

// put returns how many of n changes were made, and the error unless it concerns only the others.
func put(n int, err error) (int, error) {
	if late := (*lateError)(nil); errors.As(err, &late) {
		return n - len(late.changes), nil
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Renew implements Renewer.
func (a *Alone) Renew(ctx context.Context, ps ...*concordat.Profile) (int, error) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	_, err := a.copy.replaceIn(ctx, operation{Epoch: anyEpoch}, puts(ps))
	return put(len(ps), err)
}

// Unfit implements Renewer.
func (a *Alone) Unfit(_ context.Context, _ string, q index.UnfitQuery) (*index.Unfit, error) {
	return a.index.Unfit(&q)
}

// Renew implements Renewer. It continues even if the master changes. After an error, the documents of some shards may have been renewed.
func (n *Node) Renew(ctx context.Context, ps ...*concordat.Profile) (int, error) {
	for _, p := range ps {
		if (p.Cells != nil) != (n.o.Node.Meaning != coord.MeaningOff) {
			return 0, fmt.Errorf("the value of meaning.index used for the profiles differs from that of node %s: restart the node: %w", n.o.Node.ID,
				concordat.ErrRefused)
		}
	}
	v, _ := n.fan.now()
	if err := agree(v, n.o.Node.Meaning); err != nil {
		return 0, err
	}
	if n.ctx.Err() != nil {
		return 0, fmt.Errorf("the node is closed: %w", concordat.ErrUnavailable)
	}
	ctx, cancel := within(ctx, n.o.WriteTime)
	defer cancel()
	by := map[concordat.ShardID][]index.Change{}
	for _, c := range puts(ps) {
		id := n.layout.ShardFor(c.Put.Document.Library, c.Put.Document.ID)
		by[id] = append(by[id], c)
	}
	ids := slices.Sorted(maps.Keys(by))
	made := make([]int, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	for i, id := range ids {
		g.Go(func() error {
			_, err := n.router.writeOnce(ctx, id, callReplace, 0, by[id])
			if made[i], err = put(len(by[id]), err); err != nil {
				return fmt.Errorf("shard %s: %w", id, err)
			}
			return nil
		})
	}
	err := g.Wait()
	all := 0
	for _, m := range made {
		all += m
	}
	return all, err
}

// Unfit implements Renewer.
func (n *Node) Unfit(ctx context.Context, meaning string, q index.UnfitQuery) (*index.Unfit, error) {
	v, _ := n.fan.now()
	if err := agree(v, meaning); err != nil {
		return nil, err
	}
	answers, missing, err := n.askShards(ctx, n.layout.names(), question{Unfit: &q})
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no response from any copy of shards %v: %w", missingOf(missing), concordat.ErrUnavailable)
	}
	out := &index.Unfit{}
	for _, a := range answers {
		if a.Unfit == nil {
			return nil, fmt.Errorf("shard %s: the response does not match the request: %w", a.Shard, concordat.ErrInvalid)
		}
		out.Join(a.Unfit, q.Limit)
	}
	return out, nil
}

// agree fails with concordat.ErrRefused, explaining what to do, unless all live nodes index by meaning in the given way. Otherwise, one
// node would consider another's profiles faulty, and a node with an older program might be unable to follow the log.
func agree(v *coord.View, meaning string) error {
	var old, off, on, other []string
	for _, id := range slices.Sorted(maps.Keys(v.Live)) {
		m := v.Live[id]
		switch {
		case m.Meaning == meaning:
		case m.Meaning == "":
			old = append(old, string(id))
		case m.Meaning == coord.MeaningOff:
			off = append(off, string(id))
		case meaning == coord.MeaningOff:
			on = append(on, string(id))
		default:
			other = append(other, string(id))
		}
	}
	var why []string
	say := func(nodes []string, format string) {
		if len(nodes) > 0 {
			why = append(why, fmt.Sprintf(format, strings.Join(nodes, " ")))
		}
	}
	say(old, "%[1]s runs an older version of the program: concordat cluster upgrade %[1]s")
	say(off, "meaning.index was off when %[1]s started: concordat cluster zookeeper set meaning.index=true, then concordat cluster restart %[1]s")
	say(on, "meaning.index was on when %[1]s started: concordat cluster zookeeper set meaning.index=false, then concordat cluster restart %[1]s")
	say(other, "%[1]s runs a version of the program with different meaning cells: concordat cluster upgrade %[1]s")
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("the nodes do not agree on how to index by meaning: %s; then try again: %w", strings.Join(why, "; "), concordat.ErrRefused)
}

// Renew implements Renewer.
func (r *Remote) Renew(ctx context.Context, ps ...*concordat.Profile) (int, error) {
	packed, err := packProfiles(ps)
	if err != nil {
		return 0, err
	}
	var n int
	return n, r.call(ctx, callRenew, &packed, &n)
}

// wireUnfit is a call of Unfit.
type wireUnfit struct {
	Meaning string
	Query   index.UnfitQuery
}

// Unfit implements Renewer.
func (r *Remote) Unfit(ctx context.Context, meaning string, q index.UnfitQuery) (*index.Unfit, error) {
	var u index.Unfit
	return orError(&u, r.call(ctx, callUnfit, &wireUnfit{meaning, q}, &u))
}

// renewer returns the index for renewal by other processes of the site.
func renewer(ix concordat.Index) (Renewer, error) {
	to, ok := ix.(Renewer)
	if !ok {
		return nil, fmt.Errorf("cannot recompute the documents of this index while the server is running: %w", concordat.ErrInvalid)
	}
	return to, nil
}

// renew answers Renew.
func renew(ctx context.Context, ix concordat.Index, packed []byte) (int, error) {
	to, err := renewer(ix)
	if err != nil {
		return 0, err
	}
	ps, err := unpackProfiles(packed)
	if err != nil {
		return 0, err
	}
	return to.Renew(ctx, ps...)
}

// unfit answers Unfit.
func unfit(ctx context.Context, ix concordat.Index, q *wireUnfit) (*index.Unfit, error) {
	to, err := renewer(ix)
	if err != nil {
		return nil, err
	}
	return to.Unfit(ctx, q.Meaning, q.Query)
}
