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
)

// OrderPurpose names the local key that shuffles the sentences of a question.
const OrderPurpose = "order of sentences"

// Client lets a process communicate with the site's partners. It is safe for concurrent use.
type Client struct {
	o      *instance.Instance
	keys   *instance.Keystore
	roster *Roster
	// observe receives each exchange with a partner, unless nil.
	observe func(concordat.SiteID, federation.Outcome, time.Duration)
	tell    func(format string, args ...any)

	mu        sync.Mutex // guards the rest
	profilers map[string]*profile.Profiler
	seen      fs.FileInfo // of the keystore read last; nil if none was read
	renewed   time.Time   // when the age of the card was last checked
}

// Options configure how a site communicates with its partners.
type Options struct {
	Log *slog.Logger
	// Observe is called for each question to a partner, and Answered for each question from one, unless nil.
	Observe, Answered func(concordat.SiteID, federation.Outcome, time.Duration)
	Panicked          func()                           // called after each request of a partner that ended in a panic, unless nil
	Tell              func(format string, args ...any) // prints anything left out, and why
	// Notices and Reread are the intervals at which a server looks for notices and for changes made by commands; the
	// default is five seconds.
	Notices, Reread time.Duration
}

// Open opens the keystore and the card of the site. It fails with instance.ErrNoKeys if there are no keys.
func Open(ctx context.Context, o *instance.Instance, options Options) (*Client, error) {
	k, id, err := o.OpenKeystore()
	if err != nil {
		return nil, err
	}
	r, err := OpenRoster(ctx, o, id, options.Log)
	if err != nil {
		return nil, err
	}
	return &Client{o: o, keys: k, roster: r, observe: options.Observe, tell: options.Tell, profilers: map[string]*profile.Profiler{}}, nil
}

// self returns the name under which partners know this site.
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

// Connect returns a client of a partner, which the caller closes.
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

// observing returns an observer of exchanges that calls watch and next; next may be nil.
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
	// The number alone is not enough, because a federation that was left and created again has other secrets under the same numbers.
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

// shared returns the federations that this site shares with a partner, by name.
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
			continue // not joined yet
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// ConnectAll returns clients of partners; closing closes them.
func (c *Client) ConnectAll(partners []concordat.SiteID, timeout time.Duration) (out []concordat.Partner, closing func(), err error) {
	var all []*federation.Client
	closing = func() {
		for _, cl := range all {
			cl.Close()
		}
	}
	for _, p := range partners {
		cl, err := c.Connect(p, timeout)
		if err != nil {
			closing()
			return nil, nil, err
		}
		all, out = append(all, cl), append(out, cl)
	}
	return out, closing, nil
}
