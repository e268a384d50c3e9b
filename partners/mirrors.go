package partners

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/index"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/site/ask"
	"concordat/store"
)

// MirrorsName is the folder for the mirrors of all epochs.
const MirrorsName = "mirrors"

// MirrorFolder returns the folder for an epoch's mirrors. The mirrors of all partners share one index.
func MirrorFolder(dir string, e concordat.Epoch) string {
	return filepath.Join(dir, MirrorsName, fmt.Sprintf("%s-%d", e.Federation, e.Number))
}

// OpenMirrors opens the index of an epoch's mirrors. Several processes can read the index at the same time; changes require exclusive
// access.
func OpenMirrors(o *instance.Instance, e concordat.Epoch, scheme concordat.Scheme, change bool) (*index.Shard, error) {
	dir := MirrorFolder(o.Dir, e)
	if change {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
	}
	for began := time.Now(); ; time.Sleep(mirrorPoll) {
		s, err := index.Open(dir, index.Options{Site: o.Site.ID(), Shard: "00", Scheme: scheme, ReadOnly: !change,
			StockSegments: o.Config.Index.StockSegments})
		if errors.Is(err, concordat.ErrLocked) && time.Since(began) < mirrorWait {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open the mirrors of epoch %s: %w", e, err)
		}
		return s, nil
	}
}

// A served site tidies its mirrors from time to time and locks them for a moment; other processes wait at most mirrorWait. A sync locks
// them for longer.
const (
	mirrorWait = time.Second
	mirrorPoll = 20 * time.Millisecond
)

// MirrorStore changes the mirrors of a site.
type MirrorStore struct {
	o    *instance.Instance
	tell func(format string, args ...any) // reports losses
}

// NewMirrorStore returns a MirrorStore that reports losses with tell.
func NewMirrorStore(o *instance.Instance, tell func(format string, args ...any)) *MirrorStore {
	return &MirrorStore{o, tell}
}

// change opens the index of an epoch's mirrors for writing. If the index is lost, damaged or has an earlier recipe, change drops all
// mirrors that the store records for it. Otherwise, a sync would resume where they ended.
func (ms *MirrorStore) change(ctx context.Context, e concordat.Epoch, scheme concordat.Scheme) (*index.Shard, error) {
	s, err := OpenMirrors(ms.o, e, scheme, true)
	if errors.Is(err, concordat.ErrCorrupt) || errors.Is(err, concordat.ErrScheme) {
		if err = os.RemoveAll(MirrorFolder(ms.o.Dir, e)); err == nil {
			s, err = OpenMirrors(ms.o, e, scheme, true)
		}
	}
	if err != nil {
		return nil, err
	}
	rows, err := ms.o.Asks.Mirrors(ctx)
	if err == nil {
		err = settleMirrors(ctx, ms.o, s, e, rows)
	}
	if err != nil || !lost(s, rows, e) {
		return s, closedBy(s, err)
	}
	for _, x := range rows {
		if x.Epoch != e {
			continue
		}
		ms.tell("the index of the mirror of %s/%s (%s) is missing; to fetch it again, run concordat mirror sync", x.Site, x.Library, e)
		if err := ms.o.Asks.DropMirror(ctx, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: e, Profiler: ms.o.Profiler,
			Index: s}); err != nil {
			return nil, closedBy(s, err)
		}
	}
	return s, nil
}

// MirrorEpoch returns the epoch in which to fetch a partner's library, and the share of the library that has fingerprints in it. This is
// the epoch with the largest share or, in a tie, the latest.
func (c *Client) MirrorEpoch(ctx context.Context, partner *federation.Client,
	lib concordat.LibraryID) (f crypto.Federation, e crypto.FederationEpoch, ready float64, err error) {
	feds, err := c.shared(ctx, partner.Site())
	if err != nil {
		return f, e, 0, err
	}
	if len(feds) == 0 {
		return f, e, 0, instance.Usagef("%s: this site shares no federation with the partner; see concordat federation show", partner.Site())
	}
	cat, err := partner.Catalogue(ctx)
	if err != nil {
		return f, e, 0, err
	}
	share := map[concordat.Epoch]float64{}
	for _, l := range cat.Libraries {
		for _, r := range l.Ready {
			if l.ID == lib {
				share[r.Epoch] = r.Ready
			}
		}
	}
	for _, one := range feds {
		for _, x := range slices.Backward(one.Epochs) {
			r := share[concordat.Epoch{Federation: concordat.FederationID(one.Name), Number: x.Number}]
			if x.Serves(time.Now()) && (r > ready || e.Number == 0) {
				f, e, ready = one, x, r
			}
		}
	}
	if e.Number == 0 {
		return f, e, 0, fmt.Errorf("%s: the shared federations have no key for today: %w", partner.Site(), crypto.ErrNoKey)
	}
	return f, e, ready, nil
}

// Fetch updates one mirror. known means that it existed before.
func (ms *MirrorStore) Fetch(ctx context.Context, partner ask.Shipper, m site.MirroredLibrary,
	progress func(ask.Synced)) (done ask.Synced, known bool, err error) {
	row, err := ms.o.Store.Asks.Mirror(ctx, store.MirrorKey{Site: m.Site, Library: m.Library, Epoch: m.Epoch})
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return done, false, err
	}
	known = err == nil
	shard, err := ms.change(ctx, m.Epoch, m.Profiler.Scheme())
	if err != nil {
		return done, known, err
	}
	m.Index = shard
	done, err = ms.o.Asks.SyncMirror(ctx, partner, m, progress)
	var no *concordat.Refusal
	if errors.As(err, &no) && no.Reason == concordat.ReasonUnknown && len(row.Cursor) > 0 {
		// The owner has rebuilt its set, and the cursor belongs to an earlier one.
		if err = ms.o.Asks.DropMirror(ctx, m); err == nil {
			done, err = ms.o.Asks.SyncMirror(ctx, partner, m, progress)
		}
	}
	if err == nil && (done.Removed > 0 || done.Withdrawn) {
		err = purgeMirrors(ctx, ms.o, shard)
	}
	return done, known, errors.Join(err, shard.Close(), tidyMirrors(ctx, ms.o, m.Epoch))
}

// DropOlder deletes the mirrors of the same library in earlier epochs of a federation, after a complete mirror has replaced them.
func (ms *MirrorStore) DropOlder(ctx context.Context, m site.MirroredLibrary) error {
	return ms.DropUnless(ctx, m.Site, m.Library, func(x store.Mirror) bool {
		return x.Epoch.Federation != m.Epoch.Federation || x.Epoch.Number >= m.Epoch.Number
	})
}

// DropUnless deletes a library's mirrors that keep does not accept.
func (ms *MirrorStore) DropUnless(ctx context.Context, partner concordat.SiteID, lib concordat.LibraryID,
	keep func(store.Mirror) bool) error {
	all, err := ms.o.Asks.Mirrors(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Site != partner || x.Library != lib || keep(x) {
			continue
		}
		if err := ms.drop(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes one mirror. It does not need the epoch's key.
func (ms *MirrorStore) drop(ctx context.Context, x store.Mirror) error {
	shard, err := ms.change(ctx, x.Epoch, x.Scheme)
	if err != nil {
		return err
	}
	err = ms.o.Asks.DropMirror(ctx, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: x.Epoch, Profiler: ms.o.Profiler,
		Index: shard})
	if err == nil {
		err = purgeMirrors(ctx, ms.o, shard)
	}
	if err = errors.Join(err, shard.Close()); err != nil {
		return err
	}
	return tidyMirrors(ctx, ms.o, x.Epoch)
}

// MirrorKey returns the profiler for a mirror, or the reason why checks do not use the mirror.
func (c *Client) MirrorKey(x store.Mirror, now time.Time) (p *profile.Profiler, why string, err error) {
	switch {
	case !x.Withdrawn.IsZero():
		return nil, "the partner no longer shares the library", nil
	case !x.Complete:
		return nil, "the mirror is incomplete; to complete it, run concordat mirror sync", nil
	}
	id, _ := c.roster.Self()
	f, err := id.Federation(string(x.Epoch.Federation))
	var e crypto.FederationEpoch
	if err == nil {
		e, err = f.Epoch(x.Epoch.Number, now)
	}
	if errors.Is(err, crypto.ErrNoKey) {
		return nil, "the mirror's key period has ended; to fetch a current mirror, run concordat mirror sync", nil
	}
	if err != nil {
		return nil, "", err
	}
	if p, err = c.Profiler(f, e); err != nil {
		return nil, "", err
	}
	if p.Scheme() != x.Scheme {
		return nil, "the mirror uses a different fingerprint scheme", nil
	}
	return p, "", nil
}

// mirrorSet is the set of mirrors that a check uses.
type mirrorSet struct {
	in     []site.MirroredLibrary
	states []store.Mirror // the state of each mirror
	shards map[concordat.Epoch]*index.Shard
	// busy means that some mirrors are omitted only because another process is changing them.
	busy bool
}

// openUsable opens the mirrors that checks can use, and prints why others are omitted. The caller must close the result.
func (c *Client) openUsable(rows []store.Mirror) (*mirrorSet, error) {
	m := &mirrorSet{shards: map[concordat.Epoch]*index.Shard{}}
	for i, x := range rows {
		p, why, err := c.MirrorKey(x, time.Now())
		if err == nil && why == "" && m.newer(rows, i, c) {
			continue
		}
		if err == nil && why == "" && m.shards[x.Epoch] == nil {
			shard, fault := OpenMirrors(c.o, x.Epoch, x.Scheme, false)
			if fault == nil && lost(shard, rows, x.Epoch) {
				fault = errors.Join(concordat.ErrNotFound, shard.Close())
			}
			switch {
			case errors.Is(fault, concordat.ErrLocked):
				why, m.busy = "another process is changing the mirror", true
			case errors.Is(fault, concordat.ErrNotFound), errors.Is(fault, concordat.ErrCorrupt):
				why = "the mirror's index is missing or damaged; to fetch it again, run concordat mirror sync"
			case fault != nil:
				err = fault
			default:
				m.shards[x.Epoch] = shard
			}
		}
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		if why != "" {
			c.tell("the mirror of %s/%s (%s) is not used: %s", x.Site, x.Library, x.Epoch, why)
			continue
		}
		m.in = append(m.in, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: x.Epoch, Profiler: p, Index: m.shards[x.Epoch]})
		m.states = append(m.states, x)
	}
	return m, nil
}

// newer reports whether another usable mirror of the same library as number i has a later date.
func (m *mirrorSet) newer(rows []store.Mirror, i int, c *Client) bool {
	for j, x := range rows {
		if j == i || x.Site != rows[i].Site || x.Library != rows[i].Library {
			continue
		}
		if _, why, err := c.MirrorKey(x, time.Now()); err != nil || why != "" {
			continue
		}
		if x.Synced.After(rows[i].Synced) || x.Synced.Equal(rows[i].Synced) && j > i {
			return true
		}
	}
	return false
}

func (m *mirrorSet) close() error {
	var errs []error
	for _, s := range m.shards {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// without returns the libraries of a partner that no mirror covers completely. It prints that the partner is not queried about the
// others. If a mirror lacks documents, its owner is queried instead, because the owner has all of them.
func (m *mirrorSet) without(tell func(string, ...any), partner concordat.SiteID, libraries []concordat.LibraryID,
	standing bool) []concordat.LibraryID {
	var out []concordat.LibraryID
	for _, lib := range libraries {
		i := slices.IndexFunc(m.in, func(x site.MirroredLibrary) bool { return x.Site == partner && x.Library == lib })
		if i < 0 {
			out = append(out, lib)
			continue
		}
		if n := m.states[i].Withheld; n > 0 {
			tell("%s/%s is asked directly, because its mirror lacks %d of its documents", partner, lib, n)
			m.in, m.states = slices.Delete(m.in, i, i+1), slices.Delete(m.states, i, i+1)
			out = append(out, lib)
			continue
		}
		leaves := ""
		if standing {
			leaves = " and does not keep the question for later documents"
		}
		tell("%s/%s is not asked%s, because its mirror of %s is used; to ask the partner, add --no-mirrors", partner, lib, leaves,
			m.states[i].Synced.Local().Format(time.DateTime))
	}
	return out
}
