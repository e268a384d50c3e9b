package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/index"
	"concordat/internal/indextest"
)

// trusted starts the first node of a cluster with certificates and returns it with its folder.
func trusted(t *testing.T, name string) (s *testSite, n *running, dir string) {
	s = &testSite{t: t, dir: t.TempDir(), nodes: map[coord.NodeID]*running{}}
	s.layout = cluster.Layout{Cluster: name, Site: indextest.Site, Scheme: indextest.Scheme, Shards: 2, Copies: 2,
		Members: map[coord.NodeID]cluster.Member{"a": {}}}
	founder, err := s.hub.Join("founder")
	s.must(err)
	s.must(errors.Join(cluster.Found(t.Context(), founder, s.layout), founder.Close()))
	dir = filepath.Join(s.dir, "trust-a")
	s.must(cluster.NewAuthority(dir, name, time.Now()))
	s.must(cluster.FoundTrust(dir, name, "a", time.Now()))
	return s, s.startTrusted("a", dir), dir
}

func (s *testSite) startTrusted(name coord.NodeID, dir string) *running {
	t, err := cluster.LoadTrust(dir)
	s.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	session, err := s.hub.Join(name)
	s.must(err)
	r := &running{fatal: make(chan error, 1), address: l.Addr().String()}
	r.Node, err = cluster.OpenNode(s.t.Context(), cluster.NodeOptions{
		Dir: filepath.Join(s.dir, string(name)), Session: session,
		Client: &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}},
		Node:   coord.Node{ID: name, Address: r.address}, Index: index.Options{Site: indextest.Site, Scheme: indextest.Scheme},
		Key: t.Key(), Authority: cluster.HasAuthority(dir),
	})
	s.must(err)
	m := http.NewServeMux()
	m.Handle("/cluster/join/", r.LetIn(dir, func() (map[string][]byte, error) { return map[string][]byte{"key": []byte("k")}, nil }))
	m.Handle("/cluster/renew/", r.Renewals(dir, t))
	m.Handle("/", t.OnlyNodes(r.Member, r.Handler()))
	r.server = &http.Server{Handler: m, TLSConfig: t.ServerTLS()}
	go func() { _ = r.server.ServeTLS(l, "", "") }() // ends with Close
	s.nodes[name] = r
	return r
}

// TestJoin: a second machine joins with a single-use token, gets copies and serves them; other callers get nothing.
func TestJoin(t *testing.T) {
	t.Parallel()
	s, a, dir := trusted(t, "one")
	defer func() {
		for n := range s.nodes {
			s.stop(n)
		}
	}()
	s.await()
	s.must(a.Put(t.Context(), profileOf("x", "1"), profileOf("y", "1"), profileOf("z", "1")))
	token, err := cluster.NewToken(dir, "one", "b", a.address, time.Now())
	s.must(err)
	token, err = cluster.ParseToken(token.String())
	s.must(err)

	wrong := token
	wrong.Secret = make([]byte, 32)
	if _, err := cluster.Join(t.Context(), t.TempDir(), wrong, ""); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a guessed secret: %v", err)
	}
	wrong = token
	wrong.Node = "c"
	if _, err := cluster.Join(t.Context(), t.TempDir(), wrong, ""); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("another name: %v", err)
	}
	wrong = token
	wrong.Pin = make([]byte, 32)
	if _, err := cluster.Join(t.Context(), t.TempDir(), wrong, ""); err == nil {
		t.Error("another authority than the token's was trusted")
	}
	other := filepath.Join(s.dir, "trust-b")
	files, err := cluster.Join(t.Context(), other, token, "east")
	if err != nil || string(files["key"]) != "k" {
		t.Fatalf("join: %v, %v", files, err)
	}
	if _, err := cluster.Join(t.Context(), t.TempDir(), token, ""); !errors.Is(err, concordat.ErrRefused) ||
		!strings.Contains(err.Error(), "has already been used") {
		t.Errorf("a token used twice: %v", err)
	}

	s.startTrusted("b", other)
	operator, err := s.hub.Join("operator")
	s.must(err)
	for _, id := range []concordat.ShardID{"00", "01"} {
		for err = coord.ErrStale; errors.Is(err, coord.ErrStale); {
			err = cluster.SetReplicas(t.Context(), operator, id, []coord.NodeID{"b", "a"})
		}
		s.must(err)
	}
	want := map[string]string{"x": "1", "y": "1", "z": "1"}
	s.same(want)

	// The first node leaves; its documents survive, and its folder is emptied.
	for _, id := range []concordat.ShardID{"00", "01"} {
		for err = coord.ErrStale; errors.Is(err, coord.ErrStale); {
			err = cluster.SetReplicas(t.Context(), operator, id, []coord.NodeID{"b"})
		}
		s.must(err)
	}
	s.must(operator.Close())
	s.same(want)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := filepath.Glob(filepath.Join(s.dir, "a", "0*"))
		s.must(err)
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v", left)
		}
	}
	if d, err := a.Document(t.Context(), refOf("x")); err != nil || d.Text != "1" {
		t.Errorf("a node without copies: %v, %v", d, err)
	}
}

// TestStrangers tries callers without a certificate, with another cluster's certificate, and with a former member's.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s, a, dir := trusted(t, "one")
	defer s.stop("a")
	s.await()
	foreign := t.TempDir()
	s.must(errors.Join(cluster.NewAuthority(foreign, "one", time.Now()), cluster.FoundTrust(foreign, "one", "a", time.Now())))
	gone := t.TempDir()
	s.must(os.CopyFS(gone, os.DirFS(dir)))
	s.must(cluster.FoundTrust(gone, "one", "gone", time.Now()))
	elsewhere := t.TempDir()
	s.must(os.CopyFS(elsewhere, os.DirFS(dir)))
	s.must(cluster.FoundTrust(elsewhere, "two", "a", time.Now()))
	me := coord.Node{ID: "a", Address: a.address}
	order := func(c *tls.Config, name string, to coord.Node) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c}}
		defer client.CloseIdleConnections()
		return (&cluster.HTTPPeers{Client: client, Cluster: name}).Order(context.WithoutCancel(t.Context()), to, "00", "purge")
	}
	for name, f := range map[string]string{"another authority": foreign, "no member": gone, "another cluster": elsewhere} {
		trust, err := cluster.LoadTrust(f)
		s.must(err)
		if err := order(trust.ClientTLS(), "one", me); err == nil {
			t.Errorf("%s: obeyed", name)
		}
	}
	if err := order(&tls.Config{InsecureSkipVerify: true}, "one", me); err == nil {
		t.Error("no certificate: obeyed")
	}
	trust, err := cluster.LoadTrust(dir)
	s.must(err)
	if err := order(trust.ClientTLS(), "two", me); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a call for another cluster: %v", err)
	}
	if err := order(trust.ClientTLS(), "one", coord.Node{ID: "b", Address: a.address}); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("a call for another node: %v", err)
	}
	if err := order(trust.ClientTLS(), "one", me); err != nil {
		t.Errorf("a node: %v", err)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(cluster.Token{Node: "a", Pin: make([]byte, 32), Secret: make([]byte, 32)}.String())
	f.Add("e30")
	f.Fuzz(func(t *testing.T, s string) {
		if tk, err := cluster.ParseToken(s); err == nil && cluster.CheckNode(tk.Node) != nil {
			t.Errorf("token for %q", tk.Node)
		}
	})
}
