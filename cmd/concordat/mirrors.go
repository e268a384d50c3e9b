package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/index"
	"concordat/instance"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

func (a *app) mirrorCommand() *cobra.Command {
	c := &cobra.Command{Use: "mirror", Short: "Keep the fingerprints of partners' libraries here", Args: cobra.NoArgs,
		Long: `A mirror holds the fingerprints, titles and authors of a partner's library, whose owner allowed that (library
share --ship). concordat check compares with every complete mirror, and nothing leaves the site for it.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var deadline time.Duration
	sync := &cobra.Command{
		Use: "sync SITE/LIBRARY", Short: "Fetch what changed in a partner's library since the last time", Args: cobra.ExactArgs(1),
		Long: `Sync makes the mirror of a partner's library, or brings it up to date. Interrupted, it goes on from there when
repeated. A library that its owner has closed is deleted here.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline <= 0 {
				return cli.Usagef("--deadline %v: want more than nothing", deadline)
			}
			return a.withMirrorName(cmd.Context(), args[0], func(o *instance.Instance, who, lib string) error {
				return a.syncMirror(cmd.Context(), o, who, concordat.LibraryID(lib), deadline)
			})
		},
	}
	sync.Flags().DurationVar(&deadline, "deadline", site.DefaultDeadline, "how long the partner may take for one shipment")
	c.AddCommand(sync,
		&cobra.Command{Use: "list", Short: "List the mirrors and whether checks use them", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return a.with(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listMirrors(cmd.Context(), o) })
			}},
		&cobra.Command{Use: "drop SITE/LIBRARY", Short: "Delete the mirror of a partner's library", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.withMirrorName(cmd.Context(), args[0], func(o *instance.Instance, who, lib string) error {
					return a.dropMirrors(cmd.Context(), o, who, concordat.LibraryID(lib))
				})
			}})
	return c
}

// withMirrorName opens the site and calls f with the parts of SITE/LIBRARY.
func (a *app) withMirrorName(ctx context.Context, text string, f func(o *instance.Instance, who, lib string) error) error {
	who, lib, ok := strings.Cut(text, "/")
	if !ok || who == "" || lib == "" {
		return cli.Usagef("%s: want SITE/LIBRARY", text)
	}
	return a.with(ctx, instance.StoreOnly, func(o *instance.Instance) error { return f(o, who, lib) })
}

// mirrorsName is the folder of the mirrors of all epochs.
const mirrorsName = "mirrors"

// mirrorFolder is where the mirrors of an epoch lie, those of all partners in one index.
func mirrorFolder(dir string, e concordat.Epoch) string {
	return filepath.Join(dir, mirrorsName, fmt.Sprintf("%s-%d", e.Federation, e.Number))
}

// openMirrors opens the index of the mirrors of an epoch. Not to be changed, it can be read by several
// processes; a process that changes it has it alone.
func openMirrors(o *instance.Instance, e concordat.Epoch, scheme concordat.Scheme, change bool) (*index.Shard, error) {
	dir := mirrorFolder(o.Dir, e)
	if change {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
	}
	for began := time.Now(); ; time.Sleep(mirrorPoll) {
		s, err := index.Open(dir, index.Options{Site: o.ID(), Shard: "00", Scheme: scheme, ReadOnly: !change, StockSegments: o.Config.Index.StockSegments})
		if errors.Is(err, concordat.ErrLocked) && time.Since(began) < mirrorWait {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("mirrors of epoch %s: %w", e, err)
		}
		return s, nil
	}
}

// A site that is served looks after its mirrors from time to time and holds them for a moment: who wants them meanwhile
// waits for mirrorWait at most. A sync holds them for longer.
const (
	mirrorWait = time.Second
	mirrorPoll = 20 * time.Millisecond
)

// changeMirrors opens the index of the mirrors of an epoch to change it. Where it was lost, is damaged or of an earlier
// recipe, all that the store says to be in it is dropped, since a sync would go on from there.
func (a *app) changeMirrors(ctx context.Context, o *instance.Instance, e concordat.Epoch, scheme concordat.Scheme) (*index.Shard, error) {
	s, err := openMirrors(o, e, scheme, true)
	if errors.Is(err, concordat.ErrCorrupt) || errors.Is(err, concordat.ErrScheme) {
		if err = os.RemoveAll(mirrorFolder(o.Dir, e)); err == nil {
			s, err = openMirrors(o, e, scheme, true)
		}
	}
	if err != nil {
		return nil, err
	}
	rows, err := o.Mirrors(ctx)
	if err == nil {
		err = settleMirrors(ctx, o, s, e, rows)
	}
	if err != nil || !lost(s, rows, e) {
		return s, closedBy(s, err)
	}
	for _, x := range rows {
		if x.Epoch != e {
			continue
		}
		a.Warn("the index of the mirror of %s/%s (%s) is gone: concordat mirror sync fetches it anew", x.Site, x.Library, e)
		if err := o.DropMirror(ctx, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: e, Profiler: o.Profiler, Index: s}); err != nil {
			return nil, closedBy(s, err)
		}
	}
	return s, nil
}

// settleMirrors takes out of the index what no mirror has: a sync that was cut short puts into the index first.
func settleMirrors(ctx context.Context, o *instance.Instance, s *index.Shard, e concordat.Epoch, rows []store.Mirror) error {
	known := map[concordat.Ref]bool{}
	for _, x := range rows {
		if x.Epoch != e {
			continue
		}
		for after := concordat.DocumentID(""); ; {
			docs, err := o.Store.MirrorDocuments(ctx, x.MirrorKey, after, store.MaxPage)
			if err != nil {
				return err
			}
			for _, d := range docs {
				after = d.ID
				known[o.Mirrored(site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: e}, d.ID)] = true
			}
			if len(docs) < store.MaxPage {
				break
			}
		}
	}
	extra := slices.DeleteFunc(s.Refs(), func(r concordat.Ref) bool { return known[r] })
	for part := range slices.Chunk(extra, 500) {
		if err := s.Delete(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// purgeMirrors takes what left a mirror off the disk.
func purgeMirrors(ctx context.Context, o *instance.Instance, s *index.Shard) error {
	err := s.Purge(ctx)
	if err == nil {
		_, err = o.Store.Purge(ctx, true)
	}
	return err
}

// closedBy closes s and returns err with what went wrong then, or does nothing where err is nil.
func closedBy(s *index.Shard, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, s.Close())
}

// lost reports whether the index holds less than the mirrors of the epoch are known to have. What comes is put
// into the index first.
func lost(s *index.Shard, rows []store.Mirror, e concordat.Epoch) bool {
	n := 0
	for _, x := range rows {
		if x.Epoch == e {
			n += x.Sentences
		}
	}
	return s.Stats().Sentences < n
}

// syncMirror runs mirror sync.
func (a *app) syncMirror(ctx context.Context, o *instance.Instance, who string, lib concordat.LibraryID, deadline time.Duration) error {
	p, err := o.Partner(ctx, who)
	if err != nil {
		return err
	}
	if p.State != store.PartnerActive {
		return cli.Usagef("partner %s is %s", who, p.State)
	}
	c, err := a.circle(ctx, o)
	if err != nil {
		return err
	}
	cl, err := c.client(p.Site, deadline)
	if err != nil {
		return err
	}
	defer cl.Close()
	f, e, ready, err := c.mirrorEpoch(ctx, cl, lib)
	if err != nil {
		return err
	}
	pr, err := c.profiler(f, e)
	if err != nil {
		return err
	}
	m := site.MirroredLibrary{Site: p.Site, Library: lib, Epoch: concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number}, Profiler: pr}
	done, known, err := a.fetchMirror(ctx, o, cl, m)
	if err != nil {
		return err
	}
	if done.Withdrawn && !known {
		return fmt.Errorf("mirror of %s/%s: %w: the library is not open to this site", who, lib, concordat.ErrRefused)
	}
	if !done.Withdrawn {
		err = a.dropOlder(ctx, o, m)
	} else {
		err = a.dropUnless(ctx, o, m.Site, m.Library, func(store.Mirror) bool { return false })
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"site": m.Site, "library": lib, "epoch": m.Epoch.String(), "documents": done.Documents, "removed": done.Removed,
			"sentences": done.Sentences, "complete": done.Complete, "withdrawn": done.Withdrawn, "ready": ready})
	}
	if done.Withdrawn {
		a.Say("%s/%s is not open to this site any more: its mirror is deleted", who, lib)
		return nil
	}
	a.Say("%s/%s, epoch %s: %s new or changed with %s, %d removed", who, lib, m.Epoch, report.Plural(done.Documents, "document", "documents"),
		report.Plural(done.Sentences, "sentence", "sentences"), done.Removed)
	if ready < 1 {
		a.Say("%s of the library has fingerprints there as yet; sync again later", report.Percent(ready))
	}
	return nil
}

// mirrorEpoch returns the epoch in which to fetch a partner's library: the one for which most of it has
// fingerprints, and which share that is; of several the latest.
func (c *circle) mirrorEpoch(ctx context.Context, partner concordat.Partner, lib concordat.LibraryID) (f crypto.Federation, e crypto.FederationEpoch, ready float64, err error) {
	feds, err := c.shared(ctx, partner.Site())
	if err != nil {
		return f, e, 0, err
	}
	if len(feds) == 0 {
		return f, e, 0, cli.Usagef("%s: no federation in common; see concordat federation show", partner.Site())
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
		return f, e, 0, fmt.Errorf("%s: federations in common have no key of today: %w", partner.Site(), crypto.ErrNoKey)
	}
	return f, e, ready, nil
}

// fetchMirror brings one mirror up to date. known: there was one before.
func (a *app) fetchMirror(ctx context.Context, o *instance.Instance, partner concordat.Partner, m site.MirroredLibrary) (done site.Synced, known bool, err error) {
	row, err := o.Store.Mirror(ctx, store.MirrorKey{Site: m.Site, Library: m.Library, Epoch: m.Epoch})
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return done, false, err
	}
	known = err == nil
	shard, err := a.changeMirrors(ctx, o, m.Epoch, m.Profiler.Scheme())
	if err != nil {
		return done, known, err
	}
	m.Index = shard
	b := a.Progress(-1, "documents")
	progress := func(s site.Synced) { b.Set(s.Documents) }
	done, err = o.SyncMirror(ctx, partner, m, progress)
	var no *concordat.Refusal
	if errors.As(err, &no) && no.Reason == concordat.ReasonUnknown && len(row.Cursor) > 0 {
		// The owner has made its set anew and the place is not one of it.
		if err = o.DropMirror(ctx, m); err == nil {
			done, err = o.SyncMirror(ctx, partner, m, progress)
		}
	}
	b.Done()
	if err == nil && (done.Removed > 0 || done.Withdrawn) {
		err = purgeMirrors(ctx, o, shard)
	}
	return done, known, errors.Join(err, shard.Close(), tidyMirrors(ctx, o, m.Epoch))
}

// dropOlder deletes the mirrors of the same library in earlier epochs of a federation, whose place a
// complete one takes.
func (a *app) dropOlder(ctx context.Context, o *instance.Instance, m site.MirroredLibrary) error {
	return a.dropUnless(ctx, o, m.Site, m.Library, func(x store.Mirror) bool {
		return x.Epoch.Federation != m.Epoch.Federation || x.Epoch.Number >= m.Epoch.Number
	})
}

// dropUnless deletes the mirrors of a library but those that keep wants.
func (a *app) dropUnless(ctx context.Context, o *instance.Instance, partner concordat.SiteID, lib concordat.LibraryID, keep func(store.Mirror) bool) error {
	all, err := o.Mirrors(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Site != partner || x.Library != lib || keep(x) {
			continue
		}
		if err := a.dropMirror(ctx, o, x); err != nil {
			return err
		}
	}
	return nil
}

// dropMirror deletes one mirror. It needs no key of its epoch.
func (a *app) dropMirror(ctx context.Context, o *instance.Instance, x store.Mirror) error {
	shard, err := a.changeMirrors(ctx, o, x.Epoch, x.Scheme)
	if err != nil {
		return err
	}
	err = o.DropMirror(ctx, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: x.Epoch, Profiler: o.Profiler, Index: shard})
	if err == nil {
		err = purgeMirrors(ctx, o, shard)
	}
	if err = errors.Join(err, shard.Close()); err != nil {
		return err
	}
	return tidyMirrors(ctx, o, x.Epoch)
}

// tidyMirrors deletes the index of an epoch that has no mirror.
func tidyMirrors(ctx context.Context, o *instance.Instance, e concordat.Epoch) error {
	all, err := o.Mirrors(ctx)
	if err != nil || slices.ContainsFunc(all, func(x store.Mirror) bool { return x.Epoch == e }) {
		return err
	}
	return os.RemoveAll(mirrorFolder(o.Dir, e))
}

// dropMirrors runs mirror drop.
func (a *app) dropMirrors(ctx context.Context, o *instance.Instance, who string, lib concordat.LibraryID) error {
	partner := concordat.SiteID(who)
	if p, err := o.Partner(ctx, who); err == nil {
		partner = p.Site
	}
	n := 0
	if err := a.dropUnless(ctx, o, partner, lib, func(store.Mirror) bool { n++; return false }); err != nil {
		return err
	}
	if n == 0 {
		return cli.Usagef("no mirror of %s/%s; see concordat mirror list", who, lib)
	}
	if a.JSON {
		return a.Line(map[string]any{"site": partner, "library": lib, "dropped": n})
	}
	a.Say("the mirror of %s/%s is deleted", who, lib)
	return nil
}

// listMirrors runs mirror list.
func (a *app) listMirrors(ctx context.Context, o *instance.Instance) error {
	all, err := o.Mirrors(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	c, err := a.circle(ctx, o)
	if err != nil {
		return err
	}
	for _, x := range all {
		_, why, err := c.mirrorKey(x, time.Now())
		if err != nil {
			return err
		}
		if a.JSON {
			err = a.Line(map[string]any{"site": x.Site, "library": x.Library, "epoch": x.Epoch.String(), "documents": x.Documents,
				"sentences": x.Sentences, "synced": x.Synced, "complete": x.Complete, "used": why == "", "why": why})
		} else {
			state := "used by checks"
			if why != "" {
				state = "not used: " + why
			}
			a.Say("%s/%s  %s  %s, %s  %s  %s", x.Site, x.Library, x.Epoch, report.Plural(x.Documents, "document", "documents"),
				report.Plural(x.Sentences, "sentence", "sentences"), x.Synced.Local().Format(time.DateTime), state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mirrorKey returns the maker of fingerprints of a mirror, or why checks do not use it.
func (c *circle) mirrorKey(x store.Mirror, now time.Time) (p *profile.Profiler, why string, err error) {
	switch {
	case !x.Withdrawn.IsZero():
		return nil, "its owner has closed the library", nil
	case !x.Complete:
		return nil, "it is not complete; concordat mirror sync goes on", nil
	}
	id, _ := c.roster.Self()
	f, err := id.Federation(string(x.Epoch.Federation))
	var e crypto.FederationEpoch
	if err == nil {
		e, err = f.Epoch(x.Epoch.Number, now)
	}
	if errors.Is(err, crypto.ErrNoKey) {
		return nil, "its key period has ended; concordat mirror sync fetches the present one", nil
	}
	if err != nil {
		return nil, "", err
	}
	if p, err = c.profiler(f, e); err != nil {
		return nil, "", err
	}
	if p.Scheme() != x.Scheme {
		return nil, "its fingerprints are made another way", nil
	}
	return p, "", nil
}

// mirrors are the mirrors that a check uses.
type mirrors struct {
	in     []site.MirroredLibrary
	synced []time.Time // of each
	shards map[concordat.Epoch]*index.Shard
	// busy: some are left out only because another process changes them now.
	busy bool
}

// openAll opens the mirrors that checks use, and says of the others why they are left out. The caller
// closes what comes.
func (a *app) openAll(o *instance.Instance, c *circle, rows []store.Mirror) (*mirrors, error) {
	m := &mirrors{shards: map[concordat.Epoch]*index.Shard{}}
	for i, x := range rows {
		p, why, err := c.mirrorKey(x, time.Now())
		if err == nil && why == "" && m.newer(rows, i, c) {
			continue
		}
		if err == nil && why == "" && m.shards[x.Epoch] == nil {
			shard, fault := openMirrors(o, x.Epoch, x.Scheme, false)
			if fault == nil && lost(shard, rows, x.Epoch) {
				fault = errors.Join(concordat.ErrNotFound, shard.Close())
			}
			switch {
			case errors.Is(fault, concordat.ErrLocked):
				why, m.busy = "another process changes it now", true
			case errors.Is(fault, concordat.ErrNotFound), errors.Is(fault, concordat.ErrCorrupt):
				why = "its index is gone or damaged; concordat mirror sync fetches it anew"
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
			a.Warn("the mirror of %s/%s (%s) is left out: %s", x.Site, x.Library, x.Epoch, why)
			continue
		}
		m.in = append(m.in, site.MirroredLibrary{Site: x.Site, Library: x.Library, Epoch: x.Epoch, Profiler: p, Index: m.shards[x.Epoch]})
		m.synced = append(m.synced, x.Synced)
	}
	return m, nil
}

// newer reports whether another usable mirror holds the library of the i-th with a later date.
func (m *mirrors) newer(rows []store.Mirror, i int, c *circle) bool {
	for j, x := range rows {
		if j == i || x.Site != rows[i].Site || x.Library != rows[i].Library {
			continue
		}
		if _, why, err := c.mirrorKey(x, time.Now()); err != nil || why != "" {
			continue
		}
		if x.Synced.After(rows[i].Synced) || x.Synced.Equal(rows[i].Synced) && j > i {
			return true
		}
	}
	return false
}

func (m *mirrors) close() error {
	var errs []error
	for _, s := range m.shards {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// without returns the libraries of a partner that no mirror holds, and says of the others that they are not asked.
func (m *mirrors) without(a *app, partner concordat.SiteID, libraries []concordat.LibraryID, standing bool) []concordat.LibraryID {
	var out []concordat.LibraryID
	for _, lib := range libraries {
		i := slices.IndexFunc(m.in, func(x site.MirroredLibrary) bool { return x.Site == partner && x.Library == lib })
		if i < 0 {
			out = append(out, lib)
			continue
		}
		leaves := ""
		if standing {
			leaves = ", and keeps no question for later documents"
		}
		a.Warn("%s/%s is not asked%s: its mirror of %s is used; --no-mirrors asks it", partner, lib, leaves, m.synced[i].Local().Format(time.DateTime))
	}
	return out
}
