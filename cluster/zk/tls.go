package zk

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"concordat"
)

// ReadTLS returns a TLS configuration with the authorities in file ca (PEM; if empty, the system's authorities) and, if certificate is
// not empty, the node's own certificate and key (PEM; if key is empty, in the same file). These are reread at each handshake, so that
// renewal needs no restart. Errors: concordat.ErrInvalid.
func ReadTLS(ca, certificate, key string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12} // ZooKeeper 3.8 on older Java lacks TLS 1.3
	if ca != "" {
		b, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(b) {
			return nil, concordat.Invalidf("%s: the file does not contain a PEM certificate", ca)
		}
	}
	if certificate == "" {
		return cfg, nil
	}
	if key == "" {
		key = certificate
	}
	if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
		return nil, fmt.Errorf("%s, %s: %w: %w", certificate, key, concordat.ErrInvalid, err)
	}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certificate, key)
		return &c, err
	}
	return cfg, nil
}
