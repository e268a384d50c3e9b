package cluster

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
)

// Nodes of one site exchange messages over HTTP. They trust each other, because the listener and the client ensure that no one else is at
// either end (mutual TLS, or a separate network).

const (
	// peerPrefix contains a version that changes only if nodes of two versions cannot work together at all; see Protocol.
	peerPrefix = "/cluster/node/2/"
	maxFetch   = 64 << 10
	// maxReply is the maximum size of a reply, which contains one record of maximum size or many small ones.
	maxReply = wal.MaxPayload + 1<<20
)

// NodeHandler answers calls of HTTPPeers using the copies returned by lookup.
func NodeHandler(lookup func(concordat.ShardID) (*Copy, bool)) http.Handler {
	m := http.NewServeMux()
	with := func(f func(http.ResponseWriter, *http.Request, *Copy) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, ok := lookup(concordat.ShardID(r.PathValue("shard")))
			if !ok {
				fail(w, fmt.Errorf("shard %s: %w", r.PathValue("shard"), concordat.ErrNotFound))
				return
			}
			if err := f(w, r, c); err != nil {
				fail(w, err)
			}
		}
	}
	m.HandleFunc("POST "+peerPrefix+"{shard}/"+callFetch, with(serveFetch))
	m.HandleFunc("GET "+peerPrefix+"{shard}/"+callSnapshot, with(serveSnapshot))
	for _, call := range []string{callWrite, callReplace} {
		m.HandleFunc("POST "+peerPrefix+"{shard}/"+call, with(func(w http.ResponseWriter, r *http.Request, c *Copy) error {
			return serveWrite(w, r, c, call)
		}))
	}
	return m
}

func serveFetch(w http.ResponseWriter, r *http.Request, c *Copy) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFetch))
	if err != nil {
		return fmt.Errorf("cannot read the fetch request: %w: %w", concordat.ErrInvalid, err)
	}
	f, ok := parseFetch(b)
	if !ok {
		return fmt.Errorf("cannot decode the fetch request: %w", concordat.ErrInvalid)
	}
	reply, err := c.Fetch(r.Context(), f)
	if err != nil {
		return err
	}
	_, _ = w.Write(appendReply(nil, &reply)) // a caller that disconnected asks again
	return nil
}

// HTTPPeers reaches the other nodes over HTTP at their announced addresses.
type HTTPPeers struct {
	// Client makes the calls and checks that the nodes can be trusted. Its Timeout must be 0.
	Client *http.Client
	// Scheme is the URL scheme of the addresses; default https.
	Scheme string
	// Cluster is included in each call, so that a node of another cluster refuses it.
	Cluster string
}

// The headers name the intended cluster and node.
const (
	clusterHeader = "Concordat-Cluster"
	nodeHeader    = "Concordat-Node"
)

var _ Peers = (*HTTPPeers)(nil)

func (p *HTTPPeers) call(ctx context.Context, method string, to coord.Node, shard concordat.ShardID, call string,
	body io.Reader) (*http.Response, error) {
	scheme := p.Scheme
	if scheme == "" {
		scheme = "https"
	}
	u := url.URL{Scheme: scheme, Host: to.Address, Path: peerPrefix + string(shard) + "/" + call}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set(clusterHeader, p.Cluster)
	req.Header.Set(nodeHeader, string(to.ID))
	resp, err := p.Client.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("node %s: %w", to.ID, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w: %w", to.ID, concordat.ErrUnavailable, err)
	}
	if resp.StatusCode != http.StatusOK {
		err := readError(resp)
		return nil, errors.Join(fmt.Errorf("node %s: %w", to.ID, err), resp.Body.Close())
	}
	return resp, nil
}

// exchange sends a question about a shard, encoded as gob, and reads the reply.
func (p *HTTPPeers) exchange(ctx context.Context, to coord.Node, shard concordat.ShardID, call string, question, answer any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(question); err != nil {
		return fmt.Errorf("%s: %w: %w", call, concordat.ErrInvalid, err)
	}
	resp, err := p.call(ctx, http.MethodPost, to, shard, call, &b)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	if err := gob.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(answer); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("node %s: %w", to.ID, context.Cause(ctx))
		}
		return fmt.Errorf("node %s: %w: cannot decode the response: %w", to.ID, concordat.ErrUnavailable, err)
	}
	return nil
}

// Fetch implements Peers.
func (p *HTTPPeers) Fetch(ctx context.Context, to coord.Node, shard concordat.ShardID, f replica.Fetch) (replica.Reply, error) {
	resp, err := p.call(ctx, http.MethodPost, to, shard, callFetch, bytes.NewReader(appendFetch(nil, &f)))
	if err != nil {
		return replica.Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	whole, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+maxFetch))
	if err != nil {
		return replica.Reply{}, err
	}
	reply, err := parseReply(whole)
	if err != nil {
		return replica.Reply{}, fmt.Errorf("response from node %s: %w", to.ID, err)
	}
	return reply, nil
}

// Snapshot implements Peers.
func (p *HTTPPeers) Snapshot(ctx context.Context, from coord.Node, shard concordat.ShardID, dir string) (uint64, error) {
	resp, err := p.call(ctx, http.MethodGet, from, shard, callSnapshot, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	newest, err := receive(resp.Body, dir)
	if err != nil && ctx.Err() != nil {
		return 0, fmt.Errorf("node %s: %w", from.ID, context.Cause(ctx))
	}
	return newest, err
}
