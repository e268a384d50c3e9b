// Package fedtest runs small federations for tests. The sites have their own keys, are enrolled with each
// other, and use the real protocol over loopback TLS within one process.
package fedtest

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
)

// Epoch is the epoch that all sites serve.
var Epoch = concordat.Epoch{Federation: "test", Number: 1}

// Site is one site of a test federation.
type Site struct {
	ID       concordat.SiteID
	Roster   *Roster
	Epochs   *Epochs
	URL      string
	Order    [32]byte
	Replays  string // path of the file
	Options  federation.ServerOptions
	epochs   federation.Epochs
	answerer *switchboard
	listener net.Listener
	stop     func()
	clients  map[crypto.SiteID]*federation.Client
}

// Federation is a group of sites that are partners of each other.
type Federation struct {
	t     testing.TB
	Sites []*Site
}

// Join returns a federation with one site per answerer, all serving Epoch with the scheme. The sites stop when the test ends.
func Join(t testing.TB, scheme concordat.Scheme, answerers ...concordat.Answerer) *Federation {
	t.Helper()
	f := New(t, len(answerers), scheme)
	for i, a := range answerers {
		f.Answer(i, a)
	}
	return f
}

// New returns a federation of n sites that refuse everything until Answer sets their answerers. Use it for answerers that must first know
// their site's identity.
func New(t testing.TB, n int, scheme concordat.Scheme, set ...func(i int, o *federation.ServerOptions)) *Federation {
	t.Helper()
	f := &Federation{t: t}
	for i := range n {
		s := NewSite(t, scheme)
		for _, each := range set {
			each(i, &s.Options)
		}
		f.Sites = append(f.Sites, s)
	}
	for _, a := range f.Sites {
		for _, b := range f.Sites {
			if a != b {
				a.Roster.Set(b.Member(federation.StateActive))
			}
		}
	}
	for _, s := range f.Sites {
		s.Start(t)
	}
	return f
}

// Answer sets the answerer of site i.
func (f *Federation) Answer(i int, a concordat.Answerer) { f.Sites[i].Answer(a) }

// ID returns the identity of site i.
func (f *Federation) ID(i int) concordat.SiteID { return f.Sites[i].ID }

// Partner returns site j as seen by site i, always the same one.
func (f *Federation) Partner(i, j int) *federation.Client {
	return f.Sites[i].Client(f.t, f.Sites[j])
}

// Partners returns all other sites in order, as seen by site i.
func (f *Federation) Partners(i int) []*federation.Client {
	var ps []*federation.Client
	for j := range f.Sites {
		if j != i {
			ps = append(ps, f.Partner(i, j))
		}
	}
	return ps
}

// NewSite returns a site that is not yet serving. It has a listener on loopback.
func NewSite(t testing.TB, scheme concordat.Scheme) *Site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &Site{
		URL: "https://" + l.Addr().String(), Epochs: &Epochs{schemes: map[concordat.Epoch]concordat.Scheme{Epoch: scheme}},
		Replays: filepath.Join(t.TempDir(), "replays"), answerer: &switchboard{}, listener: l, clients: map[crypto.SiteID]*federation.Client{},
	}
	s.Roster, s.epochs = NewRoster(t, s.URL), s.Epochs
	id, _ := s.Roster.Self()
	s.ID = concordat.SiteID(id.Site().String())
	fill(t, s.Order[:])
	if err := federation.CreateReplays(s.Replays); err != nil {
		t.Fatal(err)
	}
	s.Options.Log = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return s
}

// Serve starts the site at a new address with its own Epochs and the given answerer, and returns it.
func Serve(t testing.TB, s *Site, k federation.Epochs, a concordat.Answerer, o federation.ServerOptions) *Site {
	t.Helper()
	v := NewSite(t, "")
	id, _ := s.Roster.Self()
	s.Roster.Use(t, id, v.URL)
	v.ID, v.Roster, v.epochs, v.Options = s.ID, s.Roster, k, o
	v.Answer(a)
	v.Start(t)
	return v
}

// Answer sets the answerer of the site.
func (s *Site) Answer(a concordat.Answerer) { s.answerer.set(a) }

// Member returns the site as seen by others.
func (s *Site) Member(state federation.State) federation.Member {
	id, card := s.Roster.Self()
	return federation.Member{Site: id.Site(), State: state, Card: card}
}

// Start serves until Stop or the end of the test.
func (s *Site) Start(t testing.TB) {
	t.Helper()
	replays, err := federation.OpenReplays(s.Replays, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server := federation.NewServer(s.Roster, s.answerer, s.epochs, replays, s.Order, s.Options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx, s.listener, 5*time.Second)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		_ = replays.Close()
	})
	t.Cleanup(s.stop)
}

// Stop stops serving, like a shutdown.
func (s *Site) Stop() { s.stop() }

// Restart serves again at the same address after Stop.
func (s *Site) Restart(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.URL[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	s.listener = l
	s.Start(t)
}

// Client returns the other site as seen by s.
func (s *Site) Client(t testing.TB, other *Site) *federation.Client {
	id, _ := other.Roster.Self()
	c := s.clients[id.Site()]
	if c == nil {
		c = s.NewClient(t, other, federation.ClientOptions{Timeout: 30 * time.Second})
		s.clients[id.Site()] = c
	}
	return c
}

// NewClient is Client with options.
func (s *Site) NewClient(t testing.TB, other *Site, o federation.ClientOptions) *federation.Client {
	id, _ := other.Roster.Self()
	c := federation.NewClient(id.Site(), s.Roster, s.Order, o)
	t.Cleanup(c.Close)
	return c
}

// Roster is a federation.Roster in memory.
type Roster struct {
	mu      sync.Mutex
	self    *crypto.Identity
	card    *crypto.Card
	members map[crypto.SiteID]federation.Member
}

var _ federation.Roster = (*Roster)(nil)

// NewRoster returns the roster of a new site without partners, reachable at url.
func NewRoster(t testing.TB, url string) *Roster {
	t.Helper()
	id, err := crypto.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &Roster{members: map[crypto.SiteID]federation.Member{}}
	r.Use(t, id, url)
	return r
}

// Use makes id the site's identity, with a new card.
func (r *Roster) Use(t testing.TB, id *crypto.Identity, url string) {
	t.Helper()
	r.Replace(t, id, url, time.Now())
}

// Replace is like Use at a different time.
func (r *Roster) Replace(t testing.TB, id *crypto.Identity, url string, now time.Time) {
	t.Helper()
	fields := crypto.CardFields{Name: "site at " + url, URLs: []string{url}, Modes: crypto.ModeSealed}
	id, card, err := id.MakeCard(fields, nil, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.self, r.card = id, card
}

// Back restores an older card of the site.
func (r *Roster) Back(c *crypto.Card) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.card = c
}

// Self implements federation.Roster.
func (r *Roster) Self() (*crypto.Identity, *crypto.Card) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.self, r.card
}

// Member implements federation.Roster.
func (r *Roster) Member(site crypto.SiteID) (federation.Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.members[site]
	return m, ok
}

// Pinned implements federation.Roster.
func (r *Roster) Pinned(cert *x509.Certificate) (federation.Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		if m.State == federation.StateActive && m.Card.Shows(cert) {
			return m, true
		}
	}
	return federation.Member{}, false
}

// Renew implements federation.Roster.
func (r *Roster) Renew(_ context.Context, c *crypto.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.members[c.Site]
	if !ok {
		return concordat.ErrNotFound
	}
	m.Card = c
	r.members[c.Site] = m
	return nil
}

// Set stores a partner, replacing all earlier data about it.
func (r *Roster) Set(m federation.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members[m.Site] = m
}

// Epochs is a federation.Epochs in memory.
type Epochs struct {
	mu      sync.Mutex
	schemes map[concordat.Epoch]concordat.Scheme
	grants  map[concordat.SiteID][]byte
}

var _ federation.Epochs = (*Epochs)(nil)

// Serve makes the site serve the epoch with the scheme; with an empty scheme, the site stops serving it.
func (k *Epochs) Serve(e concordat.Epoch, s concordat.Scheme) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.schemes[e] = s; s == "" {
		delete(k.schemes, e)
	}
}

// Scheme implements federation.Epochs.
func (k *Epochs) Scheme(e concordat.Epoch) (concordat.Scheme, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.schemes[e]
	return s, ok
}

// Give stores the bytes of a member's grant; nil revokes the grant.
func (k *Epochs) Give(to concordat.SiteID, grant []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grants == nil {
		k.grants = map[concordat.SiteID][]byte{}
	}
	k.grants[to] = grant
}

// Grant implements federation.Epochs.
func (k *Epochs) Grant(_ context.Context, to concordat.SiteID, _ concordat.FederationID) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g := k.grants[to]; g != nil {
		return g, nil
	}
	return nil, &concordat.Refusal{Reason: concordat.ReasonUnknown, Words: "no member"}
}

// switchboard passes queries to the current answerer.
type switchboard struct {
	mu sync.Mutex
	a  concordat.Answerer
}

func (s *switchboard) set(a concordat.Answerer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.a = a
}

func (s *switchboard) get() (concordat.Answerer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a == nil {
		return nil, &concordat.Refusal{Reason: concordat.ReasonLibrary, Words: "the test has no answers for this site"}
	}
	return s.a, nil
}

func (s *switchboard) OpenTo(ctx context.Context, from concordat.SiteID) (*concordat.Catalogue, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.OpenTo(ctx, from)
}

func (s *switchboard) Answer(ctx context.Context, from concordat.SiteID, q *concordat.Ask) (*concordat.SiteAnswer, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.Answer(ctx, from, q)
}

func (s *switchboard) AnswerOutline(ctx context.Context, from concordat.SiteID, q *concordat.OutlineAsk) (*concordat.Outlines, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.AnswerOutline(ctx, from, q)
}

func (s *switchboard) AnswerEdges(ctx context.Context, from concordat.SiteID, q *concordat.EdgesAsk) (*concordat.Edges, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.AnswerEdges(ctx, from, q)
}

func (s *switchboard) AnswerReveal(ctx context.Context, from concordat.SiteID, q *concordat.RevealAsk) (*concordat.Revealed, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.AnswerReveal(ctx, from, q)
}

func (s *switchboard) AnswerLeads(ctx context.Context, from concordat.SiteID, q *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.AnswerLeads(ctx, from, q)
}

func (s *switchboard) AnswerShip(ctx context.Context, from concordat.SiteID, q *concordat.ShipAsk) (*concordat.Shipment, error) {
	a, err := s.get()
	if err != nil {
		return nil, err
	}
	return a.AnswerShip(ctx, from, q)
}

func (s *switchboard) Receive(ctx context.Context, from concordat.SiteID, n *concordat.Notice) error {
	a, err := s.get()
	if err != nil {
		return err
	}
	return a.Receive(ctx, from, n)
}

func fill(t testing.TB, b []byte) {
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
}

// testWriter writes log lines to the test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	defer func() { _ = recover() }() // the line arrived after the end of the test
	w.t.Logf("%s", p)
	return len(p), nil
}
