package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// Trust holds the credentials with which nodes identify themselves to one another: a certificate from the cluster's own authority that
// names only the cluster and the node.
type Trust struct {
	Cluster string
	Node    coord.NodeID
	roots   *x509.CertPool
	ca      *x509.Certificate
	own     atomic.Pointer[tls.Certificate] // replaced on renewal
}

// The files of a Trust, all in one folder.
const (
	authorityCert = "ca.pem"
	authorityKey  = "ca-key.pem" // only on the node that created the cluster
	nodeCert      = "node.pem"
	nodeKey       = "node-key.pem"
)

const (
	// certificateTime is how long a node's certificate is valid; it is renewed automatically when a third of that time remains.
	certificateTime = 2 * 365 * 24 * time.Hour
	// authorityTime is how long the authority's certificate is valid.
	authorityTime = 20 * 365 * 24 * time.Hour
)

// identity is the name for a node in its certificate.
func identity(cluster string, node coord.NodeID) *url.URL {
	return &url.URL{Scheme: "concordat", Host: cluster, Path: "/node/" + string(node)}
}

// NewAuthority creates the cluster's authority in the folder, which it creates too. If there is one already, it fails with
// concordat.ErrExists.
func NewAuthority(dir, cluster string, now time.Time) error {
	if exists(filepath.Join(dir, authorityCert)) {
		return fmt.Errorf("%s: authority: %w", dir, concordat.ErrExists)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := template("concordat "+cluster, now, now.Add(authorityTime))
	c.IsCA, c.BasicConstraintsValid, c.MaxPathLenZero, c.KeyUsage = true, true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, authorityKey), key); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, authorityCert), pemOf("CERTIFICATE", der))
}

func template(name string, now, end time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // this never fails
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-24 * time.Hour), NotAfter: end}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return replaceFile(path, pemOf("PRIVATE KEY", der))
}

// request creates the node's key in the folder and returns a request for its certificate.
func request(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if err := writeKey(filepath.Join(dir, nodeKey), key); err != nil {
		return nil, err
	}
	return requestFor(key)
}

func requestFor(key any) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// keyName returns the name of a public key used in a layout.
func keyName(spki []byte) string {
	sum := sha256.Sum256(spki)
	return hex.EncodeToString(sum[:])
}

// sign returns the node's certificate for the key in the request, followed by the authority's certificate.
func sign(dir, cluster string, node coord.NodeID, request []byte, now time.Time) (cert, authority []byte, err error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, authorityCert), filepath.Join(dir, authorityKey))
	if err != nil {
		return nil, nil, fmt.Errorf("load the cluster's authority: %w", err)
	}
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("certificate request from node %s: %w: %w", node, concordat.ErrInvalid, err)
	}
	end := now.Add(certificateTime)
	if end.After(pair.Leaf.NotAfter) {
		end = pair.Leaf.NotAfter
	}
	c := template(string(node), now, end)
	c.URIs = []*url.URL{identity(cluster, node)}
	c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, c, pair.Leaf, r.PublicKey, pair.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	return pemOf("CERTIFICATE", der), pemOf("CERTIFICATE", pair.Leaf.Raw), nil
}

// FoundTrust creates the first node's certificate using the authority's key in the same folder.
func FoundTrust(dir, cluster string, node coord.NodeID, now time.Time) error {
	r, err := request(dir)
	if err != nil {
		return err
	}
	cert, _, err := sign(dir, cluster, node, r, now)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, nodeCert), cert)
}

// LoadTrust reads the certificates of the node and the authority. If there are none, it fails with concordat.ErrNotFound.
func LoadTrust(dir string) (*Trust, error) {
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, nodeCert), filepath.Join(dir, nodeKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: this node has no certificate: %w", dir, concordat.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, concordat.ErrCorrupt, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, authorityCert))
	if err != nil {
		return nil, err
	}
	t := &Trust{roots: x509.NewCertPool()}
	if block, _ := pem.Decode(b); block != nil {
		own.Certificate = append(own.Certificate, block.Bytes) // for nodes that know only the authority's hash
		t.ca, err = x509.ParseCertificate(block.Bytes)
	}
	if t.ca == nil || err != nil {
		return nil, fmt.Errorf("%s: the file does not contain a certificate: %w", filepath.Join(dir, authorityCert), concordat.ErrCorrupt)
	}
	t.roots.AddCert(t.ca)
	t.own.Store(&own)
	if t.Cluster, t.Node, err = t.verify([]*x509.Certificate{own.Leaf}); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, nodeCert), err)
	}
	return t, nil
}

// verify returns the node named in a certificate, if the authority signed it.
func (t *Trust) verify(certs []*x509.Certificate) (string, coord.NodeID, error) {
	if len(certs) == 0 {
		return "", "", fmt.Errorf("the caller has no certificate: %w", concordat.ErrRefused)
	}
	if _, err := certs[0].Verify(x509.VerifyOptions{Roots: t.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return "", "", fmt.Errorf("the certificate was not issued by the cluster's authority: %w: %w", concordat.ErrRefused, err)
	}
	if len(certs[0].URIs) != 1 {
		return "", "", fmt.Errorf("the certificate does not name a node: %w", concordat.ErrRefused)
	}
	u := certs[0].URIs[0]
	node := coord.NodeID(filepath.Base(u.Path))
	if *u != *identity(u.Host, node) || CheckNode(node) != nil {
		return "", "", fmt.Errorf("the certificate names %s, which is not a node: %w", u, concordat.ErrRefused)
	}
	return u.Host, node, nil
}

// check refuses a caller that is not a node of this cluster.
func (t *Trust) check(cs *tls.ConnectionState) (coord.NodeID, error) {
	if cs == nil {
		return "", fmt.Errorf("the connection does not use TLS: %w", concordat.ErrRefused)
	}
	cluster, node, err := t.verify(cs.PeerCertificates)
	if err == nil && cluster != t.Cluster {
		err = fmt.Errorf("the node belongs to a different cluster, %s: %w", cluster, concordat.ErrRefused)
	}
	return node, err
}

func (t *Trust) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.own.Load(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.own.Load(), nil }}
}

// Key returns the name of the node's public key, as in Member.Key.
func (t *Trust) Key() string { return keyName(t.own.Load().Leaf.RawSubjectPublicKeyInfo) }

// Ends returns the expiry times of the node's and the authority's certificates.
func (t *Trust) Ends() (node, authority time.Time) {
	return t.own.Load().Leaf.NotAfter, t.ca.NotAfter
}

// Due reports whether less than a third of the lifetime of the node's certificate remains and a renewed certificate would last longer.
func (t *Trust) Due(now time.Time) bool {
	c := t.own.Load().Leaf
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/3 && c.NotAfter.Before(t.ca.NotAfter)
}

// ServerTLS returns the configuration for a node's listener. Callers without a certificate can reach only what OnlyNodes does not guard,
// namely joining.
func (t *Trust) ServerTLS() *tls.Config {
	c := t.config()
	c.ClientAuth = tls.RequestClientCert
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return nil
		}
		_, err := t.check(&cs)
		return err
	}
	return c
}

// ClientTLS returns the configuration for calls to other nodes.
func (t *Trust) ClientTLS() *tls.Config {
	c := t.config()
	c.InsecureSkipVerify = true // addresses prove nothing here: VerifyConnection requires a node's certificate
	c.VerifyConnection = func(cs tls.ConnectionState) error { _, err := t.check(&cs); return err }
	return c
}

// OnlyNodes refuses callers that are not nodes of the cluster. member reports whether a node with the given key is a member.
func (t *Trust) OnlyNodes(member func(node coord.NodeID, key string) bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, err := t.check(r.TLS)
		if err == nil && !member(node, keyName(r.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo)) {
			err = fmt.Errorf("node %s is not a member of the cluster: %w", node, concordat.ErrRefused)
		}
		if err != nil {
			fail(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// pin returns the hash that identifies a certificate in a token.
func pin(der []byte) [32]byte { return sha256.Sum256(der) }
