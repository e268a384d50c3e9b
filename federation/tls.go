package federation

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"concordat/crypto"
)

// errPin means that the other end presented a key that its card does not name.
var errPin = errors.New("the TLS key is not listed on the site's card")

// groups lists the supported key exchanges, which are all hybrid, so that traffic recorded today remains unreadable for a future quantum
// computer.
var groups = []tls.CurveID{tls.X25519MLKEM768, tls.SecP256r1MLKEM768}

// baseTLS is the configuration common to both ends. The application protocol is plain HTTP's, because its name is sent in the clear and a
// distinct name would reveal the protocol.
func baseTLS() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       groups,
		SessionTicketsDisabled: true,
		NextProtos:             []string{"http/1.1"},
	}
}

// certificate returns the certificate that the site currently presents.
func certificate(roster Roster, now func() time.Time) (*tls.Certificate, error) {
	id, _ := roster.Self()
	der, key, err := id.TLS(now())
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// certificateOf returns the certificate for the key whose possession the other end has proved.
func certificateOf(cs *tls.ConnectionState) (*x509.Certificate, error) {
	if cs == nil || len(cs.PeerCertificates) == 0 {
		return nil, errPin
	}
	return cs.PeerCertificates[0], nil
}

// pinOf returns the pin of the key whose possession the other end has proved.
func pinOf(cs *tls.ConnectionState) (crypto.Pin, error) {
	cert, err := certificateOf(cs)
	if err != nil {
		return crypto.Pin{}, err
	}
	return crypto.PinOf(cert.RawSubjectPublicKeyInfo), nil
}

// clientTLS returns the configuration for one partner; pinned decides whether to accept the partner's key. In TLS 1.3, the site's own
// certificate is sent only after that, so no one else sees it.
func clientTLS(roster Roster, now func() time.Time, pinned func(crypto.Pin) bool) *tls.Config {
	c := pinnedTLS(pinned)
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate(roster, now) }
	return c
}

// guestTLS returns the configuration for visiting the site, with a certificate that does not reveal the visitor.
func guestTLS(to crypto.SiteID, now func() time.Time, pinned func(crypto.Pin) bool) *tls.Config {
	c := pinnedTLS(pinned)
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		der, key, err := crypto.GuestTLS(to, now(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
	}
	return c
}

func pinnedTLS(pinned func(crypto.Pin) bool) *tls.Config {
	c := baseTLS()
	c.InsecureSkipVerify = true // host names prove nothing here; VerifyConnection compares keys
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		p, err := pinOf(&cs)
		if err != nil {
			return err
		}
		if !pinned(p) {
			return errPin
		}
		return nil
	}
	return c
}

// guest reports whether the other end came as a guest of the site; a guest can see only the card.
func guest(roster Roster, cs *tls.ConnectionState) bool {
	id, _ := roster.Self()
	return cs != nil && len(cs.PeerCertificates) > 0 && id.Site().Guest(cs.PeerCertificates[0])
}

// serverTLS returns the configuration for a listener. It admits guests, who know the site's name, and admits strangers only while an
// invitation is open.
func serverTLS(roster Roster, registrar Registrar, now func() time.Time) *tls.Config {
	c := baseTLS()
	c.ClientAuth = tls.RequireAnyClientCert
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate(roster, now) }
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		cert, err := certificateOf(&cs)
		if err != nil {
			return err
		}
		if guest(roster, &cs) {
			return nil
		}
		if _, ok := roster.Pinned(cert); ok || registrar != nil && registrar.Inviting() {
			return nil
		}
		return errPin
	}
	return c
}
