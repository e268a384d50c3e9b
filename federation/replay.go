package federation

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/crypto"
)

// Replays remembers the requests that a site has accepted, with their replies, until they are too old to be accepted again. It runs each
// message at most once. The same bytes get the same reply, and different bytes under the same name are refused. If a partner has too many
// replies, its oldest are dropped, and their requests are refused if they arrive again; if there are too many in total, the partner with
// the most loses its oldest. The file is append-only; once it has grown, it is rewritten without expired entries. Replays is safe for
// concurrent use; only one process can have a file open.
//
// A request is on disk before it runs, but a reply is on disk only once the operating system has written it. If a crash loses the reply,
// its request is refused rather than run again.
//
// The processes of one site share the claim on a request (ServerOptions.Claim); commit makes the claim before the request is written, so
// that only one of them runs it. Replies remain in the file of the process that made them.
type Replays struct {
	path  string
	claim func(context.Context, crypto.SiteID, crypto.MessageID, time.Time) (bool, error) // nil if there is no other process
	most  int64                                                                           // bytes of the entries; the file is rewritten when it has twice as many
	disk  disk

	mu      sync.Mutex // guards the fields below
	file    *os.File
	size    int64
	live    int64 // bytes of unexpired entries
	entries map[replayKey]*replay
	bytes   map[crypto.SiteID]int64     // bytes of each partner's entries
	replies map[crypto.SiteID][]*replay // replies to each partner, oldest first; some can be gone
	swept   time.Time
	trust   time.Time // requests issued up to this time are refused unless they are remembered

	syncing sync.Mutex // held during a sync; never taken while mu is held
	synced  mark       // end of the part on disk; protected by syncing
	written int        // counts rewrites; protected by mu
}

// mark is a position in one of the successive files at the path.
type mark struct {
	file int
	end  int64
}

type replayKey struct {
	from crypto.SiteID
	id   crypto.MessageID
}

// replay is a request that was accepted.
type replay struct {
	key    replayKey
	digest [32]byte
	until  time.Time
	cost   int64 // size in the file in bytes
	offset int64 // offset of the reply in the file
	length int   // length of the reply; 0 if none was kept
	done   chan struct{}
	state  replayState
}

type replayState int

const (
	replayRunning   replayState = iota
	replayAnswered              // has its reply
	replayLost                  // ran, but the reply is missing
	replayForgotten             // did not run
)

const (
	replayMagic    = "CRPL\x01"
	replayHead     = 1 + 32 + 16 + 32 + 8 + 4
	recordBegun    = 1
	recordAnswered = 2
	recordTrust    = 3 // belongs to no request; requests issued up to its time are refused, because a file was lost

	defaultReplayBytes = 512 << 20
	// A partner can use one eighth of the memory, so that no partner can displace the others.
	replayShare = 8
	sweepEvery  = time.Minute
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// CreateReplays creates the file for a site that has not accepted any requests. Without it, OpenReplays has to assume that a file was
// lost. If the file exists, it fails with concordat.ErrExists.
func CreateReplays(path string) error { return createReplays(path, realDisk()) }

func createReplays(path string, on disk) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("replay file %s: %w", path, concordat.ErrExists)
	}
	if err != nil {
		return fmt.Errorf("replay file: %w", err)
	}
	_, err = f.WriteString(replayMagic)
	if err = errors.Join(err, on.sync(f), f.Close()); err != nil {
		return fmt.Errorf("replay file: %w", err)
	}
	return on.syncDir(filepath.Dir(path))
}

// OpenReplays opens the file. If it is missing or damaged, requests that may have been accepted before are refused. These are the
// requests issued until crypto.Skew from now, since the sender's clock can be fast. The new file records this time, so that such requests
// are still refused after another start.
func OpenReplays(path string, now time.Time) (*Replays, error) {
	return openReplays(path, now, realDisk())
}

func openReplays(path string, now time.Time, on disk) (*Replays, error) {
	r := &Replays{path: path, most: defaultReplayBytes, disk: on, entries: map[replayKey]*replay{}, bytes: map[crypto.SiteID]int64{},
		replies: map[crypto.SiteID][]*replay{}, swept: now}
	whole, err := r.load()
	if err != nil {
		return nil, err
	}
	if !whole {
		r.trust = now.Add(crypto.Skew).Truncate(time.Millisecond).Add(time.Millisecond) // truncated as in the file
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	if err := r.rewrite(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Replays) keep(e *replay) {
	r.entries[e.key] = e
	r.live += e.cost
	r.bytes[e.key.from] += e.cost
}

func (r *Replays) drop(e *replay) {
	delete(r.entries, e.key)
	r.live -= e.cost
	if r.bytes[e.key.from] -= e.cost; r.bytes[e.key.from] == 0 {
		delete(r.bytes, e.key.from)
	}
}

// expire drops requests that are too old to be accepted again.
func (r *Replays) expire(now time.Time) {
	for _, e := range r.entries {
		if e.state != replayRunning && now.After(e.until) {
			r.drop(e)
		}
	}
	for from, kept := range r.replies {
		kept = slices.DeleteFunc(kept, func(e *replay) bool { return r.entries[e.key] != e })
		if r.replies[from] = kept; len(kept) == 0 {
			delete(r.replies, from)
		}
	}
	r.swept = now
}

// The results of begin.
type begun int

const (
	beginFresh   begun = iota // run it, then call finish or forget
	beginStored               // the reply is stored
	beginLost                 // the request ran, but its reply is gone
	beginRunning              // wait for entry.done and begin again
	beginOther                // different bytes under the same name
	beginEarly                // the request may have run before a file was lost
	beginFull                 // more requests than can be remembered
)

// begin looks up a request, and adds it if it is new.
func (r *Replays) begin(v *crypto.Verified, now time.Time) (*replay, begun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > sweepEvery {
		r.expire(now)
	}
	key := replayKey{v.From, v.ID}
	if e := r.entries[key]; e != nil {
		switch {
		case e.digest != v.Digest:
			return nil, beginOther
		case e.state == replayRunning:
			return e, beginRunning
		case e.state == replayLost:
			return nil, beginLost
		}
		return e, beginStored
	}
	if !v.Issued.After(r.trust) {
		return nil, beginEarly
	}
	for r.live >= r.most && r.dropOldest(r.heaviest()) {
	}
	if r.bytes[v.From] >= r.most/replayShare || r.live >= r.most {
		return nil, beginFull
	}
	e := &replay{key: key, digest: v.Digest, until: v.Until, done: make(chan struct{}), cost: replayHead + 4}
	r.keep(e)
	return e, beginFresh
}

// forget ends a request that did not run.
func (r *Replays) forget(e *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(e)
	e.state = replayForgotten
	close(e.done)
}

// errTaken means that another process of the site has accepted the request.
var errTaken = errors.New("another process of this site is already handling the request")

// commit claims the request for this process and writes it to disk; it then counts as run. If another process of the site has it, commit
// fails with errTaken.
func (r *Replays) commit(ctx context.Context, e *replay) error {
	if r.claim != nil {
		if ours, err := r.claim(ctx, e.key.from, e.key.id, e.until); err != nil {
			return fmt.Errorf("claim a request: %w", err)
		} else if !ours {
			return errTaken
		}
	}
	r.mu.Lock()
	if r.size > r.most && r.size > 2*r.live {
		if err := r.rewrite(); err != nil {
			r.mu.Unlock()
			return err
		}
	}
	err := r.append(recordBegun, e, nil)
	to := mark{r.written, r.size}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.sync(to)
}

// sync returns once the file is on disk up to the mark. One disk sync serves all waiting requests.
func (r *Replays) sync(to mark) error {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	r.mu.Lock()
	file, now := r.file, mark{r.written, r.size}
	r.mu.Unlock()
	if now.file != to.file || r.synced.file == to.file && r.synced.end >= to.end {
		return nil // a rewrite puts everything on disk
	}
	err := r.disk.sync(file)
	r.mu.Lock()
	rewritten := r.written != to.file // the file was closed in the meantime, which is harmless
	r.mu.Unlock()
	if err != nil && !rewritten {
		return fmt.Errorf("replay file: %w", err)
	}
	r.synced = now
	return nil
}

// finish stores the reply and wakes the calls that wait for it. If there is no reply, or it cannot be stored, the request still counts as
// run.
func (r *Replays) finish(e *replay, reply []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(e.done)
	e.state = replayLost
	if len(reply) == 0 {
		return nil
	}
	if err := r.append(recordAnswered, e, reply); err != nil {
		return err
	}
	e.state, e.offset, e.length = replayAnswered, r.size-int64(len(reply))-4, len(reply)
	r.resize(e, int64(len(reply)))
	r.replies[e.key.from] = append(r.replies[e.key.from], e)
	r.thin(e.key.from)
	return nil
}

func (r *Replays) resize(e *replay, by int64) {
	e.cost += by
	r.live += by
	r.bytes[e.key.from] += by
}

// thin drops the oldest replies of a partner that exceeds its share. r.mu must be held.
func (r *Replays) thin(from crypto.SiteID) {
	for r.bytes[from] > r.most/replayShare && r.dropOldest(from) {
	}
}

// dropOldest drops a partner's oldest reply and reports whether there was one. r.mu must be held.
func (r *Replays) dropOldest(from crypto.SiteID) bool {
	for len(r.replies[from]) > 0 {
		e := r.replies[from][0]
		r.replies[from] = r.replies[from][1:]
		if r.entries[e.key] == e && e.state == replayAnswered {
			e.state = replayLost
			r.resize(e, -int64(e.length))
			return true
		}
	}
	return false
}

// heaviest returns, among the partners with replies, the one with the most bytes of entries. r.mu must be held.
func (r *Replays) heaviest() (from crypto.SiteID) {
	most := int64(-1)
	for site, es := range r.replies {
		if n := r.bytes[site]; len(es) > 0 && n > most {
			from, most = site, n
		}
	}
	return from
}

// reply returns a stored reply.
func (r *Replays) reply(e *replay) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := make([]byte, e.length)
	if _, err := r.file.ReadAt(b, e.offset); err != nil {
		return nil, fmt.Errorf("replay file: %w", err)
	}
	return b, nil
}

// Close closes the file. It does not wait for running requests.
func (r *Replays) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.disk.sync(r.file), r.file.Close())
}
