package cluster

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// To renew a certificate that is still valid, a node gets a newer one for the same key from a node that has the authority's key. The file
// is replaced atomically, and the serving process uses the new certificate immediately.

const renewPath = "/cluster/renew/1"

type renewRequest struct {
	Request []byte `json:"request"`
}

// requestKey returns the name of the key that a request is for. It fails with concordat.ErrInvalid.
func requestKey(request []byte) (string, error) {
	r, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return "", fmt.Errorf("certificate request: %w: %w", concordat.ErrInvalid, err)
	}
	return keyName(r.RawSubjectPublicKeyInfo), nil
}

// HasAuthority reports whether a trust folder contains the authority's key.
func HasAuthority(dir string) bool { return exists(filepath.Join(dir, authorityKey)) }

// Renewals answers calls of Renew on a node with the authority's key in dir; only members get a certificate, and only for the key that
// they use.
func (n *Node) Renewals(dir string, t *Trust) http.Handler {
	return t.OnlyNodes(n.Member, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, cert, err := t.renewal(dir, r)
		if err != nil {
			n.log.Warn("renew", "node", node, "error", err)
			fail(w, err)
			return
		}
		n.log.Info("certificate renewed", "node", node)
		_, _ = w.Write(cert) // a caller that disconnected asks again
	}))
}

func (t *Trust) renewal(dir string, r *http.Request) (coord.NodeID, []byte, error) {
	node, err := t.check(r.TLS)
	if err != nil {
		return node, nil, err
	}
	var in renewRequest
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJoin)).Decode(&in); err != nil {
		return node, nil, fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	}
	key, err := requestKey(in.Request)
	if err != nil {
		return node, nil, err
	}
	if key != keyName(r.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo) {
		return node, nil, fmt.Errorf("node %s requested a certificate for a different key: %w", node, concordat.ErrRefused)
	}
	cert, _, err := sign(dir, t.Cluster, node, in.Request, time.Now())
	return node, cert, err
}

// Renew replaces the node's certificate in dir, from which t was loaded, with one that is valid for the full period, and makes t use it.
// The authority's key must be in dir, or from must be a live node that has the key. Errors: concordat.ErrRefused,
// concordat.ErrUnavailable.
func (t *Trust) Renew(ctx context.Context, dir string, from coord.Node) error {
	request, err := requestFor(t.own.Load().PrivateKey)
	if err != nil {
		return err
	}
	var cert []byte
	if HasAuthority(dir) {
		cert, _, err = sign(dir, t.Cluster, t.Node, request, time.Now())
	} else {
		cert, err = t.askRenewal(ctx, from, request)
	}
	if err != nil {
		return err
	}
	if err := t.fits(cert); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, nodeCert), cert); err != nil {
		return err
	}
	next, err := LoadTrust(dir)
	if err != nil {
		return err
	}
	t.own.Store(next.own.Load())
	return nil
}

// fits returns an error if the certificate is not for this node and its key.
func (t *Trust) fits(b []byte) error {
	block, _ := pem.Decode(b)
	if block == nil {
		return fmt.Errorf("the response contains no certificate: %w", concordat.ErrInvalid)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("certificate: %w: %w", concordat.ErrInvalid, err)
	}
	cluster, node, err := t.verify([]*x509.Certificate{c})
	if err == nil && (cluster != t.Cluster || node != t.Node || keyName(c.RawSubjectPublicKeyInfo) != t.Key()) {
		err = fmt.Errorf("received a certificate for node %s of cluster %s: %w", node, cluster, concordat.ErrRefused)
	}
	return err
}

func (t *Trust) askRenewal(ctx context.Context, from coord.Node, request []byte) ([]byte, error) {
	body, err := json.Marshal(renewRequest{request})
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+from.Address+renewPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("node %s at %s: %w: %w", from.ID, from.Address, concordat.ErrUnavailable, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(readError(resp), resp.Body.Close())
	}
	cert, err := io.ReadAll(io.LimitReader(resp.Body, maxJoin))
	return cert, errors.Join(err, resp.Body.Close())
}
