package cms_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	"concordat/crypto/cms"
)

// certificate returns a certificate for the key, signed by the issuer or self-signed.
func certificate(t testing.TB, name string, key crypto.Signer, issuer *x509.Certificate, by crypto.Signer) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(name))), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true,
		BasicConstraintsValid: true}
	if issuer == nil {
		issuer, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignAndVerify(t *testing.T) {
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	root, ec := ecKey(t), ecKey(t)
	authority := certificate(t, "An authority", root, nil, nil)
	for name, x := range map[string]struct {
		key   crypto.Signer
		chain []*x509.Certificate
	}{
		"ECDSA": {ec, []*x509.Certificate{certificate(t, "Office", ec, nil, nil)}},
		"RSA":   {rs, []*x509.Certificate{certificate(t, "Office", rs, nil, nil)}},
		"chain": {ec, []*x509.Certificate{certificate(t, "Office", ec, authority, root), authority}},
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte("what is signed")
			der, err := cms.Sign(content, x.key, x.chain)
			if err != nil {
				t.Fatal(err)
			}
			size := cms.Overhead
			for _, c := range x.chain {
				size += len(c.Raw)
			}
			if len(der) > size {
				t.Errorf("a signature of %d bytes, more than %d", len(der), size)
			}
			if bytes.Contains(der, content) {
				t.Error("the content stands in the signature")
			}
			if c, err := cms.Verify(der, content); err != nil || !c.Equal(x.chain[0]) {
				t.Errorf("as it was signed: %v", err)
			}
			if _, err := cms.Verify(der, []byte("what is signee")); !errors.Is(err, cms.ErrSignature) {
				t.Errorf("another content: %v, want ErrSignature", err)
			}
			for i := range der {
				bad := bytes.Clone(der)
				bad[i] ^= 1
				last := x.chain[len(x.chain)-1]
				if at := bytes.Index(der, last.Raw); len(x.chain) > 1 && i >= at && i < at+len(last.Raw) {
					continue // the certificate that signed the last one of the chain is not in the file
				}
				if _, err := cms.Verify(bad, content); err == nil {
					t.Fatalf("byte %d of %d changed: good: %x before %x", i, len(der), der[i:min(i+12, len(der))], der[max(0, i-40):i])
				}
			}
		})
	}
	if _, err := cms.Sign([]byte("x"), ec, nil); err == nil {
		t.Error("signed without a certificate")
	}
}

// A certificate replaced by another with the same key and number is detected, because the signed data identifies the original.
func TestAnotherCertificateOfTheKey(t *testing.T) {
	key := ecKey(t)
	a := certificate(t, "Office", key, nil, nil)
	b := certificate(t, "Office", key, nil, nil)
	for len(a.Raw) != len(b.Raw) { // an ECDSA signature is occasionally one byte shorter
		b = certificate(t, "Office", key, nil, nil)
	}
	der, err := cms.Sign([]byte("x"), key, []*x509.Certificate{a})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cms.Verify(bytes.Replace(der, a.Raw, b.Raw, 1), []byte("x")); err == nil {
		t.Error("the other certificate passes")
	}
}

func FuzzVerify(f *testing.F) {
	key := ecKey(f)
	der, err := cms.Sign([]byte("content"), key, []*x509.Certificate{certificate(f, "Office", key, nil, nil)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Add([]byte{0x30, 0x80, 0x06, 0x09})
	f.Add([]byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = cms.Verify(b, []byte("content"))
	})
}
