// Package cms creates and verifies detached signatures that PDF readers and OpenSSL understand: CMS SignedData (RFC 5652) over SHA-256,
// by an X.509 certificate.
//
// A valid signature proves that the holder of the certificate's key signed these bytes. The package does not establish who that is; the
// caller must know whose certificate it is.
package cms

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"

	"github.com/smallstep/pkcs7"
)

// ErrSignature means that the content differs from the signed content.
var ErrSignature = errors.New("the content has changed since it was signed")

// signingCertificateV2 is the attribute that binds the signature to its certificate (RFC 5035), as PAdES requires (ETSI EN 319 142-1,
// 6.3).
var signingCertificateV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}

type essCertificate struct{ Hash []byte }

type signingCertificate struct{ Certificates []essCertificate }

// Overhead is the maximum number of bytes that a signature adds to its certificates.
const Overhead = 2048

// Sign returns a detached DER signature of content, including the chain. The first certificate of the chain must belong to the key. The
// key must be ECDSA or RSA.
func Sign(content []byte, key crypto.Signer, chain []*x509.Certificate) ([]byte, error) {
	if len(chain) == 0 {
		return nil, errors.New("sign: the certificate chain is empty")
	}
	s, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	s.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	sum := sha256.Sum256(chain[0].Raw)
	err = s.AddSignerChain(chain[0], key, chain[1:], pkcs7.SignerInfoConfig{ExtraSignedAttributes: []pkcs7.Attribute{
		{Type: signingCertificateV2, Value: signingCertificate{[]essCertificate{{sum[:]}}}}}})
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	s.Detach()
	return s.Finish()
}

// Verify verifies a detached DER signature over content and returns the signer's certificate. It fails with ErrSignature if the content
// differs. It does not check whether the certificate is trusted or in force.
func Verify(der, content []byte) (*x509.Certificate, error) {
	p, err := pkcs7.Parse(der)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	p.Content = content
	c := p.GetOnlySigner()
	if c == nil {
		return nil, errors.New("signature: there must be exactly one signer")
	}
	var mismatch *pkcs7.MessageDigestMismatchError
	switch err := p.Verify(); {
	case errors.As(err, &mismatch):
		return c, ErrSignature
	case err != nil:
		return c, fmt.Errorf("signature: %w", err)
	}
	var named signingCertificate
	sum := sha256.Sum256(c.Raw)
	if err := p.UnmarshalSignedAttribute(signingCertificateV2, &named); err != nil {
		return c, fmt.Errorf("the signature does not identify its certificate: %w", err)
	}
	if len(named.Certificates) == 0 || !bytes.Equal(named.Certificates[0].Hash, sum[:]) {
		return c, errors.New("the signature identifies a different certificate")
	}
	if err := checkFrame(der, c); err != nil {
		return c, fmt.Errorf("signature: %w", err)
	}
	for i, issuer := range p.Certificates[1:] {
		if of := p.Certificates[i]; issuer.CheckSignature(of.SignatureAlgorithm, of.RawTBSCertificate, of.Signature) != nil {
			return c, errors.New("signature: the certificate chain has been altered")
		}
	}
	return c, nil
}

// frame is a SignedData (RFC 5652, 5.1) in the form that Sign produces. The signature does not cover these parts.
type frame struct {
	Type   asn1.ObjectIdentifier
	Signed struct {
		Version int
		Digests []pkix.AlgorithmIdentifier `asn1:"set"`
		Content struct {
			Type asn1.ObjectIdentifier
		}
		Certificates asn1.RawValue `asn1:"optional,tag:0"`
		Signers      []signer      `asn1:"set"`
	} `asn1:"explicit,tag:0"`
}

// signer is a SignerInfo (RFC 5652, 5.3) in the form that Sign produces.
type signer struct {
	Version int
	By      struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	Digest     pkix.AlgorithmIdentifier
	Attributes asn1.RawValue `asn1:"tag:0"`
	Algorithm  pkix.AlgorithmIdentifier
	Signature  []byte
}

// checkFrame fails unless everything around a signature by c is byte for byte as Sign writes it, so that any change or addition in a file
// is noticed.
func checkFrame(der []byte, c *x509.Certificate) error {
	var f frame
	if rest, err := asn1.Unmarshal(der, &f); err != nil || len(rest) > 0 {
		return fmt.Errorf("SignedData structure has been altered: %w", cmp.Or(err, error(asn1.SyntaxError{Msg: "trailing data"})))
	}
	again, err := asn1.Marshal(f)
	if err != nil {
		return fmt.Errorf("SignedData structure: %w", err)
	}
	algorithm, by := pkcs7.OIDDigestAlgorithmECDSASHA256, x509.ECDSAWithSHA256
	if c.PublicKeyAlgorithm == x509.RSA {
		algorithm, by = pkcs7.OIDEncryptionAlgorithmRSASHA256, x509.SHA256WithRSA
	}
	is := func(a pkix.AlgorithmIdentifier, want asn1.ObjectIdentifier) bool {
		none := len(a.Parameters.FullBytes) == 0 || bytes.Equal(a.Parameters.FullBytes, asn1.NullBytes)
		return a.Algorithm.Equal(want) && none
	}
	s := &f.Signed
	if !bytes.Equal(again, der) || s.Version != 1 || !s.Content.Type.Equal(pkcs7.OIDData) || len(s.Signers) != 1 || len(s.Digests) != 1 ||
		s.Signers[0].Version != 1 || !is(s.Digests[0], pkcs7.OIDDigestAlgorithmSHA256) ||
		!is(s.Signers[0].Digest, pkcs7.OIDDigestAlgorithmSHA256) || !is(s.Signers[0].Algorithm, algorithm) ||
		!bytes.Equal(s.Signers[0].By.Issuer.FullBytes, c.RawIssuer) || s.Signers[0].By.Serial.Cmp(c.SerialNumber) != 0 {
		return errors.New("SignedData structure has been altered")
	}
	// The library parses and re-encodes the attributes before it checks the signature. RFC 5652, 5.4, signs the attributes as a SET OF.
	attributes := bytes.Clone(s.Signers[0].Attributes.FullBytes)
	attributes[0] = asn1.TagSet | 0x20
	if c.CheckSignature(by, attributes, s.Signers[0].Signature) != nil {
		return errors.New("signed attributes have been altered")
	}
	return nil
}
