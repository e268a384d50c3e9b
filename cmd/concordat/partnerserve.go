package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/index"
	"concordat/instance"
	"concordat/site"
)

const (
	replaysName = "replays" // what was asked lately, so that nothing runs twice

	rereadEvery  = 5 * time.Second // of what commands change
	noticeEvery  = 5 * time.Second
	followEvery  = 2 * time.Second
	refreshEvery = 24 * time.Hour // of partners' cards
	noticeTime   = time.Minute    // for the delivery of one notice
	mostNotices  = 32             // delivered in a row

	// inboxSetting is the number of the last notice that was taken in.
	inboxSetting = "notices taken in"
)

// partnerServer answers partners, and keeps what they need in order.
type partnerServer struct {
	c       *circle
	log     *slog.Logger
	replays *federation.Replays
	server  *federation.Server
	address string
	// notice and again are how often notices, and what commands change, are looked after.
	notice, again time.Duration

	keeper atomic.Bool // this process does what one process does for the site

	mu     sync.Mutex // guards the rest
	shards map[concordat.Epoch]*index.Shard
	in     []string // the sets in use, to see what changed
	served map[concordat.Epoch]concordat.Scheme
}

// openPartners readies the site for its partners. It returns nil where no listener is configured.
func (s *server) openPartners(ctx context.Context, a *app) (*partnerServer, error) {
	if s.o.Config.Federation.Listen == "" {
		return nil, nil
	}
	c, err := a.circle(ctx, s.o)
	if err != nil {
		return nil, fmt.Errorf("federation.listen is set: %w", err)
	}
	c.roster.log = s.log
	path := filepath.Join(s.o.Dir, replaysName)
	if err := s.firstReplays(ctx, path); err != nil {
		return nil, err
	}
	var claim func(context.Context, crypto.SiteID, crypto.MessageID, time.Time) (bool, error)
	if s.o.Clustered() { // the file remembers the replies of this process, the store what all of them took
		claim = func(ctx context.Context, from crypto.SiteID, id crypto.MessageID, until time.Time) (bool, error) {
			return s.o.Store.TakeMessage(ctx, instance.PartnerName(from), id[:], until)
		}
	}
	p := &partnerServer{c: c, log: s.log, shards: map[concordat.Epoch]*index.Shard{}, served: map[concordat.Epoch]concordat.Scheme{}, notice: noticeEvery, again: rereadEvery}
	if p.replays, err = federation.OpenReplays(path, time.Now()); err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	p.server = federation.NewServer(c.roster, s.o.Site, p, p.replays, id.LocalKey(orderPurpose), federation.ServerOptions{
		Registrar: c.roster, Journal: c.roster, Log: s.log, Behind: s.o.Config.Federation.Behind, Observe: s.meters.answered, Claim: claim})
	if err := p.useSets(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// firstReplays makes the replay file of a site that never had one. One that is lost is not made anew
// here: OpenReplays then refuses what may have been answered before.
func (s *server) firstReplays(ctx context.Context, path string) error {
	const setting = "replay file made"
	if s.o.Clustered() { // a node is new, and the store has what the others took
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return federation.CreateReplays(path)
		}
	}
	_, err := s.o.Store.Setting(ctx, setting)
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := federation.CreateReplays(path); err != nil {
			return err
		}
	}
	return s.o.Store.SetSetting(ctx, setting, "yes")
}

func (p *partnerServer) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.replays.Close()}
	for _, s := range p.shards {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// run answers at l and does what is due until ctx ends.
func (p *partnerServer) run(ctx context.Context, g *errgroup.Group, l net.Listener, s *server) {
	p.address = l.Addr().String()
	g.Go(func() error { return p.server.Serve(ctx, l, shutdownTime) })
	g.Go(func() error { return p.every(ctx, p.again, "keys", p.reread) })
	g.Go(func() error { return s.onDuty(ctx, dutyKeeper, p.keep) })
	if s.o.Clustered() {
		g.Go(func() error { return p.follow(ctx) })
	}
}

// keep does what one process does for the site until ctx ends.
func (p *partnerServer) keep(ctx context.Context) error {
	p.keeper.Store(true)
	defer p.keeper.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.c.o.KeepEpochs(ctx) })
	g.Go(func() error { return p.every(ctx, p.notice, "notices", p.notices) })
	g.Go(func() error {
		return p.every(ctx, grantEvery, "federations", func(ctx context.Context) error { p.c.joinAnew(ctx, p.log); return nil })
	})
	g.Go(func() error { return p.every(ctx, refreshEvery, "cards", p.refreshCards) })
	return g.Wait()
}

// follow takes over what the process that keeps the fingerprint sets makes of them.
func (p *partnerServer) follow(ctx context.Context) error {
	return p.every(ctx, followEvery, "fingerprint sets", func(ctx context.Context) error {
		if p.keeper.Load() {
			return nil
		}
		return p.c.o.Follow(ctx)
	})
}

// every calls f now and then until ctx ends. What fails is logged and tried again.
func (p *partnerServer) every(ctx context.Context, d time.Duration, what string, f func(context.Context) error) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			p.log.Error(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// reread takes up what commands changed: keys, card, federations and their members.
func (p *partnerServer) reread(ctx context.Context) error {
	if err := p.c.reread(ctx); err != nil {
		return err
	}
	return p.useSets(ctx)
}

// useSets opens the sets of fingerprints of all epochs that are answered, and makes the site use them.
func (p *partnerServer) useSets(ctx context.Context) error {
	ms, err := p.c.o.Store.Memberships(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, _ := p.c.roster.Self()
	var sets []site.EpochSet
	var in []string
	served := map[concordat.Epoch]concordat.Scheme{}
	for _, m := range ms {
		f, err := id.Federation(string(m.Federation))
		if errors.Is(err, crypto.ErrNoKey) {
			continue
		}
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(instance.Members(m), func(s concordat.SiteID) bool { return s == instance.PartnerName(id.Site()) })
		for _, e := range f.Epochs {
			if !e.Serves(time.Now()) {
				continue
			}
			set, err := p.set(f, e, others)
			if err != nil {
				return err
			}
			sets = append(sets, *set)
			served[set.Epoch] = set.Profiler.Scheme()
			in = append(in, fmt.Sprint(set.Epoch, others))
		}
	}
	if slices.Equal(in, p.in) && p.in != nil {
		return nil
	}
	if err := p.c.o.UseEpochs(ctx, sets...); err != nil {
		return err
	}
	p.in, p.served = append([]string{}, in...), served
	for e, s := range p.shards {
		if _, ok := served[e]; !ok {
			delete(p.shards, e)
			if err := p.retire(ctx, e, s); err != nil {
				p.log.Error("fingerprints of an ended epoch", "epoch", e.String(), "error", err)
			}
		}
	}
	return nil
}

// set opens the set of one epoch.
func (p *partnerServer) set(f crypto.Federation, e crypto.FederationEpoch, others []concordat.SiteID) (*site.EpochSet, error) {
	epoch := concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number}
	pr, err := p.c.profiler(f, e)
	if err != nil {
		return nil, err
	}
	shard := p.shards[epoch]
	if shard == nil {
		dir := epochFolder(p.c.o.Dir, epoch)
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
		if shard, err = index.Open(dir, index.Options{Site: p.c.o.ID(), Shard: "00", Scheme: pr.Scheme(), Logger: p.log, StockSegments: p.c.o.Config.Index.StockSegments}); err != nil {
			return nil, fmt.Errorf("fingerprints of epoch %s: %w", epoch, err)
		}
		p.shards[epoch] = shard
	}
	id, _ := p.c.roster.Self()
	handles := id.LocalKey("handles " + epoch.String())
	followed, err := p.followed(epoch)
	if err != nil {
		return nil, err
	}
	return &site.EpochSet{Epoch: epoch, Profiler: pr, Index: shard, SketchKey: e.AuthorKey(), HandleKey: handles[:], Members: others, Followed: followed,
		PairKey: func(asker concordat.SiteID) []byte {
			to, err := crypto.ParseSiteID(string(asker))
			if err != nil {
				return e.AuthorKey() // nobody: whoever asks has a card
			}
			return e.SketchKey(to, id.Site())
		}}, nil
}

// retire deletes the fingerprints of an epoch that is no longer answered.
func (p *partnerServer) retire(ctx context.Context, e concordat.Epoch, s *index.Shard) error {
	if err := s.Close(); err != nil {
		return err
	}
	if err := p.c.o.DropEpoch(ctx, e); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(epochFolder(p.c.o.Dir, e)), os.RemoveAll(epochFolder(p.c.o.Dir, e)+followedEnd))
}

// Scheme implements federation.Keeper.
func (p *partnerServer) Scheme(e concordat.Epoch) (concordat.Scheme, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.served[e]
	return s, ok
}

// Grant implements federation.Keeper.
func (p *partnerServer) Grant(ctx context.Context, to concordat.SiteID, f concordat.FederationID) ([]byte, error) {
	if err := p.c.reread(ctx); err != nil { // a command may have made the federation a moment ago
		return nil, err
	}
	id, _ := p.c.roster.Self()
	return grant(ctx, p.c.o.Store, id, to, f)
}

// notices delivers what partners are to be told, and takes in what they told.
func (p *partnerServer) notices(ctx context.Context) error {
	out, err := p.c.o.Outbox(ctx, mostNotices)
	if err != nil {
		return err
	}
	for _, o := range out {
		cause := p.deliver(ctx, o.Partner, &o.Notice)
		if ctx.Err() != nil {
			return nil
		}
		var no *concordat.Refusal
		if cause == nil || errors.As(cause, &no) && !errors.Is(cause, concordat.ErrUnavailable) {
			err = p.c.o.Delivered(ctx, o) // a partner that does not want it is not told again
		} else {
			err = p.c.o.Undelivered(ctx, o, cause)
		}
		if err != nil {
			return err
		}
	}
	return p.takeIn(ctx)
}

func (p *partnerServer) deliver(ctx context.Context, to concordat.SiteID, n *concordat.Notice) error {
	cl, err := p.c.client(to, noticeTime)
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Notify(ctx, n)
}

// takeIn does what follows from notices that came.
func (p *partnerServer) takeIn(ctx context.Context) error {
	text, err := p.c.o.Store.Setting(ctx, inboxSetting)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	last, _ := strconv.ParseInt(text, 10, 64) // absent: from the beginning
	got, err := p.c.o.Inbox(ctx, last, mostNotices)
	if err != nil {
		return err
	}
	for _, n := range got {
		task, err := p.c.o.Noticed(ctx, n.Partner, &n.Notice)
		if err == nil && n.Notice.Kind == concordat.NoticeDisclosure {
			err = p.refresh(ctx, task, n.Partner)
		}
		if err != nil { // the notice's fault, or that of its time: it is not taken in again
			p.log.Warn("notice", "site", n.Partner, "kind", n.Notice.Kind, "error", err)
		} else {
			p.log.Info("notice", "site", n.Partner, "kind", n.Notice.Kind, "task", task)
		}
		if err := p.c.o.Store.SetSetting(ctx, inboxSetting, strconv.FormatInt(n.Seq, 10)); err != nil {
			return err
		}
	}
	return nil
}

// refresh asks a partner again for passages on which it has decided.
func (p *partnerServer) refresh(ctx context.Context, task concordat.TaskID, partner concordat.SiteID) error {
	cl, err := p.c.client(partner, time.Minute)
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = p.c.o.RefreshDisclosures(ctx, task, cl)
	return err
}

// refreshCards fetches the cards of partners.
func (p *partnerServer) refreshCards(ctx context.Context) error {
	ps, err := p.c.o.Store.Partners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range ps {
		if one.State != "active" {
			continue
		}
		cl, err := p.c.client(one.Site, time.Minute)
		if err == nil {
			err = cl.Refresh(ctx)
			cl.Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("card of %s: %w", one.Site, err))
		}
	}
	return errors.Join(errs...)
}

func (p *partnerServer) status(ctx context.Context) *instance.FederationStatus {
	if p == nil {
		return nil
	}
	st := &instance.FederationStatus{Listen: p.address}
	var err error
	if st.Epochs, err = p.c.o.EpochStates(ctx); err != nil {
		p.log.Error("status", "error", err)
	}
	return st
}
