package local

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// A served Hub provides a coordinator without ZooKeeper to processes on one machine or in a closed network. It is a single process; while
// it is down, no node can be elected. Its state is in the Hub's file.

// DefaultTimeout is how long a served session can be silent.
const DefaultTimeout = 10 * time.Second

const (
	maxCall    = 1 << 20
	maxClients = 1024
)

// call is a request from a client, and answer the reply to it.
type call struct {
	Node    coord.NodeID                      `json:"node,omitempty"`
	Client  string                            `json:"client,omitempty"`
	Shard   concordat.ShardID                 `json:"shard,omitempty"`
	Version int64                             `json:"version,omitempty"`
	State   *coord.State                      `json:"state,omitempty"`
	By      coord.Incarnation                 `json:"by,omitempty"`
	Me      *coord.Node                       `json:"me,omitempty"`
	Shards  map[concordat.ShardID]coord.State `json:"shards,omitempty"`
	Data    []byte                            `json:"data,omitempty"`
	Seen    int64                             `json:"seen,omitempty"`
}

type answer struct {
	Client  string                            `json:"client,omitempty"`
	Timeout time.Duration                     `json:"timeout,omitempty"`
	Shard   *stored                           `json:"shard,omitempty"`
	Version int64                             `json:"version,omitempty"`
	Number  int64                             `json:"number,omitempty"` // number of the View
	Me      coord.Incarnation                 `json:"me,omitempty"`
	Live    map[coord.NodeID]coord.Node       `json:"live,omitempty"`
	Shards  map[concordat.ShardID]storedShard `json:"shards,omitempty"`
	Config  coord.Config                      `json:"config,omitzero"`
	Error   string                            `json:"error,omitempty"`
	Kinds   []string                          `json:"kinds,omitempty"`
}

type stored = storedShard

var kinds = map[string]error{
	"stale": coord.ErrStale, "session": coord.ErrSession, "unknown": coord.ErrUnknown, "not_found": concordat.ErrNotFound,
	"exists": concordat.ErrExists, "invalid": concordat.ErrInvalid, "unavailable": concordat.ErrUnavailable, "client": errClient,
}

// errClient means that the server no longer knows the client.
var errClient = errors.New("the server no longer recognizes this client")

// Server answers the calls of clients created by Dial for a Hub.
type Server struct {
	hub     *Hub
	timeout time.Duration

	mu      sync.Mutex // protects the following fields
	clients map[string]*served
}

type served struct {
	session *Session
	poll    sync.Mutex // held by the one call that waits for a view; protects last and number
	last    coord.View
	number  int64
	heard   time.Time // protected by Server.mu
	dead    bool      // the incarnation has ended; protected by Server.mu
}

// NewServer returns a Server whose sessions can be silent for the given timeout; 0 means DefaultTimeout.
func NewServer(h *Hub, timeout time.Duration) *Server {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &Server{hub: h, timeout: timeout, clients: map[string]*served{}}
}

// Run ends sessions that have fallen silent, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	t := time.NewTicker(s.timeout / 20)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			late := now.Sub(last) > s.timeout/2 // this process was suspended, so the silence was its own
			last = now
			if err := s.sweep(now, late); err != nil {
				return err
			}
		}
	}
}

func (s *Server) sweep(now time.Time, late bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.clients {
		switch silent := now.Sub(c.heard); {
		case late:
			c.heard = now
		case silent > 10*s.timeout:
			delete(s.clients, name)
			if err := c.session.Close(); err != nil {
				return err
			}
		case silent > s.timeout && !c.dead:
			c.dead = true
			if err := s.hub.end(c.session); err != nil {
				return err
			}
		}
	}
	return nil
}

// end assigns the session a new incarnation.
func (h *Hub) end(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.live[s.node]; n.Incarnation == s.me {
		delete(h.live, s.node)
	}
	err := h.incarnate(s)
	h.changed()
	return err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in call
	var out answer
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&in)
	if err != nil {
		err = fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	} else {
		out, err = s.do(r.Context(), r.URL.Path, in)
	}
	if err != nil {
		out.Error = err.Error()
		for name, kind := range kinds {
			if errors.Is(err, kind) {
				out.Kinds = append(out.Kinds, name)
			}
		}
	}
	_ = json.NewEncoder(w).Encode(out) // a caller that disconnected asks again
}

func (s *Server) do(ctx context.Context, path string, in call) (out answer, err error) {
	if path == "/join" {
		return s.join(in)
	}
	s.mu.Lock()
	c := s.clients[in.Client]
	if c == nil {
		s.mu.Unlock()
		return out, errClient
	}
	c.heard, c.dead = time.Now(), false
	s.mu.Unlock()
	switch path {
	case "/view":
		return s.view(ctx, c, in.Seen), nil
	case "/read":
		var sh coord.Shard
		sh, err = c.session.Read(ctx, in.Shard)
		out.Shard = &stored{sh.Version, sh.State}
	case "/cas":
		if in.State == nil {
			return out, fmt.Errorf("the request has no state: %w", concordat.ErrInvalid)
		}
		out.Version, err = c.session.CAS(ctx, in.Shard, in.Version, *in.State, in.By)
	case "/announce":
		if in.Me == nil {
			return out, fmt.Errorf("the request has no node: %w", concordat.ErrInvalid)
		}
		err = c.session.Announce(ctx, *in.Me)
	case "/create":
		err = c.session.Create(ctx, in.Shards)
	case "/configure":
		out.Version, err = c.session.Configure(ctx, in.Version, in.Data)
	case "/close":
		s.mu.Lock()
		delete(s.clients, in.Client)
		s.mu.Unlock()
		err = c.session.Close()
	default:
		err = fmt.Errorf("unknown path %s: %w", path, concordat.ErrInvalid)
	}
	return out, err
}

func (s *Server) join(in call) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.clients) >= maxClients {
		return answer{}, fmt.Errorf("too many clients (%d): %w", maxClients, concordat.ErrUnavailable)
	}
	session, err := s.hub.Join(in.Node)
	if err != nil {
		return answer{}, err
	}
	name := rand.Text()
	s.clients[name] = &served{session: session, heard: time.Now()}
	return answer{Client: name, Timeout: s.timeout}, nil
}

// view waits for a view newer than the last one seen. It waits for a sixth of the timeout at most, because the call is also the node's
// heartbeat.
func (s *Server) view(ctx context.Context, c *served, seen int64) answer {
	c.poll.Lock()
	defer c.poll.Unlock()
	if c.number <= seen {
		select {
		case v, ok := <-c.session.View():
			if ok {
				c.last = v
				c.number++
			}
		case <-time.After(s.timeout / 6):
		case <-ctx.Done():
		}
	}
	out := answer{Number: c.number, Me: c.last.Me, Live: maps.Clone(c.last.Live), Config: c.last.Config,
		Shards: map[concordat.ShardID]storedShard{}}
	for id, sh := range c.last.Shards {
		out.Shards[id] = storedShard{sh.Version, sh.State}
	}
	return out
}

// Client is a session with a Hub served by another process.
type Client struct {
	base string
	http *http.Client
	node coord.NodeID

	views  chan coord.View
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // protects the following fields
	name    string
	timeout time.Duration
	heard   time.Time         // when the last answered call was sent
	me      coord.Incarnation // incarnation in the newest view, if the server still knows the session
}

var (
	_ coord.Session = (*Client)(nil)
	_ coord.Founder = (*Client)(nil)
)

// Dial begins a session of the node with the Server at base, for example http://127.0.0.1:8430.
func Dial(ctx context.Context, base string, node coord.NodeID) (*Client, error) {
	c := &Client{base: base, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, node: node,
		views: make(chan coord.View, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.join(ctx); err != nil {
		c.cancel()
		return nil, err
	}
	c.wg.Go(c.run)
	return c, nil
}

func (c *Client) join(ctx context.Context) error {
	out, err := c.call(ctx, "join", call{Node: c.node})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.timeout, c.me = out.Client, out.Timeout, ""
	return nil
}

// run receives views until Close is called.
func (c *Client) run() {
	defer close(c.views)
	seen := int64(0)
	for c.ctx.Err() == nil {
		c.mu.Lock()
		patience := c.timeout / 2
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		out, err := c.call(ctx, "view", call{Seen: seen})
		cancel()
		if errors.Is(err, errClient) {
			if err = c.join(c.ctx); err == nil {
				seen = 0
				continue
			}
		}
		if err != nil {
			select {
			case <-time.After(patience / 10):
			case <-c.ctx.Done():
			}
			continue
		}
		c.mu.Lock()
		c.me = out.Me
		c.mu.Unlock()
		if out.Number > seen {
			seen = out.Number
			c.publish(out)
		}
	}
}

func (c *Client) publish(out answer) {
	v := coord.View{Me: out.Me, Live: out.Live, Config: out.Config, Shards: map[concordat.ShardID]coord.Shard{}}
	for id, s := range out.Shards {
		if s.State.Validate() == nil {
			v.Shards[id] = coord.Shard{Version: s.Version, State: s.State}
		}
	}
	select {
	case <-c.views:
	default:
	}
	c.views <- v // there is no other sender
}

// call sends one call. If the connection fails, it returns coord.ErrUnknown.
func (c *Client) call(ctx context.Context, path string, in call) (out answer, err error) {
	if c.ctx.Err() != nil && path != "close" {
		return out, fmt.Errorf("the coordinator's session is closed: %w", concordat.ErrUnavailable)
	}
	c.mu.Lock()
	in.Client = c.name
	c.mu.Unlock()
	body, w := io.Pipe()
	go func() { w.CloseWithError(json.NewEncoder(w).Encode(in)) }() // ends when body is read or closed
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+path, body)
	if err != nil {
		return out, errors.Join(err, body.Close())
	}
	sent := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("coordinator: %w: %w", coord.ErrUnknown, err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(&out); err != nil {
		return out, fmt.Errorf("coordinator: %w: %w", coord.ErrUnknown, err)
	}
	c.mu.Lock()
	if sent.After(c.heard) {
		c.heard = sent
	}
	c.mu.Unlock()
	if out.Error == "" {
		return out, nil
	}
	err = errors.New(out.Error)
	for _, k := range out.Kinds {
		if kinds[k] != nil {
			err = fmt.Errorf("%w: %w", err, kinds[k])
		}
	}
	if errors.Is(err, errClient) {
		c.mu.Lock()
		c.me = ""
		c.mu.Unlock()
	}
	return out, err
}

// changing sends a call that makes a change. If the server has forgotten the client, the session is gone.
func (c *Client) changing(ctx context.Context, path string, in call) (answer, error) {
	out, err := c.call(ctx, path, in)
	if errors.Is(err, errClient) {
		err = fmt.Errorf("%w: %w", coord.ErrSession, err)
	}
	return out, err
}

// View implements coord.Coordinator.
func (c *Client) View() <-chan coord.View { return c.views }

// Read implements coord.Session.
func (c *Client) Read(ctx context.Context, id concordat.ShardID) (coord.Shard, error) {
	out, err := c.call(ctx, "read", call{Shard: id})
	switch {
	case errors.Is(err, coord.ErrUnknown) || errors.Is(err, errClient):
		return coord.Shard{}, fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	case err != nil:
		return coord.Shard{}, err
	case out.Shard == nil:
		return coord.Shard{}, fmt.Errorf("shard %s: the coordinator sent an empty response: %w", id, concordat.ErrUnavailable)
	}
	return coord.Shard{Version: out.Shard.Version, State: out.Shard.State}, out.Shard.State.Validate()
}

// CAS implements coord.Coordinator.
func (c *Client) CAS(ctx context.Context, id concordat.ShardID, version int64, next coord.State, by coord.Incarnation) (int64, error) {
	if err := next.Validate(); err != nil {
		return 0, err
	}
	out, err := c.changing(ctx, "cas", call{Shard: id, Version: version, State: &next, By: by})
	return out.Version, err
}

// Online implements coord.Session.
func (c *Client) Online() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx.Err() == nil && time.Since(c.heard) < c.timeout
}

// Confirmed implements coord.Coordinator.
func (c *Client) Confirmed() coord.Incarnation {
	if !c.Online() {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.heard) >= c.timeout-c.timeout/10 {
		return ""
	}
	return c.me
}

// Announce implements coord.Session.
func (c *Client) Announce(ctx context.Context, n coord.Node) error {
	_, err := c.changing(ctx, "announce", call{Me: &n})
	return err
}

// Create implements coord.Founder.
func (c *Client) Create(ctx context.Context, shards map[concordat.ShardID]coord.State) error {
	_, err := c.changing(ctx, "create", call{Shards: shards})
	return err
}

// Configure implements coord.Session.
func (c *Client) Configure(ctx context.Context, version int64, data []byte) (int64, error) {
	out, err := c.changing(ctx, "configure", call{Version: version, Data: data})
	return out.Version, err
}

// Close implements coord.Session.
func (c *Client) Close() error {
	if c.ctx.Err() != nil {
		return nil
	}
	c.cancel()
	c.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// If the server cannot be reached, the session will expire.
	_, _ = c.call(ctx, "close", call{})
	c.http.CloseIdleConnections()
	return nil
}
