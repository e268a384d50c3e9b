package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// To join, a node uses a token created on the node with the authority's key, which admits one node once. It contains the address of the
// admitting node, the hash of the authority's certificate and a secret. Anyone who obtains the token before the intended node uses it can
// join.

const (
	joinPath   = "/cluster/join/1"
	tokensName = "tokens.json"
	// TokenTime is how long a token is valid.
	TokenTime = time.Hour
	maxJoin   = 1 << 20
	maxTokens = 100
)

// Token admits a new node.
type Token struct {
	Cluster string       `json:"c"`
	Node    coord.NodeID `json:"n"`
	Address string       `json:"a"` // address of the admitting node
	Pin     []byte       `json:"p"` // SHA-256 of the authority's certificate
	Secret  []byte       `json:"s"`
	// Store is the file of the site's store if it is on the machine that created the token rather than in a database that all nodes
	// reach.
	Store string `json:"f,omitempty"`
}

// String returns the token in the form that people copy.
func (t Token) String() string {
	b, _ := json.Marshal(t) // this never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken is the inverse of String. Errors: concordat.ErrInvalid.
func ParseToken(s string) (t Token, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 4096 || json.Unmarshal(b, &t) != nil || CheckNode(t.Node) != nil || len(t.Pin) != 32 || len(t.Secret) != 32 {
		return Token{}, fmt.Errorf("the token is not valid: %w", concordat.ErrInvalid)
	}
	return t, nil
}

// storedToken is the record stored by the creator of a token; it is not sufficient for joining.
type storedToken struct {
	Hash    []byte       `json:"hash"` // SHA-256 of the secret
	Node    coord.NodeID `json:"node"`
	Expires time.Time    `json:"expires"`
}

// tokensMu serialises changes to the file; a process has one folder.
var tokensMu sync.Mutex

func readTokens(dir string) (ts []storedToken, err error) {
	b, err := os.ReadFile(filepath.Join(dir, tokensName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (len(b) > maxJoin || json.Unmarshal(b, &ts) != nil) {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, tokensName), concordat.ErrCorrupt)
	}
	return ts, err
}

func writeTokens(dir string, ts []storedToken, now time.Time) error {
	ts = slices.DeleteFunc(ts, func(t storedToken) bool { return now.After(t.Expires) })
	if len(ts) > maxTokens {
		return fmt.Errorf("too many unused tokens (%d): %w", len(ts), concordat.ErrRefused)
	}
	b, err := json.Marshal(ts)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, tokensName), b)
}

// NewToken creates a token in the authority's folder.
func NewToken(dir, cluster string, node coord.NodeID, address string, now time.Time) (Token, error) {
	if err := CheckNode(node); err != nil {
		return Token{}, err
	}
	if !exists(filepath.Join(dir, authorityKey)) {
		return Token{}, fmt.Errorf("%s: the private key of the cluster's authority is on the node that created the cluster: %w", dir, concordat.ErrNotFound)
	}
	b, err := os.ReadFile(filepath.Join(dir, authorityCert))
	if err != nil {
		return Token{}, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return Token{}, fmt.Errorf("%s: %w", authorityCert, concordat.ErrCorrupt)
	}
	p := pin(block.Bytes)
	t := Token{Cluster: cluster, Node: node, Address: address, Pin: p[:], Secret: make([]byte, 32)}
	_, _ = rand.Read(t.Secret) // this never fails
	tokensMu.Lock()
	defer tokensMu.Unlock()
	ts, err := readTokens(dir)
	if err != nil {
		return Token{}, err
	}
	h := sha256.Sum256(t.Secret)
	return t, writeTokens(dir, append(ts, storedToken{h[:], node, now.Add(TokenTime)}), now)
}

// mayJoin calls Layout.MayJoin with the node's current view.
func mayJoin(n *Node, id coord.NodeID) error {
	v, _ := n.View()
	l, err := ParseLayout(v.Config)
	if err != nil {
		return err
	}
	return l.MayJoin(v, id)
}

// spend removes the token from the file, if present, since it is valid only once. A node that is not allowed to join does not use it up.
func spend(dir string, node coord.NodeID, secret []byte, now time.Time, mayJoin func(coord.NodeID) error) error {
	tokensMu.Lock()
	defer tokensMu.Unlock()
	ts, err := readTokens(dir)
	if err != nil {
		return err
	}
	h := sha256.Sum256(secret)
	for i, t := range ts {
		if subtle.ConstantTimeCompare(t.Hash, h[:]) == 1 && t.Node == node && now.Before(t.Expires) {
			if err := mayJoin(node); err != nil {
				return err
			}
			return writeTokens(dir, slices.Delete(ts, i, i+1), now)
		}
	}
	return fmt.Errorf("the token is unknown, has already been used or has expired: %w", concordat.ErrRefused)
}

type joinRequest struct {
	Node    coord.NodeID `json:"node"`
	Zone    string       `json:"zone"`
	Secret  []byte       `json:"secret"`
	Request []byte       `json:"request"`
}

type joinAnswer struct {
	Certificate []byte            `json:"certificate"`
	Authority   []byte            `json:"authority"`
	Files       map[string][]byte `json:"files"`
}

// LetIn returns the handler for calls of Join, on the node with the authority's key in dir. files returns the other files that a new node
// needs, namely its configuration and keys.
func (n *Node) LetIn(dir string, files func() (map[string][]byte, error)) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST "+joinPath, func(w http.ResponseWriter, r *http.Request) {
		out, err := n.letIn(r, dir, files)
		if err != nil {
			n.log.Warn("join", "error", err)
			fail(w, err)
			return
		}
		_ = json.NewEncoder(w).Encode(out) // a caller that went away needs a new token
	})
	return m
}

func (n *Node) letIn(r *http.Request, dir string, files func() (map[string][]byte, error)) (out joinAnswer, err error) {
	var in joinRequest
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJoin)).Decode(&in); err != nil {
		return out, fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	}
	now := time.Now()
	if err := spend(dir, in.Node, in.Secret, now, func(id coord.NodeID) error { return mayJoin(n, id) }); err != nil {
		return out, err
	}
	key, err := requestKey(in.Request)
	if err != nil {
		return out, err
	}
	if err := n.AddMember(r.Context(), in.Node, in.Zone, key); err != nil {
		return out, err
	}
	if out.Certificate, out.Authority, err = sign(dir, n.layout.Cluster, in.Node, in.Request, now); err != nil {
		return out, err
	}
	out.Files, err = files()
	n.log.Info("node joined", "node", in.Node, "zone", in.Zone)
	return out, err
}

// AddMember admits the node with the public key of the given name (see Member.Key). It returns the same errors as Layout.MayJoin.
func (n *Node) AddMember(ctx context.Context, id coord.NodeID, zone, key string) error {
	return ChangeLayout(ctx, n, func(l *Layout) error {
		v, _ := n.View()
		if err := l.MayJoin(v, id); err != nil {
			return err
		}
		m := l.Members[id]
		m.Zone, m.Drained, m.Key = zone, false, key
		l.Members[id] = m
		return nil
	})
}

// Join obtains a certificate of the cluster for this machine and returns the other files that it needs. The private key never leaves the
// machine. If it fails after the token was used, a new token is needed.
func Join(ctx context.Context, dir string, t Token, zone string) (map[string][]byte, error) {
	req, err := request(dir)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(joinRequest{t.Node, zone, t.Secret, req})
	if err != nil {
		return nil, err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, InsecureSkipVerify: true}
	// The secret goes only to the cluster; the server's certificate must be signed by the authority named in the token. The server also
	// sends the authority's certificate.
	conf.VerifyConnection = func(cs tls.ConnectionState) error {
		shown := cs.PeerCertificates
		if len(shown) != 2 || pin(shown[1].Raw) != [32]byte(t.Pin) {
			return fmt.Errorf("the server's authority is not the one named in the token: %w", concordat.ErrRefused)
		}
		own := &Trust{roots: x509.NewCertPool(), Cluster: t.Cluster}
		own.roots.AddCert(shown[1])
		_, err := own.check(&cs)
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+t.Address+joinPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("node at %s: %w: %w", t.Address, concordat.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read in full or is abandoned
	if resp.StatusCode != http.StatusOK {
		return nil, readError(resp)
	}
	var out joinAnswer
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16*maxJoin)).Decode(&out); err != nil {
		return nil, fmt.Errorf("node at %s: %w: %w", t.Address, concordat.ErrInvalid, err)
	}
	block, _ := pem.Decode(out.Authority)
	if block == nil || pin(block.Bytes) != [32]byte(t.Pin) {
		return nil, fmt.Errorf("node at %s: the authority is not the one named in the token: %w", t.Address, concordat.ErrRefused)
	}
	if err := replaceFile(filepath.Join(dir, authorityCert), out.Authority); err != nil {
		return nil, err
	}
	if err := replaceFile(filepath.Join(dir, nodeCert), out.Certificate); err != nil {
		return nil, err
	}
	own, err := LoadTrust(dir)
	if err == nil && (own.Cluster != t.Cluster || own.Node != t.Node) {
		err = fmt.Errorf("received a certificate for node %s of cluster %s: %w", own.Node, own.Cluster, concordat.ErrRefused)
	}
	return out.Files, err
}

// DropTokens invalidates tokens for a node created in this folder.
func DropTokens(dir string, node coord.NodeID, now time.Time) error {
	tokensMu.Lock()
	defer tokensMu.Unlock()
	ts, err := readTokens(dir)
	if err != nil || len(ts) == 0 {
		return err
	}
	return writeTokens(dir, slices.DeleteFunc(ts, func(t storedToken) bool { return t.Node == node }), now)
}
