package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
)

// Messages between nodes of one site travel by HTTP. Nodes trust one another: the listener and the
// client are made so that nobody else is at either end (mutual TLS, or a network of their own).

const (
	peerPrefix = "/cluster/node/" + version + "/"
	mostFetch  = 64 << 10
	// mostReply bounds an answer: one record of the greatest size, or many small ones.
	mostReply     = wal.MaxPayload + 1<<20
	mostManifest  = 16 << 20
	manifestFiles = 1 << 16
)

// answer is a Reply without its records, which follow it.
type answer struct {
	Reply replica.Reply
	Bytes int // of the records, as wal.AppendRecords has them
}

// NodeHandler answers HTTPPeers' calls with the copies that lookup knows.
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
	m.HandleFunc("POST "+peerPrefix+"{shard}/fetch", with(serveFetch))
	m.HandleFunc("GET "+peerPrefix+"{shard}/snapshot", with(serveSnapshot))
	m.HandleFunc("POST "+peerPrefix+"{shard}/write", with(serveWrite))
	return m
}

func serveFetch(w http.ResponseWriter, r *http.Request, c *Copy) error {
	var f replica.Fetch
	if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, mostFetch)).Decode(&f); err != nil {
		return fmt.Errorf("fetch: %w: %w", concordat.ErrInvalid, err)
	}
	reply, err := c.Fetch(r.Context(), f)
	if err != nil {
		return err
	}
	records := wal.AppendRecords(nil, reply.Records)
	reply.Records = nil
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(answer{reply, len(records)}); err != nil {
		return err
	}
	_, _ = w.Write(b.Bytes()) // a caller that went away asks again
	_, _ = w.Write(records)
	return nil
}

// manifest comes before the files of a snapshot.
type manifest struct {
	Files []manifestFile `json:"files"`
}

type manifestFile struct {
	Name   string `json:"name"` // with slashes, below the copy's folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// serveSnapshot sends a copy of the index: the length of the manifest as a decimal number and a newline,
// the manifest, then the files in its order.
func serveSnapshot(w http.ResponseWriter, r *http.Request, c *Copy) error {
	return c.send(w, func(dir string) error { return c.CopyTo(r.Context(), dir) })
}

// send sends the index that copyTo writes into the absent folder dir.
func (c *Copy) send(w http.ResponseWriter, copyTo func(dir string) error) error {
	parent, err := os.MkdirTemp(filepath.Dir(c.dir), filepath.Base(c.dir)+sendingSuffix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(parent) }() // the next snapshot makes its own
	dir := filepath.Join(parent, "copy")
	if err := copyTo(dir); err != nil {
		return err
	}
	m, err := inventory(dir)
	if err != nil {
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%d\n%s", len(b), b); err != nil {
		return nil // the caller went away
	}
	for _, f := range m.Files {
		in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			return err
		}
		_, err = io.Copy(w, in)
		if err = errors.Join(err, in.Close()); err != nil {
			panic(http.ErrAbortHandler) // half of it is sent; the receiver must see that it is not all
		}
	}
	return nil
}

// sendingSuffix is that of the folders in which snapshots are made.
const sendingSuffix = ".sending"

// removeSending removes what a dead process left of its snapshots.
func removeSending(dir string) error {
	left, err := filepath.Glob(dir + sendingSuffix + "*")
	for _, d := range left {
		err = errors.Join(err, os.RemoveAll(d))
	}
	return err
}

// inventory lists the files below dir.
func inventory(dir string) (m manifest, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		h := sha256.New()
		n, err := io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		m.Files = append(m.Files, manifestFile{filepath.ToSlash(name), n, hex.EncodeToString(h.Sum(nil))})
		return err
	})
	return m, err
}

// HTTPPeers are the other nodes, by HTTP at the addresses that they announced.
type HTTPPeers struct {
	// Client makes the calls; it knows whom to trust. Its Timeout must be 0.
	Client *http.Client
	// Scheme of the addresses; default https.
	Scheme string
	// Cluster is named in each call; a node of another one refuses.
	Cluster string
}

// The headers name the cluster and the node that the caller means.
const (
	clusterHeader = "Concordat-Cluster"
	nodeHeader    = "Concordat-Node"
)

var _ Peers = (*HTTPPeers)(nil)

func (p *HTTPPeers) call(ctx context.Context, method string, to coord.Node, shard concordat.ShardID, call string, body io.Reader) (*http.Response, error) {
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

// exchange sends a question about a shard, as gob, and reads the answer.
func (p *HTTPPeers) exchange(ctx context.Context, to coord.Node, shard concordat.ShardID, call string, question, answer any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(question); err != nil {
		return fmt.Errorf("%s: %w: %w", call, concordat.ErrInvalid, err)
	}
	resp, err := p.call(ctx, http.MethodPost, to, shard, call, &b)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if err := gob.NewDecoder(io.LimitReader(resp.Body, mostBody)).Decode(answer); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("node %s: %w", to.ID, context.Cause(ctx))
		}
		return fmt.Errorf("node %s: %w: broken answer: %w", to.ID, concordat.ErrUnavailable, err)
	}
	return nil
}

// Fetch implements Peers.
func (p *HTTPPeers) Fetch(ctx context.Context, to coord.Node, shard concordat.ShardID, f replica.Fetch) (replica.Reply, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(f); err != nil {
		return replica.Reply{}, err
	}
	resp, err := p.call(ctx, http.MethodPost, to, shard, "fetch", &b)
	if err != nil {
		return replica.Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	whole, err := io.ReadAll(io.LimitReader(resp.Body, mostReply+mostFetch))
	if err != nil {
		return replica.Reply{}, err
	}
	in := bytes.NewReader(whole)
	var a answer
	if err := gob.NewDecoder(in).Decode(&a); err != nil {
		return replica.Reply{}, fmt.Errorf("answer of node %s: %w: %w", to.ID, concordat.ErrInvalid, err)
	}
	if a.Bytes != in.Len() {
		return replica.Reply{}, fmt.Errorf("answer of node %s has %d bytes of records, not %d: %w", to.ID, in.Len(), a.Bytes, concordat.ErrInvalid)
	}
	a.Reply.Records, err = wal.ParseRecords(whole[len(whole)-a.Bytes:])
	return a.Reply, err
}

// Snapshot implements Peers.
func (p *HTTPPeers) Snapshot(ctx context.Context, from coord.Node, shard concordat.ShardID, dir string) error {
	resp, err := p.call(ctx, http.MethodGet, from, shard, "snapshot", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	return receive(resp.Body, dir)
}

// receive writes what serveSnapshot sends into dir, durably.
func receive(body io.Reader, dir string) error {
	r := bufio.NewReader(body)
	var n int64
	if _, err := fmt.Fscanf(r, "%d\n", &n); err != nil || n < 0 || n > mostManifest {
		return fmt.Errorf("snapshot: manifest of %d bytes: %w: %w", n, concordat.ErrInvalid, err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil || len(m.Files) > manifestFiles {
		return fmt.Errorf("snapshot: manifest of %d files: %w: %w", len(m.Files), concordat.ErrInvalid, err)
	}
	dirs := map[string]bool{dir: true}
	for _, f := range m.Files {
		if f.Size < 0 || !fs.ValidPath(f.Name) || strings.Contains(f.Name, "\\") {
			return fmt.Errorf("snapshot: file %q of %d bytes: %w", f.Name, f.Size, concordat.ErrInvalid)
		}
		d := filepath.Join(dir, filepath.FromSlash(path.Dir(f.Name)))
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
		dirs[d] = true
		if err := receiveFile(r, filepath.Join(dir, filepath.FromSlash(f.Name)), f); err != nil {
			return fmt.Errorf("snapshot: %s: %w", f.Name, err)
		}
	}
	for d := range dirs {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

func receiveFile(r io.Reader, to string, f manifestFile) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.CopyN(io.MultiWriter(out, h), r, f.Size)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("checksum %s, want %s: %w", got, f.SHA256, concordat.ErrCorrupt)
	}
	return nil
}
