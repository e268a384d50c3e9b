package partners

import (
	"cmp"
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
	"concordat/profile"
	"concordat/site/answer"
	"concordat/site/compare"
)

const (
	ReplaysName = "replays" // recent requests, so that none is processed twice

	rereadEvery  = 5 * time.Second // interval of checks for changes by commands
	noticeEvery  = 5 * time.Second
	followEvery  = 2 * time.Second
	refreshEvery = 24 * time.Hour   // interval of updates of partners' cards
	noticeTime   = time.Minute      // time limit for delivering one notice
	leaveTime    = 30 * time.Second // time limit for answers in progress when the process stops
	maxNotices   = 32               // maximum number delivered in one batch

	// inboxSetting contains the number of the last processed notice.
	inboxSetting = "notices received"
)

// Server answers partners and maintains the data that this requires.
type Server struct {
	client  *Client
	log     *slog.Logger
	replays *federation.Replays
	server  *federation.Server
	Address string
	// notice and again are the intervals at which the server checks for notices and for changes by commands.
	notice, again time.Duration

	maintains atomic.Bool // this process does the work reserved for a single process of the site

	mu     sync.Mutex // guards the fields below
	shards map[concordat.Epoch]*index.Shard
	in     []string // the sets in use, to detect changes
	served map[concordat.Epoch]concordat.Scheme
}

// Listen returns a server for the site's partners, or nil if no listener is configured.
func Listen(ctx context.Context, o *instance.Instance, options Options) (*Server, error) {
	if o.Config.Federation.Listen == "" {
		return nil, nil
	}
	return NewServer(ctx, o, options)
}

// NewServer returns a server for partners. The site's card must have an address.
func NewServer(ctx context.Context, o *instance.Instance, options Options) (*Server, error) {
	c, err := Open(ctx, o, options)
	if err != nil {
		return nil, fmt.Errorf("federation.listen is set: %w", err)
	}
	path := filepath.Join(o.Dir, ReplaysName)
	if err := firstReplays(ctx, o, path); err != nil {
		return nil, err
	}
	var claim func(context.Context, crypto.SiteID, crypto.MessageID, time.Time) (bool, error)
	if o.Config.Clustered() { // the file contains this process's replies, and the store contains the requests of all processes
		claim = func(ctx context.Context, from crypto.SiteID, id crypto.MessageID, until time.Time) (bool, error) {
			return o.Store.Answers.TakeMessage(ctx, instance.PartnerName(from), id[:], until)
		}
	}
	p := &Server{client: c, log: options.Log, shards: map[concordat.Epoch]*index.Shard{}, served: map[concordat.Epoch]concordat.Scheme{},
		notice: cmp.Or(options.Notices, noticeEvery), again: cmp.Or(options.Reread, rereadEvery)}
	if p.replays, err = federation.OpenReplays(path, time.Now()); err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	p.server = federation.NewServer(c.roster, o.Answers, p, p.replays, id.LocalKey(OrderPurpose), federation.ServerOptions{
		Registrar: c.roster, Journal: c.roster, Log: options.Log, Behind: o.Config.Federation.Behind, Claim: claim, Panicked: options.Panicked,
		Observe: observing(c.roster.messageEnded, options.Answered)})
	if err := p.useSets(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// firstReplays creates the replay file of a site that has never had one. It does not replace a lost file, because OpenReplays then
// refuses requests that may have been answered before.
func firstReplays(ctx context.Context, o *instance.Instance, path string) error {
	const setting = "replay file created"
	if o.Config.Clustered() { // a node is new, and the store contains the other nodes' requests
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return federation.CreateReplays(path)
		}
	}
	_, err := o.Store.Setting(ctx, setting)
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := federation.CreateReplays(path); err != nil {
			return err
		}
	}
	return o.Store.SetSetting(ctx, setting, "yes")
}

// Close closes the record of replies and the fingerprint indexes. After that, the server no longer answers.
func (p *Server) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.replays.Close()}
	for _, s := range p.shards {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Self returns the current identity and card of the site.
func (p *Server) Self() (*crypto.Identity, *crypto.Card) { return p.client.roster.Self() }

// Run serves on l and does the periodic work until ctx ends. It calls alone while this process does the work reserved for a single
// process of the site.
func (p *Server) Run(ctx context.Context, g *errgroup.Group, l net.Listener,
	alone func(context.Context, func(context.Context) error) error) {
	p.Address = l.Addr().String()
	g.Go(func() error { return p.server.Serve(ctx, l, leaveTime) })
	g.Go(func() error { return p.every(ctx, p.again, "keys", p.reread) })
	g.Go(func() error { return alone(ctx, p.keep) })
	if p.client.o.Config.Clustered() {
		g.Go(func() error { return p.follow(ctx) })
	}
}

// keep does the work reserved for a single process of the site until ctx ends.
func (p *Server) keep(ctx context.Context) error {
	p.maintains.Store(true)
	defer p.maintains.Store(false)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.client.o.Answers.Sets.KeepEpochs(ctx) })
	g.Go(func() error { return p.every(ctx, p.notice, "notices", p.DeliverNotices) })
	g.Go(func() error {
		return p.every(ctx, grantEvery, "federations", func(ctx context.Context) error { p.client.joinAnew(ctx, p.log); return nil })
	})
	g.Go(func() error { return p.every(ctx, refreshEvery, "cards", p.refreshCards) })
	return g.Wait()
}

// follow applies the changes to fingerprint sets made by the process that maintains them.
func (p *Server) follow(ctx context.Context) error {
	return p.every(ctx, followEvery, "fingerprint sets", func(ctx context.Context) error {
		if p.maintains.Load() {
			return nil
		}
		return p.client.o.Answers.Sets.Follow(ctx)
	})
}

// every calls f periodically until ctx ends. It logs failures and panics, and continues to call f.
func (p *Server) every(ctx context.Context, d time.Duration, what string, f func(context.Context) error) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		err := compare.Guard(func() error { return f(ctx) })
		if !p.client.o.Site.NotePanic(err, "work", what) && err != nil && ctx.Err() == nil {
			p.log.Error(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// reread applies changes made by commands to keys, the card, federations and their members.
func (p *Server) reread(ctx context.Context) error {
	if err := p.client.reread(ctx); err != nil {
		return err
	}
	return p.useSets(ctx)
}

// Client returns the server's client for the site's partners.
func (p *Server) Client() *Client { return p.client }

// Reread immediately applies changes to keys, the card and federations.
func (p *Server) Reread(ctx context.Context) error { return p.reread(ctx) }

// useSets opens the fingerprint sets of all epochs that the site answers, and makes the site use them.
func (p *Server) useSets(ctx context.Context) error {
	ms, err := p.client.o.Store.Partners.Memberships(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, _ := p.client.roster.Self()
	var all []answeredEpoch
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
			pr, err := p.client.Profiler(f, e)
			if err != nil {
				return err
			}
			x := answeredEpoch{concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number}, e, pr, others}
			all = append(all, x)
			served[x.name] = pr.Scheme()
			in = append(in, fmt.Sprint(x.name, pr.Scheme(), others))
		}
	}
	if slices.Equal(in, p.in) && p.in != nil {
		return nil
	}
	if err := p.dropReplaced(ctx, served); err != nil {
		return err
	}
	var sets []answer.EpochSet
	for _, x := range all {
		set, err := p.set(x)
		if err != nil {
			return err
		}
		sets = append(sets, *set)
	}
	if err := p.client.o.Answers.Sets.UseEpochs(ctx, sets...); err != nil {
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

// dropReplaced deletes the fingerprints of epochs that now have a different secret under the same number. This happens when a site leaves
// a federation and creates one with the same name, which starts at 1 again. Such fingerprints are useless for answers, and an index can
// contain fingerprints of only one scheme.
func (p *Server) dropReplaced(ctx context.Context, served map[concordat.Epoch]concordat.Scheme) error {
	rows, err := p.client.o.Store.Answers.Epochs(ctx)
	if err != nil {
		return err
	}
	kept := map[concordat.Epoch]concordat.Scheme{} // from the store, because another node may have been first
	for _, r := range rows {
		kept[r.Epoch] = r.Scheme
	}
	for e, scheme := range served {
		former, known := kept[e]
		replaced := known && former != scheme
		if open, ok := p.served[e]; !replaced && (!ok || open == scheme) {
			continue
		}
		if err := p.client.o.Answers.Sets.UseEpochs(ctx); err != nil { // these sets now answer nothing; the others are added below
			return err
		}
		s := p.shards[e]
		delete(p.shards, e)
		delete(p.served, e)
		p.in = nil
		if err := p.discard(ctx, e, s, replaced); err != nil {
			return fmt.Errorf("discard the fingerprints of epoch %s made with its former secret: %w", e, err)
		}
		p.log.Info("the fingerprints of an epoch are recomputed: its secret has changed", "epoch", e.String())
	}
	return nil
}

// answeredEpoch is an epoch that the site answers.
type answeredEpoch struct {
	name     concordat.Epoch
	keys     crypto.FederationEpoch
	profiler *profile.Profiler
	others   []concordat.SiteID // its members other than this site
}

// set opens the set of an epoch.
func (p *Server) set(x answeredEpoch) (*answer.EpochSet, error) {
	epoch, e, pr := x.name, x.keys, x.profiler
	shard := p.shards[epoch]
	if shard == nil {
		dir := EpochFolder(p.client.o.Dir, epoch)
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
		options := index.Options{Site: p.client.o.Site.ID(), Shard: "00", Scheme: pr.Scheme(), Logger: p.log,
			StockSegments: p.client.o.Config.Index.StockSegments}
		var err error
		shard, err = index.Open(dir, options)
		if errors.Is(err, concordat.ErrScheme) { // left over from the former secret
			if err = errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+FollowedEnd)); err == nil {
				shard, err = index.Open(dir, options)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("open the fingerprints of epoch %s: %w", epoch, err)
		}
		p.shards[epoch] = shard
	}
	id, _ := p.client.roster.Self()
	handles := id.LocalKey("handles " + epoch.String())
	followed, err := p.followed(epoch)
	if err != nil {
		return nil, err
	}
	return &answer.EpochSet{Epoch: epoch, Profiler: pr, Index: shard, SketchKey: e.AuthorKey(), CellKey: e.CellKey(),
		HandleKey: handles[:], Members: x.others,
		Followed: followed,
		PairKey: func(asker concordat.SiteID) []byte {
			to, err := crypto.ParseSiteID(string(asker))
			if err != nil {
				return e.AuthorKey() // cannot happen, because every caller has a card
			}
			return e.SketchKey(to, id.Site())
		}}, nil
}

// retire deletes the fingerprints of an epoch that the site no longer answers.
func (p *Server) retire(ctx context.Context, e concordat.Epoch, s *index.Shard) error {
	return p.discard(ctx, e, s, true)
}

// discard closes and deletes the index of an epoch, which is nil if not open. If forget is set, it also deletes the index's rows in the
// store.
func (p *Server) discard(ctx context.Context, e concordat.Epoch, s *index.Shard, forget bool) error {
	if s != nil {
		if err := s.Close(); err != nil {
			return err
		}
	}
	if forget {
		if err := p.client.o.Answers.Sets.DropEpoch(ctx, e); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(EpochFolder(p.client.o.Dir, e)), os.RemoveAll(EpochFolder(p.client.o.Dir, e)+FollowedEnd))
}

// Scheme implements federation.Epochs.
func (p *Server) Scheme(e concordat.Epoch) (concordat.Scheme, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.served[e]
	return s, ok
}

// Grant implements federation.Epochs.
func (p *Server) Grant(ctx context.Context, to concordat.SiteID, f concordat.FederationID) ([]byte, error) {
	if err := p.client.reread(ctx); err != nil { // a command may have just created the federation
		return nil, err
	}
	id, _ := p.client.roster.Self()
	return Grant(ctx, p.client.o.Store, id, to, f)
}

// DeliverNotices delivers notices to partners and processes received ones.
func (p *Server) DeliverNotices(ctx context.Context) error {
	out, err := p.client.o.Answers.Notices.Outbox(ctx, maxNotices)
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
			err = p.client.o.Answers.Notices.Delivered(ctx, o) // even a notice that the partner declined is not resent
		} else {
			err = p.client.o.Answers.Notices.Undelivered(ctx, o, cause)
		}
		if err != nil {
			return err
		}
	}
	return p.takeIn(ctx)
}

func (p *Server) deliver(ctx context.Context, to concordat.SiteID, n *concordat.Notice) error {
	cl, err := p.client.Connect(to, noticeTime)
	if err != nil {
		return err
	}
	defer cl.Close()
	return cl.Notify(ctx, n)
}

// takeIn processes received notices.
func (p *Server) takeIn(ctx context.Context) error {
	text, err := p.client.o.Store.Setting(ctx, inboxSetting)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	last, _ := strconv.ParseInt(text, 10, 64) // if missing, start from the beginning
	got, err := p.client.o.Answers.Notices.Inbox(ctx, last, maxNotices)
	if err != nil {
		return err
	}
	for _, n := range got {
		task, err := p.client.o.Asks.Noticed(ctx, n.Partner, &n.Notice)
		if err == nil && n.Notice.Kind == concordat.NoticeDisclosure {
			err = p.refresh(ctx, task, n.Partner)
		}
		if err != nil { // if the notice is faulty or the failure was temporary, it is still not processed again
			p.log.Warn("notice", "site", n.Partner, "kind", n.Notice.Kind, "error", err)
		} else {
			p.log.Info("notice", "site", n.Partner, "kind", n.Notice.Kind, "task", task)
		}
		if err := p.client.o.Store.SetSetting(ctx, inboxSetting, strconv.FormatInt(n.Seq, 10)); err != nil {
			return err
		}
		last = n.Seq
	}
	return p.client.o.Answers.Notices.TakenIn(ctx, last)
}

// refresh requests passages from a partner again after it has decided about them.
func (p *Server) refresh(ctx context.Context, task concordat.TaskID, partner concordat.SiteID) error {
	cl, err := p.client.Connect(partner, time.Minute)
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = p.client.o.Asks.RefreshDisclosures(ctx, task, cl)
	return err
}

// refreshCards fetches the cards of partners.
func (p *Server) refreshCards(ctx context.Context) error {
	ps, err := p.client.o.Store.Partners.Partners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range ps {
		if one.State != "active" {
			continue
		}
		cl, err := p.client.Connect(one.Site, time.Minute)
		if err == nil {
			if err = cl.Refresh(ctx); err == nil {
				_, err = cl.Catalogue(ctx) // the reply includes heads of other sites' audits
			}
			cl.Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("refresh the card of %s: %w", one.Site, err))
		}
	}
	return errors.Join(errs...)
}

// Status returns the progress of the fingerprints that partners need. A nil Server returns nil.
func (p *Server) Status(ctx context.Context) *instance.FederationStatus {
	if p == nil {
		return nil
	}
	st := &instance.FederationStatus{Listen: p.Address}
	var err error
	if st.Epochs, err = p.client.o.Answers.Sets.EpochStates(ctx); err != nil {
		p.log.Error("status", "error", err)
	}
	return st
}
