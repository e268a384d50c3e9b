//go:build linux

package zk_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/internal/ports"
	"concordat/internal/zktest"
)

// long skips slow tests unless they are requested.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("CONCORDAT_LONG") == "" {
		t.Skip("takes a minute: set CONCORDAT_LONG=1")
	}
}

// change changes the shard on behalf of me until the request succeeds, and returns whether any answer was lost.
func change(t *testing.T, s *zk.Session, epoch uint64, me coord.Incarnation) (lost bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("epoch %d", epoch), func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		now, err := s.Read(ctx, "00")
		if err != nil {
			if !errors.Is(err, concordat.ErrUnavailable) && ctx.Err() == nil {
				t.Fatal(err)
			}
			return false
		}
		if now.Epoch == epoch {
			return true
		}
		_, err = s.CAS(ctx, "00", now.Version, state(epoch, "a"), me)
		switch {
		case errors.Is(err, coord.ErrUnknown):
			lost = true
		case err != nil && !errors.Is(err, concordat.ErrUnavailable) && !errors.Is(err, coord.ErrStale):
			t.Fatal(err)
		}
		return err == nil
	})
	return lost
}

// same fails the test if the session has restarted.
func same(t *testing.T, s *zk.Session, me coord.Incarnation) {
	t.Helper()
	select {
	case v := <-s.View():
		if v.Me != me {
			t.Errorf("incarnation %s became %s", me, v.Me)
		}
	default:
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// TestEnsemble stops three servers one by one, in various ways, during a session that must survive.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, 3)
	w := newWorld(t, e)
	s := open(t, w.options("a"))
	me := announce(t, s, "a")
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))

	t.Run("hung", func(t *testing.T) {
		i := zk.ServerOf(s, e.Addresses())
		e.Pause(i)
		defer e.Resume(i)
		change(t, s, 2, me)
		same(t, s, me)
		for range 3 { // each starts with the server that accepts connections but does not answer
			must(t, open(t, w.options("")).Close())
		}
	})
	t.Run("leader", func(t *testing.T) {
		i := -1
		eventually(t, "an election", func() bool { i = e.Leader(); return i >= 0 })
		e.Kill(i)
		change(t, s, 3, me)
		same(t, s, me)
		e.Run(i)
		e.Await(i)
	})
	if testing.Short() {
		return
	}
	outage(t, e, s, me, 4, 0)
	t.Run("long outage", func(t *testing.T) {
		long(t)
		outage(t, e, s, me, 5, 5*timeout)
	})
}

// outage stops all servers for longer than the session can survive.
func outage(t *testing.T, e *zktest.Ensemble, s *zk.Session, me coord.Incarnation, epoch uint64, more time.Duration) {
	t.Run("outage", func(t *testing.T) {
		for i := range 3 {
			e.Kill(i)
		}
		eventually(t, "offline", func() bool { return !s.Online() })
		if _, err := s.CAS(t.Context(), "00", 0, state(9, "a"), me); !unmade(err) {
			t.Errorf("got %v", err)
		}
		time.Sleep(more) // varies the length of the outage
		for i := range 3 {
			e.Run(i)
		}
		eventually(t, "online", s.Online)
		change(t, s, epoch, me)
		same(t, s, me)
		for i := range 3 {
			e.Await(i)
		}
	})
}

// TestWiped: neither running nor starting nodes mistake a ZooKeeper that lost its data for a new cluster.
func TestWiped(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, 1)
	w := newWorld(t, e)
	s := open(t, w.options("a"))
	announce(t, s, "a")
	for i := range int64(20) { // so that the wiped server lags behind
		_, err := s.Configure(t.Context(), i, []byte("x"))
		must(t, err)
	}
	until(t, s, "configuration", func(v coord.View) bool { return v.Config.Version == 20 })
	e.Kill(0)
	e.Wipe(0)
	e.Run(0)
	e.Await(0)
	refused(t, w.options("a"), zk.ErrIdentity, "its data was lost", "Nothing was changed")
	if os.Getenv("CONCORDAT_LONG") == "" {
		return // the rest takes three session timeouts
	}
	eventually(t, "the running node says so", func() bool { return s.Err() != nil })
	if err := s.Err(); !errors.Is(err, zk.ErrIdentity) || !strings.Contains(err.Error(), "its data was lost") || s.Online() {
		t.Errorf("got %v, online %v", err, s.Online())
	}
	if !strings.Contains(w.log.String(), "no longer takes part in the cluster") {
		t.Error("the log does not say so")
	}
}

// sieve is a connection that lets only pings pass once it is wedged.
type sieve struct {
	net.Conn
	wedged *atomic.Bool
}

func (s sieve) Write(b []byte) (int, error) {
	const ping = 12 // length, number and kind, in bytes
	if s.wedged.Load() && len(b) != ping {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// TestWedged: a connection that is alive but never answers is replaced by a new one, in a new session.
func TestWedged(t *testing.T) {
	long(t)
	t.Parallel()
	w := newWorld(t, zktest.Start(t, 1))
	var wedged, first atomic.Bool
	first.Store(true)
	s := open(t, zk.WithDial(w.options("a"), func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || !first.CompareAndSwap(true, false) {
			return c, err
		}
		return sieve{c, &wedged}, nil
	}))
	me := announce(t, s, "a")
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))
	wedged.Store(true)
	eventually(t, "offline", func() bool { return !s.Online() })
	v := until(t, s, "another session", func(v coord.View) bool { return v.Me != me })
	must(t, s.Announce(t.Context(), coord.Node{ID: "a", Incarnation: v.Me}))
	if _, err := s.CAS(t.Context(), "00", 0, state(2, "a"), me); !errors.Is(err, coord.ErrSession) {
		t.Errorf("got %v", err)
	}
	change(t, s, 3, v.Me)
	if !s.Online() || !strings.Contains(w.log.String(), "does not respond") {
		t.Error("not online, or nobody was told")
	}
}

// pair writes a key with its certificate, signed by ca or self-signed, and returns the pair.
func pair(t *testing.T, dir, name string, ca *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: ca == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := c, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(t, err)
	k, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k}), certificate...)
	must(t, os.WriteFile(filepath.Join(dir, name+".pem"), both, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, name+".crt.pem"), certificate, 0o600))
	p, err := tls.X509KeyPair(certificate, both)
	must(t, err)
	p.Leaf, err = x509.ParseCertificate(der)
	must(t, err)
	return p
}

// TestTLS: both sides present certificates from the same authority; a caller without a certificate, or with one from another authority,
// is refused.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := pair(t, dir, "ca", nil)
	pair(t, dir, "server", &ca)
	port := fmt.Sprint(ports.Free(t, 1)[0])
	secure := net.JoinHostPort("127.0.0.1", port)
	w := newWorld(t, zktest.Start(t, 1, "secureClientPort="+port, "secureClientPortAddress=127.0.0.1",
		"ssl.keyStore.type=PEM", "ssl.keyStore.location="+dir+"/server.pem", "ssl.trustStore.type=PEM",
		"ssl.trustStore.location="+dir+"/ca.crt.pem", "ssl.clientAuth=need"))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	o := w.options("a")
	o.Servers = []string{secure}
	o.TLS = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair(t, dir, "a", &ca)}}
	s := open(t, o)
	me := announce(t, s, "a")
	must(t, s.Create(t.Context(), map[concordat.ShardID]coord.State{"00": state(1, "a")}))
	change(t, s, 2, me)

	foreign := pair(t, dir, "foreign", nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	for what, cfg := range map[string]*tls.Config{
		"no certificate": {RootCAs: roots}, "a foreign one": {RootCAs: roots, Certificates: []tls.Certificate{foreign}},
		"a foreign server": {Certificates: o.TLS.Certificates}, "no TLS": nil,
	} {
		wg.Go(func() {
			o := w.options("b")
			o.Servers, o.TLS, o.Identity = []string{secure}, cfg, filepath.Join(t.TempDir(), "b.json")
			ctx, cancel := context.WithTimeout(t.Context(), timeout/2)
			defer cancel()
			if b, err := zk.Open(ctx, o); err == nil {
				b.Close()
				t.Errorf("%s: let in", what)
			} else if !errors.Is(err, concordat.ErrUnavailable) {
				t.Errorf("%s: got %v", what, err)
			}
		})
	}
}

// TestReadTLS: the node trusts the authorities in the file, or the system's if there is none, and shows a certificate that was renewed
// since; what is not a certificate is refused.
func TestReadTLS(t *testing.T) {
	dir := t.TempDir()
	ca := pair(t, dir, "ca", nil)
	path := func(name string) string { return filepath.Join(dir, name) }
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	if cfg, err := zk.ReadTLS(path("ca.crt.pem"), "", ""); err != nil || !roots.Equal(cfg.RootCAs) || cfg.GetClientCertificate != nil {
		t.Errorf("authorities only: got %+v, %v", cfg, err)
	}
	pair(t, dir, "a", &ca)
	cfg, err := zk.ReadTLS("", path("a.pem"), "")
	if err != nil || cfg.RootCAs != nil {
		t.Fatalf("the system's authorities: got %+v, %v", cfg, err)
	}
	renewed := pair(t, dir, "a", &ca)
	if c, err := cfg.GetClientCertificate(nil); err != nil || !bytes.Equal(c.Certificate[0], renewed.Certificate[0]) {
		t.Errorf("after renewal: got another certificate, %v", err)
	}
	if _, err := zk.ReadTLS("", path("a.crt.pem"), path("a.pem")); err != nil {
		t.Errorf("key apart: %v", err)
	}
	must(t, os.WriteFile(path("text"), []byte("text"), 0o600))
	for what, files := range map[string][3]string{"authorities": {path("text")}, "certificate": {"", path("text")},
		"key": {"", path("a.pem"), path("text")}} {
		if _, err := zk.ReadTLS(files[0], files[1], files[2]); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := zk.ReadTLS(path("missing"), "", ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing authorities: got %v", err)
	}
}
