// Package zk is the coordinator for a site of several machines, implemented on ZooKeeper: a few znodes per shard, changed by
// compare-and-swap. doc/cluster.md describes every znode; documents never pass through it.
//
// Start from Open, which returns a Session. It keeps the promises of coord.Session despite the client library's habits: the end of a
// session never goes unnoticed, and each session has its own connection and a unique incarnation; every call has a time limit, and fails
// with coord.ErrUnknown if its answer was lost; a hung server or wedged connection is abandoned for another; watches are treated as
// hints, and everything is reread periodically.
//
// A session refuses to take part if the site or scheme differs, if ZooKeeper has lost its data or gone back to older data, or if a node
// on another machine has the same name.
package zk

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// Options specify which ZooKeeper to use, and for which node.
type Options struct {
	// Servers lists the host:port addresses of the ensemble's servers, 1 to 16. Names are resolved for each connection.
	Servers []string
	// Root is the znode above all the site's znodes; default "/concordat/" followed by the site.
	Root string
	// Site and Scheme must match the cluster. An empty Scheme is not compared.
	Site   concordat.SiteID
	Scheme string
	// Node names this machine. If empty, the session is an observer, which changes nothing on its own initiative and cannot Announce.
	Node coord.NodeID
	// Identity is the file that records a node's cluster. The caller must hold the folder's lock. It is mandatory with Node.
	Identity string
	// Found allows the session to create the site's znodes if neither ZooKeeper nor Identity knows the site.
	Found bool
	// Account contains the credentials for ZooKeeper; with the zero Account, the znodes are open to everyone.
	Account Account
	// TLS, if set, is used with every server; its ServerName is set to the host's name.
	TLS *tls.Config
	// Timeout is the requested session timeout, 1 s to 5 min; default 10 s. ZooKeeper can grant a different one.
	Timeout time.Duration
	// Reread is the interval at which everything is reread; default 30 s.
	Reread time.Duration
	// Log receives events for the operator; nil disables logging.
	Log *slog.Logger

	dial func(ctx context.Context, network, address string) (net.Conn, error) // replaces net.Dialer's function in tests
}

const maxServers = 16

var (
	nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	rootName = regexp.MustCompile(`^(/[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}){1,8}$`)
)

// complete fills in defaults and returns everything that is wrong as one error that wraps concordat.ErrInvalid.
func (o Options) complete() (Options, error) {
	if o.Root == "" {
		o.Root = "/concordat/" + string(o.Site)
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Reread == 0 {
		o.Reread = 30 * time.Second
	}
	if o.dial == nil {
		o.dial = new(net.Dialer).DialContext
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var wrong []string
	bad := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	bad(len(o.Servers) == 0 || len(o.Servers) > maxServers, "number of ZooKeeper servers is %d, want 1 to %d", len(o.Servers), maxServers)
	for _, s := range o.Servers {
		host, port, err := net.SplitHostPort(s)
		bad(err != nil || host == "" || port == "", "ZooKeeper server %q must have the form host:port", s)
	}
	bad(o.Site == "", "the site is missing")
	bad(!rootName.MatchString(o.Root), "%q is not a valid path for the root of the znodes", o.Root)
	bad(o.Node != "" && !nodeName.MatchString(string(o.Node)),
		"%q is not a valid node name: use at most 63 letters, digits, dots, hyphens and underscores", o.Node)
	bad(o.Node != "" && o.Identity == "", "the path of the node's identity file is missing")
	bad(o.Timeout < time.Second || o.Timeout > 5*time.Minute, "session timeout is %v, want 1 s to 5 min", o.Timeout)
	bad(o.Reread < time.Second, "interval between rereads is %v, want 1 s or more", o.Reread)
	if wrong != nil {
		return o, concordat.Invalidf("%s", strings.Join(wrong, "; "))
	}
	return o, nil
}

// Validate returns everything wrong with o as one error that wraps concordat.ErrInvalid.
func (o Options) Validate() error {
	_, err := o.complete()
	return err
}

// ErrIdentity is a reason for ErrRefused: the node is not the one known to ZooKeeper, or ZooKeeper is not the one known to the node. An
// operator has to decide; the error's text states the alternatives.
var ErrIdentity = fmt.Errorf("the node does not match the cluster: %w", concordat.ErrRefused)

// Session is one node's link to ZooKeeper. It is safe for concurrent use.
type Session struct {
	o     Options
	t     tree
	log   *slog.Logger
	views chan coord.View // sent to and closed by run
	// settings is handled like views.
	settings chan coord.Config

	stop context.CancelFunc
	done chan struct{} // closed when run has ended

	mu        sync.Mutex // protects the following fields
	link      *link
	next      *link     // if set, replaces an abandoned link
	confirmed time.Time // when the request that last confirmed link's session was sent
	announced bool      // under link's incarnation
	closed    bool
	failed    error // why the session ended permanently
	seen      memory
}

var (
	_ coord.Session = (*Session)(nil)
	_ coord.Founder = (*Session)(nil)
)

// Open begins a session and returns once ZooKeeper has confirmed the session and the node's right to it. Errors: concordat.ErrInvalid;
// ErrIdentity with concordat.ErrRefused, and concordat.ErrScheme, for which retrying is pointless; concordat.ErrNotFound if there is no
// such cluster and Found is false; concordat.ErrUnavailable if ctx ended, or three session timeouts passed, before ZooKeeper answered.
func Open(ctx context.Context, o Options) (*Session, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, t: newTree(o), log: o.Log, views: make(chan coord.View, 1), settings: make(chan coord.Config, 1),
		done: make(chan struct{})}
	if o.Node != "" {
		if s.seen, err = openMemory(o.Identity, o.Node); err != nil {
			return nil, err
		}
	}
	if o.Account.User == "" {
		s.log.Warn("connected to ZooKeeper without an account: anyone who can reach ZooKeeper can change the cluster")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*o.Timeout)
	defer cancel()
	l, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.adopt(l)
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.run(run)
	return s, nil
}

// adopt makes l the session's link; the previous link must be dead.
func (s *Session) adopt(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.announced, s.confirmed = l, false, l.begun
}

// View implements coord.Coordinator.
func (s *Session) View() <-chan coord.View { return s.views }

// Online implements coord.Session. Time is measured from when the confirming request was sent, so ZooKeeper's own timeout ends later.
func (s *Session) Online() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && s.failed == nil && !s.link.isDead() && time.Since(s.confirmed) < s.link.timeout()
}

// Confirmed implements coord.Coordinator.
func (s *Session) Confirmed() coord.Incarnation {
	if !s.Online() {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.link.timeout(); time.Since(s.confirmed) >= t-t/10 {
		return ""
	}
	return s.link.me
}

// Err returns why the session ended permanently, or nil: ErrIdentity or a similar error found after Open.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Cluster returns the identity of the cluster, drawn when the cluster was founded.
func (s *Session) Cluster() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.Cluster
}

// Site returns the cluster's site.
func (s *Session) Site() concordat.SiteID { return s.o.Site }

// fail ends the session permanently.
func (s *Session) fail(err error) {
	s.mu.Lock()
	first := s.failed == nil && !s.closed
	if first {
		s.failed = err
	}
	l := s.link
	s.mu.Unlock()
	if first {
		s.log.Error("this node no longer takes part in the cluster, but its copies can still be read", "node", s.o.Node, "error", err)
	}
	l.kill()
}

// use returns the link for a call.
func (s *Session) use() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, fmt.Errorf("the session with ZooKeeper is closed: %w", concordat.ErrUnavailable)
	case s.failed != nil:
		return nil, fmt.Errorf("%w: %w", concordat.ErrUnavailable, s.failed)
	}
	return s.link, nil
}

// Close implements coord.Session. It returns once ZooKeeper has confirmed the end of the session, or after 5 s.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	l := s.link
	s.mu.Unlock()
	s.stop()
	said := l.close()
	<-s.done
	select {
	case <-said:
		return nil
	case <-time.After(5 * time.Second):
		return errors.New("ZooKeeper did not confirm that the session ended; the session will expire on its own")
	}
}
