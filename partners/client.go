package partners

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/site/ask"
)

// OrderPurpose names the local key for shuffling the sentences of a question.
const OrderPurpose = "order of sentences"

// Client communicates with the site's partners. It is safe for concurrent use.
type Client struct {
	o      *instance.Instance
	keys   *instance.Keystore
	roster *Roster
	// unless nil, receives each exchange with a partner
	observe func(concordat.SiteID, federation.Outcome, time.Duration)
	tell    func(format string, args ...any)

	mu        sync.Mutex // guards the fields below
	profilers map[string]*profile.Profiler
	seen      fs.FileInfo // the most recently read keystore; nil if none was read
	renewed   time.Time   // when the card's age was last checked
}

// Options configures how a site communicates with its partners.
type Options struct {
	Log *slog.Logger
	// If not nil, Observe is called for each question to a partner, and Answered is called for each question from one.
	Observe, Answered func(concordat.SiteID, federation.Outcome, time.Duration)
	Panicked          func()                           // if not nil, called after each request from a partner that caused a panic
	Tell              func(format string, args ...any) // prints omissions and the reasons for them
	// Notices and Reread are the intervals at which a server checks for notices and for changes made by commands. The default is five
	// seconds.
	Notices, Reread time.Duration
}

// These are the ways in which a site uses a partner.
var (
	_ site.Partner  = (*federation.Client)(nil)
	_ ask.Discloser = (*federation.Client)(nil)
	_ ask.Listener  = (*federation.Client)(nil)
	_ ask.Shipper   = (*federation.Client)(nil)
	_ owner         = (*federation.Client)(nil)
)

// Open opens the site's keystore and card. If there are no keys, it fails with instance.ErrNoKeys.
func Open(ctx context.Context, o *instance.Instance, options Options) (*Client, error) {
	k, id, err := o.Keys.Open()
	if err != nil {
		return nil, err
	}
	r, err := OpenRoster(ctx, o, id, options.Log)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, keys: k, roster: r, observe: options.Observe, tell: options.Tell, profilers: map[string]*profile.Profiler{}}, nil
}

// self returns the name by which partners know this site.
func (c *Client) self() crypto.SiteID {
	id, _ := c.roster.Self()
	return id.Site()
}

// Identity returns the site's current identity.
func (c *Client) Identity() *crypto.Identity {
	id, _ := c.roster.Self()
	return id
}

// Roster returns the site's view of its partners.
func (c *Client) Roster() *Roster { return c.roster }

// Keystore returns the site's keystore.
func (c *Client) Keystore() *instance.Keystore { return c.keys }

// Connect returns a client for a partner. The caller must close it.
func (c *Client) Connect(partner concordat.SiteID, timeout time.Duration) (*federation.Client, error) {
	to, err := crypto.ParseSiteID(string(partner))
	if err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	return federation.NewClient(to, c.roster, id.LocalKey(OrderPurpose),
		federation.ClientOptions{Timeout: timeout, Allow: c.o.Config.Federation.Allow, Journal: c.roster,
			Observe: observing(c.roster.callEnded, c.observe)}), nil
}

// observing returns an observer of exchanges that calls watch and then next, which may be nil.
func observing(watch func(concordat.SiteID, federation.Outcome),
	next func(concordat.SiteID, federation.Outcome, time.Duration)) func(concordat.SiteID, federation.Outcome, time.Duration) {
	return func(site concordat.SiteID, o federation.Outcome, took time.Duration) {
		watch(site, o)
		if next != nil {
			next(site, o, took)
		}
	}
}

// Profiler returns the profiler for an epoch's key.
func (c *Client) Profiler(f crypto.Federation, e crypto.FederationEpoch) (*profile.Profiler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The number alone is not enough, because if a federation is left and created again, the same numbers have different secrets.
	name := fmt.Sprintf("%s/%d/%x", f.Name, e.Number, sha256.Sum256(e.FingerprintKey(c.o.Config.Scheme)))
	if p := c.profilers[name]; p != nil {
		return p, nil
	}
	public, err := profile.New(profile.Options{Recipe: c.o.Config.Scheme})
	if err != nil {
		return nil, err
	}
	p, err := profile.New(profile.Options{Recipe: c.o.Config.Scheme, Key: e.FingerprintKey(string(public.Scheme()))})
	if err == nil {
		c.profilers[name] = p
	}
	return p, err
}

// shared returns the federations in common with a partner, by name.
func (c *Client) shared(ctx context.Context, partner concordat.SiteID) ([]crypto.Federation, error) {
	ms, err := c.o.Store.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	var out []crypto.Federation
	for _, m := range ms {
		if !slices.Contains(instance.Members(m), partner) {
			continue
		}
		f, err := id.Federation(string(m.Federation))
		if errors.Is(err, crypto.ErrNoKey) {
			continue // this site has not joined the federation yet
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// ConnectAll returns clients for the partners. The caller must close them.
func (c *Client) ConnectAll(partners []concordat.SiteID, timeout time.Duration) (Connections, error) {
	var all Connections
	for _, p := range partners {
		cl, err := c.Connect(p, timeout)
		if err != nil {
			all.Close()
			return nil, err
		}
		all = append(all, cl)
	}
	return all, nil
}

// Connections are clients for several partners.
type Connections []*federation.Client

// Close closes all clients.
func (all Connections) Close() {
	for _, cl := range all {
		cl.Close()
	}
}

// Disclosers returns the partners as those who show more of a match.
func (all Connections) Disclosers() []ask.Discloser {
	out := make([]ask.Discloser, len(all))
	for i, cl := range all {
		out[i] = cl
	}
	return out
}

// Listeners returns the partners as those who receive notices.
func (all Connections) Listeners() []ask.Listener {
	out := make([]ask.Listener, len(all))
	for i, cl := range all {
		out[i] = cl
	}
	return out
}
