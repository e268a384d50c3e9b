package eval

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/index"
	"concordat/profile"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
)

// fedEpoch is the epoch of a federation under evaluation.
var fedEpoch = concordat.Epoch{Federation: "eval", Number: 1}

// fedLibrary is each site's only library.
const fedLibrary = "library"

// FedSites is a group of sites in one process that are partners of each other and use the real protocol over loopback TLS. Every site
// fingerprints with the federation's key, so that the sites' findings can be compared bit by bit with the findings of a single index.
type FedSites struct {
	Sites    []*FedSite
	profiler *profile.Profiler
	sketch   []byte
	stop     context.CancelFunc
	bytes    atomic.Int64 // total in both directions, on all connections

}

// FedSite is one of FedSites.
type FedSite struct {
	*site.Site
	answers  *answer.Answerer
	asks     *ask.Asker
	id       concordat.SiteID
	store    *store.DB
	index    *index.Shard
	set      *index.Shard // index of the epoch
	identity *crypto.Identity
	card     *crypto.Card
	url      string
	listener net.Listener
	members  map[crypto.SiteID]federation.Member
	clients  []*federation.Client
	replays  *federation.Replays
	order    [32]byte
	ended    chan error
}

var _ federation.Roster = (*FedSite)(nil)

// NewFedSites creates n sites below dir, with a key for fingerprints and word sets.
func NewFedSites(ctx context.Context, dir string, n int, key []byte) (*FedSites, error) {
	return newFedSites(ctx, dir, n, profile.Options{Key: key})
}

func newFedSites(ctx context.Context, dir string, n int, o profile.Options) (_ *FedSites, err error) {
	f := &FedSites{sketch: o.Key}
	if f.profiler, err = profile.New(o); err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	for i := range n {
		s, err := f.newSite(ctx, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return nil, err
		}
		f.Sites = append(f.Sites, s)
	}
	for _, a := range f.Sites {
		for _, b := range f.Sites {
			if a != b {
				a.members[b.identity.Site()] = federation.Member{Site: b.identity.Site(), State: federation.StateActive, Card: b.card}
			}
		}
	}
	for _, a := range f.Sites {
		f.serve(serving, a)
	}
	return f, nil
}

func (f *FedSites) newSite(ctx context.Context, dir string) (_ *FedSite, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &FedSite{members: map[crypto.SiteID]federation.Member{}}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.url = "https://" + s.listener.Addr().String()
	if s.identity, err = crypto.New(time.Now(), rand.Reader); err != nil {
		return nil, err
	}
	fields := crypto.CardFields{Name: dir, URLs: []string{s.url}, Modes: crypto.ModeSealed}
	if s.identity, s.card, err = s.identity.MakeCard(fields, nil, time.Now(), rand.Reader); err != nil {
		return nil, err
	}
	s.id = concordat.SiteID(s.identity.Site().String())
	rand.Read(s.order[:])
	replays := filepath.Join(dir, "replays")
	if err := federation.CreateReplays(replays); err != nil {
		return nil, err
	}
	if s.replays, err = federation.OpenReplays(replays, time.Now()); err != nil {
		return nil, err
	}
	if s.store, err = store.Open(ctx, filepath.Join(dir, "site.db")); err != nil {
		return nil, err
	}
	scheme := f.profiler.Scheme()
	for _, x := range []struct {
		shard **index.Shard
		name  string
	}{{&s.index, "index"}, {&s.set, "epoch"}} {
		if *x.shard, err = index.Open(filepath.Join(dir, x.name), index.Options{Site: s.id, Scheme: scheme, Shard: "00"}); err != nil {
			return nil, err
		}
	}
	s.answers = answer.New(answer.Options{ID: s.id, Index: s.index, Store: s.store, Meaning: f.profiler.Meaning})
	s.Site = site.New(site.Options{ID: s.id, Index: s.index, Store: s.store, Profiler: f.profiler, Sharing: s.answers.Shares})
	s.asks = ask.New(s.Site, ask.Options{Store: s.store})
	handle := sha256.Sum256([]byte(dir))
	if err := s.answers.Sets.UseEpochs(ctx, answer.EpochSet{Epoch: fedEpoch, Profiler: f.profiler, Index: s.set, SketchKey: f.sketch,
		CellKey: f.sketch, HandleKey: handle[:]}); err != nil {
		return nil, err
	}
	return s, s.store.Catalogue.CreateLibrary(ctx, store.Library{ID: fedLibrary, Title: fedLibrary})
}

func (f *FedSites) serve(ctx context.Context, s *FedSite) {
	s.ended = make(chan error, 1)
	server := federation.NewServer(s, s.answers, fedEpochs{f.profiler.Scheme()}, s.replays, s.order, federation.ServerOptions{})
	go func() { s.ended <- server.Serve(ctx, s.listener, time.Second) }()
}

// Close stops the sites.
func (f *FedSites) Close() error {
	var errs []error
	for _, s := range f.Sites {
		for _, c := range s.clients {
			c.Close()
		}
	}
	f.stop()
	for _, s := range f.Sites {
		if s.ended != nil {
			errs = append(errs, <-s.ended)
		}
		errs = append(errs, s.replays.Close(), s.index.Close(), s.set.Close(), s.store.Close())
	}
	return errors.Join(errs...)
}

// Add ingests documents at a site; each document's title is its ID.
func (s *FedSite) Add(ctx context.Context, docs iter.Seq[Doc]) error {
	return s.Ingest(ctx, fedLibrary, func(yield func(site.Incoming, error) bool) {
		for d := range docs {
			if !yield(site.Incoming{ID: concordat.DocumentID(d.ID), Title: d.ID, Text: d.Text}, nil) {
				return
			}
		}
	}, func(site.Ingested) error { return nil })
}

// Share shares every site's library with the others by a rule, and waits until all documents have fingerprints of the epoch.
func (f *FedSites) Share(ctx context.Context, rule store.ShareRule) error {
	for _, a := range f.Sites {
		for _, b := range f.Sites {
			if a == b {
				continue
			}
			if _, err := a.answers.Shares.Share(ctx, store.Share{Library: fedLibrary, Partner: b.id, Rule: rule}); err != nil {
				return err
			}
		}
		if err := a.answers.Sets.CatchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Partners returns the other sites as seen by site i.
func (f *FedSites) Partners(i int) []site.PartnerLibraries {
	s := f.Sites[i]
	if s.clients == nil {
		for _, other := range f.Sites {
			if other != s {
				s.clients = append(s.clients, federation.NewClient(other.identity.Site(), s, s.order, federation.ClientOptions{Dial: f.dial}))
			}
		}
	}
	var out []site.PartnerLibraries
	for _, c := range s.clients {
		out = append(out, site.PartnerLibraries{Partner: c, Epoch: fedEpoch, Profiler: f.profiler, SketchKey: f.sketch,
			CellKey: f.sketch, Libraries: []concordat.LibraryID{fedLibrary}, Deadline: 5 * time.Minute})
	}
	return out
}

// dial counts the bytes on connections.
func (f *FedSites) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{c, f}, nil
}

type countedConn struct {
	net.Conn
	f *FedSites
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.f.bytes.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.f.bytes.Add(int64(n))

	return n, err
}

// Self implements federation.Roster.
func (s *FedSite) Self() (*crypto.Identity, *crypto.Card) { return s.identity, s.card }

// Member implements federation.Roster.
func (s *FedSite) Member(id crypto.SiteID) (federation.Member, bool) {
	m, ok := s.members[id]
	return m, ok
}

// Pinned implements federation.Roster.
func (s *FedSite) Pinned(cert *x509.Certificate) (federation.Member, bool) {
	for _, m := range s.members {
		if m.State == federation.StateActive && m.Card.Shows(cert) {
			return m, true
		}
	}
	return federation.Member{}, false
}

// Renew implements federation.Roster. It does nothing, because cards outlast an evaluation.
func (s *FedSite) Renew(context.Context, *crypto.Card) error { return nil }

// fedEpochs serves the single epoch.
type fedEpochs struct{ scheme concordat.Scheme }

func (k fedEpochs) Scheme(e concordat.Epoch) (concordat.Scheme, bool) {
	return k.scheme, e == fedEpoch
}

func (k fedEpochs) Grant(context.Context, concordat.SiteID, concordat.FederationID) ([]byte, error) {
	return nil, &concordat.Refusal{Reason: concordat.ReasonUnknown}
}

// Bytes returns the number of bytes exchanged by the sites, in both directions.
func (f *FedSites) Bytes() int64 { return f.bytes.Load() }
