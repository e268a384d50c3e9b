package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/replica"
	"concordat/index"
)

// Alone is the shard of a single-node site; it has the same log, index and state machine as in a cluster, but with a coordinator in a
// file and no other copies. It implements concordat.Index. Whatever Put and Delete have acknowledged is in the log on disk.
type Alone struct {
	index   *index.Shard // the copy's; no snapshot replaces it, because there is no other copy
	copy    *Copy
	session *local.Session

	gate sync.RWMutex // held for reading by every write, and for writing by PauseWrites
}

var _ concordat.Index = (*Alone)(nil)

// aloneNode is the name of the only node.
const aloneNode coord.NodeID = "alone"

// OpenAlone opens the shard in folder dir, or creates an empty one; an index without a log gets one. When it returns, everything ever
// acknowledged is visible. Errors: the errors of index.Open, and concordat.ErrCorrupt if acknowledged documents are damaged and exist
// only in the log.
func OpenAlone(ctx context.Context, dir string, o index.Options) (*Alone, error) {
	return openAlone(ctx, dir, CopyOptions{Index: o})
}

func openAlone(ctx context.Context, dir string, o CopyOptions) (*Alone, error) {
	if o.Index.ReadOnly {
		return nil, fmt.Errorf("%s: cannot replay a log in read-only mode: %w", dir, concordat.ErrInvalid)
	}
	// The index is opened first, because it locks the folder, and only a folder with an index is allowed to contain other files.
	o.Node, o.Restored = aloneNode, true
	c, err := newCopy(dir, o)
	if err != nil {
		return nil, err
	}
	a := &Alone{index: c.index, copy: c}
	if err := a.begin(ctx, filepath.Join(dir, stateName)); err != nil {
		return nil, fmt.Errorf("%w (closing: %v)", err, a.Close())
	}
	return a, nil
}

// Replay applies records that exist only in the log of the shard in dir to its index, for readers that use the index without the log. It
// fails with concordat.ErrNotFound if there is no shard.
func Replay(ctx context.Context, dir string) error {
	if !exists(filepath.Join(dir, "shard.json")) {
		return fmt.Errorf("%s: the folder does not contain a shard: %w", dir, concordat.ErrNotFound)
	}
	if !exists(filepath.Join(dir, logName)) {
		return nil // the shard never had a log
	}
	a, err := OpenAlone(ctx, dir, index.Options{})
	if err != nil {
		return err
	}
	if err := a.index.Persist(ctx); err != nil {
		return errors.Join(err, a.Close())
	}
	return a.Close()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// begin joins the coordinator with its state in the given file, and waits for leadership.
func (a *Alone) begin(ctx context.Context, path string) error {
	const advice = "delete this file: the next start recreates it, and no document is lost"
	hub, err := local.Open(path)
	if errors.Is(err, concordat.ErrCorrupt) {
		return fmt.Errorf("%w; %s", err, advice)
	}
	if err != nil {
		return err
	}
	if a.session, err = hub.Join(aloneNode); err != nil {
		return err
	}
	id := a.copy.o.Index.Shard
	status, err := a.copy.Status()
	if err != nil {
		return err
	}
	only := []coord.NodeID{aloneNode}
	state, err := a.session.Read(ctx, id)
	switch {
	case errors.Is(err, concordat.ErrNotFound): // new, or the file is gone
		err = a.session.Create(ctx, map[concordat.ShardID]coord.State{id: {Epoch: status.Meta.Epoch, ISR: only, Replicas: only}})
	case err == nil && (state.Epoch < status.Meta.Epoch || !slices.Equal(state.ISR, only) || !slices.Equal(state.Replicas, only)):
		// The copy would wait for another state forever.
		err = fmt.Errorf("%s: %w: this file does not match the index in the same folder; %s", path, concordat.ErrCorrupt, advice)
	}
	if err != nil {
		return err
	}
	a.copy.o.Coordinator = a.session
	a.copy.o.Ready = func(i coord.Incarnation) {
		// This fails only if the session is closed, in which case no caller is waiting.
		_ = a.session.Announce(context.Background(), coord.Node{ID: aloneNode, Incarnation: i})
	}
	a.copy.run()
	if st, _ := a.copy.Status(); len(state.Hold) > 0 && !st.Meta.Damaged {
		a.copy.Force() // the damaged part has been removed
	}
	return a.lead(ctx)
}

// lead waits until the copy is master and has applied its log.
func (a *Alone) lead(ctx context.Context) error {
	damaged, stuck := false, false
	err := a.copy.Await(ctx, func(s replica.Status) bool {
		damaged, stuck = s.Meta.Damaged, a.copy.stuck // Await holds the copy's mutex
		return damaged || stuck || s.Role == replica.Master && s.Applied >= s.End && s.Applied > 0
	})
	if err == nil && stuck {
		err = fmt.Errorf("%s: not enough free space to move acknowledged documents from the log into the index: %w", a.copy.dir, concordat.ErrDiskFull)
	}
	if err == nil && damaged {
		err = fmt.Errorf("%s: acknowledged documents at the end of the log are damaged; restore a backup, or add them again after removing %s: %w",
			a.copy.dir, logDir(a.copy.dir), concordat.ErrCorrupt)
	}
	return err
}

// Index returns the shard's index, for everything but changes of documents, which go through a and its log. Close closes it.
func (a *Alone) Index() *index.Shard { return a.index }

// Match implements concordat.Index.
func (a *Alone) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	return a.index.Match(ctx, q)
}

// TextStats implements concordat.Index.
func (a *Alone) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	return a.index.TextStats(ctx, terms)
}

// SearchText implements concordat.Index.
func (a *Alone) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	return a.index.SearchText(ctx, q)
}

// Document implements concordat.Index.
func (a *Alone) Document(ctx context.Context, r concordat.Ref) (*concordat.Document, error) {
	return a.index.Document(ctx, r)
}

// Put implements concordat.Index.
func (a *Alone) Put(ctx context.Context, ps ...*concordat.Profile) error {
	changes := make([]index.Change, len(ps))
	for i, p := range ps {
		changes[i].Put = p
	}
	a.gate.RLock()
	defer a.gate.RUnlock()
	_, err := a.copy.Write(ctx, changes)
	return err
}

// Delete implements concordat.Index.
func (a *Alone) Delete(ctx context.Context, refs ...concordat.Ref) error {
	var changes []index.Change
	for _, r := range refs {
		if r.Site == a.copy.o.Index.Site {
			changes = append(changes, index.Change{Delete: r})
		}
	}
	a.gate.RLock()
	defer a.gate.RUnlock()
	_, err := a.copy.Write(ctx, changes)
	return err
}

// PauseWrites calls f while no write is in progress and none can begin, so that everything acknowledged is visible. f should be quick
// because writers wait for it.
func (a *Alone) PauseWrites(f func() error) error {
	a.gate.Lock()
	defer a.gate.Unlock()
	return f()
}

// Purge erases deleted and replaced documents from disk, including the log. It returns the same errors as index.Shard.Purge, and can be
// called again.
func (a *Alone) Purge(ctx context.Context) error {
	if err := a.index.Purge(ctx); err != nil {
		return err
	}
	return a.copy.dropLog(ctx)
}

// Close writes the index to disk, so that the next opening needs no replay, and releases the folder.
func (a *Alone) Close() error {
	if _, err := a.copy.Status(); err == nil {
		// Anything missing from the index on disk is in the log, so an error only makes the next opening slower.
		_ = a.index.Persist(context.Background())
	}
	err := a.copy.Close()
	if a.session != nil {
		err = errors.Join(err, a.session.Close())
	}
	return err
}
